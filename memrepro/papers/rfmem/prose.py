"""What RF-Mem's prose says of its tables, checked by the tables; and what is printed twice."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from memrepro.audit.verdicts import judge
from memrepro.files.atomic import write_table
from memrepro.papers.rfmem.printed import bare, numeric, printed, printed_rows, samples_of
from memrepro.report.tables import Cell, number, write_cells

_SIZES = ("32k", "128k", "1M")
_ENCODERS = ("multi-qa-MiniLM", "mpnet", "bge-base")
_GRAPH = "Graph + Breadth-First Search"


def text() -> Iterator[Cell]:
    """What the prose says of the tables, from the tables."""
    for row, (shown, table, of, less, column) in _of_the_text():
        cells = printed_rows(table)
        value = numeric(cells[of][column]) - (numeric(cells[less][column]) if less else 0.0)
        source = f"Table {table[5:]}: {of}{f' less {less}' if less else ''}, {column}"
        yield _said(row, shown, value / (1000 if shown.endswith("k") else 1), source)
    computed = {**_ranges(), **_splits()}
    for row, said in printed_rows("text_computed").items():
        yield _said(row, said["printed"], *computed[row])


def _of_the_text() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Row → printed, table, row, row to take off it ('': none), column."""
    for row, cells in printed_rows("text").items():
        yield row, tuple(cells.values())


def _said(row: str, shown: str, value: float, note: str) -> Cell:
    # A difference of two four-digit numbers has no more digits than that.
    value = round(value, 6)
    label, term = judge(bare(shown), value)
    return Cell(row, "value", "text", shown, number(value), 1, label, term, note)


def _ranges() -> dict[str, tuple[float, str]]:
    """The least and the most time of each path, over encoders and cut-offs or sizes."""
    found: dict[str, tuple[float, str]] = {}
    for data, table in (("PersonaBench", "table2"), ("LongMemEval", "table3")):
        shown = printed(table).filter(like="Time").map(numeric)
        for path, start in (("Familiarity", "Fami"), ("Recollection", "Recol"), ("RF-Mem", "RF")):
            times = shown.filter(regex=f" {start}", axis=0).to_numpy()
            for extreme, value in (("least", times.min()), ("most", times.max())):
                row = f"§3.3: {data}, {path}, {extreme} time (ms)"
                found[row] = float(value), f"Table {table[5:]}, all encoders"
    return found


def _splits() -> dict[str, tuple[float, str]]:
    """D.6's samples for training and evaluation."""
    found: dict[str, tuple[float, str]] = {}
    for size in _SIZES[:2]:
        row = printed_rows("table12")[f"PersonaMem-{size}"]
        trained = sum(int(row[c]) for c in ("Fami. win", "Recol. win", "Tie"))
        found[f"D.6: samples for training, {size}"] = trained, "wins and ties of Table 12"
        rest = samples_of(size) - trained
        found[f"D.6: samples for evaluation, {size}"] = rest, "Table 7 less Table 12"
    return found


def claims() -> Iterator[Cell]:
    """What the prose claims of all of something: in how many of the cases it holds."""
    held = {**_of_paths(), **_of_means()}
    for row, said in printed_rows("text_claims").items():
        cases = held[row]
        label = "exact" if all(cases) else "not reproduced"
        n, held_in = len(cases), f"{sum(cases)} of {len(cases)}"
        yield Cell(row, "value", "cases", said["printed"], held_in, n, label, "all cases must hold")


def _numbers(table: str) -> pd.DataFrame:
    """A table's accuracies and recalls; nan where it has none."""
    frame = printed(table)
    kept = frame[[c for c in frame.columns if not re.search("Time|Tokens", c)]]
    return kept.replace({r"\*": "", "^-$": None, "OOC": None}, regex=True).astype(float)


def _gaps(frame: pd.DataFrame, row: str, other: str) -> list[float]:
    """By column, a row less another; rounded, so that equal is equal."""
    gaps = frame.loc[row].to_numpy(float) - frame.loc[other].to_numpy(float)
    return [round(float(gap), 4) for gap in gaps]


