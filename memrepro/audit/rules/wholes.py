"""Wholes against their parts, within rounding: means by the sizes that are stated."""

import itertools
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from memrepro.audit.finding import CERTAIN, FAILS, LIKELY, Finding, tally
from memrepro.audit.heads import is_matrix
from memrepro.audit.ledger import entry_of
from memrepro.audit.printed import Printed, kind_of, parse
from memrepro.audit.rules.granularity import possible, ways
from memrepro.audit.rules.shares import is_read
from memrepro.audit.tables import Table

_OF_RUNS = re.compile(r"\b(?:median|min(?:imum)?|max(?:imum)?|std|s\.?d\.?|iqr|variance)\b", re.I)
WHOLE = re.compile(r"\b(overall|average|avg\.?|mean|total|all|sum)\b", re.I)
_OF_WHAT = re.compile(r"(?:task|macro|grand)-|\(\d+\)|\W+", re.I)  # 'Task-Average (6)' is of all
_MOST_ORDERS = 6
_FEW = 4
NEAR = 1e-9


class Whole(NamedTuple):
    """A whole and its parts in one row or column.

    Attributes:
        row, column: where it stands.
        shown: the whole.
        parts: name → number of each part.
        sizes: of the parts; () where one is not stated.
        assumed: whether the parts go by their names alone.
        counted: whether each question counts 0 or 1.
        plain: whether each part weighs the same (macro), and not each question (micro).
        cut: whether digits were cut off, or rounded; None where the table does not tell.
    """

    row: str
    column: str
    shown: str
    parts: Mapping[str, str]
    sizes: Sequence[int]
    assumed: bool
    counted: bool
    plain: bool = False
    cut: bool | None = None

    @property
    def weights(self) -> Sequence[int]:
        """What each part weighs in the mean."""
        return [1] * len(self.sizes) if self.plain else self.sizes

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.row}, {self.column}"


def columns_of(
    table: Table, kinds: Collection[str] = ("share", "percent")
) -> dict[str, list[str]]:  # fmt: skip
    """Column of a whole → columns of its parts, of some kinds, as stated or by their names.

    A whole by its name is one of 'overall', 'average', 'total' and so on; its parts are the columns
    that have the rest of its name.
    """
    stated: Mapping[str, list[str]] = table.reading.get("whole", {})
    found: dict[str, list[str]] = {}
    # Beside a median or a deviation a mean is of runs, and of none of the columns.
    if (is_matrix(table) or any(map(_OF_RUNS.search, table.columns))) and not stated:
        return found
    for column in table.columns:
        if column in stated:
            parts = list(stated[column])
        elif WHOLE.search(column) and not re.search("Δ|token|time", column, re.I):
            rest = [w for w in _words(WHOLE.sub(" ", column)) if not _OF_WHAT.fullmatch(w)]
            others = [c for c in table.columns if c != column and not WHOLE.search(c)]
            parts = [c for c in others if all(w in _words(c) for w in rest)]
            own = {c: _kinds(table, c) for c in parts}
            # A part such as an error, of which one lies above 1, is one all the same.
            both = any("number" in one and one & {*kinds} for one in own.values())
            if both and "number" not in kinds:
                continue
            parts = [c for c in parts if own[c] <= {*kinds}]
        else:
            continue
        if len(parts) > 1:
            found[column] = parts
    return found


def _words(head: str) -> list[str]:
    return head.replace(",", " ").split()


def _kinds(table: Table, column: str) -> set[str]:
    shown = [cells[column] for cells in table.rows.values()]
    head = table.unit_in(column, column)
    return {kind_of(s, head) for s in shown if s.strip() not in ("", "-", "–")}


def is_whole(table: Table, row: str, column: str) -> bool:
    """Whether a cell stands in a column or a row of wholes."""
    return column in columns_of(table) or bool(WHOLE.fullmatch(row))


