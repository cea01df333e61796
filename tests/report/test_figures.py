"""Figures are byte-stable, and come with their data."""

import re
from base64 import b64decode
from io import BytesIO

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from PIL import Image

from memrepro.report.figures import data_only, save

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


def test_data_are_written_as_they_were_before_drawing(tmp_path):
    data = DATA.copy()

    def careless():
        data["z"] = 0
        return Figure()

    save(careless, data, tmp_path, "f")
    assert (tmp_path / "f.csv").read_bytes() == b"x,y\n1,3\n2,4\n"


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
