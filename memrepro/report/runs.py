"""The runs of a profile as tables and claims ask for them: values, or why there are none."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from memrepro.core.ranking import COLUMNS
from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import Comparison, Groups
from memrepro.evaluate.metrics import METRICS, coded
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report.profile import EVIDENCE, Metrics, compare_values, evidence_fields, of_kind
from memrepro.report.sources import FileSource, RunSource
from memrepro.study.groups import groups_of_questions
from memrepro.study.params import Experiment, Plan

_REMEMBERED = 512  # values of places


class Runs:
    """The evaluated runs of one profile, or of several, the first that has a run first."""

    def __init__(self, profiles: Sequence[str], plan: Plan) -> None:
        self.profile, self._plan = profiles[-1], plan
        self._profiles = {name: Metrics(name) for name in profiles}
        self.planned: Mapping[str, Experiment] = {**plan.experiments, **plan.sweeps}
        self._home = {name: entry.profile for name, entry in plan.datasets.items()}
        self._tables: dict[str, pd.DataFrame] = {}
        self._sizes: dict[Path, list[dict[Any, Any]]] = {}
        # A cell asks several times, and its row's other cells ask for the same.
        self.values = lru_cache(maxsize=_REMEMBERED)(self._values)

    def _profile_and_metrics(self, run: str) -> tuple[str, Metrics]:
        found = [(n, m) for n, m in self._profiles.items() if run in m.experiments]
        return found[0] if found else next(iter(self._profiles.items()))

    def settings(self, run: str) -> list[str]:
        """The settings of a run that were evaluated, in order; [''] where it is no sweep."""
        return self._profile_and_metrics(run)[1].settings(run)

    def why_not(self, run: str, setting: str = "") -> str:
        """Why a run has no values under a setting; '' where it has."""
        if run not in self.planned:
            return f"{run} is not in params.yaml"
        if setting not in self.settings(run):
            return f"{' '.join([run, setting]).strip()} has not been run"
        return ""

    def _values(self, place: RunSource) -> pd.DataFrame | None:
        """`query_id, kind, value`, to be read alone; None where the run was not evaluated so.

        Evaluation leaves cut-offs out that are beyond a run's list.

        Raises:
            MemreproError: for a metric that is none.
        """
        run, setting, level, metric, k, kind = place
        if metric not in METRICS:
            raise MemreproError(f"unknown metric {metric!r}: known are {', '.join(METRICS)}")
        if kind:
            found = self.values(place._replace(kind=""))
            return None if found is None else of_kind(found, kind, lambda: self.qrels(run))
        try:
            return self._profile_and_metrics(run)[1].values(run, level, metric, k, setting)
        except MemreproError:
            return None

    def compare(self, run: str, before: pd.DataFrame, now: pd.DataFrame) -> Comparison:
        """Two lists of values of the questions of a run's data set, by its unit.

        Args:
            run: on the data set.
            before: `query_id, kind, value`.
            now: the same of the same questions.
        """
        return compare_values(before, now, self.planned[run].dataset, self._plan)

    def groups(self, run: str, query_ids: Sequence[str]) -> Groups:
        """What is resampled of these questions of a run's data set."""
        return groups_of_questions(self.planned[run].dataset, query_ids, self._plan)

    def kinds(self, place: RunSource, each: str) -> list[str]:
        """The kinds of question that a run's values have: by 'kind', or by their 'evidence'."""
        found = self.values(place._replace(kind=""))
        if found is None:
            return []
        if each == "evidence":
            fields = found["query_id"].map(evidence_fields(self.qrels(place.run))).dropna()
            return [EVIDENCE + field for field in sorted(fields.unique())]
        return sorted(found["kind"].unique())

    def qrels(self, run: str) -> Path:
        """The gold of a run's data set."""
        dataset = self.planned[run].dataset
        return paths.qrels(self._home[dataset], dataset)

    def docs(self, run: str, setting: str) -> float | None:
        """How many docs a query is given, on average; None where the run's file is not there."""
        path, metrics = self._path(run), self._profile_and_metrics(run)[1]
        asked = metrics.questions(run, setting, self.planned[run].granularity)
        if not path.is_file() or not asked:
            return None
        if run not in self._tables:
            self._tables = {run: read_table(path, ["setting", "query_id"])}  # as codes: fast
        table = self._tables[run]
        if setting and "setting" in table:
            table = table[table["setting"] == setting]
        return float(table["query_id"].isin(asked).sum()) / len(asked)

    def ranking(self, run: str, setting: str = "") -> pd.DataFrame:
        """`query_id, doc_id` of a run under a setting, in order of rank for each question."""
        table = read_table(self._path(run))
        if "setting" in table:
            table = table[table["setting"] == setting]
        return table.sort_values(["query_id", "rank"], kind="stable")[["query_id", "doc_id"]]

    def key_sizes(self, run: str, setting: str) -> tuple[Mapping[Any, Any], FileSource] | None:
        """The sizes of a run's keys under a setting, and their file; None where it has none."""
        one = self.planned[run].variants()[setting]
        profile = self._profile_and_metrics(run)[0]
        path = paths.key_sizes(profile, one.study)
        if path not in self._sizes and path.is_file():
            self._sizes[path] = read_table(path).to_dict("records")
        for row in self._sizes.get(path, ()):
            if all(row[name] == value for name, value in one.searched.items()):
                return row, FileSource(path.relative_to(paths.results(profile)).as_posix())
        return None

    def _path(self, run: str) -> Path:
        return paths.run(self._profile_and_metrics(run)[0], run, self.planned[run].study)

    def file(self, run: str) -> FileSource:
        """The file of a run's rankings, for a cell's sources."""
        profile = self._profile_and_metrics(run)[0]
        return FileSource(self._path(run).relative_to(paths.results(profile)).as_posix())


def check_order(path: Path, run: pd.DataFrame) -> None:
    """Refuse a ranking whose rows stand in another order than its ranks; other tables pass.

    Roll-ups and budgets of tokens go by the order of rows.

    Args:
        path: that it is from.
        run: its rows; fastest where the ids are categories.

    Raises:
        MemreproError: naming the first row of which that is so; or for ids that are numbers.
    """
    if {*run} - {"setting"} != {*COLUMNS}:
        return
    numbers = {str(name) for name in run if pd.api.types.is_integer_dtype(run[name])}
    if numbers != {"rank"}:
        raise MemreproError(
            f"{path}: its whole numbers are {', '.join(sorted(numbers)) or 'none'}, and must be "
            "rank: it was edited; make it again by `dvc repro`"
        )
    lists = np.zeros(len(run), np.int64)
    for name in {*run} & {"setting", "query_id"}:
        codes, known = coded(run[name])
        lists = lists * len(known) + codes
    order = np.argsort(lists, kind="stable")
    lists, rank = lists[order], run["rank"].to_numpy()[order]
    if (wrong := np.flatnonzero((lists[1:] == lists[:-1]) & (rank[1:] <= rank[:-1]))).size:
        row = order[wrong[0] + 1]
        raise MemreproError(
            f"{path}, row {row + 1}: the question {run['query_id'].iloc[row]!r} has the rank "
            f"{run['rank'].iloc[row]} below {rank[wrong[0]]}: a list's rows must stand in order of "
            "rank, each rank once; it was edited: make it again by `dvc repro`"
        )
