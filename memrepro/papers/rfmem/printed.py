"""RF-Mem's numbers as printed, and what arithmetic on them alone can check.

Tables 1, 3 to 6 and 11 to 14 are written as data. The checks hold one printed number against others
and against the numbers of questions; no run is behind them.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN, judge
from memrepro.files.atomic import read_yaml
from memrepro.report.tables import Cell, number, write_cells

REPORTED = Path(__file__).with_name("printed.yaml")
_LLM = "no reader has been recorded: needs GPT-4.1-mini's answers"
# Table -> why no number of this project stands beside its cells.
STATIC = {
    "table1": f"{_LLM}; the corpora of 128K and 1M are not in the mirror",
    "table3": "LongMemEval's files are not in the mirror",
    "table4": f"{_LLM} and MemoryBank's summaries",
    "table5": "needs HyDE's pseudo-documents, of a language model that is not named",
    "table6": f"{_LLM} and Search-o1's queries",
    "table11": _LLM,
    "table12": _LLM,
    "table13": _LLM,
    "table14": _LLM,
    "hyperparameters": "describes the runs",
    "text_elsewhere": "no table prints this number",
}
# PersonaBench's questions by kind that have a relevant doc: 230 of 263.
PERSONABENCH = {"Basic": 110, "Social": 53, "Pref Easy": 26, "Pref Hard": 41}
# The number of questions that LongMemEval's printed shares have: see `share_counts`.
LONGMEMEVAL = 419
_TEST = {"table13": ("32k", 189), "table14": ("128k", 727)}
_NOTE = "computed from the paper's own numbers"


class Row(NamedTuple):
    """A printed row of shares: each column's string, and the number of questions behind it."""

    label: str
    shown: dict[str, str]
    sizes: Mapping[str, int]
    overall: str = ""
    # A mean over ten runs is a share in tenths of a question.
    runs: int = 1


@cache
def _reported() -> dict[str, Any]:
    return dict(read_yaml(REPORTED))


def printed_rows(table: str) -> dict[str, dict[str, str]]:
    """A table as printed: row → column → string."""
    entry = _reported()[table]
    columns = [str(c) for c in entry["columns"]]
    return {str(r): dict(zip(columns, c, strict=True)) for r, c in entry["rows"].items()}


def printed_columns(table: str) -> dict[str, dict[str, str]]:
    """A table as printed: column → row → string."""
    found: dict[str, dict[str, str]] = {}
    for row, cells in printed_rows(table).items():
        for column, shown in cells.items():
            found.setdefault(column, {})[row] = shown
    return found


def printed_table(table: str) -> dict[tuple[str, str], str]:
    """A table as printed: (row, column) → string."""
    return {(r, c): shown for r, cells in printed_rows(table).items() for c, shown in cells.items()}


def printed(table: str) -> pd.DataFrame:
    """A table as printed: strings, by row and column."""
    return pd.DataFrame.from_dict(printed_rows(table), orient="index")


def notes(table: str) -> list[str]:
    """What a reader must know of a table's printed numbers."""
    return list(_reported()[table].get("notes", ()))


def as_printed(table: str) -> Iterator[Cell]:
    """The cells of one of the `STATIC` tables."""
    verdict = NOT_COMPARABLE if table == "hyperparameters" else NOT_RUN
    note = "; ".join([STATIC[table], *notes(table)])
    for (row, column), shown in printed_table(table).items():
        yield Cell(row, column, "as printed", shown, "", 0, verdict, note=note)


def with_computed(table: str, computed: Iterable[Cell]) -> list[Cell]:
    """The cells of a `STATIC` table, computed ones in their places, and further rows after them."""
    found = {(cell.row, cell.column): cell for cell in computed}
    kept = [found.pop((cell.row, cell.column), cell) for cell in as_printed(table)]
    return [*kept, *found.values()]


def count(row: str, column: str, shown: str, value: float, note: str = "") -> Cell:
    """A printed count or mean against its value, at two digits."""
    verdict = judge(shown, float(value))
    text = f"{value:.2f}" if isinstance(value, float) else str(value)
    return Cell(row, column, "count", shown, text, 1, verdict.label, verdict.term, note)


def numeric(shown: str) -> float:
    """The number in a printed string, see `bare`."""
    return float(bare(shown))


def bare(shown: str) -> str:
    """The digits of a printed number: '∼', 'ms', a star of significance and commas go."""
    (found,) = re.findall(r"[-+]?\d+(?:\.\d+)?", shown.replace(",", "").split(" (")[0])
    return str(found)


def _sizes(table: str, column: str) -> dict[str, int]:
    """Numbers of questions: type or topic → count, of Table 7 or 8 and one corpus."""
    return {
        row.removeprefix("# of "): int(shown)
        for row, shown in printed_columns(table)[column].items()
        if row.startswith("# of ") and row != "# of samples" and shown != "–"
    }


