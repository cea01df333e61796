"""The notebooks' contract, and the runner's: what papermill lets pass is refused."""

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import nbformat
import pandas as pd
import papermill
import pytest

import memrepro
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.pipeline import notebook
from memrepro.pipeline.notebook import execute
from memrepro.pipeline.stage import notebook_of
from memrepro.study.params import load_plan
from memrepro.study.result import recorded

ROOT = Path(__file__).parents[2]
NOTEBOOKS = {
    path.stem: nbformat.read(path, as_version=4) for path in (ROOT / "notebooks").glob("*.ipynb")
}
LINE = ("prepare", "embed", "retrieve", "evaluate", "verify")
DOCUMENTS = sorted(set(NOTEBOOKS) - {*LINE, "explore"})  # those that show a document's analysis
# What a notebook may import of the package beside its face: what shows a stage, and the documented
# formulas of a document, which its notebook works out by hand beside them.
OPEN_TO_NOTEBOOKS = {
    "memrepro.pipeline.views", "memrepro.report.narrative", "memrepro.study.result.recorded",
    *(f"memrepro.evaluate.answers.{name}"
      for name in ("contains", "matches", "normalised", "token_f1")),
    *(f"memrepro.retrieve.associa.association.{name}"
      for name in ("Prizes", "associate", "node_prizes")),
    "memrepro.retrieve.associa.importance.page_rank",
    *(f"memrepro.retrieve.tiered.scoring.{name}"
      for name in ("additive_recency", "channel_weight", "combined", "half_life")),
}  # fmt: skip
WRITES = re.compile(r"\bopen\(|\.to_(csv|parquet|json|pickle|excel)\b|savefig|write|Path\(")


