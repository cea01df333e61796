"""One made-up table in seven formats gives one reading, and what cannot be read is listed."""

import json

import nbformat
import pytest

import memrepro as mr
from memrepro.audit.__main__ import parser, run
from memrepro.audit.check import audit_file
from memrepro.audit.finding import FAILS, LIKELY
from memrepro.audit.page import as_json, page, rules
from memrepro.audit.read.files import tables_of, write_entries
from memrepro.errors import MemreproError

HEADS = ["Model", "Easy", "Hard", "Overall"]
ROWS = [
    ["BM25", "41.25", "27.50", "36.67"],
    ["Dense", "53.75", "35.00", "47.50"],
    ["Ours", "57.50", "45.21", "52.50"],
]
LATEX = r"""
\newcommand{\best}[1]{\textbf{#1}} \newcommand{\ours}{\textsc{Ours}}
Accuracy rose from 0.483 to 0.583 (+30.7\%), and $t(28) = 1.10$, p = .005.
\begin{table}\caption{Accuracy (\%). % no caption
The test has 120 questions.}
\begin{tabular}{l|l|cc|c}\toprule
 & & \multicolumn{2}{c|}{Acc} & \\ \cmidrule(lr){3-4}
Model & Size & Easy ($n{=}80$) & Hard ($n{=}40$) & Acc Overall \\ \midrule
\multicolumn{5}{l}{\textit{Baselines}} \\
\multirow{2}{*}{BM25} & small & 41.25$^\dagger$ & 27.50 & 36.67 \\
 & large & 53.75 & \underline{35.00} & 47.50\textsuperscript{a} \\[2pt]
\ours & -- & \best{57.50} & \textbf{45.21} & n/a \\
X & 1 & $40.00_{\pm 0.12}$ & 1,234 & .5 \\ \bottomrule
\end{tabular}\end{table}
\begin{tabular}{cc} only & words \\ no & number \end{tabular}
"""


def write_xlsx(path):
    import openpyxl

    book = openpyxl.Workbook()
    for row in [HEADS, *ROWS]:
        book.active.append([row[0], *(float(c) if c[0].isdigit() else c for c in row[1:])])
    for row in book.active.iter_rows(min_row=2, min_col=2):
        for cell in row:
            cell.number_format = "0.00"
    book.save(path)


def write_docx(path):
    import docx

    document = docx.Document()
    table = document.add_table(rows=0, cols=4)
    for row in [HEADS, *ROWS]:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    document.save(str(path))


def write_pdf(path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3))
    axis = figure.subplots()
    axis.set_axis_off()
    axis.table(cellText=[HEADS, *ROWS], loc="center")
    figure.savefig(path)


def write_text_of(path):
    lines = [HEADS, *ROWS]
    if path.suffix == ".csv":
        text = "\n".join(map(",".join, lines))
    elif path.suffix == ".md":
        body = [f"| {' | '.join(line)} |" for line in lines]
        text = "\n".join([body[0], "|---|---|---|---|", *body[1:]])
    elif path.suffix == ".tex":
        body = r" \\ ".join(" & ".join(line) for line in lines)
        text = rf"\begin{{tabular}}{{lccc}}{body}\end{{tabular}}"
    else:
        body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in line) + "</tr>" for line in lines)
        text = f"<html><body><table>{body}</table></body></html>"
    path.write_text(text)


WRITERS = {".xlsx": write_xlsx, ".docx": write_docx, ".pdf": write_pdf}
NEEDED = {".xlsx": "openpyxl", ".docx": "docx", ".pdf": "pdfplumber", ".tex": "pylatexenc",
          ".html": "lxml", ".md": "lxml"}  # fmt: skip


@pytest.mark.parametrize("suffix", [".tex", ".html", ".md", ".csv", ".xlsx", ".docx", ".pdf"])
def test_one_table_in_every_format(tmp_path, suffix):
    if suffix in NEEDED:
        pytest.importorskip(NEEDED[suffix])
    path = tmp_path / f"paper{suffix}"
    WRITERS.get(suffix, write_text_of)(path)
    read = tables_of(path)
    assert not read.unread
    (table,) = read.tables
    assert table.columns == HEADS[1:]
    assert {row: list(cells.values()) for row, cells in table.rows.items()} == {
        row[0]: row[1:] for row in ROWS
    }