def samples_of(size: str) -> int:
    """The number of PersonaMem's questions, Table 7."""
    return int(printed_rows("table7")["# of samples"][size])


def arithmetic() -> Iterator[Cell]:
    """What the printed numbers of Tables 1, 3, 7 to 10, 12 to 14 and 17 say of each other."""
    samples, tokens = printed_rows("table7"), printed_columns("table1")["Avg. Tokens"]
    for column in ("32k", "128k", "1M"):
        shown = samples["# of samples"][column]
        for name, of in (("Table 7: sum of types", "table7"), ("Table 8: sum of topics", "table8")):
            yield count(name, column, shown, sum(_sizes(of, column).values()), _NOTE)
        size = column.replace("k", "K")
        memory = float(tokens[f"{size}, Full Context"]) - float(tokens[f"{size}, Zero Memory"])
        shown = samples["Avg tokens of memory"][column]
        yield count("Table 7: tokens of memory by Table 1", column, shown, memory, _NOTE)
    for column, users in printed_columns("table9").items():
        values = [int(users[str(user)]) for user in range(1, 7)]
        yield count("Table 9: sum of users", column, users["Sum"], sum(values), _NOTE)
        yield count("Table 9: mean of users", column, users["Avg"], sum(values) / 6, _NOTE)
    for column, cells in printed_columns("table10").items():
        mean = numeric(cells["Total Session-level Memory"]) / numeric(cells["Total Questions"])
        shown = cells["Avg Session-level Memory per Question"]
        yield count("Table 10: sessions per question", column, shown, mean, _NOTE)
    yield from _learned_gate()
    yield from _routing()
    fits = sorted(share_counts().items(), key=lambda item: -item[1])
    (n, most), (_, second) = fits[:2]
    shown = printed_rows("table10")["Total Questions"]["LongMemEval-s"]
    note = (
        f"{most} of 54 recalls are shares of {n} questions; of 1 to 500, the next best has {second}"
    )
    yield Cell("Table 3: questions", "value", "count", shown, str(n), n, NOT_COMPARABLE, note=note)


def _learned_gate() -> Iterator[Cell]:
    """Tables 12 to 14: sums, and the wins that the paths' right answers leave for training."""
    for table, (size, total) in _TEST.items():
        training, tested = printed_rows("table12")[f"PersonaMem-{size}"], printed_rows(table)
        wins, lost = int(training["Recol. win"]), int(training["Fami. win"])
        kept = bare(training["Training Samples"])
        yield count("Table 12: samples that train", size, kept, wins + lost, _NOTE)
        for row, cells in tested.items():
            if not row.endswith("±"):
                routed = float(cells["Num. of Famili."]) + float(cells["Num. of Recol."])
                yield count(f"Table {table[5:]}: queries of {row}", size, str(total), routed, _NOTE)
        whole = printed_columns("table1")["Overall"]
        direct, deliberate = (
            round(numeric(whole[f"{size.replace('k', 'K')}, {row}"]) * samples_of(size))
            - round(float(tested[part]["Overall"]) * total)
            for row, part in (("Dense Retrieval", "Dense"), ("Recol. (ours)", "Recol."))
        )
        note = f"right answers of Table 1 less those of Table {table[5:]}, with its Fami. wins"
        yield count("Table 12: Recol. wins", size, str(wins), lost + deliberate - direct, note)


def _routing() -> Iterator[Cell]:
    """Table 17: the queries routed, and the time that the routing makes of the paths' times."""
    asked, times = printed_rows("table9")["Sum"]["# of Queries"], printed_columns("table2")
    note = "Table 2's times of the paths, weighted; times of separate runs need not add up"
    for encoder, cells in printed_rows("table17").items():
        routes = {path: int(cells[f"Route→{path}"]) for path in ("Famili.", "Recol.")}
        routed = sum(routes.values())
        yield count("Table 17: queries routed", encoder, asked, routed, _NOTE)
        spent = sum(n * numeric(times["R@5 Time"][f"{encoder} {p}"]) for p, n in routes.items())
        yield Cell(
            "Table 17: time by the routing (ms)", encoder, "time", bare(cells["Time"]),
            f"{spent / routed:.2f}", 1, NOT_COMPARABLE, note=note,
        )  # fmt: skip


def share_counts(table: str = "table3", largest: int = 500) -> dict[int, int]:
    """Number of questions → how many of a table's shares it can give, cut off or rounded."""
    shown = [s for (_, c), s in printed_table(table).items() if "Recall" in c]
    return {
        n: sum(judge(s, round(float(s) * n) / n).label != "not reproduced" for s in shown)
        for n in range(1, largest + 1)
    }


