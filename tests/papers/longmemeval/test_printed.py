"""LongMemEval's static tables, and the arithmetic between its printed numbers."""

import pandas as pd

from memrepro.files.atomic import read_table
from memrepro.papers.longmemeval.printed import (
    STATIC,
    ability_sizes,
    arithmetic,
    as_printed,
    build,
    printed,
)
from memrepro.report.tables import show


def test_static_tables_have_no_number_of_ours():
    for table in STATIC:
        cells = list(as_printed(table))
        assert len(cells) == printed(table).size
        assert {cell.reproduced for cell in cells} == {""}
        assert {cell.verdict for cell in cells} <= {"not run", "not comparable"}
        assert all(cell.note for cell in cells)


def test_the_human_studys_sizes_have_one_solution():
    assert ability_sizes(97) == [(16, 34, 24, 23)]


def test_all_arithmetic_holds_but_offline_reading():
    cells = {cell.row: cell for cell in arithmetic()}
    assert len(cells) == 16 + 5 + 7
    wrong = {row for row, cell in cells.items() if cell.verdict != "exact"}
    assert wrong == {"Figure 3a: Offline Reading, GPT-4o"}
    assert cells["Figure 3a: Offline Reading, GPT-4o"].reproduced == "0.9175"
    assert cells["§3.2: user attributes"].reproduced == "164"
    assert cells["§5.3: recall@k, K = V + fact against K = V (%)"].reproduced == "9.4300"
    assert cells["§5.4: recall, query expansion, sessions (%)"].reproduced == "6.7615"


def test_all_is_written(tmp_path):
    written = build(tmp_path)
    assert len(written) == 3 * 7 + 1
    assert all(path.is_file() for path in written)
    table = show(tmp_path, "table7")
    assert table.loc["ChatGPT, GPT-4o", "KU"] == "printed 0.833, not run"
    assert (read_table(tmp_path / "printed_twice.csv")["agree"] == "no").sum() == 10
    pd.testing.assert_index_equal(show(tmp_path, "table1").index, printed("table1").index)
