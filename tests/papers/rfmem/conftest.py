import pytest

from memrepro.files import paths


@pytest.fixture(autouse=True)
def metrics_as_written(monkeypatch):
    """Toy metrics follow from no runs: they are read as they were written."""
    monkeypatch.setattr("memrepro.report.profile.metrics_file", paths.metrics)
