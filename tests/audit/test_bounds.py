# ruff: noqa: E501, UP031 — sources and what is read of them stand side by side
"""Small files that ask for much: each is refused by a sentence, and costs little."""

import subprocess
import sys
import zipfile

import pytest

from memrepro.audit.__main__ import parser, run
from memrepro.audit.check import audit_file
from memrepro.audit.read.files import tables_of

ROWS = r"\hline Model & Acc \\ \hline A & 0.5 \\"
MACROS = r"\newcommand{\aa}{0123456789}" + "".join(
    r"\newcommand{\a%s}{%s}" % (b, rf"\a{a}" * 10)
    for a, b in zip("abcdefghi", "bcdefghij", strict=True)
)
PIPES = "| M | A |\n|---|---|\n"
GREEDY = {
    "colspan": (".html", "<table><tr><td colspan=100000000>a</td></tr><tr><td>1</td></tr></table>",
                "a cell spans 100000000 columns"),
    "rowspan": (".html", "<table><tr><td rowspan=99999999>a</td><td>b</td></tr><tr><td>1</td></tr>"
                "</table>", "and 99999999 rows; at most 1,000"),
    "rowspans": (".html", "<table>" + ("<tr>" + "<td rowspan=1000>1</td>" * 400 + "</tr>") * 3
                 + "</table>", "more than 100,000 cells"),
    "cells": (".html", "<table><tr>" + "<td>1" * 100_001 + "</table>", "more than 100,000 cells"),
    "pipes": (".md", "|" * 100_500 + "\n" + "|-" * 100_500 + "\n", "more than 100,000 cells"),
    "multicolumn": (".tex", r"\begin{tabular}{l}\multicolumn{100000000}{c}{x} \\ A & 1 \end{tabular}",
                    "a cell spans 100000000 columns"),
    "macros": (".tex", MACROS + rf"\begin{{tabular}}{{lc}} {ROWS} B & \aj \end{{tabular}}",
               "stand for more than 200,000 characters"),
    "a macro of itself": (".tex", r"\newcommand{\x}{\y}\newcommand{\y}{\x 1}"
                          rf"\begin{{tabular}}{{lc}} {ROWS} B & \x \end{{tabular}}",
                          "or for more than 20,000 others"),
    "a long csv": (".csv", "a,b\n" + "x,1\n" * 50_001, "more than 100,000 cells"),
    "a wide row": (".md", PIPES + "| x | 1 |\n" * 200 + "| x " * 900 + "|\n", "at most 100,000 cells"),
}  # fmt: skip


@pytest.mark.parametrize("kind", GREEDY)
def test_a_table_that_asks_for_much_is_listed(tmp_path, kind):
    suffix, text, sentence = GREEDY[kind]
    path = tmp_path / f"a{suffix}"
    path.write_text(text)
    read = tables_of(path)
    assert sentence in " ".join(one.why for one in read.unread)
    assert not read.tables


def bomb_docx(path):
    import docx

    document = docx.Document()
    cells = document.add_table(rows=1, cols=1).rows[0].cells
    cells[0]._tc.grid_span = 100_000_000
    document.save(str(path))


def bomb_xlsx(path):
    import openpyxl

    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD2000"] = 1, 2
    book.save(path)


def merged_xlsx(path):
    import openpyxl

    book = openpyxl.Workbook()
    book.active["A1"] = 1
    book.active.merge_cells("A1:B2")
    book.save(path)
    rewrite(path, lambda data: data.replace(b'ref="A1:B2"', b'ref="A1:XFD1048576"'))


def rewrite(path, change):
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in parts.items():
            out.writestr(name, change(data))


def packed_docx(path):
    import docx

    docx.Document().save(str(path))
    rewrite(path, lambda data: data + b" " * 8_000_000)


def packed_xlsx(path):
    import openpyxl

    openpyxl.Workbook().save(path)
    rewrite(path, lambda data: data + b" " * 8_000_000)


