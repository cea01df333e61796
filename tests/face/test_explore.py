"""notebooks/explore.ipynb is for people: it runs, and leaves results as they are."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient

from memrepro.data.fetch import mirror_folder
from memrepro.face.conversations import is_here

ROOT = Path(__file__).parents[2]
NOTEBOOK = nbformat.read(ROOT / "notebooks" / "explore.ipynb", as_version=4)
CODE = [cell.source for cell in NOTEBOOK.cells if cell.cell_type == "code"]


def state():
    """What git sees of the files."""
    command = ("git", "status", "--porcelain")
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_it_runs_and_leaves_the_results_as_they_are(monkeypatch):
    if not is_here("locomo") and mirror_folder() is None:
        pytest.skip("the texts of locomo are not on this machine")
    manager = AsyncKernelManager()
    manager.kernel_spec.argv[0] = sys.executable  # another environment may own the name python3
    folder = {"metadata": {"path": str(ROOT / "notebooks")}}
    before, notebook = state(), nbformat.from_dict(NOTEBOOK)
    limits = {"timeout": 3600, "startup_timeout": 600}
    NotebookClient(notebook, **limits, km=manager, resources=folder).execute()
    assert state() == before
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert sum("image/png" in output.get("data", {}) for output in shown) == 1
    assert len(shown) >= len(CODE) - 1
