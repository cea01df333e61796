"""Time-aware retrieval: which questions got a range, and how often it was wrong."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.core.prepared import load_dates, load_qrels, load_ranges
from memrepro.evaluate.comparison import Comparison
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report.runs import Runs
from memrepro.report.sources import FileSource, RunSource, write_sources
from memrepro.report.specs import Spec, fill, spell
from memrepro.report.tables import Cell, number, write_cells
from memrepro.study.params import load_plan

MARGIN = 2  # days on both sides, as the official filter widens a range
_DATES = {
    "dated events": ("nlp",),
    "session times": ("said",),
    "both": ("nlp", "said"),
    "recorded events": ("recorded",),
    "recorded events and session times": ("recorded", "said"),
}


def covered(profile: str, dataset: str, sources: tuple[str, ...]) -> pd.DataFrame:
    """The questions that got a range: `query_id, kind, gold, inside`.

    `gold` is the number of the gold sessions, `inside` of those that the widened range keeps.
    """
    dates = load_dates(paths.dates(profile, dataset), sources)
    kinds, gold = load_qrels(paths.qrels(profile, dataset), "session")
    rows = []
    for one in load_ranges(paths.ranges(profile, dataset), "nlp"):
        sessions = {session for part in gold.get(one.query_id, ()) for session in part}
        first, last = one.start - MARGIN, one.end + MARGIN
        inside = [
            s
            for s in sessions
            if any(a <= last and b >= first for a, b in dates.get((one.memory_id, s), []))
        ]
        rows.append((one.query_id, kinds[one.query_id], len(sessions), len(inside)))
    return pd.DataFrame(rows, columns=["query_id", "kind", "gold", "inside"])


def ranges(profile: str, dataset: str) -> Iterator[Cell]:
    """By question type: the share that got a range, and of those the share that it harms.

    A range is wrong if it leaves out a gold session, by each of the sources of dates.
    """
    kinds, _ = load_qrels(paths.qrels(profile, dataset), "session")
    asked = pd.Series(kinds)
    known = set(read_table(paths.dates(profile, dataset))["source"])
    tables = {
        name: covered(profile, dataset, sources)
        for name, sources in _DATES.items()
        if known >= set(sources)
    }
    for kind in [*asked.unique(), "all"]:
        n = len(asked) if kind == "all" else int((asked == kind).sum())
        for number_of, (name, table) in enumerate(tables.items()):
            part = table if kind == "all" else table[table["kind"] == kind]
            if number_of == 0:
                yield Cell(kind, "questions", "count", "", str(n), n, NOT_COMPARABLE)
                share = number(len(part) / n)
                yield Cell(kind, "got a range", "share", "", share, n, NOT_COMPARABLE)
            part = part[part["gold"] > 0]
            if len(part):
                wrong = number(float((part["inside"] < part["gold"]).mean()))
                column = f"wrong by {name}"
                yield Cell(kind, column, "share", "", wrong, len(part), NOT_COMPARABLE)


def of_those_with_a_range(runs: Runs, table: Spec) -> Iterator[Cell]:
    """The table of the time filter on the questions that got a range: no other ranking changes."""
    profile, dataset = load_plan().dataset(table["dataset"]).profile, table["dataset"]
    path = paths.ranges(profile, dataset)
    asked = {one.query_id for one in load_ranges(path, "nlp")}
    file = FileSource(path.relative_to(paths.results(profile)).as_posix())
    for level in table["over"]["level"]:
        plain, timed = (fill("{stem}", table) + f"-{level}-{what}" for what in ("keys", "time"))
        for setting in runs.settings(timed):
            row = f"Value = {level}, {spell(setting, table['spell'])}, questions that got a range"
            for column in (
                "recall_all@5",
                "ndcg_longmemeval@5",
                "recall_all@10",
                "ndcg_longmemeval@10",
            ):
                metric, k = column.split("@")
                before, now = (
                    RunSource(run, setting, level, metric, int(k)) for run in (plain, timed)
                )
                old, new = (runs.values(place) for place in (before, now))
                if old is None or new is None:
                    continue
                old, new = (one[one["query_id"].isin(asked)] for one in (old, new))
                if new.empty:
                    continue
                shown: dict[str, tuple[str | Comparison, list[RunSource]]] = {
                    column: (number(float(old["value"].mean())), [before]),
                    f"{column}, filtered by nlp and said": (
                        number(float(new["value"].mean())),
                        [now],
                    ),
                    f"{column}, change": (runs.compare(plain, old, new), [before, now]),
                }
                for name, (found, sources) in shown.items():
                    cell = Cell(
                        row, name, column, "", "", len(new), NOT_COMPARABLE,
                        note="of the questions with a range alone",
                        sources=write_sources([*sources, file]),
                    )  # fmt: skip
                    yield cell.filled(found)


def write_ranges(profile: str, dataset: str, folder: Path) -> list[Path]:
    """Write the table of ranges of a data set; return the paths."""
    read = (paths.qrels, paths.ranges, paths.dates)
    root = paths.results(profile)
    files = [of(profile, dataset).relative_to(root).as_posix() for of in read]
    sources = write_sources(map(FileSource, files))
    cells = (cell._replace(sources=sources) for cell in ranges(profile, dataset))
    return write_cells(cells, folder, f"{dataset}_ranges")
