"""The audit's report: tables and figure from the ledger, and the same bytes twice."""

import pandas as pd
import pytest

from memrepro.audit import coverage
from memrepro.report import audit
from memrepro.report.figures import data_only
from memrepro.report.tables import COLUMNS, show


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The audit of a project that has no other report."""
    project = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("memrepro.files.paths.root", lambda: project)
        folder = project / "results" / "open" / "audit"
        audit.write_report("open", folder)
        yield folder


def test_every_file_is_there_and_tidy(built):
    names = {path.name for path in built.iterdir()}
    for item in ("ledger", "coverage", "reasons", "unaccounted", "consistency"):
        assert {f"{item}.csv", f"{item}.md"} <= names
        frame = pd.read_csv(built / f"{item}.csv")
        assert tuple(frame.columns) == COLUMNS
        assert not frame.duplicated(["row", "column", "metric"]).any()
    assert {"verdicts.svg", "verdicts.png", "verdicts.csv", "numbers.csv"} <= names
    # `verify` takes a table with a column `verdict` for one of cells.
    for item in ("numbers", "verdicts", "findings"):
        assert "verdict" not in pd.read_csv(built / f"{item}.csv").columns


def test_the_numbers_add_up(built):
    numbers = pd.read_csv(built / "numbers.csv")
    shown = show(built, "coverage")
    assert int(shown.loc["all", "numbers"]) == len(numbers)
    outcomes = shown.loc["all", list(coverage.OUTCOMES)].astype(int)
    assert outcomes.sum() == len(numbers)
    ledger = show(built, "ledger")
    assert ledger["numbers"].astype(int).sum() == len(numbers)


def test_the_same_twice(built, tmp_path):
    with data_only():
        again = audit.write_report("open", tmp_path)
    for path in again:
        assert path.read_bytes() == (built / path.name).read_bytes(), path.name
