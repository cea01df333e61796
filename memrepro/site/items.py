"""What a report has written: its tables, figures and lists, as files that a page is made of."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report.tables import COLUMNS

EXPORTS = ("csv", "md", "svg", "png")
_NUMBERED = re.compile(r"(table|figure)(\d+)(?:_(.*))?")


@dataclass(frozen=True)
class Item:
    """A table, a figure or a list of a report.

    Attributes:
        name: its files' stem.
        title: the same in words.
        frame: its csv, all as text; for a figure the data that it draws.
        files: those of it that are there, by suffix.
    """

    name: str
    title: str
    frame: pd.DataFrame
    files: dict[str, Path]

    @property
    def kind(self) -> str:
        """'figure' where there is a picture, 'table' for cells with verdicts, else 'list'."""
        if "svg" in self.files or "png" in self.files:
            return "figure"
        return "table" if {"row", "column", "verdict"} <= set(self.frame.columns) else "list"


def titled(name: str, datasets: Collection[str]) -> str:
    """An item's name in words: `locomo-minilm_key_designs` is 'Key designs (locomo-minilm)'.

    Args:
        name: the stem of its files.
        datasets: the beginnings of the data sets' names; a head with one of them is set behind.
    """
    head, _, rest = name.partition("_")
    if rest and head.partition("-")[0] in datasets:
        return f"{titled(rest, ())} ({head})"
    if found := _NUMBERED.fullmatch(name):
        what, number, more = found.groups()
        return f"{what.capitalize()} {number}" + (f", {more.replace('_', ' ')}" if more else "")
    return name.replace("_", " ").capitalize()


def items(folder: Path, datasets: Collection[str] = ()) -> dict[str, Item]:
    """Every item of a report's folder by name, in order; none where the folder is not there."""
    found = {}
    for path in sorted(folder.glob("*.csv")):
        files = {
            suffix: file for suffix in EXPORTS if (file := path.with_suffix(f".{suffix}")).is_file()
        }
        title = titled(path.stem, datasets)
        found[path.stem] = Item(path.stem, title, read_table(path), files)
    return found


def numbers(found: Collection[Item]) -> pd.DataFrame:
    """The cells of all tables of a report below each other, with `table`, the name of each."""
    frames = [item.frame.assign(table=item.name) for item in found if item.kind == "table"]
    if not frames:
        return pd.DataFrame(columns=[*COLUMNS, "table"])
    return pd.concat(frames, ignore_index=True).fillna("")


def folder(profile: str, paper: str) -> Path:
    """Where a report's items lie."""
    return paths.results(profile) / paper
