"""The ledger's format, and the audit over a file of anyone's: what is read, what is refused."""

import pandas as pd
import pytest
import yaml

from memrepro.audit.check import audit_file as audited
from memrepro.audit.finding import FAILS, Finding
from memrepro.audit.read.files import tables_of
from memrepro.audit.tables import names, table_of
from memrepro.errors import MemreproError

GOOD = {
    "source": "Made, Table 1",
    "columns": ["Easy", "Hard", "Overall"],
    "rows": {"BM25": ["0.412", "0.275", "0.367"], "Dense": ["0.538", "0.350", "0.475"]},
    "n": {"Easy": 80, "Hard": 40, "Overall": 120},
    "metric": "accuracy",
}


def audit_file(path):
    return audited(path).frame()


def written(tmp_path, entries, name="paper.yaml"):
    path = tmp_path / name
    path.write_text(yaml.safe_dump(entries) if isinstance(entries, dict) else entries)
    return path


def test_a_good_file_holds(tmp_path):
    found = audit_file(written(tmp_path, {"table1": GOOD}))
    assert list(found.columns) == list(Finding._fields)
    assert not (found["words"] == FAILS).any()
    assert set(found["rule"]) == {"shares", "whole and parts"}


def test_what_does_not_hold_stands_first(tmp_path):
    rows = {**GOOD["rows"], "BM25": ["0.421", "0.275", "0.367"]}
    found = audit_file(written(tmp_path, {"table1": {**GOOD, "rows": rows}}))
    assert list(found["words"][:2]) == [FAILS, FAILS]
    shares = found[found["rule"] == "impossible share"].iloc[0]
    assert (shares["where"], shares["sure"]) == ("BM25, Easy", "certain")
    assert "0.412 is (33 of 80)" in shares["found"]


def test_the_same_from_tidy_cells(tmp_path):
    lines = ["table,row,column,metric,reported,n"]
    for row, cells in GOOD["rows"].items():
        for column, shown in zip(GOOD["columns"], cells, strict=True):
            lines.append(f"table1,{row},{column},accuracy,{shown},{GOOD['n'][column]}")
    csv = written(tmp_path, "\n".join(lines) + "\n", "paper.csv")
    whole = written(tmp_path, {"table1": GOOD})
    pd.testing.assert_frame_equal(audit_file(csv), audit_file(whole))


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({**GOOD, "colums": []}, "has the unknown key 'colums': known are source"),
        ({"columns": ["a"]}, "has no 'rows': it must have columns and rows"),
        ({**GOOD, "rows": {"BM25": ["0.4"]}}, "row 'BM25' has 1 cells: it must have 3"),
        ({**GOOD, "rows": {"BM25": [0.4, "0.2", "0.3"]}},
         "row 'BM25', column 'Easy': 0.4 is no string; quote it"),
        ({**GOOD, "columns": ["Easy", "Easy", "Overall"]}, "names a column twice"),
        ({**GOOD, "n": {"Easy": "80"}}, "n is '80'; it must be a whole number"),
        ("words", "is a str: it must be a mapping"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused_by_name(tmp_path, entry, sentence):
    with pytest.raises(MemreproError, match=r"table 'table1' of .*paper\.yaml") as error:
        audit_file(written(tmp_path, {"table1": entry}))
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("row,column,n\na,b,3\n", "has no column 'reported'"),
        ("row,column,reported,colour\na,b,0.1,red\n", "has the unknown column 'colour'"),
        ("row,column,reported\na,b,0.1\na,b,0.2\n", "row 'a', column 'b' twice"),
    ],
)
def test_what_is_no_tidy_table_is_refused(tmp_path, text, sentence):
    with pytest.raises(MemreproError) as error:
        audit_file(written(tmp_path, text, "paper.csv"))
    assert sentence in str(error.value)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(MemreproError, match="is missing"):
        tables_of(tmp_path / "none.yaml")
    with pytest.raises(MemreproError, match=r"is neither of \.yaml"):
        tables_of(written(tmp_path, "text", "paper.txt"))
    with pytest.raises(MemreproError, match="holds no tables"):
        tables_of(written(tmp_path, "[]", "paper.yaml"))


def test_sizes_are_looked_up_by_row_and_column():
    n = {"32K": {"Easy": 8, "Very Easy": 9}, "1M": {"Easy": 5}, "Hard": 3}
    rows = {"32K, ours": ["0.5"] * 3, "1M, ours": ["0.2"] * 3, "2M, ours": ["0.3"] * 3}
    columns = ["R@5 Easy", "R@5 Very Easy", "Hard"]
    made = table_of("doc", "t", {"columns": columns, "rows": rows, "n": n})
    assert [made.size("32K, ours", c) for c in columns] == [8, 9, 3]
    assert [made.size("1M, ours", c) for c in columns] == [5, 5, 3]
    assert [made.size("2M, ours", c) for c in columns] == [None, None, 3]
    assert not names("Easy", "Uneasy")
