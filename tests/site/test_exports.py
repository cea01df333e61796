"""What is committed beside the tables: LaTeX that compiles, figures as svg, png and data."""

import re
import shutil
import subprocess
from pathlib import Path

import matplotlib
import pytest

from memrepro.files.atomic import root

LATEX = shutil.which("lualatex") or shutil.which("xelatex") or ""
TEX = sorted((root() / "results").glob("*/*/*.tex"))
FIGURES = sorted((root() / "results").glob("*/*/*.svg"))


def broken(text):
    """What is wrong with a table as LaTeX, '' if nothing is; what pandas writes is all it knows."""
    lines = text.splitlines()
    head = re.fullmatch(r"\\begin\{tabular\}\{(l+)\}", lines[0])
    if not head or lines[-1] != r"\end{tabular}":
        return "no tabular"
    if [line for line in lines if line in (r"\toprule", r"\midrule", r"\bottomrule")] != [
        r"\toprule", r"\midrule", r"\bottomrule",
    ]:  # fmt: skip
        return "no rules"
    for line in lines[1:-1]:
        if line.endswith("rule"):
            continue
        if not line.endswith(r" \\"):
            return f"no end of the row: {line}"
        row = line.removesuffix(r"\\")
        bare = re.sub(
            r"\\textbackslash\s?|\\textasciitilde\s?|\\textasciicircum\s?|\\[&%$#_{}]", "", row
        )
        if bad := re.search(r"[%$#_{}\\~^]", bare):
            return f"{bad.group()!r} is not escaped: {line}"
        if bare.count("&") + 1 != len(head.group(1)):
            return f"{bare.count('&') + 1} of {len(head.group(1))} columns: {line}"
    return ""


def test_every_table_is_latex():
    assert len(TEX) > 100
    assert {path.name: why for path in TEX if (why := broken(path.read_text("utf-8")))} == {}


@pytest.mark.skipif(not LATEX, reason="neither lualatex nor xelatex is installed")
@pytest.mark.slow
def test_every_table_compiles(tmp_path):
    """All in one document, in a font that has every character: LaTeX drops the others silently."""
    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    body = "\n\\newpage\n".join(f"\\input{{{path}}}" for path in TEX)
    text = (
        "\\documentclass{article}\\usepackage{booktabs,fontspec}"
        "\\usepackage[paperwidth=500cm,paperheight=500cm]{geometry}"
        f"\\setmainfont{{DejaVuSans.ttf}}[Path={fonts}/]"
        f"\\begin{{document}}\\tiny\n{body}\n\\end{{document}}\n"
    )
    (tmp_path / "all.tex").write_text(text)
    done = subprocess.run(
        [LATEX, "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Missing character" not in (tmp_path / "all.log").read_text("utf-8", "replace")
    assert (tmp_path / "all.pdf").stat().st_size > 10_000


def test_every_figure_is_there_as_svg_png_and_data():
    assert len(FIGURES) > 30
    for path in FIGURES:
        assert path.with_suffix(".png").is_file(), path
        assert path.with_suffix(".csv").is_file(), path
    assert len(list((root() / "results").glob("*/*/*.png"))) == len(FIGURES)
