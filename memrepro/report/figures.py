"""Figures: svg and png, byte-stable, each with the data that it draws as csv."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from PIL import Image

from memrepro.files.atomic import replacing, write_table

# Without a salt and a date an svg differs from run to run.
mpl.rcParams["svg.hashsalt"] = "memrepro"
mpl.rcParams["svg.fonttype"] = "none"
sns.set_theme(context="notebook", style="whitegrid", palette="colorblind")

_DATA_ONLY = ContextVar("data_only", default=False)


@contextmanager
def data_only() -> Iterator[None]:
    """Within it `save` writes a figure's data, and nothing is drawn.

    For comparing: what a figure draws is checked, pixels are not.
    """
    token = _DATA_ONLY.set(True)
    try:
        yield
    finally:
        _DATA_ONLY.reset(token)


def save(draw: Callable[[], Figure], data: pd.DataFrame, folder: Path, name: str) -> list[Path]:
    """Write the drawn data as `<name>.csv`, then the figure as `.svg` and `.png`; return the paths.

    Args:
        draw: makes the figure of the data, and leaves them as they are; not called in `data_only`.
        data: what is drawn; written with six decimals.
        folder: where the files go.
        name: of the files.
    """
    write_table(folder / f"{name}.csv", data.round(6))
    if _DATA_ONLY.get():
        return [folder / f"{name}.csv"]
    figure = draw()
    with replacing(folder / f"{name}.svg") as temporary:
        # The dots per inch are those of clouds of points, the only thing here that is no vector.
        figure.savefig(
            temporary, format="svg", metadata={"Date": None}, dpi=80, bbox_inches="tight"
        )
    drawn = BytesIO()
    figure.savefig(drawn, format="png", metadata={"Software": None}, dpi=110, bbox_inches="tight")
    with replacing(folder / f"{name}.png") as temporary:
        # A palette takes a third of the bytes, and what is drawn has few colours.
        Image.open(drawn).convert("RGB").quantize(128).save(temporary, format="png", optimize=True)
    return [folder / f"{name}.{suffix}" for suffix in ("svg", "png", "csv")]
