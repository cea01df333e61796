"""What is committed beside the tables: figures as svg, png and data."""

from memrepro.files.atomic import root

FIGURES = sorted((root() / "results").glob("*/*/*.svg"))


def test_every_figure_is_there_as_svg_png_and_data():
    assert len(FIGURES) > 20
    for path in FIGURES:
        assert path.with_suffix(".png").is_file(), path
        assert path.with_suffix(".csv").is_file(), path
    assert len(list((root() / "results").glob("*/*/*.png"))) == len(FIGURES)