def _of_paths() -> dict[str, list[bool]]:
    """The claims on Tables 1 to 3, 5, 11 and 17."""
    accuracy, memory, topics = (_numbers(f"table{n}") for n in (1, 3, 11))
    best = [
        accuracy["Overall"].filter(regex=f"^{s.upper()},").idxmax() for s in ("32k", "128k", "1m")
    ]
    early = memory[[c for c in memory.columns if c.endswith("@5")]]
    lifts = [g for e in _ENCODERS for g in _gaps(early, f"{e} Recol.", f"{e} Fami.")]
    deep = memory.filter(like="@50").filter(like="Recol.", axis=0).to_numpy().ravel()
    routes = printed("table17")[["R@5 Overall", "Route→Recol."]].astype(float).to_numpy().tolist()

    def of_topic(topic: str) -> list[bool]:
        row = topics.loc[topic]
        return [bool(row[f"{s}, Recol."] > row[f"{s}, Famili."]) for s in _SIZES]

    return {
        "§3.2: RF-Mem has the best overall (Table 1)": ["RF-Mem" in str(row) for row in best],
        "§3.3: RF-Mem matches or surpasses the best overall (Table 2)": [
            gap >= 0
            for e in _ENCODERS
            for path in ("Famili.", "Recol.")
            for gap in _gaps(
                _numbers("table2").filter(like="Overall"), f"{e} RF-Mem", f"{e} {path}"
            )
        ],
        "§3.3: Recollection lifts Recall@5 by more than 0.02 (Table 3)": [g > 0.02 for g in lifts],
        "§3.3: Recollection reaches perfect Recall@50 (Table 3)": [bool(r == 1) for r in deep],
        "§3.3: RF-Mem matches or exceeds (Table 3)": [
            gap >= 0
            for e in _ENCODERS
            for path in ("Fami.", "Recol.")
            for gap in _gaps(memory, f"{e} RF-Mem", f"{e} {path}")
        ],
        "§3.4.2: RF-Mem matches or surpasses Familiarity (Table 5)": [
            gap >= 0
            for gap in _gaps(
                _numbers("table5"), "multi-qa-MiniLM RF-Mem", "multi-qa-MiniLM Famili."
            )
        ],
        **{
            f"D.1: Recollection surpasses Familiarity in {name} (Table 11)": of_topic(topic)
            for name, topic in (
                ("family relations", "Family Relations"),
                ("therapy", "Therapy"),
                ("dating consultation", "Dating Consult"),
            )
        },
        "D.1: RF-Mem outperforms both, ties among it (Table 11)": [
            bool(row[f"{s}, RF-Mem"] >= max(row[f"{s}, Famili."], row[f"{s}, Recol."]))
            for _, row in topics.drop("Overall").iterrows()
            for s in _SIZES
            if row[f"{s}, RF-Mem"] > 0
        ],
        "D.10: stronger retrievers route more to recollection (Table 17)": [
            (a[0] > b[0]) == (a[1] > b[1]) for a, b in itertools.combinations(routes, 2)
        ],
    }


def _of_means() -> dict[str, list[bool]]:
    """The claims on the overall recalls of Tables 15 and 16, by both cut-offs."""
    means, full = (_numbers(f"table{n}").filter(like="Overall") for n in (15, 16))
    dense, kmeans = "Basic KMeans", "Basic KMeans (Fully Exploration)"
    graph, alternative = f"{_GRAPH} (Fully Exploration)", "(KMeans alternative)"

    def over(block: str) -> list[bool]:
        return [gap > 0 for gap in _gaps(means, f"{block}, RF-Mem", f"{block}, Recol.")]

    def more(frame: pd.DataFrame, block: str, other: str) -> list[bool]:
        rows = (f"{block}, {path}" for path in ("Recol.", "RF-Mem"))
        return [gap > 0 for row in rows for gap in _gaps(frame, row, f"{other}, Famili.")]

    return {
        "D.8.1: RF-Mem improves over Recollection, DBSCAN (Table 15)": over(
            f"DBSCAN cluster {alternative}"
        ),
        "D.8.2: RF-Mem improves over Recollection, Spectral (Table 15)": over(
            f"Spectral cluster {alternative}"
        ),
        "D.8.3: gated mixing improves over Familiarity (Table 15)": more(
            means, "Gate (α-mix alternative)", dense
        ),
        "D.8.4: RF-Mem improves over Recollection, graph (Table 15)": over(
            f"{_GRAPH} (whole alternative)"
        ),
        "D.9: RF-Mem improves by full exploration (Table 16)": [
            gap > 0
            for block in (kmeans, graph)
            for gap in _gaps(
                full,
                f"{block}, RF-Mem",
                f"{block.replace('Fully Exploration', 'Early-Stop')}, RF-Mem",
            )
        ],
        "D.9: the graph, full, improves over Familiarity (Table 16)": more(
            full, graph, f"{dense} (Early-Stop)"
        ),
    }


