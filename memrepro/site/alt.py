"""What a figure shows, in words taken from the data that it draws; and how large it is."""

import struct
from pathlib import Path

import pandas as pd

from memrepro.report.figures import DPI

_INCH = 120  # pixels of a page; 96 by rule, larger so that figures' small text is as large as prose
_MOST = 8  # names of a kind that are spelled out


def described(title: str, data: pd.DataFrame) -> str:
    """A text in place of a figure: how much it draws, between which values, of what.

    Args:
        title: of the figure.
        data: what it draws, all as text; a column is a number where all that is in it is.
    """
    data, parts = data.copy(), []
    if {"difference", "low", "high"} <= set(data.columns):
        low, high = (pd.to_numeric(data.pop(column)) for column in ("low", "high"))
        parts.append(f"{(low > 0).sum()} differences are above 0 by their interval, "
                     f"{(high < 0).sum()} below, of {len(data)}")  # fmt: skip
    for column in data.columns:
        given = data[column][data[column] != ""]
        values = pd.to_numeric(given, errors="coerce")
        kinds = list(dict.fromkeys(given))
        if given.empty:
            continue
        if len(kinds) == 1:
            parts.append(f"{column} is {kinds[0]}")
        elif values.notna().all():
            parts.append(f"{column} from {values.min():g} to {values.max():g}")
        elif len(kinds) <= _MOST:
            parts.append(f"{column}: {', '.join(kinds)}")
        else:
            parts.append(f"{column}: {len(kinds)} of them")
    points = f"{len(data)} point" + "s" * (len(data) != 1)
    return f"{title}, drawn from {points}. " + "; ".join(parts) + "." * bool(parts)


def size(png: Path) -> tuple[int, int]:
    """Width and height of a picture on a page, so that nothing moves when it has loaded.

    Source: PNG, third edition, 11.2.1: both stand in the header, as 4 bytes each from byte 16.
    """
    with png.open("rb") as file:
        width, height = struct.unpack(">II", file.read(24)[16:])
    return round(width * _INCH / DPI), round(height * _INCH / DPI)
