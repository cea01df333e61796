"""The notebooks' contract, and the runner's: what papermill lets pass is refused."""

import re
from pathlib import Path

import nbformat
import pandas as pd
import papermill
import pytest

from memrepro.errors import MemreproError
from memrepro.pipeline import notebook
from memrepro.pipeline.notebook import execute
from memrepro.study.result import SENTINEL

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# `explore` is run by people and by no stage: tests/face/test_explore.py holds it.
OF_STAGES = [path for path in NOTEBOOKS if path.stem != "explore"]
PATH_LIKE = re.compile(r"[\"'][^\"']*(/|\\)[^\"']*[\"']|Path\(|open\(")


@pytest.fixture(params=NOTEBOOKS, ids=lambda p: p.stem)
def source(request):
    return nbformat.read(request.param, as_version=4)


@pytest.fixture(params=OF_STAGES, ids=lambda p: p.stem)
def stage(request):
    return nbformat.read(request.param, as_version=4)


def code(source):
    return [cell for cell in source.cells if cell.cell_type == "code"]


def test_no_outputs_no_ids_no_counts(source):
    assert source.nbformat_minor == 4
    for cell in source.cells:
        assert "id" not in cell
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_no_logic_no_paths_short_cells(stage):
    for cell in code(stage):
        assert len(cell.source.splitlines()) <= 8
        assert not re.search(r"^\s*(def|class|for|while|if|try|with|lambda)\b", cell.source, re.M)
        assert not PATH_LIKE.search(cell.source), cell.source
        calls = [line for line in cell.source.splitlines() if "(" in line]
        assert len(calls) <= 1, "one call a cell"


def test_prose_parameters_and_footer(stage):
    assert stage.cells[0].cell_type == "markdown"
    assert stage.cells[0].source.startswith("# ")
    assert sum("parameters" in cell.metadata.get("tags", []) for cell in stage.cells) == 1
    assert stage.cells[-1].source == "done.footer()"


LINE = ("prepare", "embed", "retrieve", "evaluate", "verify")


def test_the_lines_notebooks_show_what_goes_in_and_out():
    for name in LINE:
        cells = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4).cells
        assert len(cells) >= 8
        heads = [c.source.splitlines()[0] for c in cells if c.cell_type == "markdown"]
        assert "## What goes in" in heads
        assert sum(head.startswith("## ") for head in heads) >= 4


