"""A profile's metrics: read once, read anew when they change; paired differences by question id."""

import os

import pandas as pd
import pytest

from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.report.profile import Metrics, compare_values
from memrepro.study.params import load_plan
from tests import measured


def values(**by_question):
    rows = [(query_id, "kind", value) for query_id, value in by_question.items()]
    return pd.DataFrame(rows, columns=["query_id", "kind", "value"])


KINDS = ("Social", "Basic information")


def write_recall(**experiments):
    """Write recall of experiments: name → query id → value, the same at every cut-off."""
    rows = [
        (name, "", "session", query_id, kind, "recall", k, value)
        for name, by_query in experiments.items()
        for k in (5, 10)
        for kind, (query_id, value) in zip(KINDS, by_query.items(), strict=False)
    ]
    measured.write_metrics(paths.metrics("open"), rows)


@pytest.fixture
def as_written(tmp_path, monkeypatch):
    """A folder whose metrics are what a test writes, with no runs that they could be made from."""
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    monkeypatch.setattr("memrepro.report.profile.metrics_file", paths.metrics)


def test_metrics_are_read_anew_when_the_file_changes(as_written):
    write_recall(a={"q1": 1.0, "q0": 0.5})
    found = Metrics("open").values("a", "session", "recall", 5)
    # In the order of the file, and of a copy that may be changed.
    assert found["query_id"].tolist() == ["q1", "q0"]
    assert found["kind"].tolist() == list(KINDS)
    found["value"] = 0.0
    assert Metrics("open").values("a", "session", "recall", 5)["value"].tolist() == [1.0, 0.5]
    write_recall(b={"q1": 0.25})
    path = paths.metrics("open")
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 1))
    now = Metrics("open")
    assert now.experiments == {"b"}
    assert now.values("b", "session", "recall", 10)["value"].tolist() == [0.25]
    with pytest.raises(MemreproError, match="no recall@5 of 'a'.* run `dvc repro`"):
        now.values("a", "session", "recall", 5)
    with pytest.raises(MemreproError, match="no recall@7 of 'b'.* its k are 5, 10"):
        now.values("b", "session", "recall", 7)


def test_metrics_of_no_runs_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    with pytest.raises(MemreproError, match=r"results/open/.*\.parquet is missing"):
        Metrics("open")
    # Nor are those believed that do not say what they were made from.
    write_recall(a={"q1": 1.0})
    with pytest.raises(MemreproError, match=r"results/open/.*\.parquet is missing"):
        Metrics("open")


def test_a_difference_pairs_by_question_whatever_the_order():
    before, now = values(q0=0.0, q1=1.0, q2=0.5), values(q2=1.0, q0=0.5, q1=1.0)
    found = compare_values(before, now, "sample", load_plan())
    assert found == compare_values(before, now.iloc[::-1], "sample", load_plan())
    assert str(found).startswith("+0.3333 [")
    assert str(found).endswith("won 2, lost 0, by 3 questions")


@pytest.mark.parametrize(
    "other", [values(q0=1.0), values(q0=1.0, q9=1.0), values(q0=1, q1=1, q2=1)]
)
def test_other_questions_are_refused(other):
    with pytest.raises(MemreproError, match="needs the same questions"):
        compare_values(values(q0=0.0, q1=1.0), other, "sample", load_plan())
