"""The notebooks' contract, and the runner's: what papermill lets pass is refused."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import papermill
import pytest
import yaml

from memrepro.errors import MemreproError
from memrepro.pipeline import notebook
from memrepro.pipeline.notebook import execute, normalise

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PATH_LIKE = re.compile(r"[\"'][^\"']*(/|\\)[^\"']*[\"']|Path\(|open\(")


@pytest.fixture(params=NOTEBOOKS, ids=lambda p: p.stem)
def source(request):
    return nbformat.read(request.param, as_version=4)


def code(source):
    return [cell for cell in source.cells if cell.cell_type == "code"]


def test_no_outputs_no_ids_no_counts(source):
    assert source.nbformat_minor == 4
    for cell in source.cells:
        assert "id" not in cell
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_no_logic_no_paths_short_cells(source):
    for cell in code(source):
        assert len(cell.source.splitlines()) <= 8
        assert not re.search(r"^\s*(def|class|for|while|if|try|with|lambda)\b", cell.source, re.M)
        assert not PATH_LIKE.search(cell.source), cell.source
        calls = [line for line in cell.source.splitlines() if "(" in line]
        assert len(calls) <= 1, "one call a cell"


def test_prose_parameters_and_footer(source):
    assert source.cells[0].cell_type == "markdown"
    assert source.cells[0].source.startswith("# ")
    assert sum("parameters" in cell.metadata.get("tags", []) for cell in source.cells) == 1
    assert source.cells[-1].source == "done.footer()"


def test_every_parameter_that_dvc_passes_is_declared():
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    called = set()
    for stage in stages.values():
        command = stage.get("do", stage)["cmd"]
        name = re.search(r"memrepro notebook (\S+)", command)[1]
        passed = set(re.findall(r"-p (\w+)=", command))
        names = [p.stem for p in NOTEBOOKS] if "${" in name else [name]
        if "${" in name:
            reports = yaml.safe_load((ROOT / "params.yaml").read_text())["reports"]
            names = [report["paper"] for report in reports.values()]
        for each in names:
            called.add(each)
            declared = set(papermill.inspect_notebook(str(ROOT / "notebooks" / f"{each}.ipynb")))
            assert passed == declared, each
    assert called == {p.stem for p in NOTEBOOKS}, "a notebook that no stage runs"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder that counts as a repository, for notebooks made by a test."""
    for name in ("params.yaml", "dvc.yaml"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "notebooks").mkdir()
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
    assert sorted(p.name for p in project.iterdir()) == [
        "dvc.yaml",
        "notebooks",
        "out.ipynb",
        "params.yaml",
    ]


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


def test_unknown_notebook(project):
    write(project, "x = ''", FOOTER)
    with pytest.raises(MemreproError, match="unknown notebook 'nope': known are made"):
        execute("nope", {}, project / "out.ipynb")


@pytest.mark.slow
def test_the_page_loads_nothing_and_escapes_texts(project):
    evil = "<script>alert(1)</script>"
    frame = f"import pandas as pd\npd.DataFrame({{'text': [{evil!r}]}})"
    write(project, "x = ''", frame, FOOTER)
    executed = execute("made", {"x": ""}, project / "out.ipynb")
    page = notebook.to_page(executed, project / "page.html").read_text()
    assert evil not in page
    assert "&lt;script&gt;alert(1)" in page
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"']https?:", page)


def test_normalise_keeps_content():
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# prose")])
    stable = normalise(made)
    assert stable.cells[0].source == "# prose"
    assert "id" not in json.loads(nbformat.writes(stable))["cells"][0]


@pytest.mark.slow
def test_an_edit_of_a_dependency_during_a_run_is_refused(project):
    """A DVC stage whose notebook edits the stage's own input, as a developer might meanwhile."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    write(project, "x = ''", "open('input.txt', 'a').write('more')", FOOTER)
    (project / "input.txt").write_text("some")
    (project / "params.yaml").write_text("value: 1\n")
    command = "python -m memrepro notebook made -p x=1 --output out.ipynb"
    stage = {"cmd": command, "deps": ["input.txt"], "params": ["value"], "outs": ["out.ipynb"]}
    (project / "dvc.yaml").write_text(json.dumps({"stages": {"made": stage}}))
    subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
    dvc = [sys.executable, "-m", "dvc"]
    subprocess.run([*dvc, "init", "--quiet"], cwd=project, check=True)
    done = subprocess.run(
        [*dvc, "repro"], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "input.txt changed while the notebook 'made' ran on it" in done.stderr
    assert not (project / "dvc.lock").exists()
