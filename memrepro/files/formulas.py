"""Texts of a csv that a spreadsheet would run, and their apostrophe."""

import re
from collections.abc import Callable

import pandas as pd

# A cell that a spreadsheet runs begins so, in wide letters too; a lone sign and a plain number do
# not run, nor do numbers in the forms that tables show, which are no formula as a whole:
# "+0.1 [+0.0, +0.2], won 5", "-0.1 / 0.0 / +0.1 (9)", "+0.1 → -0.1", "-0.1 (LoCoMo rounds)".
_BLANKS = "\t\r\n\v\f\0 \u00a0\u200b\ufeff"  # which some programs take away
_FORMULA_STARTS = frozenset("'=@+-＝＠＋－﹦﹫﹢﹣" + _BLANKS)
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_HARMLESS = re.compile(
    rf"[+-]|{_NUMBER}(?: \[{_NUMBER}, {_NUMBER}\](?:, [\w ,]+)?|(?: / {_NUMBER})+ \(\d+\)"
    rf"|(?: → {_NUMBER})+| \([\w ,.-]+\))?",
    re.ASCII,
)


def where_formula(frame: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """The frame with its formulas changed, headings too; itself where it has none."""
    heads = [change(h) if isinstance(h, str) and _is_formula(h) else h for h in frame.columns]
    if heads != list(frame.columns):
        frame = frame.set_axis(heads, axis="columns")
    for place, column in enumerate(frame.dtypes):
        if column.kind != "O":
            continue
        texts = frame.iloc[:, place].tolist()
        if _FORMULA_STARTS.isdisjoint({text[:1] for text in texts if isinstance(text, str)}):
            continue  # most columns: no need to look at each text
        found = [isinstance(text, str) and _is_formula(text) for text in texts]
        if any(found):
            frame = frame.copy(deep=False)
            pairs = zip(texts, found, strict=True)
            frame.isetitem(place, [change(text) if one else text for text, one in pairs])
    return frame


def _is_formula(text: str) -> bool:
    """Whether a spreadsheet may run a text, or would if the apostrophes before it were fewer."""
    bare = text.lstrip("'")
    if bare[:1] in ("\t", "\r", "\n"):
        return True
    bare = bare.lstrip(f"'{_BLANKS}")
    return bare[:1] in _FORMULA_STARTS and bool(bare) and not _HARMLESS.fullmatch(bare)


def has_return(frame: pd.DataFrame) -> bool:
    """Whether a text of the frame holds a carriage return."""
    texts = (frame.iloc[:, place] for place, kind in enumerate(frame.dtypes) if kind.kind == "O")
    return any("\r" in text for column in texts for text in column if isinstance(text, str))
