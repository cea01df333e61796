"""Parameters of notebooks that name nothing: refused in one sentence, and nothing is written."""

import contextlib
import io
import subprocess
from collections.abc import Callable, Iterator
from contextlib import chdir
from functools import partial
from pathlib import Path
from random import Random

from papermill.inspection import inspect_notebook
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

from memrepro.errors import MemreproError
from memrepro.files.atomic import root
from memrepro.pipeline.notebook import execute

# All are text on the command line.
ODD = (
    "", " ", ".", "..", "../sample", "/etc/passwd", "sample/", "sample ", "Sample", "sample\0",
    "sample\n", '"; raise SystemExit; "', "'''", '"""', "\\", "{sample}", "sample@sample", "*",
    "\x1b[31m", "\u202esample", "sample\u200b", "\ud800", "s" * 300, "s" * 100_000, "s s " * 500,
    "__import__('os')", "None", "0", "=1+1", "<script>alert(1)</script>", "%2e%2e%2f", "~", "con",
)  # fmt: skip


def notebooks(folder: Path) -> Iterator[Callable[[Random], object]]:
    """Runs each notebook with odd values of its parameters, in a clone without data."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(root()), str(clone)], check=True)
    for path in sorted((clone / "notebooks").glob("*.ipynb")):
        if not inspect_notebook(str(path)):  # of people, who give it none
            continue
        for cell in load_notebook_node(str(path)).cells:
            if cell.source.startswith(("from ", "import ")):
                exec(cell.source, {})  # imports take their time once
        yield partial(_run, clone, path)


def _run(clone: Path, path: Path, chance: Random) -> None:
    """Its cells in this process, as a kernel takes seconds to begin."""
    declared = {name: told["default"].strip("\"'") for name, told in inspect_notebook(path).items()}
    given = {**declared, chance.choice(list(declared)): chance.choice(ODD)}
    with chdir(clone), contextlib.redirect_stdout(io.StringIO()):
        if chance.random() < 0.2:
            # One of another name, or one less: before any kernel begins.
            other = dict([*given.items()][1:]) or {chance.choice(ODD): "sample"}
            execute(path.stem, other, clone / "build/out.ipynb")
            raise AssertionError(f"{other} are taken for parameters")
        whole = parameterize_notebook(load_notebook_node(str(path)), given)
        names: dict[str, object] = {}
        try:
            for cell in whole.cells:
                if cell.cell_type == "code":
                    exec(compile(cell.source, path.name, "exec"), names)
                if "injected-parameters" in cell.metadata.tags:
                    assert {name: names[name] for name in given} == given
        finally:
            status = ["git", "status", "--porcelain", "--ignored"]
            written = subprocess.check_output(status, cwd=clone, text=True)
            assert not written, f"{given} left {written}"
    raise MemreproError("no refusal")
