"""A small project with results of its own, whose data say what no page may run."""

import json
import re
import shutil
import zlib
from base64 import b64decode, b64encode
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from matplotlib.figure import Figure

from memrepro.audit import coverage
from memrepro.core.memory import Memory, Piece, Query, Round
from memrepro.core.prepared import save
from memrepro.files import paths
from memrepro.files.atomic import root, write_table
from memrepro.provenance import places
from memrepro.provenance.places import run_file
from memrepro.report.figures import save as save_figure
from memrepro.report.profile import Metrics
from memrepro.report.sources import FileSource, RunSource
from memrepro.report.tables import Cell, number, write_cells
from tests.measured import write_metrics

HOSTILE = (
    "<script>window.hacked = 1</script>",
    '</script><img src=x onerror="window.hacked = 2">',
    "it's \"quoted\" & <b>bold</b> 'twice'",
    "שלום, مرحبا \u202eabc\u202c",
    "🙂‍🔥 e\u0301 \u2028 \u2029 \\u003c ]]> --> {{ 7 * 7 }} ${x}",
)
RUNS = {"sample-bm25-user": 0, "sample-dense-user": 1, "sample-rfmem-gated": 2}
QUESTIONS = 24


def kind(number):
    return ("multi-session", HOSTILE[0])[number % 2]


def _prepare():
    """Memories of five sessions; every text, id of a memory and field among them is hostile."""
    memories, queries = {}, []
    for m in range(2):
        name = f"m{m}<i>"
        docs = [
            (
                f"s{m}-{n}",
                Round.from_texts(f"s{m}-{n}_r", user=f"{HOSTILE[n]} {m}", assistant="<u>so</u>"),
            )
            for n in range(5)
        ]
        memories[name] = Memory.from_rounds(name, *docs)
    for n in range(QUESTIONS):
        text = HOSTILE[n % len(HOSTILE)]
        queries.append(Query(f"q{n:02}", f"m{n % 2}<i>", text, "2023-05-01T10:00", kind(n)))
    pieces = (
        Piece(memory, tuple(q for q in queries if q.memory_id == name))
        for name, memory in memories.items()
    )
    list(save(pieces, paths.prepared("sample")))


