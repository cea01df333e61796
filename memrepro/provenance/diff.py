"""Two runs on the same questions: won, lost, tied, how sure, and why question by question."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from memrepro.core.prepared import load
from memrepro.errors import MemreproError
from memrepro.evaluate.bootstrap import paired_difference
from memrepro.evaluate.multiple import sign_flip
from memrepro.files import paths
from memrepro.provenance.places import Place, entry, plan, stated, values, variant
from memrepro.provenance.questions import gold_ranks


class Difference(NamedTuple):
    """Two places on the same n questions; 'won' is the second's.

    `difference` is the mean of second − first, with its 95 % paired bootstrap interval from `low`
    to `high`; `p` is two-sided, by flipping signs.
    """

    first: Place
    second: Place
    n: int
    mean_first: float
    mean_second: float
    difference: float
    low: float
    high: float
    p: float
    won: int
    lost: int
    tied: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON, numbers to six digits."""
        plain = {k: round(v, 6) if isinstance(v, float) else v for k, v in self._asdict().items()}
        return plain | {"first": self.first._asdict(), "second": self.second._asdict()}


def place(
    experiment: str, setting: str, level: str, metric: str, k: int, protocol: str = ""
) -> Place:
    """A place from what a person names; the level is the docs' own if it is ''.

    Raises:
        MemreproError: for an unknown experiment, setting or protocol, listing the known ones, or a
            cut-off beyond the length of the lists.
    """
    known = entry(experiment).variants()
    if setting not in known:
        what = "is no sweep: leave the setting out" if "" in known else (
            f"is a sweep: its settings are {', '.join(known)}"
        )  # fmt: skip
        raise MemreproError(f"{experiment} has no setting {setting!r}: it {what}")
    protocols = plan().evaluation.protocols
    if protocol and protocol not in protocols:
        raise MemreproError(f"unknown protocol {protocol!r}: known are {', '.join(protocols)}")
    if k > (depth := known[setting].parameters["k"]):
        raise MemreproError(f"{experiment} lists {depth} docs a question: --k {k} is beyond it")
    own = known[setting].granularity
    return Place(experiment, setting, level or own, protocol or stated(), metric, k)


def compare(first: Place, second: Place) -> Difference:
    """The paired difference of two places.

    Raises:
        MemreproError: if they are not of the same questions.
    """
    both = paired(first, second)
    old, new = both["first"].to_numpy(float), both["second"].to_numpy(float)
    won, lost = int((new > old).sum()), int((new < old).sum())
    return Difference(
        first, second, len(both), float(old.mean()), float(new.mean()),
        *paired_difference(old, new), sign_flip(new - old), won, lost, len(both) - won - lost,
    )  # fmt: skip


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
