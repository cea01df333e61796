"""RF-Mem's static tables, and the arithmetic between its printed numbers."""

import pytest
from memrepro.papers.rfmem.report import KINDS, Results

from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.rfmem.printed import (
    LONGMEMEVAL,
    PERSONABENCH,
    STATIC,
    arithmetic,
    as_printed,
    bare,
    build,
    held_out_sizes,
    overalls,
    printed,
    share_counts,
    shares,
)
from memrepro.report.tables import show


def test_static_tables_have_no_number_of_ours():
    for table in STATIC:
        cells = list(as_printed(table))
        assert len(cells) == printed(table).size
        assert {cell.reproduced for cell in cells} == {""}
        assert {cell.verdict for cell in cells} <= {"not run", "not comparable"}
        assert all(cell.note for cell in cells)


@pytest.mark.parametrize(
    ("shown", "digits"),
    [("8.12ms", "8.12"), ("∼0.47", "0.47"), ("0.6350*", "0.6350"), ("+0.0221", "+0.0221"),
     ("25,112", "25112"), ("75 (34+41)", "75"), ("3.6k", "3.6")],
)  # fmt: skip
def test_bare_keeps_the_printed_digits(shown, digits):
    assert bare(shown) == digits


def test_personabenchs_sizes_are_those_of_the_metrics():
    results = Results("open")
    values = results.by_question("rfmem-mpnet-familiarity", 5)
    assert {k: len(results.of_kind(values, KINDS[k])) for k in PERSONABENCH} == PERSONABENCH
    asked = read_table(paths.statistics("open", "personabench-n00"))["queries"].astype(int)
    assert (sum(PERSONABENCH.values()), sum(asked)) == (230, 263)


def test_one_number_of_questions_gives_table_3():
    fits = share_counts()
    assert (fits.pop(LONGMEMEVAL), max(fits.values())) == (53, 17)
    assert max(fits[470], fits[500]) < 12


def test_the_held_out_sizes_have_one_solution():
    kinds = ["Revisit Reasons", "Shared Facts", "Track Evolution", "Aligned Recs", "Latest Prefs",
             "New Scenarios", "New Ideas"]  # fmt: skip
    (small,), (large,) = held_out_sizes("table13"), held_out_sizes("table14")
    assert [small[kind] for kind in kinds] == [32, 37, 49, 16, 7, 13, 35]
    assert [large[kind] for kind in kinds] == [93, 39, 99, 85, 205, 68, 138]


def test_all_arithmetic_holds_but_four():
    cells = list(arithmetic())
    assert len(cells) == 21 + 12 + 6 + 1
    wrong = {
        (c.row, c.column, c.reported, c.reproduced) for c in cells if c.verdict == "not reproduced"
    }
    assert wrong == {
        ("Table 7: tokens of memory by Table 1", "128k", "15185.1", "115185.10"),
        ("Table 12: Recol. wins", "32k", "41", "45"),
        ("Table 12: Recol. wins", "128k", "185", "184"),
    }
    apart = {(c.row, c.reproduced) for c in cells if c.verdict == "not comparable"}
    time = "Table 17: time by the routing (ms)"
    assert apart == {
        (time, "9.36"),
        (time, "10.75"),
        (time, "10.43"),
        ("Table 3: questions", "419"),
    }


def test_six_shares_are_impossible():
    cells = list(shares())
    answers, learned, found = 14 * 7 + 2 * 3 * 7 + 129, 2 * 7, 54
    assert len(cells) == answers + 2 * 3 * 7 + learned + found
    wrong = {
        (c.row, c.column, c.reported, c.reproduced, c.n)
        for c in cells
        if c.verdict == "not reproduced"
    }
    assert wrong == {
        ("Table 1, 128K, Recol. (ours)", "New Scenarios", "0.3765", "0.3756", 213),
        ("Table 3, mpnet Recol.", "LongMemEval-M, Recall@5", "0.4386", "0.4391", 419),
        ("Table 11, 128k, RF-Mem", "Study Consult", "0.4773", "0.4777", 157),
        ("Table 11, 128k, RF-Mem", "Music Rec", "0.5096", "0.5000", 44),
        ("Table 11, 1M, Famili.", "Family Relations", "0.5734", "0.5751", 193),
        ("Table 13, Recol.", "New Scenarios", "0.7297", "0.6923", 13),
    }
    cut = {c.row for c in cells if c.verdict == "within tolerance"}
    assert {row for row in cut if "Table 3, mpnet" not in row} == {
        "Table 3, multi-qa-MiniLM Recol.",
        "Table 14, RF-Mem (Learned)",
    }


def test_what_the_impossible_shares_should_be():
    """The overall of each row holds with the share that is put in place of the printed one."""
    sizes = {"Study Consult": 157, "Music Rec": 44}
    assert round(21 / sizes["Music Rec"], 4) == 0.4773
    assert round(80 / sizes["Study Consult"], 4) == 0.5096
    found = {(c.row, c.column): c for c in overalls()}
    exchanged = found["Table 11, 128k, RF-Mem", "Overall"]
    assert exchanged.reproduced == f"{(1471 - 4) / 2727:.4f}"
    assert f"{1471 / 2727:.4f}" == exchanged.reported
    assert found["Table 1, 128K, Recol. (ours)", "Overall"].verdict == "exact"
    assert (
        f"{(31 + 27 + 37 + 14 + 1 + 8 + 8) / 189:.4f}"
        == found["Table 13, Recol.", "Overall"].reported
    )


def test_overalls_that_are_no_mean_of_their_parts():
    cells = list(overalls())
    assert len(cells) == 14 + 3 + 3 + 9 + 2 * 4 + 2 * (9 + 3 + 11 + 9)
    wrong = {(c.row, c.column) for c in cells if c.verdict == "not reproduced"}
    kmeans = {
        "Table 2, multi-qa-MiniLM ",
        "Table 15, Basic KMeans, ",
        "Table 16, Basic KMeans (Early-Stop), ",
    }
    graph = "Graph + Breadth-First Search"
    assert wrong == {
        ("Table 11, 32k, RF-Mem", "Overall"),
        ("Table 11, 128k, RF-Mem", "Overall"),
        ("Table 11, 1M, Famili.", "Overall"),
        ("Table 13, Recol.", "Overall"),
        ("Table 15, DBSCAN cluster (KMeans alternative), RF-Mem", "R@10 Overall"),
        (f"Table 15, {graph} (whole alternative), Recol.", "R@10 Overall"),
        (f"Table 16, {graph} (Early-Stop), Recol.", "R@10 Overall"),
        *((block + path, "R@10 Overall") for block in kmeans for path in ("Recol.", "RF-Mem")),
    }
    order = {c.row: c.note for c in cells if c.note}
    assert order["Table 2, multi-qa-MiniLM Recol."].endswith(
        "given by Basic 0.5924, Social 0.6267, Pref Easy 0.6859, Pref Hard 0.5659 (0.6061)"
    )
    assert order["Table 2, multi-qa-MiniLM RF-Mem"] == "no order of the four parts gives it"


def test_all_is_written(tmp_path):
    written = build(tmp_path)
    assert len(written) == 3 * (len(STATIC) + 3)
    assert all(path.is_file() for path in written)
    shown = show(tmp_path, "table1").loc["1M, Recol. (ours)", "Retri Time"]
    assert shown == "printed 8.12ms, not run"
    assert show(tmp_path, "shares").loc["Table 13, Dense", "New Scenarios"] == (
        "0.5385 (printed 0.5385, exact)"
    )
