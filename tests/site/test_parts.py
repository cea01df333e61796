"""What pages are made of: marks, grids, titles, the thread of a notebook, figures in words."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.audit.verdicts import (
    AGREES,
    BY_READING,
    DIFFERS,
    JUDGED,
    NOT_COMPARABLE,
    NOT_IN_PAPER,
    NOT_RUN,
)
from memrepro.report.tables import Cell
from memrepro.site import alt
from memrepro.site.grid import grid
from memrepro.site.items import titled
from memrepro.site.marks import MARKS, UNJUDGED, mark, shares
from memrepro.site.narrative import steps
from tests.site.conftest import says


def test_each_verdict_has_a_shape_and_a_word_of_its_own():
    checked = [AGREES, DIFFERS, BY_READING]
    assert list(MARKS) == [*JUDGED, *checked, NOT_COMPARABLE, NOT_RUN, NOT_IN_PAPER]
    assert len({m.shape for m in MARKS.values()} | {UNJUDGED.shape}) == len(MARKS) + 1
    assert mark("") == UNJUDGED
    assert mark("holds").word == "holds"


@given(st.lists(st.sampled_from([*MARKS, "", "holds"]), min_size=1))
def test_shares_count_every_number(verdicts):
    found = shares(verdicts)
    assert sum(s.numbers for s in found) == len(verdicts)
    assert sum(s.percent for s in found) == pytest.approx(100)
    assert all(s.numbers for s in found)


def frame(*cells):
    return pd.DataFrame(cells, columns=list(Cell._fields)).astype(str)


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


def test_n_stands_once_in_the_row_or_else_in_each_cell():
    rows = frame(
        *(Cell(r, c, "m", "0.5", "0.5", n, "exact") for r, n in (("a", 3), ("b", 4)) for c in "xy")
    )
    assert [line.head.n for line in grid(rows).lines] == ["3", "4"]
    mixed = frame(
        *(Cell(r, c, "m", "0.5", "0.5", n, "exact") for r, c, n in
          (("a", "x", 1), ("a", "y", 2), ("b", "x", 3), ("b", "y", 4)))
    )  # fmt: skip
    assert [[c.n for c in line.cells] for line in grid(mixed).lines] == [["1", "2"], ["3", "4"]]


def test_a_verdict_that_all_share_is_said_once():
    made = grid(frame(*(Cell("a", c, "m", "", "1", 1, NOT_COMPARABLE) for c in "xy")))
    assert made.shared == MARKS[NOT_COMPARABLE]
    assert [c.mark for c in made.lines[0].cells] == [None, None]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("table2", "Table 2"),
        ("table15_minilm", "Table 15, minilm"),
        ("figure18_mpnet", "Figure 18, mpnet"),
        ("locomo-minilm_key_designs", "Key designs (locomo-minilm)"),
        ("sample_figure9", "Figure 9 (sample)"),
        ("trace_rounds", "Trace rounds"),
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


def test_a_figure_in_words_is_of_its_data():
    data = pd.DataFrame({"k": ["5", "5"], "curve": ["a", "b"], "recall": ["0.25", ""]})
    assert alt.described("Sweep", data) == (
        "Sweep, drawn from 2 points. k is 5; curve: a, b; recall is 0.25."
    )
    many = pd.DataFrame({"id": [f"q{i}" for i in range(9)], "x": [str(i) for i in range(9)]})
    assert alt.described("S", many) == "S, drawn from 9 points. id: 9 of them; x from 0 to 8."


def test_the_size_of_a_picture_is_its_own(tmp_path):
    from matplotlib import image

    image.imsave(tmp_path / "a.png", np.zeros((60, 120, 3)))
    assert alt.size(tmp_path / "a.png") == (96, 48)
