"""The engines of tables and claims: a document is a folder of data and nothing else."""

import textwrap

import pandas as pd
import pytest

from memrepro.audit.verdicts import NOT_RUN, UNDECIDED
from memrepro.errors import MemreproError
from memrepro.evaluate.bootstrap import paired_difference
from memrepro.evaluate.comparison import Comparison
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report import build, figures
from memrepro.report.claims import CONTRARY
from memrepro.report.compared import FAILS, HOLDS, verdict
from memrepro.report.document import Document
from memrepro.report.modules import DocumentReport
from memrepro.report.sources import read_sources
from memrepro.report.specs import as_specs, fill, loops, spell
from memrepro.study.plan import DatasetEntry, Evaluation, Experiment, Plan
from tests.measured import write_metrics

N = 40
# Run and setting → the share of questions that it gets right, the first ones.
RIGHT = {("toy-plain", ""): 0.5, ("toy-better", ""): 1.0, ("toy-sweep", "1"): 0.25,
         ("toy-sweep", "2"): 0.75}  # fmt: skip
FILES = {
    "printed.yaml": """
        table1:
          columns: [R@5]
          rows:
            Plain: ['0.50']
        prose:
          columns: [printed]
          rows:
            '§1: ours wins': [ours is better]
        """,
    "tables.yaml": """
        studies:
          sample: [{title: Toy, stem: toy, dataset: toy, level: session}]
        runs:
          plain: {run: '{stem}-plain'}
          better: {run: '{stem}-better', about: with more}
          lost: {run: '{stem}-lost'}
        tables:
          table1:
            printed: table1
            level: session
            k: 5
            rows: {Plain: plain}
            columns: {R@5: {metric: recall_all}}
          here:
            per: study
            level: session
            rows:
              better − plain: {as: better, before: plain}
              by how much: {as: better, minus: plain}
            columns: [recall_all@5]
        figures:
          bars: {per: study, level: session, metric: recall_all, k: 5, called: row, rows: [plain]}
        """,
    "claims.yaml": """
        metrics: [recall_all@5]
        note: a toy
        claims:
          - {row: ours wins, said: [prose, '§1: ours wins'], better: better, worse: [plain]}
          - {row: plain wins, better: plain, worse: [better]}
          - {row: plain is plain, better: plain, worse: [plain], equal: true}
          - {row: lost wins, better: lost, worse: [plain]}
          - row: the sweep's end wins
            pairs: [[{run: toy-sweep, setting: '2', called: end}, plain, '{hard}']]
            over: {hard: [hard, easy]}
          - {row: ours wins by another metric, metrics: [ndcg@5], better: better, worse: [plain]}
          - row: both ways
            pairs:
              - - &two {run: toy-sweep, setting: '2', called: two}
                - &one {run: toy-sweep, setting: '1', called: one}
              - [*one, *two]
            readings: true
          - {row: no one knows, unchecked: no data}
        """,
    "analysis.py": '''
        """The toy's own analysis."""


        def write_analysis(profile, folder):
            path = folder / "more.csv"
            path.write_text(profile)
            return [path]
        ''',
}  # fmt: skip


def experiment(name):
    return Experiment("sample", "all", "toy", "session", "whole", "dense", "toy", {"k": 50})


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """A document's folder and its runs' metrics, both outside the package."""
    tmp_path = tmp_path_factory.mktemp("toy")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
        # The toy has metrics and no runs that they could be made from.
        monkeypatch.setattr("memrepro.report.profile.metrics_file", paths.metrics)
        yield write_toy(tmp_path, monkeypatch)


def write_toy(tmp_path, monkeypatch):
    """Write the toy's folder, its metrics and its plan."""
    folder = tmp_path / "papers" / "toy"
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(textwrap.dedent(text))
    rows = [
        (run, setting, "session", f"q{i:02}", "hard" if i % 2 else "easy", "recall_all", 5,
         float(i < share * N))
        for (run, setting), share in RIGHT.items()
        for i in range(N)
    ]  # fmt: skip
    write_metrics(paths.metrics("sample"), rows)
    names = dict.fromkeys([run for run, _ in RIGHT])
    data = {"toy": DatasetEntry("sample", "toy", "question", {})}
    plan = Plan(data, {n: experiment(n) for n in names}, {}, {}, Evaluation((), (), (), (), {}))
    monkeypatch.setattr(build, "load_plan", lambda: plan)
    return Document(folder)


@pytest.fixture(scope="module")
def tables(toy):
    """The toy's report: name → (row, column) → cell."""
    out = toy.folder / "out"
    out.mkdir()
    with figures.data_only():
        written = DocumentReport(toy).write_report("sample", out)
    assert all(path.is_file() for path in written)
    assert {path.parent for path in written} == {out}
    frames = {p.stem: read_table(p) for p in written if p.suffix == ".csv" and p.stem != "more"}
    assert (out / "more.csv") in written
    return {
        name: {(c["row"], c["column"]): c for c in frame.astype(str).to_dict("records")}
        if "verdict" in frame
        else frame
        for name, frame in frames.items()
    }


