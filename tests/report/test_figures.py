"""Figures are byte-stable, and come with their data."""

import pandas as pd
from matplotlib.figure import Figure

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


def test_data_are_written_as_they_were_before_drawing(tmp_path):
    data = DATA.copy()

    def careless():
        data["z"] = 0
        return Figure()

    save(careless, data, tmp_path, "f")
    assert (tmp_path / "f.csv").read_bytes() == b"x,y\n1,3\n2,4\n"
