"""Coverage: the ledger joined with a report's cells, by document, outcome and reason."""

import pandas as pd
import pytest

from memrepro.audit import counts, coverage
from memrepro.audit.ledger import Entry
from memrepro.audit.verdicts import NOT_RUN, OTHER_EDITION
from memrepro.errors import MemreproError
from memrepro.report.tables import COLUMNS, PRINTED


def place(table, printed, reported, verdict, metric="recall@5", term="", note=""):
    return coverage.Place(table, reported, metric, verdict, term, note, printed)


def entry(table, row, column, printed):
    return Entry("doc", "", table, row, column, printed, "share", "", "", "", "", "", 0)


CELLS = coverage.Cells(
    [
        place("closest", "table1 | ours | R@9", "0.51", "picked", term="rounded to 2 digits"),
        place("table1", "table1 | ours | R@5", "0.50", "exact", term="rounded to 2 digits"),
        place("table1", "table1 | ours | R@9", "0.51", "not reproduced", term="differs by 0.04"),
        place("table1", "table1 | ours | R@9", "0.51", "picked", term="rounded to 2 digits"),
        place("sweep", "table1 | ours | R@7", "0.52", "picked", term="rounded to 2 digits"),
        place("table1", "table1 | ours | R@7", "0.52", NOT_RUN, note="no hub"),
        place("table1", "table1 | theirs | R@5", "0.40", NOT_RUN, note="no reader: GPT; a finding"),
        place("table8", "table8 | topics | 32k", "40", "exact", "count", "rounded to 0 digits"),
        place(
            "table10", "table10 | sessions | S", "25,112", OTHER_EDITION, "count", note="cleaned; x"
        ),
        place("text", "text | §3: gain | printed", "+0.10", "differs", metric="text"),
        place("consistency", "text | §3: page | printed", "+0.30", "by reading", metric="claim"),
        place("claims", "text | §3: page | printed", "+0.30", "not comparable", metric="claim"),
    ]
)


@pytest.mark.parametrize(
    ("of", "outcome", "reason"),
    [
        (entry("table1", "ours", "R@5", "0.50"), "reproduced by a run (exact)",
         "rounded to the printed digits"),
        (entry("table1", "ours", "R@9", "0.51"), "run and different", "differs"),
        (entry("table1", "ours", "R@7", "0.52"), "reproduced by a run (picked)",
         "rounded to the printed digits"),
        (entry("table1", "theirs", "R@5", "0.40"), NOT_RUN, "no reader"),
        (entry("table8", "topics", "32k", "40"), "dataset statistic",
         "rounded to the printed digits"),
        (entry("table10", "sessions", "S", "25,112"), OTHER_EDITION, "cleaned"),
        (entry("text", "§3: gain", "printed", "+0.10"),
         "arithmetic on printed numbers (differs)", "a check of the document's report"),
        (entry("text", "§3: page", "printed", "+0.30"), "by reading",
         "a check of the document's report"),
    ],
)  # fmt: skip
def test_where_a_number_is_accounted_for(of, outcome, reason):
    best = coverage.first(CELLS.matches(of))
    assert (best.outcome, best.reason) == (outcome, reason)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository with one report, of one table."""
    for name in ("params.yaml", "dvc.yaml"):
        (tmp_path / name).write_text("{}")
    folder = tmp_path / "results" / "open" / "maxsim"
    folder.mkdir(parents=True)
    rows = [
        ("here: Concat", "SSA", "recall_all@10", "0.911", "0.9110", 56, "exact", "rounded", "", "",
         "table1 | Concat | SSA R@10"),
        ("Concat", "KU R@10", "recall_all@10", "0.667", "", 0, NOT_RUN, "", "no files; more", "",
         "table1 | Concat | KU R@10"),
        ("Concat", "TR R@10", "recall_all@10", "0.299", "0.2990", 127, "exact", "", "", "",
         "table1 | Concat | TR R@10"),
        ("Concat − User-Only", "KU R@10", "recall_all@10", "0.010", "0.0100", 9, "exact", "", "",
         "", "table1 | Concat | KU R@10 & table1 | User-Only | KU R@10"),
    ]  # fmt: skip
    pd.DataFrame(rows, columns=[*COLUMNS, PRINTED]).to_csv(folder / "table1.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_number_has_one_outcome_and_the_counts_say_how_many(project):
    found = coverage.covered("open")
    outcomes = coverage.by_outcome(found)
    assert set(found["outcome"]) <= set(coverage.OUTCOMES)
    assert outcomes.loc[outcomes["document"] == "all", "n"].sum() == len(found) == 2002
    of = counts.counts_of(outcomes, "maxsim")
    assert list(of) == list(coverage.OUTCOMES)
    assert (of[coverage.RUN_EXACT], of[NOT_RUN], of[coverage.ARITHMETIC_AGREES]) == (2, 1, 35)
    assert coverage.by_reason(found)["n"].sum() == len(found)
    assert counts.counts_in_words(outcomes, "maxsim") == (
        "85 numbers: 2 reproduced by a run (2 exact, 0 within tolerance, 0 at a setting picked to "
        "match); 35 checked by "
        "arithmetic on printed numbers (35 agree, 0 differ); 1 not run; 47 not checkable"
    )


def test_counts_of_what_is_not_there_are_an_error(project):
    with pytest.raises(MemreproError, match="no printed number of 'nobody' is counted: known are"):
        counts.counts_of(coverage.by_outcome(coverage.covered("open")), "nobody")
