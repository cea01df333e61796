"""Texts that attack: nothing runs, no file leaves its folder, the terminal stays, exports open."""

import csv
import json

import nbformat
import pandas as pd
import pytest
from lxml import html

from memrepro.audit import page as audited
from memrepro.audit.check import audit_file
from memrepro.core.memory import Memory, Piece, Query, Round
from memrepro.core.prepared import load, save, save_qrels
from memrepro.data import read_pieces
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.memory import control
from memrepro.memory.actions import read_messages
from memrepro.outside.export import export
from memrepro.pipeline.printing import plain_output, print_json, print_table
from memrepro.report.tables import Cell, write_cells
from memrepro.site.notebook import to_page
from memrepro.study.params import load_plan
from tests.memory.store_made import START, opened
from tests.site.browser import CHROMIUM, Browser

SCRIPTS = (
    "<script>window.hacked = 1</script>", "<img src=x onerror='window.hacked = 2'>",
    "<svg onload='window.hacked = 3'>", "[a](javascript:window.hacked=4)",
    '"><iframe src="data:text/html,<script>parent.hacked = 5</script>">',
    "<style>body { background: url(https://example.com/seen) }</style>",
    "{{ 7 * 7 }}{% include '/etc/passwd' %}${7 * 7}",
    "]]></script><script>window.hacked = 6</script>",
    "<meta http-equiv='refresh' content='0;url=https://example.com/gone'>",
    "<link rel='preconnect' href='https://example.com'><base href='https://example.com/'>",
    "<p style='background: url(https://example.com/seen)'>a</p><object data='https://example.com'>",
)  # fmt: skip
TERMINAL = (
    "\x1b[31mred", "\x1b]0;title\x07", "\x9b2J", "a\rb", "a\bb", "\x1b]8;;https://example.com\x1b\\",
    "\u202egnp.exe", "\u2066a\u2069", "a\u200bb", "\ufeff", "a\0b", "line\nline", "\u2028",
)  # fmt: skip
FORMULAS = (
    "=1+1", "+1+1", "-1+cmd|'/C_calc'!A0", "＝1+1", '=HYPERLINK("https://example.com")', "@SUM(1)",
    "+cmd|' /C calc'!A0", "-cmd",
)  # fmt: skip
LATEX = (
    r"\input{/etc/passwd}", r"\immediate\write18{id}", r"\end{tabular}\typeout{x}", "$^^5cinput$",
)  # fmt: skip
PATHS = (
    "../../escaped", "/tmp/escaped", "..", ".", "a/b", "a\\b", "~/x", "con", "%2e%2e%2f", "x" * 300,
)  # fmt: skip
HALF = "\ud800 half a pair"
ALL = (*SCRIPTS, *TERMINAL, *FORMULAS, *LATEX, *PATHS, HALF)


def below(folder):
    return {path for path in folder.rglob("*") if path.is_file()}


def plain(text):
    """Whether it changes no terminal: printable lines."""
    return all(line.isprintable() for line in text.split("\n"))


@pytest.fixture(scope="module")
def browser():
    if not CHROMIUM:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with Browser() as one:
        yield one


def check_page(browser, path):
    """Opened in a real browser, it has run nothing and loaded nothing from elsewhere."""
    browser.asked.clear()
    browser.open(f"file://{path}")
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert browser.run("window.hacked") is None
    assert browser.run("location.href") == f"file://{path}"
    assert not [one for one in browser.asked if not one.startswith(("file:", "data:", "about:"))]


