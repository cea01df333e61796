"""A benchmark's questions and their evidence, counted: LongMemEval's Figure 9.

Figure 9 comes from qrels; it has (a) the question types, (b) the number of evidence sessions a
question has, and (c) the place of the evidence within its session; abstentions are left out of
both. (c) needs round ids that tell the place, as those of LongMemEval's schema do:
`<session_id>_<position of the round's first turn, from 1>`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from memrepro.audit.documents import printed_rows
from memrepro.audit.tables import reference
from memrepro.audit.verdicts import DIRECTION, NOT_COMPARABLE, NOT_REPRODUCED, judge
from memrepro.core.prepared import load_qrels
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report import figures
from memrepro.report.panels import COLOURS, stacked
from memrepro.report.tables import Cell, number, write_cells

TYPES, SESSIONS, ROUNDS = "question type", "evidence sessions", "round of the evidence"
_AXES = {TYPES: "questions", SESSIONS: "questions", ROUNDS: "evidence statements"}
_COLUMNS = ["panel", "value", "count", "share"]
_MOST = "share above one half"


def _has_places(dataset: str) -> bool:
    """Whether a data set's round ids tell the place in the session, as LongMemEval's schema has."""
    return dataset == "sample" or dataset.startswith("longmemeval")


def _is_whole_benchmark(dataset: str) -> bool:
    """Whether the printed counts are those of this data set, and not of a larger one."""
    return dataset.startswith("longmemeval-") and not dataset.endswith("-e47becba")


def asked_types(profile: str, dataset: str) -> dict[str, str]:
    """Query id → question type of the abstentions, whose kind does not say it."""
    path = paths.types(profile, dataset)
    if not path.is_file():
        return {}
    table = read_table(path)
    return dict(zip(table["query_id"], table["type"], strict=True))


def round_number(round_id: str) -> int:
    """The place of a round in its session, from 1.

    The position counts both roles: rounds begin at 1, 3, 5, …, or, where the assistant opens the
    session, at 1, 2, 4, ….
    """
    return int(round_id.rsplit("_", 1)[1]) // 2 + 1


def counts(profile: str, dataset: str) -> pd.DataFrame:
    """Figure 9's bars: `panel, value, count, share` (of the panel's sum), panel by panel."""
    path = paths.qrels(profile, dataset)
    kinds, sessions = load_qrels(path, "session")
    answered = [parts for q, parts in sessions.items() if kinds[q] != "abstention"]
    panels: dict[str, Mapping[Any, int]] = {
        TYPES: dict(Counter(kinds.values()).most_common()),
        SESSIONS: _with_gaps(Counter(map(len, answered))),
    }
    if _has_places(dataset):
        _, rounds = load_qrels(path, "round")
        gold = [i for q, ps in rounds.items() if kinds[q] != "abstention" for p in ps for i in p]
        panels[ROUNDS] = _with_gaps(Counter(map(round_number, gold)))
    rows = [
        (panel, str(value), count, count / sum(bars.values()))
        for panel, bars in panels.items()
        for value, count in bars.items()
    ]
    return pd.DataFrame(rows, columns=_COLUMNS)


def _with_gaps(counted: Mapping[int, int]) -> dict[int, int]:
    """Every number from 1 to the largest, so that a gap is drawn as one."""
    return {n: counted.get(n, 0) for n in range(1, max(counted, default=0) + 1)}


def _draw(data: pd.DataFrame, title: str) -> Figure:
    """Figure 9's panels: two, or three where there are places."""
    panels = list(dict.fromkeys(data["panel"]))
    figure, axes = stacked([1.5] * len(panels), 0.6)
    for letter, axis, panel in zip("abc", axes, panels, strict=False):
        bars = data[data["panel"] == panel]
        across = panel == TYPES
        x, y = ("count", "value") if across else ("value", "count")
        sns.barplot(bars, x=x, y=y, color=COLOURS[0], ax=axis)
        axis.bar_label(axis.containers[0], padding=2, fontsize=8)
        axis.grid(visible=False)
        axis.margins(**{"x" if across else "y": 0.12})
        axis.set_title(f"({letter}) {panel}, n = {bars['count'].sum()}")
        axis.set_xlabel(_AXES[panel] if across else panel)
        axis.set_ylabel("" if across else _AXES[panel])
    figure.suptitle(title)
    return figure