def each_whole(table: Table) -> Iterator[tuple[Whole, float, bool, str]]:
    """Every whole whose parts' sizes are stated: the parts' mean, whether it is that, why not."""
    for whole in _one_way([*_macro_or_micro(table, in_rows(table)), *_in_columns(table)]):
        if whole.sizes and not _is_all(whole):
            parts = list(whole.parts.values())
            mean = _exact(whole, parts)
            if mean is None:
                means = zip(parts, whole.weights, strict=True)
                mean = sum(float(number_of(part).value) * n for part, n in means) / sum(
                    whole.weights
                )
            holds = _gives(whole, parts)
            why = "" if holds else "; ".join(_explanations(whole))
            yield whole, mean, holds, why


def _is_all(whole: Whole) -> bool:
    """Whether a whole is 100 % of something, to which its parts add up: no mean of them."""
    parts = [number_of(part) for part in whole.parts.values()]
    room = sum(float(part.step) for part in parts) / 2
    return number_of(whole.shown).value == 1 and abs(sum(float(p.value) for p in parts) - 1) <= room


def _macro_or_micro(table: Table, found: Iterable[Whole]) -> Iterator[Whole]:
    """Wholes by column, each part weighing the same where that explains more rows than sizes do.

    A whole of which a number of questions is stated is one of questions.
    """
    by_column: dict[str, list[Whole]] = {}
    for whole in found:
        by_column.setdefault(whole.column, []).append(whole)
    groups = [[w for w in group if w.sizes and w.parts] for group in by_column.values()]
    good = sum(_gives(w, list(w.parts.values())) for group in groups for w in group)
    plain = [[w._replace(plain=not table.size(w.row, w.column)) for w in g] for g in groups]
    # Columns of one table are of one kind.
    if sum(_gives(w, list(w.parts.values())) for group in plain for w in group) > good:
        groups = plain
    for group in groups:
        yield from group


def _one_way(wholes: list[Whole]) -> Iterator[Whole]:
    """The wholes with how their numbers were written, where more of them hold that way.

    Or where fewer of their parts are no counts so; to be cut off is the rarer of the two.
    """
    counted = [one for one in wholes if one.sizes and one.counted]
    told = [[_by_counts(one, list(one.parts.values()), way) for one in counted]
            for way in (False, True)]  # fmt: skip
    rounded, cut = ((one.count(True), -one.count(None)) for one in told)
    way = False if rounded > cut else True if cut[0] > rounded[0] + 1 else None
    for whole in wholes:
        yield whole._replace(cut=way)


def in_rows(table: Table) -> Iterator[Whole]:
    """The wholes of each row, where whole and parts are numbers."""
    counted = not table.reading.get("partial")
    for column, parts in columns_of(table).items():
        assumed = column not in table.reading.get("whole", {})
        for row, cells in table.rows.items():
            if table.runs(row) > 1 or "±" in cells[column] or not parse(cells[column]):
                continue
            shown = {part: cells[part] for part in parts if parse(cells[part])}
            sizes = [n for part in shown if (n := table.size(row, part))]
            if len(sizes) < len(shown):
                sizes = []
            yield Whole(row, column, cells[column], shown, sizes, assumed, counted)


def _in_columns(table: Table) -> Iterator[Whole]:
    """The shares of a row that is the whole of the others, where all sizes are stated."""
    counted = not table.reading.get("partial")
    if any(map(_OF_RUNS.search, table.rows)):
        return
    # One that stands again below is of its part of the table alone.
    read = is_read(table, table.columns)
    again = {re.sub(r" \(\d+\)$", "", row) for row in table.rows if re.search(r" \(\d+\)$", row)}
    for row in table.rows:
        if not WHOLE.fullmatch(row) or row in again or row in table.reading.get("whole_rows", {}):
            continue
        for column in table.columns:
            entry = entry_of(table, row, column, table.rows[row][column])
            shown = {r: c[column] for r, c in table.rows.items() if r != row and parse(c[column])}
            sizes = [n for r in shown if (n := table.size(r, column))]
            if entry.kind == "share" and len(sizes) == len(shown) > 1:
                yield Whole(row, column, entry.printed, shown, sizes, read, counted)


