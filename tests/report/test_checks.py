"""The checks that a document's file lists: what the engine makes of them, and what they find."""

import pytest

from memrepro.audit import documents
from memrepro.audit.finding import FAILS
from memrepro.audit.verdicts import DIFFERS
from memrepro.report.checks import (
    build,
    check_cells,
    check_tables,
    checked_rows,
    printed_twice,
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


def test_what_is_printed_twice(made):
    assert printed_twice("toy").to_numpy().tolist() == [
        ["table1: ours, R@5", "0.50", "table1: theirs, R@5", "0.40", "no"]
    ]


# Document and table → the rows that do not hold: value, or the cases that do.
DIFFERING = {
    ("longmemeval", "arithmetic"): {
        "Figure 3a: Offline Reading, GPT-4o": "0.9175", "§2: dialogues of PerLTQA": "4000",
        "§1: drop of long-context LLMs, most": "66.3000", "abstract: stages": "3",
        "§1: accuracy of commercial systems, least": "24.7400", "A.1: questions kept": "7.1429",
        "§3.4: drop of long-context LLMs, most": "66.3000",
    },
    ("associa", "consistency"): {
        "§5.3: max_iter=1 improves (Table 1)": "45 of 48",
        "§5.3: Longmemeval stays below Associa, BGE and Stella (Table 1)": "24 of 32",
        "§5.3: user facts help (Table 1)": "3 of 8", "Table 2: m is harder than s": "4 of 5",
        "§5.5: association matters most (Table 3)": "1 of 4", "§4.1: core node types": "5",
    },
    ("tiered", "consistency"): {
        "half-life: 0.01, Half-life": "~1 week, which needs a rate of 0.0041",
        "decay at the end of WARM's window": "0.185 is left",
    },
    ("rfmem", "arithmetic"): {
        "Table 7: Avg tokens of memory": "115185.1000", "Table 12: Recol. wins, 32k": "45",
        "Table 12: Recol. wins, 128k": "184",
    },
    ("rfmem", "text"): {
        "§3.2: time of Recollection, 1M": "8.1200",
        "§3.3: PersonaBench, Familiarity, most time (ms)": "13.6800",
        "§3.3: PersonaBench, Recollection, least time (ms)": "9.6500",
        "§3.3: PersonaBench, RF-Mem, most time (ms)": "18.1300",
        "§3.3: LongMemEval, Familiarity, most time (ms)": "33.1800",
        "§3.3: LongMemEval, Recollection, least time (ms)": "43.6500",
        "§3.3: lift of Recall@5 by Recollection, LongMemEval": "0.0095",
    },
    ("rfmem", "claims"): {
        "§3.3: Recollection lifts Recall@5 by more than 0.02 (Table 3)": "3 of 6",
        "§3.3: Recollection reaches perfect Recall@50 (Table 3)": "2 of 6",
        "§3.4.2: RF-Mem matches or surpasses Familiarity (Table 5)": "9 of 10",
        "D.1: Recollection surpasses Familiarity in therapy (Table 11)": "2 of 3",
        "D.1: Recollection surpasses Familiarity in dating consultation (Table 11)": "1 of 3",
        "D.1: RF-Mem outperforms both, ties among it (Table 11)": "26 of 43",
        "D.8.3: gated mixing improves over Familiarity (Table 15)": "3 of 4",
        "D.9: the graph, full, improves over Familiarity (Table 16)": "3 of 4",
        "D.10: stronger retrievers route more to recollection (Table 17)": "2 of 3",
    },
}  # fmt: skip


@pytest.mark.parametrize(("document", "table"), DIFFERING)
def test_what_does_not_hold(document, table):
    differing = [c for c in check_cells(document, table) if c.verdict == DIFFERS]
    found = {c.row: c.term if c.column == "verdict" else c.reproduced for c in differing}
    assert found == DIFFERING[document, table]


def test_shares_that_no_count_gives_and_overalls_that_are_no_mean():
    shares, overalls = (
        {(c.row, c.column, c.reported) for c in check_cells("rfmem", name) if c.verdict == DIFFERS}
        for name in ("shares", "overalls")
    )
    assert shares == {
        ("Table 1, 128K, Recol. (ours)", "New Scenarios", "0.3765"),
        ("Table 3, mpnet Recol.", "LongMemEval-M, Recall@5", "0.4386"),
        ("Table 11, Study Consult", "128k, RF-Mem", "0.4773"),
        ("Table 11, Music Rec", "128k, RF-Mem", "0.5096"),
        ("Table 11, Family Relations", "1M, Famili.", "0.5734"),
        ("Table 13, Recol.", "New Scenarios", "0.7297"),
    }
    assert len(overalls) == 13
    assert ("Table 15, Basic KMeans, Recol.", "R@10 Overall", "0.6062") in overalls


def test_what_the_papers_print_twice():
    differing = printed_twice("longmemeval")
    differing = differing[differing["agree"] == "no"]
    # K = V in Table 9 (two units, two metrics, two cut-offs), and two NDCGs of K = V + fact.
    assert len(differing) == 8 + 2
    assert set(differing["second"].str.split(":").str[0]) == {"table9"}
    assert set(printed_twice("rfmem")["agree"]) == {"yes"}


@pytest.mark.parametrize("document", documents.documents())
def test_every_row_is_there_once_and_all_is_written(document, tmp_path):
    for path in build(document, tmp_path):
        assert path.is_file()
    for name in check_tables(document):
        places = [(cell.row, cell.column) for cell in check_cells(document, name)]
        assert len(places) == len(set(places)), name
