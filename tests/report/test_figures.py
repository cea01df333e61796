"""Figures are byte-stable, and come with their data."""

import re
from base64 import b64decode
from io import BytesIO
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from memrepro.errors import MemreproError
from memrepro.report.figures import data_only, save
from memrepro.report.panels import WIDTH, draw_grid, draw_intervals, draw_lines

DATA = pd.DataFrame({"x": [1, 2], "y": [3, 4]})


def draw():
    figure = Figure()
    figure.subplots().plot(DATA["x"], DATA["y"], label="a curve")
    return figure


def never():
    raise AssertionError("drawn")


def test_byte_stable_and_data_alone_are_the_same_with_nothing_drawn(tmp_path):
    first = {p.name: p.read_bytes() for p in save(draw, DATA, tmp_path / "one", "f")}
    assert set(first) == {"f.svg", "f.png", "f.csv"}
    assert first["f.csv"] == b"x,y\n1,3\n2,4\n"
    with data_only():
        alone = {p.name: p.read_bytes() for p in save(never, DATA, tmp_path / "alone", "f")}
    assert alone == {"f.csv": first["f.csv"]}
    assert [p.name for p in (tmp_path / "alone").iterdir()] == ["f.csv"]
    # After it, all is drawn again.
    assert first == {p.name: p.read_bytes() for p in save(draw, DATA, tmp_path / "two", "f")}


def test_no_id_in_an_svg_is_a_digest_of_a_processor_s_floats(tmp_path):
    def points():
        figure = Figure()
        figure.subplots().plot(DATA["x"], DATA["y"], marker="o")
        return figure

    for salt in ("one", "two"):  # gives other digests
        with mpl.rc_context({"svg.hashsalt": salt}):
            save(points, DATA, tmp_path / salt, "f")
    svg = (tmp_path / "one/f.svg").read_bytes()
    assert svg == (tmp_path / "two/f.svg").read_bytes()
    asked = set(re.findall(rb"(?:href=\"|url\()#([^\")]+)", svg))
    assert len(asked) == 2  # the clipping and the marker
    assert asked <= set(re.findall(rb'id="([^"]+)"', svg))


def test_a_cloud_of_points_is_small_in_an_svg_and_its_picture_stays(tmp_path):
    x, y = np.random.default_rng(0).random((2, 2000))

    def cloud():
        figure = Figure()
        figure.subplots().scatter(x, y, s=9, rasterized=True)
        return figure

    save(cloud, DATA, tmp_path, "f")
    drawn = BytesIO()
    cloud().savefig(drawn, format="svg", metadata={"Date": None}, dpi=80, bbox_inches="tight")
    before, after = drawn.getvalue(), (tmp_path / "f.svg").read_bytes()
    assert len(after) < len(before) / 2
    pictures = [
        Image.open(BytesIO(b64decode(re.search(rb'base64,\s*([^"]+)', svg)[1])))
        for svg in (before, after)
    ]
    first, second = (np.asarray(one.convert("RGBA"), float) for one in pictures)
    assert first.shape == second.shape
    assert np.abs(first - second).mean() < 8  # of 255


def boxes(figure, texts):
    """Where texts stand in a drawn figure, in pixels."""
    figure.draw_without_rendering()
    return [Text.get_window_extent(text) for text in texts]  # without the arrow of an annotation


@pytest.mark.parametrize("ends", [[0.5], [0.2] * 6, [0.3, -0.9, 0.31, 1, 0.3, -0.91, 0.95]])
def test_names_of_lines_stand_beside_them_in_their_order_and_apart(ends):
    rows = [(x, f"line {n} " * (1 + n % 4), y * x, "a") for n, y in enumerate(ends)
            for x in (0, 1)]  # fmt: skip
    figure = draw_lines(pd.DataFrame(rows, columns=["x", "name", "recall", "panel"]), "x",
                        "recall", "name", "panel")  # fmt: skip
    axis = figure.axes[0]
    found = sorted(zip(boxes(figure, axis.texts), axis.texts, strict=True), key=lambda b: b[0].y0)
    assert all(box.x0 >= axis.bbox.x1 for box, _ in found)
    assert all(below.y1 <= above.y0 + 1 for (below, _), (above, _) in pairwise(found))
    heights = [text.xy[1] for _, text in found]
    assert heights == sorted(heights)
    assert figure.get_figwidth() == WIDTH


def test_more_lines_than_can_be_told_apart_are_refused():
    rows = [(x, f"line {n}", n) for n in range(11) for x in (0, 1)]
    with pytest.raises(MemreproError, match="11 lines"):
        draw_lines(pd.DataFrame(rows, columns=["x", "name", "y"]), "x", "y", "name")


def test_a_grid_has_each_number_under_its_column_and_no_0_with_a_sign():
    rows = [("a", "x", -0.004, False), ("a", "z", 0.2, True), ("b", "y", -0.21, True)]
    data = pd.DataFrame(rows, columns=["row", "column", "difference", "clear"])
    axis = draw_grid(data, "row", "column", "difference", clear="clear").axes[0]
    said = {text.get_position(): (text.get_text(), text.get_fontweight()) for text in axis.texts}
    known = {(0.5, 0.5): ("0", "normal"), (1.5, 0.5): ("20", "bold"),
             (2.5, 1.5): ("\u221221", "bold")}  # fmt: skip
    assert {place: said[place] for place in known} == known
    assert dict(zip(axis.get_xticks(), [t.get_text() for t in axis.get_xticklabels()],
                    strict=True)) == {0.5: "x", 1.5: "z", 2.5: "y"}  # fmt: skip


def test_rows_of_names_in_several_lines_do_not_meet_and_sides_have_their_marks():
    names = [f"{n} a name that takes more than one line as it is long" for n in range(6)]
    data = pd.DataFrame({"row": names, "difference": 0.0, "low": [-2, -1, -1, -2, 0.1, 0.2],
                         "high": [-1, 1, 1, -1, 2, 2]})  # fmt: skip
    figure = draw_intervals(data, "row", "difference")
    axis = figure.axes[0]
    found = boxes(figure, axis.get_yticklabels())
    assert all(below.y1 <= above.y0 + 1 for above, below in pairwise(found))
    marks = [line.get_marker() for line in axis.lines if len(line.get_xdata()) == 1]
    assert marks == ["D", "s", "s", "D", "o", "o"]