def weighted(table: Table) -> Iterator[Finding]:
    """Wholes whose parts' sizes are stated, against the weighted mean of the parts."""
    made = list(each_whole(table))
    by_name = "; the parts go by their names"
    if made:
        assumed = any(whole.assumed for whole, *_ in made)
        yield tally(
            table, "whole and parts", "all wholes",
            "each whole is the weighted mean of its parts, with what rounding leaves open",
            sum(holds for _, _, holds, _ in made), len(made),
            "the sizes are stated" + by_name * assumed,
        )  # fmt: skip
    for whole, _, holds, why in made:
        if not holds:
            low, high = _mean(list(whole.parts.values()), whole.weights)
            sure = LIKELY if whole.assumed else CERTAIN
            kind = "the plain" if whole.plain else "the weighted"
            yield Finding(
                table.document, table.name, "whole and parts", whole.name, whole.shown,
                f"{(low + high) / 2:.4f} ({low:.5f} to {high:.5f}), {kind} mean of its parts",
                "; ".join(filter(None, [whole.shown, why])), FAILS, sure,
                "the sizes are stated" + by_name * whole.assumed, len(whole.parts) + 1,
            )  # fmt: skip


def number_of(shown: str) -> Printed:
    """A part or whole as a number."""
    number = parse(shown)
    assert number is not None  # parts without a number are left out
    return number


def _mean(parts: Sequence[str], sizes: Sequence[int]) -> tuple[float, float]:
    """The least and the most that a weighted mean can be, its parts rounded or cut off."""
    numbers, total = [number_of(part) for part in parts], sum(sizes)
    low = sum(x.low * n for x, n in zip(numbers, sizes, strict=True)) / total
    # A number that was cut off lies up to a whole step above.
    high = sum((float(x.value + x.step)) * n for x, n in zip(numbers, sizes, strict=True)) / total
    return low, high


def _gives(whole: Whole, parts: Sequence[str]) -> bool:
    """Whether parts can give a whole. Where all are counts of their sizes, to the last question."""
    number = number_of(whole.shown)
    value = _exact(whole, parts)
    if whole.counted:
        told = [_by_counts(whole, parts, way) for way in _ways(whole)]
        if None not in told and (value is None or True in told or not whole.plain):
            return True in told
    low, high = _mean(parts, whole.weights) if value is None else _as_printed(parts)
    # Parts that are not counts were rounded; the mean of what they stand for is one step wide.
    high -= float(number.step) / 2
    return low <= number.high + NEAR and high >= number.low - NEAR


def _ways(whole: Whole) -> Sequence[bool]:
    """Rounded (False), cut off (True), or both where the table does not tell."""
    return (False, True) if whole.cut is None else (whole.cut,)


def _by_counts(whole: Whole, parts: Sequence[str], cut: bool) -> bool | None:
    """Whether parts that are counts give a whole, all written one way; None if one is no count."""
    least, most = _ends(whole.shown, cut)
    value = _exact(whole, parts)
    if value is not None:
        return least - NEAR <= value < most + NEAR
    spans = [_counts(shown, n, cut) for shown, n in zip(parts, whole.sizes, strict=True)]
    if any(low > high for low, high in spans):
        return None
    if whole.plain:
        means = [
            sum(one[end] / n for one, n in zip(spans, whole.sizes, strict=True)) / len(parts)
            for end in (0, 1)
        ]
        # It may have been taken of printed numbers.
        printed = sum(float(number_of(part).value) for part in parts) / len(parts)
        either = ((means[0], means[1]), (printed, printed))
        return any(low < most + NEAR and high >= least - NEAR for low, high in either)
    low, high = _counts(whole.shown, sum(whole.sizes), cut)
    own = max(low, sum(one[0] for one in spans)), min(high, sum(one[1] for one in spans))
    return None if low > high else own[0] <= own[1]


def _counts(shown: str, n: int, cut: bool) -> tuple[int, int]:
    """The least and most of n that a share can be; the least is the larger where none can."""
    low, high = _ends(shown, cut)
    return max(0, math.ceil(low * n - NEAR)), min(n, math.floor(high * n + NEAR))


