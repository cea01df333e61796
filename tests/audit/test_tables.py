"""The ledger's format, and the audit over a file of anyone's: what is read, what is refused."""

import re

import pandas as pd
import pytest
import yaml

from memrepro.audit import consistency
from memrepro.audit.check import audit_file as audited
from memrepro.audit.check import audit_tables
from memrepro.audit.finding import CERTAIN, FAILS, Finding
from memrepro.audit.page import as_json, as_text, page
from memrepro.audit.read.files import tables_of
from memrepro.audit.tables import KEYS, names, table_of
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


@pytest.mark.parametrize(
    ("comma", "coding"), [(",", "utf-8-sig"), (";", "utf-16"), ("\t", "utf-8")]
)
def test_the_same_from_tidy_cells(tmp_path, comma, coding):
    lines = ["table,row,column,metric,reported,n"]
    for row, cells in GOOD["rows"].items():
        for column, shown in zip(GOOD["columns"], cells, strict=True):
            lines.append(f"table1,{row},{column},accuracy,{shown},{GOOD['n'][column]}")
    csv = tmp_path / "paper.csv"
    csv.write_text("\n".join(lines).replace(",", comma) + "\n", encoding=coding)
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
    with pytest.raises(MemreproError, match=r"is none of \.yaml"):
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


WRONG = (
    10, -1, 2.5, True, None, "x", "", [], ["a"], [1], [None], {}, {"BM25": 10}, {"BM25": "Easy"},
    {"Easy": ["a"]}, {"Easy": None}, {"Overall": {"x": 1}}, {1: [2]}, {"BM25": []}, 10**400,
    {"BM25": ["sum", 5]}, {"BM25": [["a"]]}, {"BM25": {"Easy": -1}}, ["Easy", "Hard"],
)  # fmt: skip


def refusal(entry):
    """The sentence with which a table is refused, or None where it is read."""
    try:
        audit_tables({"table1": entry})
    except MemreproError as error:
        return str(error)
    return None


@pytest.mark.parametrize("key", KEYS)
def test_a_value_of_a_wrong_type_is_refused_by_name_or_read(key):
    for value in WRONG:
        said = refusal({**GOOD, key: value})
        assert said is None or ("table1" in said and len(said) < 600), value


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"runs": 10}, "runs is 10; 'runs' must be row → over how many runs"),
        ({"whole": {"Overall": ["Easy", "Odd"]}}, "the part 'Odd', which is no column"),
        ({"bold": {"BM25": "Easy"}}, "bold, 'BM25' is 'Easy'; 'bold' must be row → the columns"),
        ({"total": True}, "total is True; 'total' must be how many questions"),
        ({"n": True}, "n is True; it must be a whole number"),
        ({"columns": 5}, "columns must be a list of heads, not 5"),
    ],
)
def test_a_sentence_says_what_a_key_must_be(entry, sentence):
    with pytest.raises(MemreproError) as error:
        audit_tables({"table1": {**GOOD, **entry}})
    assert sentence in str(error.value)


def test_a_rule_that_fails_is_told_and_the_others_go_on(monkeypatch):
    def broken(table):
        raise ZeroDivisionError("of nothing")

    monkeypatch.setitem(consistency.OF_TABLE, "half-life", broken)
    report = audit_tables({"table1": {**GOOD, "rows": {**GOOD["rows"], "BM25": ["0.421"] * 3}}})
    (told,) = [f for f in report.findings if f.where == "not checked"]
    assert (told.table, told.rule, told.found) == (
        "table1", "half-life", "ZeroDivisionError: of nothing"
    )  # fmt: skip
    assert report.failing(CERTAIN)
    assert "not checked: table1, half-life" in as_text(report)


def test_a_finding_says_where_its_table_is_and_a_page_shows_the_table_once():
    rows = {**GOOD["rows"], "BM25": ["0.421", "0.271", "0.367"]}
    where = {"file": "paper/main.tex", "line": 12, "label": "tab:main", "caption": "Results"}
    report = audit_tables({"table1": {**GOOD, "rows": rows, **where}})
    shown = page(report, "a paper")
    assert shown.count("<table>") == 1
    assert len(re.findall("<mark>", shown)) == len({f.where for f in report.failing()}) > 1
    assert "paper/main.tex:12 (tab:main, Results)" in as_text(report)
    assert "paper/main.tex:12 (tab:main, Results)" in shown
    told = as_json(report)["findings"][0]
    assert {key: told[key] for key in where} == where
