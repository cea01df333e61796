"""Means and deviations of whole numbers: n times the mean and the sum of squares are whole.

Source: GRIM (Brown and Heathers, 2017) and GRIMMER (Anaya, 2016). Assumes whole-number answers.
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memrepro.audit.finding import FAILS, LIKELY, WEAK, Finding
from memrepro.audit.printed import Printed, parse
from memrepro.audit.tables import Table

_MEAN, _SD = r"\b(?:mean|M)\b", r"(?i:\bSD\b|\bS\.D\.|\bstd\.?(?: dev\.?)?|standard deviation)"
_MEAN_AND_SD = rf"{_MEAN}\s*(?:±|[(,]\s*±?)\s*{_SD}"
_N = re.compile(r"(?:no\.?|number)?\s*(?:n|N|participants|count|sample size)(?:, .*)?")
_SIZED = re.compile(r"\b[nN]\s*=\s*(\d{1,3}(?:,\d{3})+|\d+)")
_SCALE = re.compile(r"\blikert|\bscale\b|\brating|\brated\b|\bitems?\b|questionnaire|\bscore", re.I)
_CONTINUOUS = re.compile(r"\b(?:numeric|continuous|double|float)\b")  # what the row is said to be


class _Cell(NamedTuple):
    row: str
    n: int
    mean_is_whole: bool
    fits: Sequence[bool]
    printed: tuple[str, str]


def grimmer(table: Table) -> Iterator[Finding]:
    """Means and deviations against n, which is stated, a column of its own, or in a row's name.

    The deviations of a column are with n − 1, or with n where that explains more of them.
    """
    for column, sd, printed in _deviations(table):
        made = []
        for row, texts in printed.items():
            mean, deviation = map(parse, texts)
            n = size(table, row, column)
            if mean is None or deviation is None or not n or _CONTINUOUS.search(row):
                continue
            if n * mean.step >= 1 or mean.step == 1:
                continue
            sums = range(math.ceil(mean.low * n - 1e-9), math.floor(mean.high * n + 1e-9) + 1)
            fits = [any(_squares(one, n, less, deviation) for one in sums) for less in (1, 0)]
            made.append(_Cell(row, n, bool(sums), fits, texts))
        less = max((0, 1), key=lambda place: sum(one.fits[place] for one in made))
        good = sum(one.fits[less] for one in made)
        # Ages and times are no whole numbers: a scale's name must tell.
        whole = bool(_SCALE.search(f"{column} {table.reading.get('caption', '')}"))
        read = "file" in table.reading
        meant = not read or (whole and 2 * good >= len(made))
        for one in made:
            if one.fits[less]:
                continue
            of, told = (sd if one.mean_is_whole else column), one.printed[one.mean_is_whole]
            expected = ("a sum of squares that is whole" if one.mean_is_whole
                        else f"a whole number over {one.n}")  # fmt: skip
            yield Finding(
                table.document, table.name, "mean and deviation", f"{one.row}, {of}", told,
                expected, f"{' ± '.join(one.printed)} of {one.n}", FAILS, LIKELY if meant else WEAK,
                f"if each answer is a whole number (GRIM, GRIMMER); {good} of {len(made)} are", 2,
            )  # fmt: skip


def size(table: Table, row: str, column: str) -> int:
    """How many answers a cell is of: stated, in a column of its own or a name; 0 where not told."""
    if n := table.size(row, column):
        return n
    for name in (column, row):
        if found := _SIZED.search(name):
            return int(found[1].replace(",", ""))
    group = column.rpartition(", ")[0]
    for other in sorted(table.columns, key=lambda o: o.rpartition(", ")[0] != group):
        last = other.rpartition(", ")[2]
        if _N.fullmatch(last) and other.rpartition(", ")[0] in ("", group):
            number = parse(table.rows[row][other])
            if number and number.step == 1 and not number.unit:
                return int(number.value)
    return 0


def _deviations(table: Table) -> Iterator[tuple[str, str, dict[str, tuple[str, str]]]]:
    """A column of means, its deviations' column, and row → both as printed.

    One column may print both, if its head says so ('M ± SD', 'M (SD)'): a ± alone is mostly over
    runs.
    """
    for column in table.columns:
        if re.search(_MEAN_AND_SD, column):
            parts = {
                row: re.split(r"\s*[±(]\s*", c[column].rstrip(" )"))
                for row, c in table.rows.items()
            }
            yield column, column, {row: (p[0], p[1]) for row, p in parts.items() if len(p) == 2}
        elif re.search(_MEAN, column):
            rest = re.sub(_MEAN, "", column).strip(" ,")
            sd = next((o for o in table.columns if o != column and re.search(_SD, o)
                       and re.sub(_SD, "", o).strip(" ,") == rest), "")  # fmt: skip
            if sd:
                yield column, sd, {row: (c[column], c[sd]) for row, c in table.rows.items()}


def _squares(total: int, n: int, less: int, deviation: Printed) -> bool:
    """Whether a whole sum of squares of the sum's parity gives the deviation with n − `less`."""
    ends = [(n - less) * max(0.0, e) ** 2 + total**2 / n for e in (deviation.low, deviation.high)]
    low, high = math.ceil(ends[0] - 1e-9), math.floor(ends[1] + 1e-9)
    return any(one % 2 == total % 2 for one in range(low, min(high, low + 1) + 1))
