"""RF-Mem's statistics tables 7 to 10: whole, and right by their own sums."""

from memrepro.papers.rfmem.report import table10

from memrepro.papers.rfmem.printed import arithmetic, printed_table


def test_what_is_printed_is_whole():
    assert {n: len(printed_table(f"table{n}")) for n in (7, 8, 9, 10)} == {
        7: 10 * 3, 8: 15 * 3, 9: 8 * 5, 10: 5 * 2,
    }  # fmt: skip
    topics = printed_table("table8")
    assert topics["# of Dating Consult", "128k"] == "197"
    assert topics["# of Book Rec", "1M"] == "139"
    assert topics["# of Sports Rec", "32k"] == "–"
    assert printed_table("table10")["Total Session-level Memory", "LongMemEval-m"] == "250,948"


def test_what_was_not_run_says_why():
    cells = list(table10())
    assert len(cells) == 10
    assert {(c.reproduced, c.verdict) for c in cells} == {("", "not run")}
    assert all(c.note for c in cells)


def test_all_sums_hold_but_one():
    cells = [
        c for c in arithmetic() if c.row.startswith(("Table 7", "Table 8", "Table 9", "Table 10"))
    ]
    assert len(cells) == 9 + 10 + 2
    wrong = [c for c in cells if c.verdict != "exact"]
    assert [(c.column, c.reported, c.reproduced) for c in wrong] == [
        ("128k", "15185.1", "115185.10")
    ]
    assert {c.note for c in cells} == {"computed from the paper's own numbers"}
    means = {c.column: c.reproduced for c in cells if c.row.startswith("Table 10")}
    assert means == {"LongMemEval-s": "50.22", "LongMemEval-m": "501.90"}