def test_a_table_as_papers_set_it(tmp_path):
    pytest.importorskip("pylatexenc")
    path = tmp_path / "main.tex"
    path.write_text(LATEX)
    read = tables_of(path)
    (entry,) = read.entries.values()
    assert entry["columns"] == ["Acc, Easy (n=80)", "Acc, Hard (n=40)", "Acc Overall"]
    assert entry["rows"] == {
        "Baselines, BM25, small": ["41.25", "27.50", "36.67"],
        "Baselines, BM25, large": ["53.75", "35.00", "47.50"],
        "Baselines, Ours": ["57.50", "45.21", ""],
        "Baselines, X, 1": ["40.00 ± 0.12", "1,234", "0.5"],
    }
    assert list(entry["n"].values()) == [80, 40, 120]
    assert entry["bold"] == {"Baselines, Ours": entry["columns"][:2]}
    assert entry["starred"] == {"Baselines, BM25, small": entry["columns"][:1]}
    assert [one.why for one in read.unread] == ["it prints no number: nothing can be checked"]
    # What was read, corrected or not, is read again as the same tables.
    write_entries(tmp_path / "read.yaml", read)
    (again,) = tables_of(tmp_path / "read.yaml").tables
    assert (again.rows, again.reading["n"]) == (read.tables[0].rows, entry["n"])
    said = {f.rule: f for f in audit_file(path).failing("likely")}
    assert {"p of its statistic", "change in words"} <= set(said)


def test_what_a_person_corrects_in_the_yaml_is_what_is_audited(tmp_path):
    pytest.importorskip("pylatexenc")
    path, read = tmp_path / "main.tex", tmp_path / "read.yaml"
    heads = ["Model", "Acc Easy ($n=80$)", "Acc Hard ($n=40$)"]
    body = r" \\ ".join(" & ".join(line) for line in (heads, *(row[:3] for row in ROWS)))
    path.write_text(rf"\begin{{tabular}}{{lcc}}{body}\end{{tabular}}")
    write_entries(read, tables_of(path))
    assert {f.printed for f in audit_file(read).failing("certain")} == {"45.21"}
    read.write_text(read.read_text().replace("45.21", "45.00").replace(": 40", ": 20"))
    (table,) = tables_of(read).tables
    assert list(table.rows["Ours"].values()) == ["57.50", "45.00"]
    # Of 40 questions, but not of 20.
    assert {f.printed for f in audit_file(read).failing("certain")} == {"27.50"}
    corrected = read.read_bytes()
    for option in ("--read", "--page"):
        assert run(parser().parse_args([str(path), option, str(read)])) == 2
    assert read.read_bytes() == corrected


@pytest.mark.parametrize(
    ("level", "status"), [("certain", 0), ("likely", 1), ("weak", 1), ("never", 0)]
)
def test_the_exit_status_is_by_level(tmp_path, capsys, level, status):
    path, shown = tmp_path / "paper.md", tmp_path / "page.html"
    path.write_text(
        "| Model | P | R | F1 |\n|---|---|---|---|\n| a | 0.50 | 0.40 | 0.44 |\n"
        "| b | 0.60 | 0.40 | 0.48 |\n| c | 0.55 | 0.45 | 0.50 |\n| d | 0.70 | 0.40 | 0.59 |\n"
    )
    arguments = [str(path), "--level", level, "--page", str(shown), "--json"]
    assert run(parser().parse_args(arguments)) == status
    (found,) = [f for f in json.loads(capsys.readouterr().out)["findings"]
                if f["words"] == FAILS]  # fmt: skip
    assert (found["rule"], found["where"], found["sure"]) == ("F1 of P and R", "d, F1", LIKELY)
    assert "<mark>0.59</mark>" in shown.read_text()


@pytest.mark.parametrize(
    ("cell", "text", "starred"),
    [
        ("0.5$^{*}$", "0.5", True), (r"0.5\textsuperscript{**}", "0.5", True),
        (r"$0.5^{\dagger} \pm 0.01$", "0.5 ± 0.01", True), ("0.5*", "0.5", True),
        (r"0.5\textsuperscript{a}", "0.5", False),
    ],
)  # fmt: skip
def test_a_mark_behind_a_number_is_kept_apart(tmp_path, cell, text, starred):
    pytest.importorskip("pylatexenc")
    path = tmp_path / "a.tex"
    path.write_text(rf"\begin{{tabular}}{{lc}} & A \\ x & {cell} \\ y & 0.7 \end{{tabular}}")
    (entry,) = tables_of(path).entries.values()
    assert entry["rows"]["x"] == [text]
    assert entry.get("starred", {}) == ({"x": ["A"]} if starred else {})