@pytest.fixture
def notebook(tmp_path):
    """All scripts in each place of a notebook that a page shows, beside a table of pandas'."""
    text = "\n\n".join(SCRIPTS)
    output = nbformat.v4.new_output
    frame = pd.DataFrame({"<b>name": ["a < b", "c & d"], "n": [1, 2]})
    outputs = [
        output("display_data", {"text/markdown": f"{text}\n\n| a | b |\n|---|--:|\n| `x<y` | 1 |"}),
        *(output("display_data", {kind: text}) for kind in
          ("text/html", "text/latex", "image/svg+xml", "application/javascript")),
        output("display_data", {"text/html": text}, metadata={"text/html": {"isolated": True}}),
        output("display_data", {"text/html": frame._repr_html_()}),
        output("stream", text=text), output("execute_result", {"text/plain": text}),
    ]  # fmt: skip
    cells = [
        nbformat.v4.new_markdown_cell(text), nbformat.v4.new_raw_cell(text),
        nbformat.v4.new_code_cell("", outputs=outputs),
    ]  # fmt: skip
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "a.ipynb")
    return tmp_path / "a.ipynb"


def test_a_notebooks_page_runs_nothing(browser, notebook, tmp_path):
    check_page(browser, to_page(notebook, tmp_path / "a.html"))


def test_a_notebooks_page_holds_no_markup_that_acts(notebook, tmp_path):
    """By what a parser of broken HTML makes of it; tables and code are as they were written."""
    page = html.fromstring(to_page(notebook, tmp_path / "a.html").read_text())
    body = page.find("body")
    acting = ("script", "meta", "link", "base", "style", "iframe", "object", "form", "svg")
    assert not [one.tag for one in body.iter(*acting)]
    named = [(name, value) for one in body.iter() for name, value in one.attrib.items()]
    assert not [name for name, _ in named if name.startswith("on")]
    leading = [value for name, value in named if name in ("href", "src", "style")]
    assert all(value.startswith(("#", "data:image/", "text-align:")) for value in leading), leading
    tables = [[cell.text_content() for cell in one.iter("th", "td")] for one in body.iter("table")]
    assert tables == [
        ["a", "b", "x<y", "1"],
        ["", "<b>name", "n", "0", "a < b", "1", "1", "c & d", "2"],
    ]


def test_an_audits_page_runs_nothing(browser, tmp_path):
    rows = [f"{json.dumps(text)[1:-1].replace('|', '')} | 0.5 | 1.7 |" for text in ALL[:-1]]
    head = [f"# {SCRIPTS[0]}", f"Table 1: {SCRIPTS[1]}", f"| {SCRIPTS[2]} | Recall@5 | Recall@10 |"]
    table = ["|---|---|---|", *(f"| {row}" for row in rows)]
    (tmp_path / "a.md").write_text("\n".join(["\n\n".join(head), *table]) + "\n")
    report = audit_file(tmp_path / "a.md")
    assert report.tables
    (tmp_path / "a.html").write_text(audited.page(report, SCRIPTS[0]))
    check_page(browser, tmp_path / "a.html")


def test_a_tables_files_open_safely(tmp_path):
    texts = [text for text in ALL if "\0" not in text and text != HALF]
    cells = [Cell(text, text, "recall", "0.4", "0.5", 3, "differs", text, text) for text in texts]
    write_cells(cells, tmp_path, "t")
    with (tmp_path / "t.csv").open(newline="") as file:
        for cell in (cell for row in csv.reader(file) for cell in row):
            assert cell[:1] not in "=@\t\r\n+-＝＠＋－" or not cell[1:], cell


def test_the_terminal_stays_as_it_is(capsys):
    with plain_output():
        print_table(pd.DataFrame({"text": [*ALL[:-1], "x" * 10**6]}))  # loaders replace half a pair
        print_json(list(ALL))
        for text in ALL:
            print(text)
    out = capsys.readouterr().out
    assert plain(out)
    assert len(out) < 100_000
    for text in ALL:
        assert str(MemreproError(f"the item {text} is odd")).isprintable()


