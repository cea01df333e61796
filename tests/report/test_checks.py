"""The checks that a document's file lists: what the engine makes of them, and what they find."""

import pytest

from memrepro.audit import documents
from memrepro.audit.finding import FAILS
from memrepro.report.checks import (
    check_cells,
    check_tables,
    checked_rows,
)
from memrepro.report.tables import Cell

MADE = """
document: {order: 1}
table1:
  columns: [R@5, R@10]
  rows:
    ours: ['0.50', '0.70']
    theirs: ['0.40', '0.75']
  n: 20
text:
  columns: [printed]
  rows:
    '§1: ours is better': [clearly]
    '§1: gain at 5': ['+0.10']
    '§1: gain at 10': ['0.10']
  formulas:
    '§1: gain at *': [a - b, table1 | ours | R@5, table1 | theirs | R@5]
checks:
  all:
    formulas: [text]
    further:
      'half of {column}':
        {of: table1 | ours | *, is: [a / 2, 'table1 | {row} | {column}'], open: true}
    shares: {table1: {n: 3}}
    claims:
      '§1: ours is better':
        {expected: above, cases: [a > b, table1 | ours | *, table1 | theirs | *]}
    by_reading:
      other docs:
        {said: 'text | §1: gain at 5 | printed', expected: e, found: '{n:.0f} rows', words: holds,
         values: {n: [count(a), table1 | * | R@5]}}
  again:
    twice: [{pair: ['table1 | ours | R@{k}', 'table1 | theirs | R@{k}'], each: {k: ['5']}}]
"""


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A folder of papers with one document, that all functions read."""
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "printed.yaml").write_text(MADE)
    tables = documents.tables("toy", tmp_path)
    listed = documents.checks("toy", tmp_path)
    monkeypatch.setattr(documents, "tables", lambda *_: tables)
    monkeypatch.setattr(documents, "checks", lambda *_: listed)
    yield checked_rows("toy", "all")
    checked_rows.cache_clear()


def test_a_number_that_follows_from_others(made):
    gain, half, share = (
        made[row][-1] for row in ("§1: gain at 5", "half of R@10", "Table 1, theirs")
    )
    assert (gain.reported, gain.reproduced, gain.verdict) == ("+0.10", "0.1000", "agrees")
    assert (half.reported, half.reproduced, half.verdict) == ("0.70", "0.3500", "not comparable")
    assert (share.reported, share.reproduced, share.verdict) == ("0.75", "0.6667", "differs")


def test_a_claim_holds_where_every_case_does(made):
    verdict, expected, found = made["§1: ours is better"]
    assert (verdict.reported, verdict.reproduced, verdict.n) == ("clearly", FAILS, 2)
    assert (verdict.verdict, expected.reproduced) == ("differs", "above")
    assert found.reproduced == "1 of 2; not: ours, R@10 0.70 against theirs 0.75"


def test_what_a_person_judged_is_never_exact(made):
    verdict, _, found = made["other docs"]
    assert verdict == Cell("other docs", "verdict", "claim", "+0.10", "holds", 1, "by reading")
    assert found.reproduced == "2 rows"


@pytest.mark.parametrize("document", documents.documents())
def test_every_row_is_there_once(document):
    for name in check_tables(document):
        places = [(cell.row, cell.column) for cell in check_cells(document, name)]
        assert len(places) == len(set(places)), name