def test_a_web_page_of_arxiv(tmp_path):
    pytest.importorskip("lxml")
    path = tmp_path / "paper.html"
    path.write_text(
        """<figure class="ltx_table"><figcaption>Table 1: on 40 questions</figcaption>
        <table class="ltx_tabular"><tr><th rowspan="2">Model</th><th colspan="2">R@5</th></tr>
        <tr><th>Easy</th><th>Hard</th></tr>
        <tr><td>BM25<sup class="ltx_note">a</sup></td><td>0.25</td>
        <td><math alttext="0.30_{\\pm 0.01}"><mn>0.30</mn></math></td></tr>
        <tr><td>Ours</td><td><span class="ltx_text ltx_font_bold">0.35</span></td><td>0.50*</td>
        </tr>        </table></figure>"""
    )
    (entry,) = tables_of(path).entries.values()
    assert entry["rows"] == {"BM25": ["0.25", "0.30 ± 0.01"], "Ours": ["0.35", "0.50"]}
    assert entry["columns"] == ["R@5, Easy", "R@5, Hard"]
    assert entry["bold"] == {"Ours": ["R@5, Easy"]}
    assert entry["starred"] == {"Ours": ["R@5, Hard"]}
    assert set(entry["n"].values()) == {40}


def test_a_tabular_that_latexml_wrote_as_spans(tmp_path):
    def row(*cells):
        return f'<span class="ltx_tr">{"".join(cells)}</span>'

    def cell(text, classes=""):
        return f'<span class="ltx_td {classes}">{text}</span>'

    path = tmp_path / "paper.html"
    rows = [
        row(cell(""), cell("Acc", "ltx_colspan ltx_colspan_2")),
        row(cell("Model", "ltx_th"), cell("Easy"), cell("Hard")),
        row(cell("Ours"), cell('<span class="ltx_font_bold">0.35</span>'), cell("0.50")),
    ]
    path.write_text(
        '<figure><div class="ltx_inline-block"><span class="ltx_tabular">'
        f'<span class="ltx_tbody">{"".join(rows)}</span></span></div>'
        "<figcaption>Of 40 questions</figcaption></figure>"
    )
    (entry,) = tables_of(path).entries.values()
    assert (entry["columns"], entry["rows"]) == (
        ["Acc, Easy", "Acc, Hard"],
        {"Ours": ["0.35", "0.50"]},
    )
    assert entry["bold"] == {"Ours": ["Acc, Easy"]}


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".docx", ".pdf"])
def test_a_damaged_file_is_refused_alone_and_listed_in_a_folder(tmp_path, suffix):
    path = tmp_path / f"broken{suffix}"
    path.write_bytes(b"\xff\x00PK not what its name says")
    with pytest.raises(MemreproError, match=f"broken{suffix} cannot be read: it is damaged"):
        tables_of(path)
    write_text_of(tmp_path / "paper.md")
    read = tables_of(tmp_path)
    assert len(read.tables) == 1
    assert [one.source for one in read.unread] == [path.name]


def test_rows_of_a_pdf_that_run_together_are_told_as_unread(tmp_path, monkeypatch):
    path = tmp_path / "paper.pdf"
    cell = " ".join(f"0.{i}1" for i in range(1, 10))
    monkeypatch.setitem(globals(), "ROWS", [[row[0], *(cell,) * 3] for row in ROWS])
    write_pdf(path)
    read = tables_of(path)
    (why,) = [one.why for one in read.unread if one.counts]
    assert (read.tables, why[:54]) == ((), "its rows run together: a cell holds 9 numbers; give it")


def test_a_page_shows_each_question_in_its_table(tmp_path):
    path = tmp_path / "paper.csv"
    path.write_text(
        "\n".join(map(",".join, [[*HEADS[:1], "Acc Easy (n=80)"], *(r[:2] for r in ROWS)]))
    )
    path.write_text(path.read_text().replace("57.50", "57.15"))
    report = audit_file(path)
    (found,) = report.failing("certain")
    assert (found.printed, found.rule) == ("57.15", "impossible share")
    shown = page(report, "a paper")
    assert "<mark>57.15</mark>" in shown
    assert rules()[found.rule]["simplest"] in shown
    assert as_json(report)["findings"][0]["check"]