def _results():
    """Qrels, runs, a trace and metrics of three experiments by session."""
    qrels = [(f"q{n:02}", kind(n), "session", 0, f"s{n % 2}-{n % 5}", "") for n in range(QUESTIONS)]
    columns = ["query_id", "kind", "level", "part", "doc_id", "reason"]
    write_table(paths.qrels("sample", "sample"), pd.DataFrame(qrels, columns=columns))
    places = [(f"s{m}-{n}_r", f"s{m}-{n}") for m in range(2) for n in range(5)]
    write_table(
        paths.places("sample", "sample"), pd.DataFrame(places, columns=["doc_id", "session_id"])
    )
    metrics = []
    for name, shift in RUNS.items():
        run = []
        for n in range(QUESTIONS):
            order = [(n + shift + i) % 5 for i in range(4)]  # one session is never returned
            run += [
                (f"q{n:02}", f"s{n % 2}-{d}", rank, 0.9 - 0.1 * rank)
                for rank, d in enumerate(order, start=1)
            ]
            found = float(n % 5 in order)
            metrics += [
                (name, "", "session", f"q{n:02}", kind(n), metric, k, found * (n % (2 + shift) > 0))
                for metric in ("recall_all", "ndcg")
                for k in (5, 10)
            ]
        write_table(
            run_file(name),
            pd.DataFrame(run, columns=["query_id", "doc_id", "rank", "score"]),
        )
    write_metrics(paths.metrics("sample"), metrics)
    columns = ["dataset", "level", "protocol", "query_id", "reason"]
    write_table(paths.exclusions("sample"), pd.DataFrame(columns=columns))
    columns = ["experiment", "setting", "level", "protocol", "metric", "k", "n", "value"]
    write_table(paths.protocols("sample"), pd.DataFrame(columns=columns))
    folder = paths.trace("sample", "sample-rfmem-gated", "sample-rfmem")
    ids = [f"q{n:02}" for n in range(QUESTIONS)]
    gates = {"query_id": ids, "path": "recollection", "mean": 0.25, "entropy": 0.5, "rounds": 1}
    write_table(folder / "queries.parquet", pd.DataFrame(gates))
    searches = [(q, r, 1.0 - r / 10, 3) for q in ids for r in (0, 1)]
    names = ["query_id", "round", "drift", "n_candidates"]
    write_table(folder / "branches.parquet", pd.DataFrame(searches, columns=names))
    hits = pd.DataFrame([(q, r // 2) for q in ids for r in range(4)], columns=["query_id", "round"])
    write_table(folder / "hits.parquet", hits)


def _report():
    """A table, a figure and a list, and a notebook that was executed."""
    folder = paths.results("sample") / "findings"
    cells = [
        Cell(
            f"row {text}",
            f"column {i}",
            "recall@5",
            *numbers,
            24,
            verdict,
            "",
            text,
            str(FileSource("evaluation/exclusions.csv")) if i == 1 else "",
        )
        for i, text in enumerate(HOSTILE)
        for numbers, verdict in [
            (("0.5000", "0.5000"), "exact"),
            (("0.5000", "0.4000"), "not reproduced"),
            (("0.5000", ""), "not run"),
        ][i % 3 : i % 3 + 1]
    ]
    for run in ("sample-bm25-user", "sample-dense-user"):
        found = Metrics("sample").values(run, "session", "recall_all", 5)["value"]
        source = str(RunSource(run, "", "session", "recall_all", 5))
        value = number(found.mean())
        cells.append(
            Cell(run, HOSTILE[1], "recall_all@5", value, value, len(found), "exact", sources=source)
        )
    write_cells(cells, folder, "overview")
    n = dict.fromkeys(coverage.OUTCOMES, 0) | {"not run": 4}
    counts = pd.DataFrame([("findings", *one) for one in n.items()])
    write_table(
        folder.with_name("audit") / "counts.csv",
        counts.set_axis(["document", "outcome", "n"], axis=1),
    )
    data = pd.DataFrame({"name": HOSTILE[:2], "value": [0.25, 0.75]})

    def draw():
        figure = Figure(figsize=(2, 1))
        figure.subplots().plot(data["value"])
        return figure

    save_figure(draw, data, folder, "recall_by_type")
    write_table(folder / "listed.csv", pd.DataFrame({"query_id": ["q00"], "said": [HOSTILE[0]]}))
    nbformat.write(_executed(folder / "recall_by_type.png"), folder / "report.ipynb")


def _executed(picture):
    """A notebook that was run: markup, a wide table, a picture and what was printed."""
    wide = pd.DataFrame({f"column {n}": HOSTILE for n in range(12)})
    output, cell = nbformat.v4.new_output, nbformat.v4.new_code_cell
    shown = [
        output(
            "display_data", {"text/markdown": f"## What was found\n\n{HOSTILE[1]}\n\n- *This*."}
        ),
        output("execute_result", {"text/html": wide._repr_html_(), "text/plain": "wide"}),
        output("display_data", {"image/png": b64encode(picture.read_bytes()).decode()}),
        output("stream", text=f"read {HOSTILE[0]} {'long ' * 99}\n"),
    ]
    parameters = cell("profile = 'sample'", metadata={"tags": ["parameters"]})
    cells = [
        nbformat.v4.new_markdown_cell(f"# The sample\nFirst. {HOSTILE[0]}"), parameters,
        nbformat.v4.new_markdown_cell("## Over *all*\nOne *table*.\n\nRecall by `type`."),
        cell("for text in HOSTILE:\n    print(text)", outputs=shown),
    ]  # fmt: skip
    return nbformat.v4.new_notebook(cells=cells)


def keep_metrics(patch):
    """Read metrics as they were written: they are of three experiments of many, and made up."""
    patch.setattr("memrepro.report.profile.metrics_file", paths.metrics)


@pytest.fixture(autouse=True)
def kept_metrics(monkeypatch):
    """The same while a test builds pages itself."""
    keep_metrics(monkeypatch)


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """The folder of the project; only its `params.yaml` and `dvc.yaml` are the real one's."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy(root() / name, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        keep_metrics(patch)
        _prepare()
        _results()
        _report()
    return folder


@pytest.fixture(scope="session")
def site(project):
    """The site built from it: the folder of its pages."""
    from memrepro.site import build

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        keep_metrics(patch)
        patch.setenv("SOURCE_DATE_EPOCH", "0")
        forget()
        assert build.write_site() == project / "build" / "site" / "index.html"
        forget()
    return project / "build" / "site"


def forget():
    """Drop what is remembered of another repository."""
    for kept in (places.plan, places.means, places.metrics_of):
        kept.cache_clear()


def data_of(site: Path, key: str):
    """What a data script keeps under its key."""
    text = (site / f"{key}.js").read_text(encoding="utf-8")
    found = re.fullmatch(r'memrepro\.keep\((".*?"),"([A-Za-z0-9+/=]*)"\);\n', text)
    assert json.loads(found[1]) == key
    return json.loads(zlib.decompress(b64decode(found[2])))