def code(source):
    return [cell.source for cell in source.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("name", sorted(NOTEBOOKS))
def test_no_outputs_no_ids_no_counts(name):
    assert NOTEBOOKS[name].nbformat_minor == 4
    for cell in NOTEBOOKS[name].cells:
        assert "id" not in cell
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.parametrize("name", sorted(NOTEBOOKS))
def test_it_begins_with_its_title_and_parameters_and_writes_nothing(name):
    cells = NOTEBOOKS[name].cells
    assert cells[0].source.startswith("# ")
    if name != "explore":  # which is run by people and by no stage
        first = next(cell for cell in cells if cell.cell_type == "code")
        tagged = [cell for cell in cells if "parameters" in cell.metadata.get("tags", [])]
        assert tagged == [first]
    assert not WRITES.search("\n".join(code(NOTEBOOKS[name])))


@pytest.mark.parametrize("name", sorted(NOTEBOOKS))
def test_it_uses_what_is_documented(name):
    source = "\n".join(code(NOTEBOOKS[name]))
    assert set(re.findall(r"\bmr\.(\w+)", source)) <= set(memrepro.__all__)
    assert not re.search(r"\._[a-z]|\bimport _", source)
    taken = re.findall(r"^from (memrepro\S*) import ([\w, ]+)$", source, re.M)
    named = {f"{module}.{one.strip()}" for module, ones in taken for one in ones.split(",")}
    assert named <= OPEN_TO_NOTEBOOKS
    assert set(re.findall(r"^import (memrepro.*)$", source, re.M)) <= {"memrepro as mr"}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_explained_in_cells_that_a_reader_can_take_in(name):
    assert 15 <= len(NOTEBOOKS[name].cells) <= 30
    lines = [[line for line in one.splitlines() if line.strip()] for one in code(NOTEBOOKS[name])]
    assert all(len(ones) <= 16 for ones in lines)
    heads = re.findall(r"^## (.*)", "\n".join(c.source for c in NOTEBOOKS[name].cells), re.M)
    assert {"Try me", "Provenance"} <= set(heads)
    assert "narrative.found(" in code(NOTEBOOKS[name])[1]


def test_no_two_notebooks_share_their_code():
    owners = defaultdict(set)
    for name in ("explore", *LINE, *DOCUMENTS):
        for source in code(NOTEBOOKS[name]):
            lines = [one for one in source.splitlines() if not re.match(r"import |from |$", one)]
            if len(lines) > 2:
                owners["\n".join(lines).replace(name, "…")].add(name)
    assert not {source: names for source, names in owners.items() if len(names) > 1}


def test_the_lines_notebooks_show_what_goes_in_and_out():
    for name in LINE:
        cells = NOTEBOOKS[name].cells
        heads = [c.source.splitlines()[0] for c in cells if c.cell_type == "markdown"]
        assert "## What goes in" in heads
        assert sum(head.startswith("## ") for head in heads) >= 4
        assert "plt.show()" in "\n".join(code(NOTEBOOKS[name]))


def test_every_parameter_that_dvc_passes_is_declared():
    from tests.pipeline.test_dvc import STAGES

    called = set()
    for stage in STAGES.values():
        for command in stage["commands"]:
            if not (found := re.search(r"memrepro stage (\w+) (.+) --notebook ", command)):
                continue
            name, given = notebook_of(found[1], found[2].split())
            called.add(name)
            path = ROOT / "notebooks" / f"{name}.ipynb"
            assert set(given) == set(papermill.inspect_notebook(str(path))), name
    reports = {report for papers in load_plan().reports.values() for report in papers}
    assert called == {*LINE, *reports}


def results():
    """What git sees of the files, and the time of each result."""
    command = ("git", "status", "--porcelain")
    seen = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return seen, {path: path.stat().st_mtime_ns for path in (ROOT / "results").rglob("*")}


def read_aloud(output):
    """An output's text."""
    data = output.get("data", {})
    return "".join(
        [
            output.get("text", ""),
            *(data.get(f"text/{k}", "") for k in ("plain", "html", "markdown")),
        ]
    )


# What a number of the prose may be without standing in an output: a cut-off of a metric, a place in
# a document, a power of a symbol, or part of a name.
PLACES = re.compile(
    r"`[^`]*`|\b(?:Tables?|Figures?|Sections?|Equations?|Eqs?\.|§|Algorithms?|Appendix|R|N|NDCG|k)"
    r"[ @=]?\d+(?:\.\d+)*(?:(?:, | and |–|-)\d+(?:\.\d+)*)*|\$[^$]*\$|@\d+|95 %|[A-Za-z]+[-‑]?\d\w*"
)
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")


def check_prose(cells, tables):
    """Each number of the prose stands in an output or in code above it, or in a committed table."""
    above = tables
    for cell in cells:
        if cell.cell_type == "markdown":
            for number in NUMBER.findall(PLACES.sub("", cell.source)):
                found = re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", above)
                assert found, f"{number} of {cell.source[:200]!r}"
        else:
            above += cell.source + "".join(map(read_aloud, cell.outputs))


EXECUTED = [
    (name, profile)
    for profile in ("sample", "open")
    for name in DOCUMENTS
    if name in load_plan().reports[profile]
]


def committed(name, profile):
    """A document's notebook as its stage executed it."""
    return nbformat.read(paths.results(profile) / name / "report.ipynb", as_version=4)


@pytest.mark.parametrize(("name", "profile"), EXECUTED)
def test_what_is_committed_is_the_notebook_and_its_prose_holds(name, profile):
    cells = committed(name, profile).cells
    own = [one for one in cells if "injected-parameters" not in one.metadata.get("tags", ())]
    assert [one.source for one in own] == [one.source for one in NOTEBOOKS[name].cells]
    folder = paths.results(profile) / name
    tables = "".join(path.read_text("utf-8") for path in sorted(folder.glob("*.csv")))
    check_prose(cells, tables)


def without_pictures(cells):
    """What cells show, but for the bytes of their plots."""
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    for output in outputs:
        output.get("data", {}).pop("image/png", None)
    return outputs


# The sample's are executed again by .ci/run, which lists those that differ; these it has not, and
# what rfmem's computes is made again by tests/papers/test_committed.py.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["audit", "reading"])
def test_a_second_run_shows_the_same_and_leaves_the_results_alone(name, tmp_path):
    before = results()
    second = execute(name, {"profile": "open"}, tmp_path / "second.ipynb")
    assert results() == before
    again = nbformat.read(second, as_version=4).cells
    assert without_pictures(again) == without_pictures(committed(name, "open").cells)


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


FOOTER = "print('the end')"


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
    with pytest.raises(MemreproError, match="ended before its last cell"):
        execute("made", {"x": ""}, project / "out.ipynb")
    assert (project / "out.ipynb").read_text() == "old"
    left = {"dvc.yaml", "memrepro", "notebooks", "out.ipynb", "params.yaml"}
    assert {path.name for path in project.iterdir()} == left


@pytest.mark.slow
def test_the_kernel_is_the_running_python_whatever_is_installed(project, monkeypatch):
    """Another environment's `python3`, which papermill would find first, must not run stages."""
    spec = project / "jupyter" / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    argv = ["/bin/false", "{connection_file}"]
    spec.write_text(json.dumps({"argv": argv, "display_name": "Python 3", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(project / "jupyter"))
    write(project, "x = ''", "import sys\nprint(sys.executable, sys.prefix)")
    out = execute("made", {"x": ""}, project / "out.ipynb").read_text()
    assert f"{sys.executable} {sys.prefix}" in out


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


def test_what_is_printed_is_one_output_however_it_was_sent():
    parts = [nbformat.v4.new_output("stream", text=text) for text in ("a\n", "b\n")]
    noise = nbformat.v4.new_output("stream", name="stderr", text="warned")
    shown = nbformat.v4.new_output("display_data", {"text/plain": "c"})
    cell = nbformat.v4.new_code_cell("", outputs=[parts[0], noise, parts[1], shown, parts[0]])
    (made,) = notebook.normalise(nbformat.v4.new_notebook(cells=[cell])).cells
    assert [read_aloud(output) for output in made.outputs] == ["a\nb\n", "c", "a\n"]


def test_a_stage_leaves_a_record_that_its_notebook_reads(project):
    from memrepro.study.result import StageResult

    summary = pd.DataFrame({"n": [1, 2], "share": [0.5, 1.0]}, index=pd.Index(["a", "b"], name="x"))
    made = project / "params.yaml"
    StageResult("count a b", summary, [], [made]).record()
    found = recorded("count", "a", "b")
    pd.testing.assert_frame_equal(found.summary, summary.reset_index(), check_dtype=False)
    assert found.outputs == [made]
    with pytest.raises(MemreproError, match="'count c' has not run in this checkout"):
        recorded("count", "c")


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
    executed = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("")])

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
