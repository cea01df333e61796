"""What pages are made of: marks, grids, titles, the thread of a notebook, figures in words."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.audit import coverage
from memrepro.report.tables import Cell, cell_frame
from memrepro.site.grid import grid
from memrepro.site.items import titled
from memrepro.site.marks import shares
from memrepro.site.narrative import steps
from tests.site.conftest import says


@given(st.lists(st.sampled_from(coverage.OUTCOMES)))
def test_shares_count_every_number(outcomes):
    found = shares(Counter(outcomes))
    assert {s.mark.word: s.numbers for s in found} == Counter(outcomes)
    assert all(s.mark.meaning for s in found)


def frame(*cells):
    return cell_frame(cells)


def test_a_grid_has_every_cell_at_its_place():
    cells = frame(
        Cell("a", "x", "m", "0.5", "0.5000", 10, "exact", "", "note"),
        Cell("a", "y", "m", "0.4", "", 0, "not run", "", ""),
        Cell("b", "y", "m", "", "0.2000", 7, "not in the paper", "", "note"),
    )
    made = grid(cells)
    assert [(c.name, c.n) for c in made.columns] == [("x", "10"), ("y", "7")]
    assert [line.head.name for line in made.lines] == ["a", "b"]
    first, second = (line.cells for line in made.lines)
    assert first[0].anchor == "r0c0"
    assert (first[0].reproduced, first[0].reported, first[0].mark.word) == (
        "0.5000",
        "0.5",
        "exact",
    )
    assert first[1].mark.word == "not run"
    assert second[0] is None
    assert second[1].anchor == "r1c1"
    assert made.shared is None
    assert made.notes == ["note"]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("table15_minilm", "Table 15, minilm"),
        ("locomo-minilm_key_designs", "Key designs (locomo-minilm)"),
        ("sample_figure9", "Figure 9 (sample)"),
    ],
)
def test_titles(name, title):
    assert titled(name, {"locomo", "sample"}) == title


def test_the_thread_follows_the_executed_notebook_and_loses_nothing(tmp_path):
    path = tmp_path / "n.ipynb"
    sentence = "What it shows. (`results/open/toy/{}.csv`)"
    outputs = says("| a table |", sentence.format("routing"), sentence.format("gone"))
    closing = says("## Where <we> differ\n\n- Here.\n\n## What may be cited\n\n- That.")
    cells = [
        {"cell_type": "markdown", "source": "# Title\nFirst."},
        {"cell_type": "markdown", "source": "## Part\n<b>not bold</b>"},
        {"cell_type": "code", "source": "narrative.shown()", "outputs": outputs},
        {"cell_type": "code", "source": "narrative.closing()", "outputs": closing},
        {"cell_type": "markdown", "source": "## Provenance\nNot shown."},
    ]
    path.write_text(json.dumps({"cells": cells}))
    found = steps(path, {"other": 1, "routing": 2})
    headings = [s.heading for s in found if s.heading]
    assert headings == [
        "Part", "Where <we> differ", "What may be cited", "Further tables and figures",
    ]  # fmt: skip
    assert [s.shown for s in found if s.shown] == [(2,), (1,)]
    prose = "".join(s.prose for s in found)
    assert "&lt;b&gt;not bold" in prose
    assert prose.count("What it shows.") == 2
    assert "results/" not in prose
    assert "a table" not in prose
    assert "Not shown" not in prose
    assert steps(tmp_path / "none.ipynb", {"a": 1})[-1].shown == (1,)