def test_the_notebooks_table_shows_the_slips_that_were_planted():
    """Sizes stand in its heads, and the caption alone says that it counts questions."""
    cells = nbformat.read("notebooks/audit.ipynb", 4).cells
    (source,) = [cell.source.split('"""')[1] for cell in cells if "source = r" in cell.source]
    found = [(one.rule, one.where, one.sure) for one in mr.audit(source, form="tex").failing()]
    assert found == [
        ("impossible share", "Larger, Single (n=60)", "certain"),
        ("marked best", "Ours, Multi (n=40)", "likely"),
    ]


SENTENCES = ("The groups differ, t(28) = 2.10, p = .30 here.", "F(1, 1,028) = 4.05, p = .045.")


def docx_of_sentences(path):
    import docx

    document = docx.Document()
    for one in SENTENCES:
        document.add_paragraph(one)
    document.save(str(path))


def pdf_of_sentences(path):
    from matplotlib.figure import Figure

    figure = Figure()
    for k, one in enumerate(SENTENCES):
        figure.text(0.05, 0.9 - 0.1 * k, one, fontsize=9)
    figure.savefig(path)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.tex", r"They differ, \(t(28) = 2.10\), \(p = .30\), $F(1, 1{,}028)=4.05$, $p=.045$"),
        ("b.tex", r"\newcommand{\statt}[2]{$t(#1) = #2$}\newcommand{\found}{2.10}\def\pt{.30}"
         "\nThey differ, \\statt{28}{\\found}, $p = \\pt$, \\statt{28}\n{2.10}, $p=.045$."),
        ("a.html", "<p>The groups differ, <i>t</i>(28) = 2.10, <em>p</em> = .30</p>"
         "<table><tr><td>t(8) = 2.10, p = .90</td><td>1</td></tr></table>"),
        ("b.html", "<table><caption>The groups differ, t(28) = 2.10, p = .30</caption>"
         "<tr><th>A<th>B<tr><td>x<td>1</table>"),
        ("a.md", " ".join(SENTENCES).replace("p =", "*p* =").replace(" t(", " _t_(")),
        ("a.docx", docx_of_sentences),
        ("a.pdf", pdf_of_sentences),
    ],
)  # fmt: skip
def test_a_test_in_the_sentences_of_every_format(tmp_path, name, write):
    path = tmp_path / name
    path.write_text(write) if isinstance(write, str) else write(path)
    (found,) = audit_file(path).failing(LIKELY)
    assert (found.rule, found.printed) == ("p of its statistic", "t(28) = 2.10, p = .30")
    assert found.table.startswith(name)


def test_a_macro_of_several_lines_leaves_sentences_on_theirs(tmp_path):
    path = tmp_path / "a.tex"
    define = "\\newcommand{\\statt}[2]{%\n  $t(#1)\n = #2$}\n"
    path.write_text(define + "One \\statt{28}{2.10}.\n\nTwo \\statt{28}{2.10}, $p = .30$.")
    (found,) = audit_file(path).failing(LIKELY)
    assert found.where.startswith("line 6: t(28) = 2.10")


def test_word_prints_links_insertions_controls_and_powers(tmp_path):
    import docx
    from docx.oxml import OxmlElement

    def within(tag, node):
        outer = OxmlElement(tag)
        node.addprevious(outer)
        outer.append(node)

    document = docx.Document()
    table = document.add_table(rows=0, cols=3)
    for texts in (("Test", "A", "p"), ("x ", "0.6", "1.2 × 10"), ("y", "0.5", "0.3")):
        for cell, text in zip(table.add_row().cells, texts, strict=True):
            cell.paragraphs[0].add_run(text)
    name, value, p = (cell.paragraphs[0] for cell in table.rows[1].cells)
    within("w:hyperlink", name.add_run("linked")._r)
    within("w:ins", value.add_run("9")._r)
    value.add_run("a").font.superscript = True
    p.add_run("−3").font.superscript = True
    table.cell(0, 1).paragraphs[0].add_run("2").font.superscript = True
    within("w:sdt", table._tbl)
    said = document.add_paragraph("They differ, F")
    said.add_run("1, 38").font.subscript = True
    said.add_run(" = 3.73, p = ")
    within("w:ins", said.add_run(".003")._r)
    document.save(str(tmp_path / "a.docx"))
    report = audit_file(tmp_path / "a.docx")
    (read,) = report.tables
    assert (read.columns, read.rows["x linked"]) == (["A", "p"], {"A": "0.69", "p": "1.2e-3"})
    assert [f.printed for f in report.failing(LIKELY)] == ["F(1, 38) = 3.73, p = .003"]
