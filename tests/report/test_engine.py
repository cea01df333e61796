"""The engines of tables and claims: a document is a folder of data and nothing else."""

import textwrap

import pytest

from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.report import build, figures
from memrepro.report.document import Document
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
        figures:
          bars: {per: study, level: session, metric: recall_all, k: 5, called: row, rows: [plain]}
        """,
    "claims.yaml": """
        metrics: [recall_all@5]
        note: a toy
        claims:
          - row: the sweep's end wins
            pairs: [[{run: toy-sweep, setting: '2', called: end}, plain, '{hard}']]
            over: {hard: [hard, easy]}
        """,
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


# What is said of a mistake in a document's file → the file, and what is replaced by what.
MISTAKES = {
    "table table1: .*lacks level": (
        "tables.yaml", {"level: session\n            k: 5": "k: 5", ", level: session}]": "}]"}),
    "table1: template .{nothing}-plain": ("tables.yaml", {"{stem}-plain": "{nothing}-plain"}),
    "figure bars: it lacks .metric": ("tables.yaml", {"metric: recall_all, k: 5, c": "c"}),
    "'runs' must map names": ("tables.yaml", {"runs:\n  ": "runs: [1]\n        old:\n  "}),
    "claim .the sweep's end wins.: it lacks 'called'": ("claims.yaml", {", called: end}": "}"}),
    "it lacks 'note'; memrepro/report/claims.py": ("claims.yaml", {"note: a toy": ""}),
    "unknown metric 'recal'": ("claims.yaml", {"[recall_all@5]": "[recal@5]"}),
    "wins. compares nothing": ("claims.yaml", {"pairs: ": "better: plain #"}),
    "unknown metric 'recal_all'": ("tables.yaml", {"{metric: recall_all}": "{metric: recal_all}"}),
    "has 'half', which is no number": ("printed.yaml", {"'0.50'": "half"}),
    "'reproduced' is no verdict that an entry may": (
        "tables.yaml", {"metric: recall_all}": "metric: recall_all, verdict: reproduced}"}),
    "'../../table1' names a file": (
        "tables.yaml", {"\n            printed: table1": "", "table1:": "../../table1:"}),
    "are written to toy_bars.csv": (
        "tables.yaml", {"level: session}]": "level: session}, {stem: toy, level: session}]"}),
    "toy has no module sums.py": (
        "tables.yaml", {"level: session\n ": "level: session\n            computed: sums.all\n "}),
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
        build.build_report(Document(folder), "sample", tmp_path)
