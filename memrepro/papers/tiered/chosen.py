"""What is chosen on other conversations: α, a router's granularity, and the threshold.

Each memory's questions are answered at the setting that is best on the questions of all the others,
so that no question has a part in its own choice.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN
from memrepro.core.prepared import load_qrels
from memrepro.core.similarity import Doubles
from memrepro.evaluate.clustered import Clusters
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report.runs import Runs
from memrepro.report.sources import FileSource, write_sources
from memrepro.report.specs import Spec, fill, place_of
from memrepro.report.tables import Cell, number
from memrepro.study.params import load_plan
from memrepro.text.lengths import QUERY

COSINES = np.round(np.arange(0.2, 0.86, 0.05), 2)  # with all that the document prints
PRINTED = 0.65  # the document's threshold
DEPTH = 10  # docs of a list that a threshold may keep


def memories(profile: str, dataset: str) -> Mapping[str, str]:
    """Query id → the memory that it is asked of."""
    table = read_table(paths.lengths(profile, dataset), ["memory_id", "doc_id", "level"])
    asked = table[table["level"] == QUERY]
    return dict(zip(asked["doc_id"].astype(str), asked["memory_id"].astype(str), strict=True))


def elsewhere(runs: Runs, spec: Spec) -> pd.DataFrame | None:
    """`query_id, kind, value` at the setting of a sweep, or the run of `among`, chosen elsewhere.

    With `by_kind` each kind of question chooses by itself. None where a run was not made.
    """
    among = [(fill(one, spec), "") for one in spec.get("among", ())]
    among = among or [(spec["run"], setting) for setting in runs.settings(spec["run"])]
    tables = [
        None
        if runs.why_not(run, setting)
        else runs.values(place_of({**spec, "run": run, "setting": setting, "kind": ""}))
        for run, setting in among
    ]
    if not tables or any(table is None for table in tables):
        return None
    found = [table.set_index("query_id") for table in tables if table is not None]
    base = found[0]
    values = np.stack([one.loc[base.index, "value"].to_numpy() for one in found], axis=1)
    of = memories(load_plan().dataset(spec["dataset"]).profile, spec["dataset"])
    groups = np.array([of[str(query_id)] for query_id in base.index])
    kinds = base["kind"].astype(str).to_numpy() if spec.get("by_kind") else np.zeros(len(base))
    answered = np.empty(len(base))
    for kind in np.unique(kinds):
        here = kinds == kind
        answered[here] = Clusters(tuple(groups[here])).answered(values[here])
    chosen = base.assign(value=answered).reset_index()
    wanted = chosen["kind"] == spec["kind"] if spec.get("kind") else slice(None)
    return chosen.loc[wanted, ["query_id", "kind", "value"]]


def thresholds(runs: Runs, table: Spec) -> Iterator[Cell]:
    """What a threshold on the cosine keeps of the first docs, and the one chosen elsewhere.

    The share of the docs kept that are evidence, the share of the evidence that is kept, and F1, by
    which each conversation's threshold is chosen on the others.
    """
    run = fill("{stem}-tiered-segment", table)
    place = {**table, "run": run, "metric": "recall_all", "k": 5}
    values = None if runs.why_not(run) else runs.values(place_of(place))
    if values is None:
        yield Cell("threshold", "F1", "cosine", "", "", 0, NOT_RUN, note=f"{run} has not been run")
        return
    profile = load_plan().dataset(table["dataset"]).profile
    gold = load_qrels(paths.qrels(profile, table["dataset"]), table["level"])[1]
    docs = {str(q): {doc for part in gold[str(q)] for doc in part} for q in values["query_id"]}
    of = memories(profile, table["dataset"])
    kept = Counter[tuple[str, float]]()
    right = Counter[tuple[str, float]]()
    wanted = Counter[str]()
    for query_id, parts in docs.items():
        wanted[of[query_id]] += len(parts)
    listed = read_table(paths.results(runs.profile) / runs.file(run).path)
    listed = listed[(listed["rank"] <= DEPTH) & listed["query_id"].isin(docs)]
    scores: dict[bool, list[float]] = {True: [], False: []}
    for query_id, doc, score in listed[["query_id", "doc_id", "score"]].itertuples(index=False):
        is_gold = doc in docs[query_id]
        scores[is_gold].append(float(score))
        for cosine in COSINES[score >= COSINES]:
            kept[of[query_id], cosine] += 1
            right[of[query_id], cosine] += is_gold
    names = list(wanted)
    arrays = [np.array([[c[m, x] for m in names] for x in COSINES], float) for c in (kept, right)]
    sizes = np.array([wanted[m] for m in names], float)
    gold_file = FileSource(f"data/{table['dataset']}/qrels.parquet")
    n, sources = len(docs), write_sources([runs.file(run), gold_file])

    def cells(row: str, texts: Mapping[str, str]) -> Iterator[Cell]:
        for column, text in texts.items():
            yield Cell(row, column, "cosine", "", text, n, NOT_COMPARABLE, note=table["note"],
                       sources=sources)  # fmt: skip

    shares = _shares(arrays[0].sum(axis=1), arrays[1].sum(axis=1), sizes.sum())
    for i, cosine in enumerate(COSINES):
        row = "cosine of {:.2f}{}".format(cosine, ", as printed" * bool(cosine == PRINTED))
        yield from cells(row, {name: number(share[i]) for name, share in shares.items()})
    picks = []
    for i in range(len(names)):
        rest = np.arange(len(names)) != i
        f1 = _shares(arrays[0][:, rest].sum(1), arrays[1][:, rest].sum(1), sizes[rest].sum())["F1"]
        picks.append(COSINES[int(np.argmax(np.round(f1, 9)))])
    told = ", ".join(f"{cosine:g}: {count}" for cosine, count in Counter(picks).most_common())
    medians = {True: np.median(scores[True]), False: np.median(scores[False])}
    yield from cells(
        "chosen on the other conversations", {"conversations by their threshold": told}
    )
    yield from cells("median cosine", {"evidence": number(float(medians[True])),
                                       "other docs": number(float(medians[False]))})  # fmt: skip


def _shares(kept: Doubles, right: Doubles, wanted: float) -> dict[str, Doubles]:
    """By threshold: the share of what is kept that is evidence, of evidence that is kept, F1."""
    precision, recall = right / np.maximum(kept, 1), right / wanted
    both = np.maximum(precision + recall, 1e-12)
    return {"evidence among the kept": precision, "evidence kept": recall,
            "F1": 2 * precision * recall / both}  # fmt: skip