def by_type(profile: str, dataset: str) -> Iterator[Cell]:
    """The number of questions by type, beside LongMemEval's where the data set is all of it."""
    kinds, _ = load_qrels(paths.qrels(profile, dataset), "session")
    here = Counter(kinds.values())
    abstentions = here.pop("abstention", 0)
    asked = here + Counter(asked_types(profile, dataset).values())
    shown = printed_rows("longmemeval", "figure9")
    columns = with_them, without_them = list(shown["all"])
    told = printed_rows("longmemeval", "figure9_text")["abstention questions"]["printed"]
    shown["abstention"] = {with_them: told, without_them: ""}
    types = [kind for kind in shown if kind not in ("all", "abstention")]
    types += [kind for kind in here if kind not in types]
    # Row, and what there is of it with and without abstentions.
    table: list[tuple[str, int, int | None]] = [(kind, asked[kind], here[kind]) for kind in types]
    table += [("abstention", abstentions, None), ("all", len(kinds), sum(here.values()))]
    for row, *values in table:
        for column, value in zip(columns, values, strict=True):
            whole = _is_whole_benchmark(dataset) and row in shown
            known = shown[row][column] if whole else ""
            if value is not None:
                label, term = judge(known, value) if known else (NOT_COMPARABLE, "")
                place = reference("figure9", row, column)
                if row == "abstention":
                    place = reference("figure9_text", "abstention questions")
                yield Cell(row, column, "questions", known, str(value), value, label, term,
                           printed=place if known else "")  # fmt: skip


def claims(profile: str, dataset: str) -> Iterator[Cell]:
    """What the text says of Figure 9: up to six sessions, mostly several, mostly at the start."""
    data = counts(profile, dataset)
    sessions, rounds = (data[data["panel"] == panel] for panel in (SESSIONS, ROUNDS))
    several, first = sessions[sessions["value"] != "1"], rounds[rounds["value"] == "1"]
    start = f"{_MOST}; the beginning is read as the first round"
    checked = [
        ("most evidence sessions of a question", float(len(several) + 1), sessions, ""),
        ("questions that need several sessions", float(several["share"].sum()), sessions, _MOST),
        ("evidence statements at the beginning of the chat", float(first["share"].sum()), rounds,
         start),
    ]  # fmt: skip
    text = printed_rows("longmemeval", "figure9_text")
    for row, value, panel, note in checked:
        shown, label, term = text[row]["printed"], NOT_COMPARABLE, ""
        if not _is_whole_benchmark(dataset):
            shown = ""
        elif shown == "most":
            label, term = (DIRECTION if value > 0.5 else NOT_REPRODUCED), _MOST
        else:
            label, term = judge(shown, value)
        n = int(panel["count"].sum())
        yield Cell(row, "value", "claim", shown, number(value), n, label, term, note,
                   printed=reference("figure9_text", row) if shown else "")  # fmt: skip


def write_statistics(profile: str, dataset: str, folder: Path) -> list[Path]:
    """Write the figure and, in LongMemEval's schema, both tables; return the paths."""
    data = counts(profile, dataset)
    title = dataset if _is_whole_benchmark(dataset) else f"{dataset} (not LongMemEval's Figure 9)"
    written = figures.save(lambda: _draw(data, title), data, folder, f"{dataset}_figure9")
    if _has_places(dataset):
        written += write_cells(by_type(profile, dataset), folder, f"{dataset}_types")
        written += write_cells(claims(profile, dataset), folder, f"{dataset}_figure9_text")
    return written
