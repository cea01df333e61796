"""Reports of documents, made again from the committed rankings: every file has the same bytes.

`verify` does so for all of open, whose metrics take a minute to evaluate; here are the reports of
the sample, and the one of open that needs no metrics.
"""

from functools import cache

import pandas as pd
import pytest
from pyarrow.parquet import write_table

from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report.figures import data_only
from memrepro.report.modules import write_report
from memrepro.study.evaluation import evaluate_profile
from memrepro.study.params import load_plan

REPORTS = [("open", "audit"), *(("sample", paper) for paper in load_plan().reports["sample"])]


@pytest.fixture(scope="module")
def metrics(tmp_path_factory):
    """A profile's metrics, evaluated once; protocols and exclusions come out as committed."""

    @cache
    def made(profile):
        assert profile == "sample"
        path = tmp_path_factory.mktemp("metrics") / f"{profile}.parquet"
        found = evaluate_profile(profile, load_plan())
        pd.testing.assert_frame_equal(found.protocols, read_table(paths.protocols(profile)))
        left_out = found.exclusions.merge(read_table(paths.exclusions(profile)))
        assert len(left_out) == len(found.exclusions) > 0
        write_table(found.metrics, path)
        return path

    return made


@pytest.mark.slow
@pytest.mark.parametrize(("profile", "paper"), REPORTS)
def test_a_report_follows_from_the_rankings(profile, paper, metrics, tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.report.profile.metrics_file", metrics)
    with data_only():
        written = write_report(paper, profile, tmp_path)
    assert len(written) > 10
    kept = paths.results(profile) / paper
    assert not [
        path.name for path in written if path.read_bytes() != (kept / path.name).read_bytes()
    ]