def test_differences_name_the_run_before_first(tables):
    cell = tables["toy_here"]["better − plain", "recall_all@5"]
    mean, low, high = paired_difference(*(pd.Series([float(i < s * N) for i in range(N)]).to_numpy()
                                          for s in (0.5, 1.0)))  # fmt: skip
    assert cell["reproduced"] == (
        f"{mean:+.4f} [{low:+.4f}, {high:+.4f}], won 20, lost 0, by {N} questions"
    )
    assert float(cell["low"]) == pytest.approx(low, abs=1e-6)
    assert [cell[name] for name in ("won", "lost", "tied", "groups", "unit")] == [
        "20", "0", str(N - 20), str(N), "question",
    ]  # fmt: skip
    assert [source.run for source in read_sources(cell["sources"])] == ["toy-plain", "toy-better"]
    assert tables["toy_here"]["by how much", "recall_all@5"]["reproduced"] == "0.5000"
    assert cell["note"] == "better − plain: with more"


def test_claims_get_a_verdict_or_the_reason_why_not(tables):
    verdicts = {row: cell for (row, col), cell in tables["toy_claims"].items() if col == "verdict"}
    assert {row: cell["reproduced"] for row, cell in verdicts.items()} == {
        "ours wins": HOLDS, "plain wins": FAILS, "plain is plain": HOLDS, "lost wins": "",
        "the sweep's end wins": UNDECIDED, "both ways": CONTRARY,
        "no one knows": "cannot be checked here", "ours wins by another metric": "",
    }  # fmt: skip
    assert verdicts["ours wins"]["reported"] == "ours is better"
    assert verdicts["ours wins"]["printed"] == "prose | §1: ours wins | printed"
    assert verdicts["lost wins"]["verdict"] == NOT_RUN
    runs = [source.run for source in read_sources(verdicts["ours wins"]["sources"])]
    assert runs == ["toy-plain", "toy-better"]


def test_a_claim_is_corrected_by_its_own_comparisons_alone(tables):
    found = tables["toy_differences"]
    # Of two claims of better, one of equality, one on two kinds, and one of two readings.
    assert len([column for _, column in found if column == "recall_all@5, p"]) == 7
    assert {cell["unit"] for (_, column), cell in found.items() if column == "recall_all@5"} == {
        "question"
    }
    p = comparison(p=0.03)
    assert (verdict([p]), verdict([p, p])) == (HOLDS, UNDECIDED)
    against = comparison(p=0.001, low=-0.3, high=-0.1)
    assert (verdict([p, against]), verdict([against])) == (FAILS, FAILS)


def comparison(p, low=0.1, high=0.3):
    return Comparison((low + high) / 2, low, high, p, 5, 1, 4, 10, 10, "conversation")


def test_specs():
    named = {"a": {"run": "r"}}
    assert as_specs(["a", "ndcg@5"], named) == [("a", {"run": "r"}), ("ndcg@5", {})]
    assert list(loops({"k": [5, 10], "of": [{"x": 1, "y": 2}]})) == [
        {"k": 5, "x": 1, "y": 2}, {"k": 10, "x": 1, "y": 2},
    ]  # fmt: skip
    assert fill("{a}-{k}", {"a": "{b}", "b": "c", "k": 5}) == "c-5"
    with pytest.raises(MemreproError, match="'d' is none of a"):
        fill("{d}", {"a": 1})
    assert spell("x+merge:fact", [[r"(\w+)\+merge:(.*)", r"V + \2"]]) == "V + fact"


# What is said of a mistake in a document's file → the file, and what is replaced by what.
MISTAKES = {
    "table table1: .*lacks level": (
        "tables.yaml", {"level: session\n            k: 5": "k: 5", ", level: session}]": "}]"}),
    "table1: template .{nothing}-plain": ("tables.yaml", {"{stem}-plain": "{nothing}-plain"}),
    "figure bars: it lacks .metric": ("tables.yaml", {"metric: recall_all, k: 5, c": "c"}),
    "'runs' must map names": ("tables.yaml", {"runs:\n  ": "runs: [1]\n        old:\n  "}),
    "claim .the sweep's end wins.: it lacks 'called'": ("claims.yaml", {", called: end}": "}"}),
}  # fmt: skip


@pytest.mark.parametrize("sentence", MISTAKES)
def test_a_mistake_in_a_documents_file_names_the_file_and_the_entry(toy, tmp_path, sentence):
    name, changes = MISTAKES[sentence]
    folder = tmp_path / "toy"
    folder.mkdir()
    for file in ("printed.yaml", "tables.yaml", "claims.yaml"):
        text = FILES[file]
        for right, wrong in changes.items() if file == name else ():
            assert right in text
            text = text.replace(right, wrong)
        (folder / file).write_text(textwrap.dedent(text))
    with pytest.raises(MemreproError, match=f"{name}.*{sentence}"), figures.data_only():
        DocumentReport(Document(folder)).write_report("sample", tmp_path)