def _ends(shown: str, cut: bool) -> tuple[float, float]:
    """What a printed number can stand for."""
    number = number_of(shown)
    if cut:
        # Up to the next number, which is no more one that is cut off to this.
        return float(number.value), float(number.value + number.step) - 2 * NEAR
    return number.low, number.high


def _as_printed(parts: Sequence[str]) -> tuple[float, float]:
    """The plain mean of numbers as printed, and what is subtracted again from its high end."""
    mean = sum(float(number_of(part).value) for part in parts) / len(parts)
    return mean, mean + float(number_of(parts[0]).step) / 2


def _exact(whole: Whole, parts: Sequence[str]) -> float | None:
    """The mean of the parts where each is a share of its size that one count alone gives."""
    if not whole.counted:
        return None
    total = 0.0
    for shown, n, weight in zip(parts, whole.sizes, whole.weights, strict=True):
        number = number_of(shown)
        bare = f"{number.value:f}"
        if not 0 <= number.value <= 1 or n >= 1 / float(number.step):
            return None
        right = {*ways(bare, n).values()}
        if not right:
            return None
        total += min(right, key=lambda k: abs(k / n - float(number.value))) * weight / n
    return total / sum(whole.weights)


def _explanations(whole: Whole) -> Iterator[str]:
    """Orders of the parts that give the whole, and the one part that could be wrong."""
    shown = list(whole.parts.values())
    if len(set(shown)) > 1:
        orders = _orders(shown)
        fitting = [o for o in orders if list(o) != shown and _gives(whole, o)]
        if whole.counted:
            fitting = [
                o for o in fitting
                if all(possible(s, n) for s, n in zip(o, whole.sizes, strict=True) if s[0] == "0")
            ]  # fmt: skip
        moved = [_moved(list(whole.parts), shown, order) for order in fitting]
        if moved:
            fewest = min(moved, key=lambda one: (one.count("="), one))
            several = f" ({len(moved)} orders of {len(orders)} do)" * (len(moved) > 1)
            yield f"as printed in another order it would hold: {fewest}{several}"
        else:
            yield f"no order of its parts gives it ({len(orders)} tried)"
    if alone := _alone(whole):
        yield f"if one part alone is wrong, it would be {alone}"


def _alone(whole: Whole) -> str:
    """The parts that would give the whole with another number in their place, the nearest first."""
    shown, weights, needs = list(whole.parts.values()), whole.weights, []
    target, values = float(number_of(whole.shown).value), [float(number_of(s).value) for s in shown]
    lacking = target * sum(weights) - sum(x * n for x, n in zip(values, weights, strict=True))
    for i, (name, n, value) in enumerate(zip(whole.parts, whole.sizes, values, strict=True)):
        need = (lacking + value * weights[i]) / weights[i]
        right = round(need * n)
        if not 0 <= right <= n:
            continue
        said = f"{name} about {need:.4f}"
        if whole.counted:
            digits = -int(number_of(shown[i]).value.as_tuple().exponent)
            share = f"{right / n:.{digits}f}"
            if not _gives(whole, [*shown[:i], share, *shown[i + 1 :]]):
                continue
            said = f"{name} {share} ({right} of {n})"
        needs.append((abs(need - value), said))
    return " or ".join(said for _, said in sorted(needs)[:_FEW])


def _orders(shown: Sequence[str]) -> list[tuple[str, ...]]:
    """All orders of a few parts; of many, those with two of them exchanged."""
    if len(shown) <= _MOST_ORDERS:
        return sorted(set(itertools.permutations(shown)))
    swapped = set()
    for i, j in itertools.combinations(range(len(shown)), 2):
        order = list(shown)
        order[i], order[j] = order[j], order[i]
        swapped.add(tuple(order))
    return sorted(swapped)


def _moved(names: Sequence[str], shown: Sequence[str], order: Sequence[str]) -> str:
    changed = zip(names, shown, order, strict=True)
    return ", ".join(f"{name} = {new}" for name, old, new in changed if old != new)
