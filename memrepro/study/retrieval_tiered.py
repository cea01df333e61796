"""retrieve_tiered: the experiments of a group of the tiered design; they share data and vectors."""

import pandas as pd

from memrepro.core.keys import Request
from memrepro.core.memory import Dataset
from memrepro.core.prepared import load
from memrepro.core.ranking import to_frame
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.files.progress import bar
from memrepro.retrieve import make_retriever
from memrepro.retrieve.tiered.key_builder import TieredKeyBuilder, TimedRequest, asked_at
from memrepro.study.params import load_plan, named
from memrepro.study.result import StageResult
from memrepro.study.retrieval import inputs_of, make_requests, read_vectors, summarise


def run(group: str) -> StageResult:
    """Run the experiments and sweeps of a group and write a file for each.

    A sweep's file has the setting of each run.
    """
    plan = load_plan()
    grouped: dict[str, dict[str, object]] = {}
    entries = {**plan.experiments, **plan.sweeps}
    for name, entry in entries.items():
        if entry.group.startswith("tiered/"):
            grouped.setdefault(entry.group.removeprefix("tiered/"), {})[name] = entry
    names = named("group of tiered experiments", grouped, group)
    first = entries[next(iter(names))]
    dataset = load(paths.prepared(first.dataset), first.dataset)
    vectors = read_vectors(first)
    made: dict[tuple[str, str], list[TimedRequest]] = {}
    summaries, outputs = [], []
    settings = {name: entries[name].variants() for name in names}
    with bar(sum(map(len, settings.values())), f"tiered {group}", "run") as progress:
        for name, variants in settings.items():
            runs = []
            for setting, one in variants.items():
                searched = (one.granularity, one.key_scheme)
                if searched not in made:
                    requests = make_requests(dataset, one, vectors, TieredKeyBuilder)
                    made[searched] = timed(requests, dataset)
                retriever = make_retriever(one.method, one.retriever, dict(one.parameters))
                table = to_frame(retriever.search(made[searched]))
                if setting:
                    table.insert(0, "setting", setting)
                runs.append(table)
                progress.update()
            outputs.append(paths.run(first.profile, name, first.group))
            write_table(outputs[-1], pd.concat(runs, ignore_index=True))
            rows = sum(map(len, runs))
            summaries.append(summarise(name, len(runs), len(dataset.queries), rows))
    summary = pd.concat(summaries, ignore_index=True)
    return StageResult(f"tiered {group}", summary, inputs_of(first, plan), outputs)


def timed(requests: list[Request], dataset: Dataset) -> list[TimedRequest]:
    """The requests with the time at which each query is asked."""
    queries = {query.query_id: query for query in dataset.queries}
    found = []
    for request in requests:
        asked = [queries[query_id] for query_id in request.query_ids]
        memories = dataset.memories
        times = [asked_at(query.at, memories[query.memory_id]) for query in asked]
        found.append(TimedRequest(**vars(request), asked=times))
    return found
