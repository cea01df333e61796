"""Figures: svg and png, byte-stable, each with the data that it draws as csv."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from memrepro.store import replacing, write_table

# Without a salt and a date an svg differs from run to run.
mpl.rcParams["svg.hashsalt"] = "memrepro"
mpl.rcParams["svg.fonttype"] = "none"
sns.set_theme(context="notebook", style="whitegrid", palette="colorblind")

_DATA_ONLY = ContextVar("data_only", default=False)


@contextmanager
def data_only() -> Iterator[None]:
    """Within it `save` writes a figure's data and no picture, which takes most of a report's time.

    For comparing: what a figure draws is checked, pixels are not.
    """
    token = _DATA_ONLY.set(True)
    try:
        yield
    finally:
        _DATA_ONLY.reset(token)


def save(figure: Figure, data: pd.DataFrame, folder: Path, name: str) -> list[Path]:
    """Write `<name>.svg`, `.png` and the drawn data as `.csv`; return the paths."""
    write_table(folder / f"{name}.csv", data.round(6))
    if _DATA_ONLY.get():
        return [folder / f"{name}.csv"]
    for suffix, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
        with replacing(folder / f"{name}.{suffix}") as temporary:
            figure.savefig(
                temporary, format=suffix, metadata=metadata, dpi=120, bbox_inches="tight"
            )
    return [folder / f"{name}.{suffix}" for suffix in ("svg", "png", "csv")]