def bomb_pdf(path):
    """Ten forms, each of which draws the one before it ten times."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"]
    objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R "
                   b"/Resources << /XObject << /X 14 0 R >> >> >>")  # fmt: skip
    objects.append(b"<< /Length 5 >>\nstream\n/X Do\nendstream")
    for number in range(5, 15):
        draws = b"/X Do " * 10 if number > 5 else b"0 0 9 9 re f " * 10
        held = f"/XObject << /X {number - 1} 0 R >>".encode() if number > 5 else b""
        objects.append(b"<< /Type /XObject /Subtype /Form /BBox [0 0 99 99] /Resources << " + held
                       + b" >> /Length %d >>\nstream\n%s\nendstream" % (len(draws), draws))  # fmt: skip
    body, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    path.write_bytes(body + b"xref\n0 %d\n0000000000 65535 f \n%strailer << /Size %d /Root 1 0 R >>\n"
                     b"startxref\n%d\n%%%%EOF" % (len(objects) + 1, table, len(objects) + 1, len(body)))  # fmt: skip


@pytest.mark.parametrize(
    ("name", "write", "sentence"),
    [("a.docx", bomb_docx, "a cell spans 100000000 columns"),
     ("a.xlsx", bomb_xlsx, "reach row 2,000 and column 16,384"),
     ("b.xlsx", merged_xlsx, "merges the cells A1:XFD1048576"),
     ("b.docx", packed_docx, "bytes of text, unpacked; at most 50,000,000 are read"),
     ("c.xlsx", packed_xlsx, "bytes of text, unpacked; at most 50,000,000 are read"),
     ("a.pdf", bomb_pdf, "cannot be read within")],
)  # fmt: skip
def test_a_file_that_asks_for_much_is_listed_and_the_rest_goes_on(
    tmp_path, monkeypatch, name, write, sentence
):
    monkeypatch.setattr("memrepro.audit.read.child.SECONDS", 2 if name == "a.pdf" else 1000)
    write(tmp_path / name)
    (tmp_path / "paper.md").write_text(PIPES + "| x | 0.5 |\n")
    read = tables_of(tmp_path)
    assert len(read.tables) == 1
    assert sentence in " ".join(one.why for one in read.unread)
    assert read.summary == "1 table read, 1 not, of 2"


def test_rows_are_held_against_each_other_up_to_a_number_of_pairs(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.audit.rules.twice._MOST_PAIRS", 20_000)
    rows = "".join(f"x{n},0.{n:03d},0.{n + 9:03d}\n" for n in range(210))
    (tmp_path / "a.csv").write_text("Model,recall@5,recall@10\n" + rows)
    report = audit_file(tmp_path / "a.csv")
    (one,) = [f for f in report.findings if f.rule == "printed twice"]
    assert (one.where, one.found) == ("not checked", "21,945 pairs of rows")


def test_memory_has_a_limit_for_texts_too(tmp_path):
    """Of what a process has beside what its parent had, whose freed memory it may use too."""
    paths = [tmp_path / f"a{suffix}" for suffix in (".md", ".html", ".tex", ".csv", ".yaml")]
    for path in paths:
        path.write_text("a: " + "b, c\n " * 6_000_000)
    code = (
        "import sys; from pathlib import Path; from memrepro.audit.read import child, files\n"
        "child.MEGABYTES = 16\n"
        "for path in sys.argv[1:]:\n"
        "    try: files.tables_of(Path(path))\n"
        "    except Exception as error: print(error)"
    )
    fresh = [sys.executable, "-c", code, *map(str, paths)]
    done = subprocess.run(fresh, capture_output=True, text=True, check=True)
    told = done.stdout.splitlines()
    assert ["and 16 MB of memory: give the source" in one for one in told] == [True] * 5


@pytest.mark.parametrize(
    ("text", "more", "status", "last"),
    [
        (PIPES + "| x | 0.5 |", [], 0, "1 table read, 0 not, of 1"),
        ("| M | Acc (n=40) |\n|---|---|\n| x | 0.4521 |", [], 1, "1 table read, 0 not, of 1"),
        ("| M | Acc (n=40) |\n|---|---|\n| x | 0.4521 |", ["--level", "never"], 0, "1 table read"),
        ("no table at all", [], 2, "0 tables read, 0 not, of 0"),
        (PIPES + "| x | 0.5 |\n\n<table><tr><td>0.5</td><td>1</td></tr></table>", [], 0, "1 not, of 2"),
        (PIPES + "| x | 0.5 |\n\n<table><tr><td>0.5</td><td>1</td></tr></table>", ["--strict"], 2,
         "1 table read, 1 not, of 2"),
        (PIPES + "| x | 0.5 |\n\n| M | A |\n|---|---|\n| x | good |", ["--strict"], 0, "1 table read"),
    ],
)  # fmt: skip
def test_the_exit_status_and_the_last_line(tmp_path, capsys, text, more, status, last):
    path = tmp_path / "paper.md"
    path.write_text(text)
    assert run(parser().parse_args([str(path), *more])) == status
    assert last in capsys.readouterr().err.strip().split("\n")[-1]


def test_what_cannot_be_checked_is_told_apart_from_what_holds(tmp_path, capsys):
    for text, said in ((PIPES + "| x | 0.5 |", "no check applies"), ("", "no table was found")):
        (tmp_path / "paper.md").write_text(text)
        run(parser().parse_args([str(tmp_path / "paper.md")]))
        assert said in capsys.readouterr().out


def test_foreign_files_of_a_folder_are_passed_over_and_broken_ones_listed(tmp_path, capsys):
    (tmp_path / "paper.md").write_text(PIPES + "| x | 0.5 |\n")
    (tmp_path / "config.yaml").write_text("jobs: {test: {steps: [a]}}\n")
    (tmp_path / "bad.yaml").write_text("t: {columns: [a], rows: {x: [0.5]}}\n")
    (tmp_path / "bad.csv").write_text("row,column,n\na,b,3\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.csv").write_text("a,b\nx,1\n")
    read = tables_of(tmp_path)
    assert len(read.tables) == 1
    assert {one.source for one in read.unread} == {"bad.csv", "bad.yaml, table 't'"}
    assert run(parser().parse_args([str(tmp_path), "--strict", "--exclude", "bad.*"])) == 0
    assert run(parser().parse_args([str(tmp_path / "none.md")])) == 2
    assert "is missing" in capsys.readouterr().err
