"""Two runs on the same questions: won, lost, tied, how sure, and why question by question."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from memrepro.core.prepared import load
from memrepro.errors import MemreproError
from memrepro.evaluate import comparison
from memrepro.evaluate.comparison import Comparison
from memrepro.evaluate.rollup import levels_of
from memrepro.files import paths
from memrepro.provenance.places import Place, entry, plan, stated, values, variant
from memrepro.provenance.questions import gold_ranks
from memrepro.study.groups import groups_of_questions


class Difference(NamedTuple):
    """Two places on the same questions: their means, and the second against the first."""

    first: Place
    second: Place
    mean_first: float
    mean_second: float
    comparison: Comparison

    def as_dict(self) -> dict[str, Any]:
        """For JSON, numbers to six digits; the comparison's beside the others."""
        return {
            "first": self.first._asdict(), "second": self.second._asdict(),
            "mean_first": round(self.mean_first, 6), "mean_second": round(self.mean_second, 6),
            **self.comparison.as_dict(),
        }  # fmt: skip


def place(
    experiment: str, setting: str, level: str, metric: str, k: int, protocol: str = ""
) -> Place:
    """A place from what a person names; the level is the docs' own if it is ''.

    Args:
        experiment: its name, or that of a sweep with a setting, `name[setting]`.
        setting: of a sweep, where the name has none.
        level: what is found.
        metric: by its name.
        k: the cut-off.
        protocol: '' for the stated one.

    Raises:
        MemreproError: for an unknown experiment, setting or protocol, listing the known ones, or a
            cut-off beyond the length of the lists.
    """
    experiment, bracket, named = experiment.partition("[")
    setting = named.removesuffix("]") if bracket else setting
    known = entry(experiment).variants()
    if setting not in known:
        if "" in known:
            raise MemreproError(f"{experiment} is no sweep: leave the setting {setting!r} out")
        found = f"none is {setting!r}" if setting else "none is named"
        raise MemreproError(
            f"{experiment} is a sweep, and {found} of its settings: write one as in "
            f"{experiment}[{next(iter(known))}], of {', '.join(known)}"
        )
    protocols = plan().evaluation.protocols
    if protocol and protocol not in protocols:
        raise MemreproError(f"unknown protocol {protocol!r}: known are {', '.join(protocols)}")
    depth = known[setting].parameters["k"]
    if not 1 <= k <= depth:
        raise MemreproError(
            f"--k {k}: {experiment} lists {depth} docs a question: it must lie in 1..{depth}"
        )
    own = known[setting].granularity
    if level and level not in (there := levels_of(own)):
        raise MemreproError(f"{experiment} has no values by {level!r}, but by {', '.join(there)}")
    return Place(experiment, setting, level or own, protocol or stated(), metric, k)


def compare(first: Place, second: Place) -> Difference:
    """The paired difference of two places, by the data set's unit.

    Raises:
        MemreproError: if they are not of the same questions.
    """
    both = paired(first, second)
    old, new = both["first"].to_numpy(float), both["second"].to_numpy(float)
    groups = groups_of_questions(variant(first).dataset, both["query_id"].tolist(), plan())
    found = comparison.compare(old, new, groups)
    return Difference(first, second, float(old.mean()), float(new.mean()), found)


def paired(first: Place, second: Place) -> pd.DataFrame:
    """`query_id, kind, first, second` of the questions of two places, in the first's order."""
    old, new = values(first), values(second)
    if set(old["query_id"]) != set(new["query_id"]) or old.empty:
        common = len(set(old["query_id"]) & set(new["query_id"]))
        raise MemreproError(
            f"{first} is of {len(old)} questions on {variant(first).dataset} and {second} of "
            f"{len(new)} on {variant(second).dataset}, {common} of them the same: a comparison "
            "needs the same questions"
        )
    now = new.set_index("query_id")["value"].reindex(old["query_id"])
    return old.rename(columns={"value": "first"}).assign(second=now.to_numpy())


def questions(first: Place, second: Place) -> pd.DataFrame:
    """The questions won and lost: a row each, the greatest change first.

    Returns:
        `query_id, kind, change` ('won', 'lost'), `first, second` (the values), `gold_first,
        gold_second` (rank of each gold doc, '-' where the run does not hold it), `gap_first,
        gap_second` (see `gold_ranks`: the least among the question's missed gold), and `gold`
        (the ids).
    """
    both = paired(first, second)
    both = both[both["first"] != both["second"]]
    both = both.assign(change=np.where(both["second"] > both["first"], "won", "lost"))
    for name, one in (("first", first), ("second", second)):
        ranks = gold_ranks(one._replace(kind=""))
        ranks = ranks[ranks["query_id"].isin(both["query_id"])]
        shown = ranks.assign(text=[_rank(r) for r in ranks["rank"]]).groupby("query_id")
        both[f"gold_{name}"] = both["query_id"].map(shown["text"].agg(", ".join))
        both[f"gap_{name}"] = both["query_id"].map(shown["gap"].min()).round(6)
        both["gold"] = both["query_id"].map(shown["doc_id"].agg(", ".join))
    away = (both["second"] - both["first"]).abs().round(9)
    order = both.assign(away=-away).sort_values(["away", "change", "query_id"], kind="stable").index
    columns = [
        "query_id", "kind", "change", "first", "second", "gold_first", "gold_second", "gap_first",
        "gap_second", "gold",
    ]  # fmt: skip
    return both.loc[order, columns].reset_index(drop=True)


def _rank(value: float) -> str:
    return "-" if np.isnan(value) else str(int(value))


def texts(one: Place, query_ids: list[str]) -> Mapping[str, dict[str, str]]:
    """Query id → its text, and the text of each of its gold docs by id; for showing alone.

    Raises:
        MemreproError: if the data set has not been prepared here.
    """
    name = variant(one).dataset
    folder = paths.prepared(name)
    if not (folder / "queries.parquet").is_file():
        raise MemreproError(
            f"the texts of {name} are not here: {folder} is made by `dvc repro prepare@{name}`"
        )
    dataset = load(folder, name)
    wanted = set(query_ids)
    ranks = gold_ranks(one._replace(kind=""))
    gold = ranks[ranks["query_id"].isin(wanted)].groupby("query_id")["doc_id"].agg(list)
    found: dict[str, dict[str, str]] = {}
    for query in dataset.queries:
        if query.query_id not in wanted:
            continue
        docs = dict.fromkeys(gold.get(query.query_id, []), "")
        for session in dataset.memories[query.memory_id].sessions:
            for r in session.rounds:
                for turn in r.turns:
                    for doc_id in {session.session_id, r.round_id, turn.turn_id} & docs.keys():
                        docs[doc_id] += f"{turn.field}: {turn.text}\n"
        found[query.query_id] = {"question": query.text, **docs}
    return found
