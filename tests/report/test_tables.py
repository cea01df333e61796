"""Tables: tidy csv, wide Markdown and LaTeX; missing is never 0."""

from math import nan

import pytest

from memrepro.errors import MemreproError
from memrepro.evaluate.bootstrap import Interval
from memrepro.evaluate.comparison import Comparison
from memrepro.files.atomic import read_table
from memrepro.report.tables import (
    COLUMNS,
    COMPARED,
    Cell,
    cell_frame,
    read_cells,
    show,
    wide,
    with_ends,
    write_cells,
)

CELLS = [
    Cell("mpnet Famili.", "R@5 Basic", "recall@5", "0.4242", "0.4242", 110, "exact"),
    Cell("mpnet Famili.", "R@5 Time", "time", "7.64ms", "", 0, "not run", note="not measured"),
    Cell("a_b & c", "R@5 Basic", "recall@5", "", "0.5000", 110, "not in the paper"),
]


def test_the_csv_is_the_contract(tmp_path):
    write_cells(CELLS, tmp_path, "t")
    table = read_table(tmp_path / "t.csv")
    contract = ["row", "column", "metric", "reported", "reproduced", "n", "verdict"]
    assert list(table.columns)[:7] == contract
    assert table.loc[1, "reproduced"] == ""
    assert table.loc[1, "verdict"] == "not run"
    assert "printed" not in table
    write_cells([*CELLS[1:], CELLS[0]._replace(printed="t | a | b")], tmp_path, "t")
    assert read_table(tmp_path / "t.csv")["printed"].tolist() == ["", "", "t | a | b"]


def test_a_mean_stands_before_its_interval_and_one_group_has_none():
    assert with_ends(Interval(0.25, 0.2, 0.30004)) == "0.2500 [0.2000, 0.3000]"
    assert with_ends(Interval(0.25, nan, nan)) == "0.2500 [no interval]"


def test_wide_keeps_the_order_and_shows_both_numbers(tmp_path):
    write_cells(CELLS, tmp_path, "t")
    table = show(tmp_path, "t")
    assert list(table.index) == ["mpnet Famili.", "a_b & c"]
    assert list(table.columns) == ["R@5 Basic", "R@5 Time"]
    assert table.loc["mpnet Famili.", "R@5 Basic"] == "0.4242 (printed 0.4242, exact)"
    assert table.loc["mpnet Famili.", "R@5 Time"] == "printed 7.64ms, not run"
    assert table.loc["a_b & c", "R@5 Basic"] == "0.5000 (not in the paper)"
    assert table.loc["a_b & c", "R@5 Time"] == ""
    assert wide(read_table(tmp_path / "t.csv")).equals(table)


def test_a_comparison_is_read_as_it_was_written(tmp_path):
    found = Comparison(0.1, -0.05, 0.25, 0.125, 3, 1, 6, 10, 4, "person")
    alone = Comparison(0.0, nan, nan, 1.0, 0, 0, 2, 2, 1, "person")
    cells = [
        Cell("a", "R@5", "recall@5", "", "", 10, "", comparison=found),
        Cell("b", "R@5", "recall@5", "", "", 2, "", comparison=alone),
        Cell("c", "R@5", "recall@5", "", "0.5000", 10, ""),
    ]
    write_cells(cells, tmp_path, "t")
    one, other, plain = read_cells(tmp_path / "t.csv")
    assert (one.comparison, one.reproduced) == (found, str(found))
    assert (other.comparison.as_dict(), plain) == (alone.as_dict(), cells[2])
    assert tuple(read_table(tmp_path / "t.csv").columns) == (*COLUMNS, *COMPARED)


def test_two_cells_of_one_place_are_refused_in_a_sentence():
    with pytest.raises(
        MemreproError, match=r"two cells of a table stand at 'a_b & c', 'R@5 Basic'"
    ):
        wide(cell_frame([*CELLS, CELLS[-1]]))
