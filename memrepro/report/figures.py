"""Figures: svg and png, byte-stable, each with the data that it draws as csv."""

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


def save(figure: Figure, data: pd.DataFrame, folder: Path, name: str) -> list[Path]:
    """Write `<name>.svg`, `.png` and the drawn data as `.csv`; return the paths."""
    for suffix, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
        with replacing(folder / f"{name}.{suffix}") as temporary:
            figure.savefig(
                temporary, format=suffix, metadata=metadata, dpi=120, bbox_inches="tight"
            )
    write_table(folder / f"{name}.csv", data.round(6))
    return [folder / f"{name}.{suffix}" for suffix in ("svg", "png", "csv")]