def instance(number, **hostile):
    """A question of LongMemEval's schema, with something hostile in one field."""
    session = [{"role": "user", "content": "I like tea"}, {"role": "assistant", "content": "so"}]
    return {
        "question_id": f"q{number}", "question_type": "multi-session", "question": "what?",
        "question_date": "2023/05/20 (Sat) 02:21", "answer": "tea", "answer_session_ids": ["s"],
        "haystack_session_ids": ["s"], "haystack_dates": ["2023/05/01 (Mon) 02:21"],
        "haystack_sessions": [session],
    } | hostile  # fmt: skip


def with_text(number, text):
    """One in each field: ids, kind, question, dates, and what was said."""
    said = [{"role": "user", "content": text}]
    yield instance(number, question_id=f"{text}{number}")
    yield instance(number + 1, question_type=text)
    yield instance(number + 2, question=text, answer=text)
    yield instance(number + 3, haystack_sessions=[said])
    yield instance(number + 4, answer_session_ids=[text], haystack_session_ids=[text])
    yield instance(number + 5, question_date=text, haystack_dates=[text])


def test_a_data_set_of_hostile_texts_stays_in_its_folders(tmp_path, monkeypatch):
    folder, plan = tmp_path / "root", load_plan()
    monkeypatch.setattr("memrepro.files.paths.root", lambda: folder)
    raw = folder / "raw"
    raw.mkdir(parents=True)
    whole = [one for n, text in enumerate(ALL) for one in with_text(10 * n, text)]
    (raw / "a.json").write_text(json.dumps(whole))
    pieces = read_pieces("longmemeval", raw, "longmemeval-s", {})
    qrels = paths.qrels("sample", "sample")
    assert len(list(save_qrels(save(pieces, paths.prepared("sample")), qrels))) == len(whole)
    before = below(tmp_path)
    assert len(load(paths.prepared("sample"), "sample").queries) == len(whole)
    export("sample", tmp_path / "out", plan)
    made = below(tmp_path) - before
    assert len(made) > 5 * len(whole)
    assert all(path.is_relative_to(tmp_path / "out") for path in made)
    assert {path.resolve() for path in made} == made


def test_ten_megabytes_in_one_text_are_kept_whole(tmp_path, capsys):
    long = "tea, <b>\u202e " * 10**6
    memory = Memory.from_rounds("m", ("s", Round.from_texts("r", user=long)))
    piece = Piece(memory, (Query("q", "m", long, "", "kind"),), {"session": {}})
    list(save([piece], tmp_path / "prepared"))
    found = load(tmp_path / "prepared", "sample")
    assert found.queries[0].text == long
    assert found.memories["m"].rounds[0].fields["user"] == long
    assert len(str(MemreproError(f"the text {long!r} is odd"))) < 400


@pytest.mark.parametrize("field", ["message_id", "speaker", "text", "channel"])
def test_a_memory_takes_hostile_messages_as_text_or_refuses_them(field, tmp_path, capsys):
    root = tmp_path / "root" / "memories"
    root.mkdir(parents=True)
    taken, refused = [], []
    with opened(root) as memory:
        for n, text in enumerate((*ALL, "x" * 10**7)):
            line = {"message_id": f"m{n}", "speaker": "user", "at": START + n, "text": f"tea {n}"}
            (tmp_path / "said.jsonl").write_text(json.dumps(line | {field: text}))
            try:
                done = memory.add(read_messages(tmp_path / "said.jsonl"))
                taken += [text] * done.stored
            except MemreproError as error:
                refused.append(str(error))
        found = control.messages(memory)
        print_table(pd.DataFrame([one.__dict__ for one in found]))
        control.export(memory, tmp_path / "out.json")
    assert len(found) == len(taken) > 20
    assert refused
    assert all(len(said) <= 400 and said.isprintable() for said in refused)
    assert plain(capsys.readouterr().out)
    json.loads((tmp_path / "out.json").read_text())
    assert set(tmp_path.iterdir()) == {tmp_path / n for n in ("root", "said.jsonl", "out.json")}
    assert list(root.parent.iterdir()) == [root]
    assert len(list(root.iterdir())) == 1
