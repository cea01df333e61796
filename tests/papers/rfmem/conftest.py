import pytest

from memrepro.files import paths
from tests.papers.rfmem import toy


@pytest.fixture(autouse=True)
def metrics_as_written(monkeypatch):
    """Toy metrics follow from no runs: they are read as they were written."""
    monkeypatch.setattr("memrepro.report.profile.metrics_file", paths.metrics)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of its own for results, with metrics of nothing."""
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    toy.write_metrics("open", "session", {"x": {"q0": 1.0}})
    return tmp_path
