"""What every report needs of a profile: its metrics, paired differences, excluded questions."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from memrepro.core.prepared import load_evidence_fields
from memrepro.core.similarity import Doubles
from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import Comparison, compare
from memrepro.files.atomic import open_table
from memrepro.study.evaluation import metrics_file
from memrepro.study.groups import groups_of_questions
from memrepro.study.plan import Plan

EVIDENCE = "evidence: "  # begins a kind that goes by whose words the gold is, not by the question


def of_kind(values: pd.DataFrame, kind: str, qrels: Callable[[], Path]) -> pd.DataFrame:
    """The questions of a kind: a type of question, or `evidence: <field>` of their gold.

    Args:
        values: `query_id, kind, value`.
        kind: '' for all.
        qrels: names those of the data set, where they are needed.
    """
    if not kind.startswith(EVIDENCE):
        return values[values["kind"] == kind] if kind else values
    fields = evidence_fields(qrels())
    return values[values["query_id"].map(fields) == kind.removeprefix(EVIDENCE)]


def evidence_fields(qrels: Path) -> dict[str, str]:
    """Query id → whose words its gold is (`load_evidence_fields`), read once."""
    return _evidence_fields(qrels, qrels.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _evidence_fields(qrels: Path, changed: int) -> dict[str, str]:
    return load_evidence_fields(qrels)


class Metrics:
    """The per-question values of a profile's experiments."""

    def __init__(self, profile: str) -> None:
        path = metrics_file(profile)
        # A report asks for them in many places: a file of millions of rows is grouped once.
        changed = path.stat().st_mtime_ns
        self._places, self._names, self._values = _grouped(path, changed)
        self._settings: dict[str, dict[str, None]] = {}  # in order, as sets have none
        for experiment, setting, *_ in self._places:
            self._settings.setdefault(experiment, {})[setting] = None
        self.experiments = frozenset(self._settings)

    def settings(self, experiment: str) -> list[str]:
        """The settings of an experiment that were run, in order; none if it was not."""
        return list(self._settings.get(experiment, ()))

    def questions(self, experiment: str, setting: str, level: str) -> frozenset[str]:
        """The questions of an experiment that were evaluated by a level; none if it was not."""
        names, codes = self._names["query_id"]
        for key, (asked, _) in self._places.items():
            if key[:3] == (experiment, setting, level):
                return frozenset(names.take(codes[asked]))
        return frozenset()

    def evaluated(self, experiment: str) -> list[tuple[str, str, str, int]]:
        """`setting, level, metric, k` of all that was evaluated of an experiment."""
        return [key[1:] for key in self._places if key[0] == experiment]

    def values(
        self, experiment: str, level: str, metric: str, k: int, setting: str = ""
    ) -> pd.DataFrame:
        """`query_id, kind, value` of an experiment, in the order of the questions.

        Raises:
            MemreproError: if it was not evaluated so.
        """
        key = (experiment, setting, level, metric, k)
        if key not in self._places:
            raise MemreproError(
                f"no {metric}@{k} of {experiment!r} {setting!r} by {level}: run `dvc repro`"
            )
        asked, rows = self._places[key]
        found = {name: names.take(codes[asked]) for name, (names, codes) in self._names.items()}
        return pd.DataFrame({**found, "value": self._values[rows]})


@lru_cache(maxsize=2)
def _grouped(path: Path, changed: int) -> tuple[dict[Any, Any], dict[str, Any], Any]:
    """A metrics file: the places of each row's questions and values, by its key; what lies there.

    Args:
        path: of the file, see `study.evaluation.metrics_table`.
        changed: when; another state of the file is read anew.

    Returns:
        `experiment, setting, level, metric, k` → slices of the questions and of the values;
        `query_id` and `kind` → texts and the number of each question's; the values.
    """
    keys, named = ["experiment", "setting", "level", "metric", "k"], ["query_id", "kind"]
    with open_table(path) as file:
        table = file.read()
    *lists, values = (table[name].combine_chunks() for name in [*named, "value"])
    ends, last = _ends(lists[0]), _ends(values)
    # Where there are none they are those of the row above.
    row = np.maximum.accumulate(np.where(lists[0].is_valid(), np.arange(len(table)), 0))
    places = [
        (slice(*asked), slice(*held))
        for asked, held in zip(
            np.stack([ends[row], ends[row + 1]], 1).tolist(),
            np.stack([last[:-1], last[1:]], 1).tolist(),
            strict=True,
        )
    ]
    texts = zip(*(table[name].to_pylist() for name in keys), strict=True)
    found = dict(zip(texts, places, strict=True))
    if len(found) < len(table):
        raise MemreproError(f"{path} has two rows of one metric: delete it, it is made anew")
    names = {}
    for name, one in zip(named, lists, strict=True):
        coded = one.flatten().dictionary_encode()
        known = pd.array(coded.dictionary.to_pylist(), "str")
        names[name] = (known, coded.indices.to_numpy(zero_copy_only=False))
    return found, names, values.flatten().to_numpy()


def _ends(lists: pa.LargeListArray) -> NDArray[np.int64]:
    """Where each list begins and the last one ends, shape (n_lists + 1,); a null is empty."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.cumsum(lengths)])


def paired_values(before: pd.DataFrame, now: pd.DataFrame) -> tuple[Doubles, Doubles]:
    """The values of the same questions before and now, each shape (n,), in the order of the first.

    Args:
        before: `query_id, kind, value`.
        now: the same of the same questions.

    Raises:
        MemreproError: if they are of different questions.
    """
    if before["query_id"].array.equals(now["query_id"].array):  # the rule: no search by ids
        return before["value"].to_numpy(), now["value"].to_numpy()
    first, second = pd.Index(before["query_id"]), pd.Index(now["query_id"])
    common = len(first.intersection(second))
    if not len(before) == len(now) == common:
        raise MemreproError(
            f"{len(before)} questions before and {len(now)} now have {common} in common: a "
            "paired difference needs the same questions"
        )
    return before["value"].to_numpy(), now["value"].to_numpy()[second.get_indexer(first)]


def compare_values(before: pd.DataFrame, now: pd.DataFrame, dataset: str, plan: Plan) -> Comparison:
    """The change of a metric, by the data set's unit.

    Args:
        before: `query_id, kind, value`.
        now: the same of the same questions.
        dataset: whose they are.
        plan: names the data set's unit.

    Raises:
        MemreproError: if they are of different questions.
    """
    groups = groups_of_questions(dataset, before["query_id"].tolist(), plan)
    return compare(*paired_values(before, now), groups)