# Table, row → the rows of other tables that print the same numbers under the same column names.
_SHARED = {
    **{
        ("table2", f"multi-qa-MiniLM {path}"): {
            "table15": f"Basic KMeans, {path}",
            "table16": f"Basic KMeans (Early-Stop), {path}",
        }
        for path in ("Famili.", "Recol.", "RF-Mem")
    },
    **{
        ("table15", f"{_GRAPH} (whole alternative), {path}"): {
            "table16": f"{_GRAPH} (Early-Stop), {path}"
        }
        for path in ("Recol.", "RF-Mem")
    },
}


# Table 1's names of the paths → Table 11's.
_PATHS = {"Dense Retrieval": "Famili.", "Recol. (ours)": "Recol.", "RF-Mem (ours)": "RF-Mem"}


def printed_twice() -> pd.DataFrame:
    """Numbers that stand in more than one table or in a table and the prose.

    Returns:
        columns `number`, `first`, `printed`, `second`, `printed again`, `agree`.
    """
    rows: list[tuple[str, ...]] = []
    for (table, row), others in _SHARED.items():
        one = printed_rows(table)[row]
        for other, name in others.items():
            two = printed_rows(other)[name]
            rows += [(f"{row}, {c}", table, one[c], other, two[c]) for c in one if c in two]
    accuracy, overall = printed_rows("table1"), printed_rows("table11")["Overall"]
    asked = printed_rows("table7")["Avg tokens of question"]
    for size in _SIZES:
        prefix = size.replace("k", "K")
        for a, b in _PATHS.items():
            shown, again = accuracy[f"{prefix}, {a}"]["Overall"], overall[f"{size}, {b}"]
            rows.append((f"{prefix}, {a}, Overall", "table1", shown, "table11", again))
        shown = accuracy[f"{prefix}, Zero Memory"]["Avg. Tokens"]
        rows.append((f"{prefix}, tokens of a question", "table1", shown, "table7", asked[size]))
    for encoder, cells in printed_rows("table17").items():
        for column, name in (("R@5 Time", "Time"), ("R@5 Overall", "R@5 Overall")):
            shown = printed_rows("table2")[f"{encoder} RF-Mem"][column]
            rows.append((f"{encoder} RF-Mem, {column}", "table2", shown, "table17", cells[name]))
    for said, (shown, table, of, less, column) in _of_the_text():
        first = printed_rows(table)[of][column]
        # A number that the prose rounds is not the same string.
        if not less and len(bare(shown)) == len(bare(first)):
            rows.append((f"{of}, {column}", table, first, said, shown))
    columns = ["number", "first", "printed", "second", "printed again"]
    frame = pd.DataFrame(rows, columns=columns)
    same = frame["printed"].map(bare) == frame["printed again"].map(bare)
    return frame.assign(agree=same.map({True: "yes", False: "no"}))


def build(folder: Path) -> list[Path]:
    """Write the checks of the prose and what is printed twice; return the paths."""
    twice = folder / "printed_twice.csv"
    write_table(twice, printed_twice())
    written = [*write_cells(text(), folder, "text"), *write_cells(claims(), folder, "claims")]
    return [*written, twice]
