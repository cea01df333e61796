"""sweep: the runs of a group of sweeps, one a setting; they share a method, data and vectors."""

import pandas as pd

from memrepro.core.keys import Request
from memrepro.core.prepared import load
from memrepro.core.ranking import to_frame
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.files.progress import bar
from memrepro.retrieve import make_retriever
from memrepro.study.params import load_plan
from memrepro.study.result import StageResult
from memrepro.study.retrieval import inputs_of, make_requests, read_vectors, summarise


def run(group: str) -> StageResult:
    """Run the sweeps of a group and write a file for each, with the setting of each run."""
    plan = load_plan()
    sweeps = {name: e for name, e in plan.sweeps.items() if e.group == group}
    if not sweeps:
        known = ", ".join(sorted({e.group for e in plan.sweeps.values()}))
        raise MemreproError(f"no group of sweeps {group!r} in params.yaml: known are {known}")
    first = next(iter(sweeps.values()))
    dataset = load(paths.prepared(first.dataset), first.dataset)
    vectors = read_vectors(first) if first.encoder else {}
    requests: list[Request] = []
    made_for: object = None
    summaries, inputs, outputs = [], [], []
    settings = {name: sweep.variants() for name, sweep in sweeps.items()}
    with bar(sum(map(len, settings.values())), f"sweep {group}", "run") as progress:
        for name, variants in settings.items():
            runs = []
            for setting, one in variants.items():
                searched = (one.granularity, one.key_scheme, one.ranges, one.dates)
                if searched != made_for:
                    requests, made_for = make_requests(dataset, one, vectors), searched
                retriever = make_retriever(one.method, one.retriever, dict(one.parameters))
                table = to_frame(retriever.search(requests))
                table.insert(0, "setting", setting)
                runs.append(table)
                progress.update()
            outputs.append(paths.run(first.profile, name, group))
            write_table(outputs[-1], pd.concat(runs, ignore_index=True))
            rows = sum(map(len, runs))
            summaries.append(summarise(name, len(runs), len(dataset.queries), rows))
            inputs += inputs_of(sweeps[name], plan)
    summary = pd.concat(summaries, ignore_index=True)
    return StageResult(f"sweep {group}", summary, list(dict.fromkeys(inputs)), outputs)
