"""Figures are byte-stable, and come with their data."""

import pandas as pd
from matplotlib.figure import Figure

from memrepro.report.figures import data_only, save


def draw(folder):
    figure = Figure()
    figure.subplots().plot([1, 2], [3, 4], label="a curve")
    return save(figure, pd.DataFrame({"x": [1, 2], "y": [3, 4]}), folder, "f")


def test_byte_stable(tmp_path):
    first = {p.name: p.read_bytes() for p in draw(tmp_path / "one")}
    second = {p.name: p.read_bytes() for p in draw(tmp_path / "two")}
    assert set(first) == {"f.svg", "f.png", "f.csv"}
    assert first == second
    assert first["f.csv"] == b"x,y\n1,3\n2,4\n"


def test_data_alone_is_the_same_and_no_picture_is_written(tmp_path):
    whole = {p.name: p.read_bytes() for p in draw(tmp_path / "whole")}
    with data_only():
        alone = {p.name: p.read_bytes() for p in draw(tmp_path / "alone")}
    assert alone == {"f.csv": whole["f.csv"]}
    assert [p.name for p in (tmp_path / "alone").iterdir()] == ["f.csv"]
    assert len(draw(tmp_path / "after")) == 3
