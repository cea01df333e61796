"""Coverage: the ledger joined with a report's cells, by document, outcome and reason."""

import pandas as pd
import pytest

from memrepro.audit import coverage
from memrepro.audit.ledger import Entry
from memrepro.audit.verdicts import NOT_RUN


def place(table, row, column, reported, verdict, metric="recall@5", term="", note=""):
    return coverage.Place(table, row, column, reported, metric, verdict, term, note)


def entry(table, row, column, printed):
    return Entry("doc", "", table, row, column, printed, "share", "", "", "", "", "", 0)


CELLS = coverage.Cells(
    [
        place("table1", "ours", "R@5", "0.50", "exact", term="rounded to 2 digits"),
        place("table1", "ours", "R@9", "0.51", "not reproduced", term="differs by 0.04"),
        place("table1", "theirs", "R@5", "0.40", NOT_RUN, note="no reader: needs GPT; a finding"),
        place("text", "§3: gain", "value", "+0.10", "not reproduced", metric="text"),
        place("arithmetic", "Figure 2: ours", "value", "0.9", "exact", metric="consistency"),
    ]
)


@pytest.mark.parametrize(
    ("of", "outcome", "reason"),
    [
        (entry("table1", "ours", "R@5", "0.50"), "exact", "rounded to the printed digits"),
        (entry("table1", "ours", "R@9", "0.51"), "not reproduced", "differs"),
        (entry("table1", "theirs", "R@5", "0.40"), NOT_RUN, "no reader"),
        (entry("text", "§3: gain", "printed", "+0.10"), coverage.DIFFERS,
         "a check of the paper's report"),
        (entry("figure2", "ours", "Accuracy", "0.9"), coverage.AGREES,
         "a check of the paper's report"),
    ],
)  # fmt: skip
def test_where_a_number_is_accounted_for(of, outcome, reason):
    found = CELLS.of(of)
    assert (found.outcome, found.reason) == (outcome, reason)


def test_a_number_elsewhere_is_no_match():
    assert CELLS.of(entry("table2", "ours", "R@5", "0.50")) is None
    assert CELLS.of(entry("text", "§3: gain", "printed", "+0.20")) is None


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository with one report, of one table."""
    for name in ("params.yaml", "dvc.yaml"):
        (tmp_path / name).write_text("{}")
    folder = tmp_path / "results" / "open" / "maxsim"
    folder.mkdir(parents=True)
    columns = ["row", "column", "metric", "reported", "reproduced", "n", "verdict", "term", "note"]
    rows = [
        ["Concat", "SSA R@10", "recall_all@10", "0.911", "0.9110", 56, "exact", "rounded", ""],
        ["Concat", "KU R@10", "recall_all@10", "0.667", "", 0, NOT_RUN, "", "no files; more"],
        ["Concat", "TR R@10", "recall_all@10", "0.299", "0.2990", 127, "exact", "", ""],
    ]
    pd.DataFrame(rows, columns=columns).to_csv(folder / "table1.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_number_has_an_outcome(project):
    found = coverage.covered("open")
    outcomes = coverage.by_outcome(found)
    assert set(found["outcome"]) <= set(coverage.OUTCOMES)
    assert outcomes.loc[outcomes["document"] == "all", "numbers"].sum() == len(found)
    of = outcomes[outcomes["document"] == "maxsim"].set_index("outcome")["numbers"]
    assert (of["exact"], of[NOT_RUN]) == (2, 1)
    assert of[coverage.AGREES] == 35
    assert coverage.by_reason(found)["numbers"].sum() == len(found)
    rfmem = found[(found["document"] == "rfmem") & (found["outcome"] == coverage.NO_TABLE)]
    assert set(rfmem["reason"]) == {"no report on the profile 'open'"}


def test_judged_cells_without_a_term_are_named(project):
    assert list(coverage.without_term("open")) == [("maxsim/table1.csv", 1, 2)]