def held_out_sizes(table: str) -> list[dict[str, int]]:
    """The numbers of questions by type that give Table 13's or 14's shares and their total.

    Recol. of Table 13 is left out: one of its shares stands twice, and no size has both.
    """
    size, total = _TEST[table]
    known, rows = _sizes("table7", size), printed_rows(table)
    fits = [
        [
            n
            for n in range(1, most + 1)
            if all(
                judge(s, round(float(s) * n) / n).label == "exact"
                for s in (rows["Dense"][kind], rows["RF-Mem"][kind])
            )
        ]
        for kind, most in known.items()
    ]
    return [
        dict(zip(known, sizes, strict=True))
        for sizes in itertools.product(*fits)
        if sum(sizes) == total
    ]


def _rows_of_answers() -> Iterator[Row]:
    """PersonaMem's rows, Tables 1, 4, 6, 11, 13 and 14: right answers by type or topic."""
    for table in ("table1", "table4", "table6"):
        for row, cells in printed_rows(table).items():
            size = row.split(", ")[0].replace("K", "k") if table == "table1" else "32k"
            if cells["Overall"] != "OOC":
                yield _row(f"Table {table[5:]}, {row}", cells, _sizes("table7", size))
    for column, cells in printed_columns("table11").items():
        yield _row(f"Table 11, {column}", cells, _sizes("table8", column.split(", ")[0]))
    for table in _TEST:
        (sizes,) = held_out_sizes(table)
        for row, cells in printed_rows(table).items():
            if not row.endswith("±"):
                runs = 10 if "Learned" in row else 1
                yield _row(f"Table {table[5:]}, {row}", cells, sizes, runs)


def _row(label: str, cells: dict[str, str], sizes: dict[str, int], runs: int = 1) -> Row:
    return Row(label, {kind: cells[kind] for kind in sizes}, sizes, cells["Overall"], runs)


def shares() -> Iterator[Cell]:
    """Each printed share against the nearest that its number of questions can give."""
    rows = list(_rows_of_answers())
    for row, cells in printed_rows("table3").items():
        found = {column: shown for column, shown in cells.items() if "Recall" in column}
        rows.append(Row(f"Table 3, {row}", found, dict.fromkeys(found, LONGMEMEVAL)))
    for label, shown, sizes, _, runs in rows:
        note = "in tenths of a question: a mean over ten runs" if runs > 1 else ""
        for column, share in shown.items():
            n = sizes[column] * runs
            value = round(float(share) * n) / n
            verdict = judge(share, value)
            yield Cell(label, column, "share", share, number(value), sizes[column], *verdict, note)


def overalls() -> Iterator[Cell]:
    """Each printed overall against the mean of its row's parts, weighted by their questions."""
    for row in _rows_of_answers():
        right = [round(float(row.shown[k]) * n * row.runs) for k, n in row.sizes.items()]
        asked = sum(row.sizes.values())
        value, shown = sum(right) / row.runs / asked, row.overall.rstrip("*")
        verdict = judge(shown, value)
        yield Cell(row.label, "Overall", "mean of parts", shown, number(value), asked, *verdict)
    for table in ("table2", "table5", "table15", "table16"):
        for name, cells in printed_rows(table).items():
            for k in (5, 10):
                yield _overall_recall(f"Table {table[5:]}, {name}", k, cells)


def _overall_recall(row: str, k: int, cells: dict[str, str]) -> Cell:
    shown = cells[f"R@{k} Overall"]
    parts = [cells[f"R@{k} {kind}"] for kind in PERSONABENCH]
    value, asked = _weighted(parts), sum(PERSONABENCH.values())
    # The parts are rounded too: a mean of theirs is good to one unit of the last digit.
    label, term = judge(shown, value)
    note = ""
    if label == "not reproduced":
        orders = [
            order
            for order in sorted(set(itertools.permutations(parts)))
            if judge(shown, _weighted(order)).label != "not reproduced"
        ]
        note = "no order of the four parts gives it"
        if orders:
            ordered = "; ".join(
                ", ".join(f"{kind} {part}" for kind, part in zip(PERSONABENCH, order, strict=True))
                for order in orders
            )
            note = f"{row}, R@{k}: given by {ordered} ({number(_weighted(orders[0]))})"
    column = f"R@{k} Overall"
    return Cell(row, column, "mean of parts", shown, number(value), asked, label, term, note)


def _weighted(parts: Sequence[str]) -> float:
    sizes = PERSONABENCH.values()
    return sum(float(p) * n for p, n in zip(parts, sizes, strict=True)) / sum(sizes)


def build(folder: Path, computed: Mapping[str, Iterable[Cell]] | None = None) -> list[Path]:
    """Write the static tables and the checks; return the paths.

    Args:
        folder: where to.
        computed: table → cells that a run has, for tables of which most cells have none.
    """
    by_table = computed or {}
    return [
        *(
            path
            for table in STATIC
            for path in write_cells(with_computed(table, by_table.get(table, ())), folder, table)
        ),
        *write_cells(arithmetic(), folder, "arithmetic"),
        *write_cells(overalls(), folder, "overalls"),
        *write_cells(shares(), folder, "shares"),
    ]
