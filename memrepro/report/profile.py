"""What every report needs of a profile: its metrics, paired differences, excluded questions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from memrepro.core.prepared import load_evidence_fields
from memrepro.core.similarity import Doubles
from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import Comparison, compare
from memrepro.files.atomic import open_table
from memrepro.files.cached import until_changed
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


# Query id → whose words its gold is.
evidence_fields = until_changed(8)(load_evidence_fields)


class Metrics:
    """The per-question values of a profile's experiments."""

    def __init__(self, profile: str) -> None:
        self._places, self._names, self._values = _laid_out(metrics_file(profile))
        self._settings: dict[str, dict[str, None]] = {}  # in order, as sets have none
        self._asked: dict[tuple[str, str, str], slice] = {}
        for (experiment, setting, level, *_), (asked, *_) in self._places.items():
            self._settings.setdefault(experiment, {})[setting] = None
            self._asked[experiment, setting, level] = asked
        self.experiments = frozenset(self._settings)

    def settings(self, experiment: str) -> list[str]:
        """The settings of an experiment that were run, in order; none if it was not."""
        return list(self._settings.get(experiment, ()))

    def questions(self, experiment: str, setting: str, level: str) -> frozenset[str]:
        """The questions of an experiment that were evaluated by a level; none if it was not."""
        names, codes = self._names["query_id"]
        asked = self._asked.get((experiment, setting, level), slice(0))
        return frozenset(names.take(codes[asked]))

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
            there = [str(one[4]) for one in self._places if one[:4] == key[:4]]
            raise MemreproError(
                f"no {metric}@{k} of {experiment!r} {setting!r} by {level}: "
                + (f"its k are {', '.join(there)}" if there else "run `dvc repro`")
            )
        asked, part, rows = self._places[key]
        found = {name: names.take(codes[asked]) for name, (names, codes) in self._names.items()}
        return pd.DataFrame({**found, "value": self._values.of_part(part)[rows]})


_CODED = pa.dictionary(pa.int32(), pa.string())


class _Values:
    """The values of a metrics file, each part (row group) read when it is first asked for."""

    def __init__(self, path: Path) -> None:
        self._file, self._parts = pq.ParquetFile(path), dict[int, Doubles]()

    def of_part(self, part: int) -> Doubles:
        """The values of all rows of a part, one after the other."""
        if part not in self._parts:
            lists = self._file.read_row_group(part, columns=["value"]).column(0)
            self._parts[part] = lists.combine_chunks().flatten().to_numpy()
        return self._parts[part]


@until_changed(2)  # a report asks for them in many places, of a file of millions of rows
def _laid_out(path: Path) -> tuple[dict[Any, Any], dict[str, Any], _Values]:
    """A metrics file: the places of each row's questions and values, by its key; what lies there.

    Args:
        path: of the file, see `study.evaluation.metrics_table`.

    Returns:
        `experiment, setting, level, metric, k` → the slice of its questions, the part of the file
        that has its values, and their slice there; `query_id` and `kind` → texts and the number of
        each question's; the values.
    """
    keys, named = ["experiment", "setting", "level", "metric", "k"], ["query_id", "kind"]
    texts = [f"{name}.list.element" for name in named]
    places: dict[Any, Any] = {}
    coded: dict[str, list[Any]] = {name: [] for name in named}
    rows, before, asked = 0, 0, (0, 0)
    with open_table(path, texts) as file:
        for part in range(file.num_row_groups):
            table = file.read_row_group(part, columns=[*keys, *named])
            lists = {name: table[name].combine_chunks() for name in named}
            new = lists["query_id"].is_valid().to_pylist()
            ends, last = _ends(lists["query_id"]).tolist(), 0
            for row, key in enumerate(
                zip(*(table[name].to_pylist() for name in keys), strict=True)
            ):
                if new[row]:  # else they are those of the row above
                    asked = (before + ends[row], before + ends[row + 1])
                n = asked[1] - asked[0]
                places[key] = (slice(*asked), part, slice(last, last + n))
                last += n
            rows, before = rows + len(table), before + ends[-1]
            for name in named:
                coded[name].append(lists[name].flatten())
    if len(places) < rows:
        raise MemreproError(f"{path} has two rows of one metric: delete it, it is made anew")
    names = {}
    for name, parts in coded.items():
        one = (
            pa.chunked_array(parts, None if parts else _CODED).unify_dictionaries().combine_chunks()
        )
        known = pd.array(one.dictionary.to_pylist(), "str")
        names[name] = (known, one.indices.to_numpy(zero_copy_only=False))
    return places, names, _Values(path)


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
