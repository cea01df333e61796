"""RF-Mem's transcription: whole, true to its own shared rows, and what stands out in it."""

import pytest

from memrepro.files.atomic import read_yaml
from memrepro.papers.rfmem.printed import PERSONABENCH, REPORTED, notes, printed, printed_rows
from memrepro.papers.rfmem.prose import printed_twice

CELLS = {
    "table1": 15 * 10,
    "table2": 9 * 12,
    "table3": 9 * 8,
    "table4": 3 * 9,
    "table5": 3 * 10,
    "table6": 3 * 9,
    "table7": 10 * 3,
    "table8": 15 * 3,
    "table9": 8 * 5,
    "table10": 5 * 2,
    "table11": 16 * 9,
    "table12": 2 * 4,
    "table13": 5 * 10,
    "table14": 5 * 10,
    "table15": 11 * 10,
    "table16": 9 * 10,
    "table17": 3 * 4,
    "hyperparameters": 6 * 8,
    "text": 56 * 5,
    "text_computed": 16,
    "text_claims": 17,
    "text_elsewhere": 25,
}
# Some of each table, read again in the paper.
GOLDEN = [
    ("table1", "32K, RF-Mem (ours)", "Overall", "0.6350*"),
    ("table1", "128K, Recol. (ours)", "New Scenarios", "0.3765"),
    ("table1", "1M, Full Context", "Shared Facts", "OOC"),
    ("table1", "1M, Recol. (ours)", "Retri Time", "8.12ms"),
    ("table3", "bge-base Recol.", "LongMemEval-S, Time", "43.65ms"),
    ("table3", "mpnet Recol.", "LongMemEval-M, Recall@5", "0.4386"),
    ("table4", "Recollection", "New Ideas", "0.1398"),
    ("table5", "multi-qa-MiniLM Recol.", "R@10 Pref Hard", "0.4878"),
    ("table6", "RF-MEM", "Avg. Tokens", "5158.2"),
    ("table11", "Music Rec", "128k, RF-Mem", "0.5096"),
    ("table11", "Sports Rec", "32k, Recol.", "-"),
    ("table12", "PersonaMem-128k", "Training Samples", "363 (178+185)"),
    ("table13", "Recol.", "New Scenarios", "0.7297"),
    ("table14", "RF-Mem (Learned), ±", "Num. of Recol.", "±28.33"),
    ("table15", "DBSCAN cluster (KMeans alternative), RF-Mem", "R@10 Pref Hard", "0.6015"),
    ("table16", "Basic KMeans (Fully Exploration), Recol.", "R@5 Social", "0.4827"),
    ("table17", "mpnet", "Route→Recol.", "248"),
    ("hyperparameters", "PersonaBench, Recall@5", "F", "1"),
    ("text", "§3.2: time of Recollection, 1M", "printed", "7.12ms"),
]


def test_every_table_is_whole_and_of_strings():
    tables = read_yaml(REPORTED)
    assert {name: printed(name).size for name in tables} == CELLS
    for name, table in tables.items():
        assert set(table) <= {"source", "columns", "rows", "notes"}
        assert all(isinstance(cell, str) for row in table["rows"].values() for cell in row), name


@pytest.mark.parametrize(("table", "row", "column", "cell"), GOLDEN)
def test_golden_cells(table, row, column, cell):
    assert printed_rows(table)[row][column] == cell


def test_shared_rows_agree_but_for_one_of_the_prose():
    twice = printed_twice()
    tables = twice[twice["second"].str.startswith("table")]
    # Table 2 in 15 and 16, the graph in both, Table 1 in 11 and 7, Table 2 in 17.
    assert len(tables) == 3 * 2 * 10 + 2 * 10 + 9 + 3 + 6
    assert set(tables["agree"]) == {"yes"}
    (differing,) = twice[twice["agree"] == "no"].itertuples()
    assert (differing.second, differing.printed) == ("§3.2: time of Recollection, 1M", "8.12ms")


def _fractions_of_a_question(kind, parts, table):
    """Rows whose recall of a kind is no whole number of a question's parts."""
    n = PERSONABENCH[kind] * parts
    return {
        (row, k)
        for row, cells in printed_rows(table).items()
        for k in (5, 10)
        for shown in [float(cells[f"R@{k} {kind}"])]
        if abs(round(shown * n) / n - shown) > 0.00005 + 1e-9
    }


def test_what_stands_out_in_the_parts_of_personabench():
    """Recall by kind stands on few relevant docs, and the rows out of order leave that grid."""
    odd = {("multi-qa-MiniLM Recol.", 10), ("multi-qa-MiniLM RF-Mem", 10)}
    assert _fractions_of_a_question("Pref Hard", 5, "table2") == odd
    assert _fractions_of_a_question("Pref Easy", 12, "table2") == odd
    assert not _fractions_of_a_question("Basic", 6, "table2")
    dbscan, graph = "DBSCAN cluster (KMeans alternative)", "Graph + Breadth-First Search"
    kmeans = {("Basic KMeans, Recol.", 10), ("Basic KMeans, RF-Mem", 10)}
    shuffled = (f"{dbscan}, RF-Mem", 10)
    assert _fractions_of_a_question("Pref Hard", 5, "table15") == kmeans | {shuffled}
    assert _fractions_of_a_question("Basic", 6, "table15") == {shuffled}
    easy = kmeans | {(f"{graph} (whole alternative), Recol.", 10)}
    assert _fractions_of_a_question("Pref Easy", 12, "table15") == easy
    for table in ("table5",):
        for kind, parts in (("Pref Hard", 5), ("Pref Easy", 12), ("Basic", 6)):
            assert not _fractions_of_a_question(kind, parts, table)


def test_what_stands_out_is_noted():
    tables = [f"table{n}" for n in (1, 2, 3, 5, 7, 11, 12, 13, 15, 16, 17)]
    assert all(notes(table) for table in [*tables, "hyperparameters", "text", "text_elsewhere"])
    for table, shown in (
        ("table1", "0.3765"),
        ("table2", "0.6799"),
        ("table3", "0.4386"),
        ("table11", "0.5734"),
        ("table13", "0.7297"),
    ):
        assert shown in " ".join(notes(table))
