"""Stars against their estimate and its standard error."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from scipy import stats as distributions

from memrepro.audit.finding import FAILS, LIKELY, WEAK, Finding, tally
from memrepro.audit.printed import Printed, parse
from memrepro.audit.tables import Table

_LEGEND = re.compile(
    r"(\*{1,4})\s*:?\s*(?:,|denotes?|indicates?)?\s*\(?\s*p\s*[<≤]\s*=?\s*(0?\.\d+)", re.I
)
_PERCENTS = re.compile(r"(\*{1,4})[^*\d]{0,40}?(\d{1,2})\s*%")
_IN_TURN = re.compile(  # '*, ** and *** denote 10 %, 5 % and 1 %'
    r"((?:\*{1,4}(?:[\s,]|and)+)+\*{1,4})[^*\d]{0,40}((?:\d{1,2}\s*%(?:[\s,]|and)*)+)"
)
_BRACKETED = re.compile(r"[(\[]\s*(-?\d+(?:\.\d+)?)\s*[)\]]")
_T_BELOW = re.compile(r"\bt[- ]?(?:stat|value|ratio)|z[- ]?(?:stat|value)", re.I)
_ERROR_BELOW = re.compile(r"standard errors?|\bs\.?e\.?s?\b|std", re.I)
_P_BELOW = re.compile(r"\bp[- ]?values?\b", re.I)
_LEVELS = ({1: 0.05, 2: 0.01, 3: 0.001}, {1: 0.1, 2: 0.05, 3: 0.01})
_TELLING, _MOST = 3, 0.75


class _Starred(NamedTuple):
    row: str
    column: str
    shown: str
    stars: int
    low: float
    high: float


def stars(table: Table) -> Iterator[Finding]:
    """Stars against the estimate over its standard error, in its cell or in the row below.

    What stars mean the caption or the note says, else the usual levels that most cells follow; that
    the brackets hold standard errors, and not t or p, is told by them or by most cells too.
    """
    known: Mapping[str, Mapping[str, int]] = table.reading.get("stars", {})
    counted = bool(known)
    if not counted:  # that there are some, and not how many
        marked = table.reading.get("starred", {})
        known = {row: dict.fromkeys(columns, 1) for row, columns in marked.items()}
    note = f"{table.reading.get('note', '')} {table.reading.get('caption', '')}"
    if not known:
        return
    pairs = list(_estimates(table))
    if len(pairs) < _TELLING:
        return
    forms: list[tuple[str, Callable[[Printed, Printed], tuple[float, float] | None]]] = []
    errors, p_values, t_values = (one.search(note) for one in (_ERROR_BELOW, _P_BELOW, _T_BELOW))
    if errors or not (p_values or t_values):
        forms.append(("estimate / SE", _quotient))
    if not (errors or p_values):
        forms.append(("t", lambda _, below: (abs(below.low), abs(below.high))))
    if not errors:
        forms.append(("p", _of_p))
    legend = legend_of(note)
    tried = []
    for said, form in forms:
        for levels in [legend] if legend else _LEVELS:
            levels = levels if counted else {1: max(levels.values())}
            made = []
            for row, column, shown, estimate, below in pairs:
                if span := form(estimate, below):
                    own = known.get(row, {}).get(column, 0)
                    one = _Starred(row, column, shown, own, *sorted(span))
                    made.append((one, _earned(one, levels)))
            tried.append((said, levels, made))
    said, levels, made = max(
        tried, key=lambda one: sum(ok for _, ok in one[2]), default=("", {}, [])
    )
    good = sum(ok for _, ok in made)
    if good < _TELLING or good < _MOST * len(made) or not any(one.stars for one, _ in made):
        return
    meaning = ", ".join(f"{'*' * n} p < {p:g}" for n, p in sorted(levels.items()))
    why = f"{good} of {len(made)} agree with {meaning}"
    yield tally(table, "stars", "all", f"stars follow from {said}", good, len(made), why)._replace(
        sure=LIKELY)  # fmt: skip
    for one, ok in made:
        if not ok:
            p = [2 * distributions.norm.sf(z) for z in (one.high, one.low)]
            due = max((n for n, level in levels.items() if p[1] < level), default=0)
            yield Finding(
                table.document, table.name, "stars", f"{one.row}, {one.column}", one.shown,
                f"{'*' * due or 'no star'}: {said} from {one.low:.3g} to {one.high:.3g}",
                f"{'*' * one.stars or 'no star'}", FAILS,
                # What stands in brackets must be said: a p looks like an error.
                LIKELY if (errors or p_values or t_values) and (legend or good >= 2 * _TELLING)
                else WEAK, why, 2,
            )  # fmt: skip


def _quotient(estimate: Printed, below: Printed) -> tuple[float, float] | None:
    if below.low <= 0:
        return None
    ends = [abs(e) / s for e in (estimate.low, estimate.high) for s in (below.low, below.high)]
    least = 0.0 if estimate.low <= 0 <= estimate.high else min(ends)
    return least, max(ends)


def _of_p(_: Printed, below: Printed) -> tuple[float, float] | None:
    """The z of a p in brackets."""
    if below.low < -below.step or below.high > 1 + below.step:
        return None
    least, most = (
        float(distributions.norm.isf(min(1.0, max(1e-12, p)) / 2)) for p in (below.high, below.low)
    )
    return least, most


def _earned(one: _Starred, levels: Mapping[int, float]) -> bool:
    """Whether some value that rounds so has just these stars; of few degrees of freedom too."""
    most = distributions.norm.sf(one.high) * 2  # the least p
    least = distributions.t.sf(one.low, 20) * 2  # the most, of a small sample
    level = levels.get(one.stars, 1.0) if one.stars else 1.0
    further = max((p for n, p in levels.items() if n > one.stars), default=0.0)
    if one.stars and one.stars not in levels:
        return True
    return bool(most < level and least >= further)


def _estimates(table: Table) -> Iterator[tuple[str, str, str, Printed, Printed]]:
    """Row, column, cell, estimate and what stands in brackets behind it or in the row below."""
    rows = list(table.rows)
    for at, row in enumerate(rows):
        below = table.rows[rows[at + 1]] if at + 1 < len(rows) else {}
        own_row = [s for s in table.rows[row].values() if s.strip()]
        under = [s for s in below.values() if s.strip()]
        stacked = bool(under) and sum(bool(_BRACKETED.fullmatch(s.strip())) for s in under) >= max(
            1, len(under) // 2
        )
        if own_row and all(_BRACKETED.fullmatch(s.strip()) for s in own_row):
            continue
        for column, shown in table.rows[row].items():
            number = parse(shown)
            inside = re.fullmatch(
                r"\s*-?\d+(?:\.\d+)?\s*\**\s*[(\[]\s*(\d+\.\d+)\s*[)\]]\s*\**\s*", shown
            )
            text = inside[1] if inside else ""
            if not text and stacked and (found := _BRACKETED.fullmatch(below[column].strip())):
                text = found[1]
            if number and text and (error := parse(text)):
                yield row, column, shown, number, error


def legend_of(note: str) -> dict[int, float]:
    """How many stars mean which level: '* p < 0.05, ** p < 0.01', or '* 10 %, ** 5 %'."""
    found = {len(stars): float(level) for stars, level in _LEGEND.findall(note)}
    if not found:
        turns = [[re.findall(r"\*+|\d+", part) for part in one] for one in _IN_TURN.findall(note)]
        pairs = [pair for one in turns for pair in zip(*one, strict=False)]
        pairs = pairs or _PERCENTS.findall(note)
        found = {len(s): int(p) / 100 for s, p in pairs if int(p) <= 10}
    ordered = [found[n] for n in sorted(found)]
    return found if ordered == sorted(ordered, reverse=True) else {}