def test_every_parameter_that_dvc_passes_is_declared():
    from memrepro.study.params import load_plan
    from tests.pipeline.test_dvc import STAGES

    called = set()
    for stage in STAGES.values():
        for command in stage["commands"]:
            if not (found := re.search(r"memrepro notebook (\S+)", command)):
                continue
            called.add(name := found[1])
            if name in LINE:
                passed = set(re.findall(r"-p (\w+)=", command))
                path = ROOT / "notebooks" / f"{name}.ipynb"
                assert passed == set(papermill.inspect_notebook(str(path))), name
    reports = {report for papers in load_plan().reports.values() for report in papers}
    assert called == {*LINE, *reports}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder that counts as a repository, for notebooks made by a test."""
    (tmp_path / "params.yaml").write_text("studies: {a: {k: 1}, b: {k: 1}}")
    (tmp_path / "dvc.yaml").write_text("{}")
    (tmp_path / "memrepro" / "core").mkdir(parents=True)
    (tmp_path / "memrepro" / "core" / "keys.py").write_text("")
    (tmp_path / "notebooks").mkdir()
    # The kernel starts in this folder, whose `memrepro` must not stand for the package.
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(project, *cells, name="made"):
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    made.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    made.cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(made, project / "notebooks" / f"{name}.ipynb")


FOOTER = "from memrepro.study.result import SENTINEL\nprint(SENTINEL)"


@pytest.mark.slow
def test_runs_and_writes_a_stable_file(project):
    noisy = "import sys, time\nprint(object, time, file=sys.stderr)\nprint(object())\nprint(x)"
    write(project, "x = 'default'", noisy, FOOTER)
    first = execute("made", {"x": "given"}, project / "out.ipynb").read_bytes()
    second = execute("made", {"x": "given"}, project / "out.ipynb").read_bytes()
    assert first == second
    text = first.decode()
    assert "given" in text
    assert "0x…" in text
    assert '"name": "stderr"' not in text


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [({"y": "1"}, "unknown parameter 'y'.*declares x"), ({}, "missing parameter 'x'")],
)
def test_parameters_must_fit(project, parameters, sentence):
    write(project, "x = 'default'", FOOTER)
    with pytest.raises(MemreproError, match=sentence):
        execute("made", parameters, project / "out.ipynb")


@pytest.mark.slow
def test_an_early_exit_is_no_success_and_the_old_file_stays(project):
    write(project, "x = ''", "raise SystemExit(0)", FOOTER)
    (project / "out.ipynb").write_text("old")
    with pytest.raises(MemreproError, match="ended before its last cell's footer"):
        execute("made", {"x": ""}, project / "out.ipynb")
    assert (project / "out.ipynb").read_text() == "old"
    left = {"dvc.yaml", "memrepro", "notebooks", "out.ipynb", "params.yaml"}
    assert {path.name for path in project.iterdir()} == left


@pytest.mark.slow
def test_the_packages_sentence_comes_through_alone(project):
    raising = "from memrepro.errors import MemreproError\nraise MemreproError('one sentence')"
    write(project, "x = ''", raising, FOOTER)
    with pytest.raises(MemreproError, match="^one sentence$"):
        execute("made", {"x": ""}, project / "out.ipynb")


@pytest.mark.slow
def test_another_error_keeps_its_traceback(project):
    write(project, "x = ''", "1 / 0", FOOTER)
    with pytest.raises(MemreproError, match="failed in cell 3 with ZeroDivisionError") as error:
        execute("made", {"x": ""}, project / "out.ipynb")
    assert "1 / 0" in str(error.value)


@pytest.mark.slow
def test_a_kernel_that_dies_is_one_sentence(project):
    write(project, "x = ''", "import os\nos._exit(1)", FOOTER)
    with pytest.raises(MemreproError, match="the kernel of the notebook 'made' died"):
        execute("made", {"x": ""}, project / "out.ipynb")


def test_the_page_loads_nothing_and_escapes_texts(tmp_path):
    evil = "<script>alert(1)</script>"
    table = pd.DataFrame({"text": [evil]}).to_html()
    shown = nbformat.v4.new_output("execute_result", {"text/html": table, "text/plain": evil})
    cells = [nbformat.v4.new_code_cell("frame", outputs=[shown])]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "out.ipynb")
    page = notebook.to_page(tmp_path / "out.ipynb", tmp_path / "page.html").read_text()
    assert evil not in page
    assert "&lt;script&gt;alert(1)" in page
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"']https?:", page)


@pytest.mark.parametrize(
    ("file", "text", "named"),
    [
        ("memrepro/core/keys.py", "more", "memrepro/core/keys.py"),
        ("params.yaml", "studies: {a: {k: 2}}", "studies.a of params.yaml"),
        ("notebooks/made.ipynb", "{}", "notebooks/made.ipynb"),
        ("params.yaml", "studies: {a: {k: 1}, b: 2}", ""),  # another study is none of this run's
    ],
)
def test_an_edit_during_a_run_is_refused(project, monkeypatch, file, text, named):
    """As a developer might edit meanwhile."""
    write(project, "x = ''", FOOTER)
    printed = nbformat.v4.new_output("stream", text=f"{SENTINEL}\n")
    executed = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=[printed])])

    def edit_and_execute(*_, **__):
        (project / file).write_text(text)
        return executed

    monkeypatch.setattr(papermill, "execute_notebook", edit_and_execute)
    if not named:
        assert execute("made", {"x": "a"}, project / "out.ipynb").is_file()
        return
    with pytest.raises(MemreproError, match=f"{named} changed while the notebook 'made' ran on it"):
        execute("made", {"x": "a"}, project / "out.ipynb")
    assert not (project / "out.ipynb").exists()
