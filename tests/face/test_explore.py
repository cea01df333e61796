"""notebooks/explore.ipynb is for people: it runs, and leaves results as they are."""

import ast
import json
import subprocess
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from memrepro.data.fetch import mirror_folder
from memrepro.face.conversations import is_here

ROOT = Path(__file__).parents[2]
CELLS = json.loads((ROOT / "notebooks" / "explore.ipynb").read_text("utf-8"))["cells"]
CODE = ["".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "code"]


def state():
    """What git sees of the files."""
    command = ("git", "status", "--porcelain")
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def shown_by(source, names):
    """What a cell prints, and the value of its last line; a kernel would import all anew."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    with redirect_stdout(StringIO()) as printed:
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        value = last and eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return printed.getvalue() + ("" if value is None else repr(value))


@pytest.mark.slow
def test_it_runs_and_leaves_the_results_as_they_are(monkeypatch):
    if not is_here("locomo") and mirror_folder() is None:
        pytest.skip("the texts of locomo are not on this machine")
    monkeypatch.chdir(ROOT / "notebooks")
    drawn = []
    monkeypatch.setattr(plt, "show", lambda: drawn.append(plt.gcf()) or "a plot")
    before, names = state(), {}
    shown = [source for source in CODE if shown_by(source, names)]
    assert state() == before
    assert len(drawn) == 1
    assert drawn[0].axes[0].lines
    assert len(shown) >= len(CODE) - 1
    plt.close("all")
