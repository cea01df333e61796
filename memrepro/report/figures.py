"""Figures: svg and png, byte-stable, each with the data that it draws as csv."""

import re
from base64 import b64decode, b64encode
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
sns.set_theme(
    style="whitegrid",
    palette="colorblind",
    rc={
        "font.size": 9, "axes.titlesize": 9, "axes.labelsize": 9, "figure.titlesize": 9,
        "xtick.labelsize": 8, "ytick.labelsize": 8, "legend.fontsize": 8, "legend.frameon": False,
        "axes.titlelocation": "left", "axes.titleweight": "bold", "lines.linewidth": 1.5,
        "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "0.6",
        "grid.color": "0.9", "axes.unicode_minus": True,
    },
)  # fmt: skip
DPI = 144  # of what is saved as png

# A picture that matplotlib put into an svg.
_EMBEDDED = re.compile(rb"base64,\s*([A-Za-z0-9+/=\s]+)")
# Ids of clippings and markers are digests of floats, whose last bits belong to the processor.
_ID = re.compile(rb'(?:(?<=id=")|(?<=#))[mp][0-9a-f]{10}\b')
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


def _with_palette(found: re.Match[bytes]) -> bytes:
    """A picture within an svg, in few colours: an eighth of the bytes for a cloud of points."""
    picture = Image.open(BytesIO(b64decode(found[1])))
    small = BytesIO()
    picture.quantize(32, method=Image.Quantize.FASTOCTREE).save(small, format="png", optimize=True)
    return b"base64," + b64encode(small.getvalue())


def _numbered(svg: bytes, name: str) -> bytes:
    """An svg with such ids numbered as they come, after the figure's name."""
    known = dict.fromkeys(_ID.findall(svg))
    found = {one: f"{name}-{number}".encode() for number, one in enumerate(known, 1)}
    return _ID.sub(lambda one: found[one[0]], svg)


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
    vectors = BytesIO()
    # The dots per inch are those of clouds of points, the only thing here that is no vector.
    figure.savefig(vectors, format="svg", metadata={"Date": None}, dpi=80, bbox_inches="tight")
    with replacing(folder / f"{name}.svg") as temporary:
        temporary.write_bytes(_EMBEDDED.sub(_with_palette, _numbered(vectors.getvalue(), name)))
    drawn = BytesIO()
    figure.savefig(drawn, format="png", metadata={"Software": None}, dpi=DPI, bbox_inches="tight")
    with replacing(folder / f"{name}.png") as temporary:
        # A palette takes a third of the bytes, and what is drawn has few colours.
        Image.open(drawn).convert("RGB").quantize(128).save(temporary, format="png", optimize=True)
    return [folder / f"{name}.{suffix}" for suffix in ("svg", "png", "csv")]
