"""Associa's subgraph of a handful of questions, drawn where the vectors are on this machine."""

import io
from pathlib import Path

import pandas as pd

import memrepro.report.figures  # noqa: F401  sets what makes an svg byte-stable
from memrepro.files import paths
from memrepro.files.atomic import write_text
from memrepro.papers.associa.view import absent, question_graph
from memrepro.report.profile import Metrics
from memrepro.site.pages import Link, Site, script
from memrepro.study.params import Experiment, Plan

EACH = 2  # questions won, and as many lost


def write(site: Site, profiles: list[str], plan: Plan) -> list[Link]:
    """Draw the subgraphs of each profile's Associa, and write which question has one."""
    found: dict[str, list[str]] = {}
    links = []
    for profile in profiles:
        for name, entry in plan.experiments.items():
            if (entry.profile, entry.method, entry.retriever) != (profile, "associa", "associa"):
                continue
            if not _whole(profile, name, entry):
                continue
            baseline = _baseline(plan, entry)
            for query_id, what in _chosen(profile, name, baseline):
                path = f"{profile}/graphs/{name}--{_safe(query_id)}.svg"
                _draw(profile, name, query_id, site.root / path)
                found.setdefault(f"{profile}/{entry.dataset}/{query_id}", []).append(path)
                links.append(Link(path, f"{entry.dataset}, {query_id}: {what}"))
            break  # the first is the method as the document has it; the others vary it
    write_text(site.root / "data/graphs.js", script("memrepro.graphs", found))
    return links


def _whole(profile: str, name: str, entry: Experiment) -> bool:
    """Whether everything is here: what the experiment's graphs are made of, run and metrics."""
    results = (paths.run(profile, name, entry.study), paths.protocols(profile))
    return not absent(entry) and all(path.is_file() for path in results)


def _baseline(plan: Plan, entry: Experiment) -> tuple[str, str] | None:
    """The experiment and setting that search the same docs by plain similarity."""
    base = entry.key_scheme.partition("+")[0]
    for name, other in {**plan.experiments, **plan.sweeps}.items():
        same = (other.dataset, other.encoder, other.granularity) == (
            entry.dataset, entry.encoder, entry.granularity,
        )  # fmt: skip
        if same and other.method == "dense" and not other.ranges:
            for setting, variant in other.variants().items():
                if variant.key_scheme == base:
                    return name, setting
    return None


def _chosen(
    profile: str, name: str, baseline: tuple[str, str] | None
) -> list[tuple[str, str]]:  # fmt: skip
    """The first questions by id that Associa finds and the baseline misses, and the other way."""
    metrics = Metrics(profile)
    here = _found(metrics, name, "")
    if baseline is None or baseline[0] not in metrics.experiments:
        return [(query_id, "the first questions") for query_id in here.index[: 2 * EACH]]
    there = _found(metrics, *baseline).reindex(here.index)
    won = sorted(here.index[(here == 1) & (there == 0)])[:EACH]
    lost = sorted(here.index[(here == 0) & (there == 1)])[:EACH]
    return [(q, "found here, missed by plain similarity") for q in won] + [
        (q, "missed here, found by plain similarity") for q in lost
    ]


def _found(metrics: Metrics, name: str, setting: str) -> pd.Series:
    values = metrics.values(name, "round", "recall_all", 10, setting)
    return values.set_index("query_id")["value"]


def _safe(query_id: str) -> str:
    """A question's id as part of a file's name."""
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in query_id)


def _draw(profile: str, name: str, query_id: str, path: Path) -> None:
    figure = question_graph(profile, name, query_id).draw()
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None}, bbox_inches="tight")
    write_text(path, text.getvalue())
