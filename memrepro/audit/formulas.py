"""Numbers that follow from other printed numbers, recomputed with what rounding leaves open.

A formula is arithmetic over `a, b, …`, each the cells that a reference names: `table | rows |
columns`, several separated by ';', with '*' for anything, `{row}` and `{column}` for those of the
cell that is checked, and `row` for the number that its row is called. A cell stands for all values
that round to it, so that a formula gives an interval, and a printed number holds if its own meets
that.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memrepro.audit.finding import CERTAIN, FAILS, HOLDS, LIKELY, WEAK, Finding
from memrepro.audit.printed import Printed, parse
from memrepro.audit.tables import Table
from memrepro.errors import MemreproError

_NAMES = "abcdefgh"
Tables = Mapping[str, Table]


class Span(NamedTuple):
    """Values that are open between a low and a high end, and as printed; each shape (n,)."""

    low: NDArray[np.float64]
    at: NDArray[np.float64]
    high: NDArray[np.float64]


def _span(*ends: Sequence[float]) -> Span:
    low, at, high = (np.asarray(end, float) for end in ends)
    return Span(low, at, high)


def _exactly(value: float) -> Span:
    return _span([value], [value], [value])


_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_REDUCERS: Mapping[str, Callable[[NDArray[np.float64]], Any]] = {
    "mean": np.mean, "sum": np.sum, "min": np.min, "max": np.max,
}  # fmt: skip


class Formula:
    """A formula over named spans.

    Raises:
        MemreproError: if it is no arithmetic of + - * /, numbers, names and the known functions.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._tree = ast.parse(text, mode="eval").body
        except SyntaxError as error:
            raise MemreproError(f"formula {text!r} is no arithmetic: {error.msg}") from error

    def of(self, names: Mapping[str, Span]) -> Span:
        """Its value over spans, by name."""
        return self._value(self._tree, names)

    def _value(self, node: ast.expr, names: Mapping[str, Span]) -> Span:
        match node:
            case ast.Constant(value=int() | float() as number):
                return _exactly(number)
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return _joined(operator.sub, _exactly(0), self._value(inner, names))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                values = (self._value(side, names) for side in (left, right))
                return _joined(_BINARY[type(op)], *values)
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                first, second = (self._value(side, names).at for side in (left, right))
                same = np.isclose(first, second, rtol=0, atol=1e-12)
                return Span(*[same.astype(float)] * 3)
            case ast.Call(func=ast.Name(id=name), args=[inner]):
                return _called(name, self._value(inner, names), inner)
        raise MemreproError(
            f"formula {self.text!r} has {ast.unparse(node)!r}: it may have + - * / ==, numbers, "
            f"a to h, row, and count, log, {', '.join(_REDUCERS)} of one thing"
        )


def _joined(apply: Callable[[Any, Any], Any], first: Span, second: Span) -> Span:
    """Interval arithmetic, element by element; a single value stands for all."""
    if len(first.at) != len(second.at) and 1 not in (len(first.at), len(second.at)):
        raise MemreproError(f"{len(first.at)} cells stand against {len(second.at)}")
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = [apply(x, y) for x in (first.low, first.high) for y in (second.low, second.high)]
        at = apply(first.at, second.at)
    return Span(np.min(ends, axis=0), at, np.max(ends, axis=0))


def _called(name: str, value: Span, inner: ast.expr) -> Span:
    if name in _REDUCERS:
        return _span(*([float(_REDUCERS[name](end))] for end in value))
    if name == "count":
        # Of a comparison, how often it holds; else how many cells there are.
        compared = isinstance(inner, ast.Compare)
        return _exactly(float(value.at.sum()) if compared else len(value.at))
    if name == "log":
        return Span(*(np.log(end) for end in value))
    raise MemreproError(f"formula has the function {name!r}: known are count, log, mean, sum, …")


def claims(tables: Sequence[Table]) -> Iterator[tuple[Table, str, str, list[str]]]:
    """Table, row, column and formula with references of every cell that has a formula."""
    for table in tables:
        for key, formula in table.reading.get("formulas", {}).items():
            rows, _, columns = str(key).partition(" | ")
            for row, column, shown in table.cells():
                if _fits(rows, row) and _fits(columns or "*", column) and parse(shown):
                    yield table, row, column, [str(part) for part in formula]


def recomputed(tables: Sequence[Table]) -> Iterator[Finding]:
    """Every cell that has a formula, against what the formula gives.

    Raises:
        MemreproError: naming the table, the row and what is wrong with its formula.
    """
    by_name = {table.name: table for table in tables}
    for table, row, column, (formula, *references) in claims(tables):
        where = f"formula of {row!r} in table {table.name!r}"
        try:
            names = {
                name: cells_of(by_name, reference, row, column)
                for name, reference in zip(_NAMES, references, strict=False)
            }
            if re.search(r"\brow\b", formula):
                names["row"] = _printed_span([row], where)
            value = Formula(formula).of(names)
        except MemreproError as error:
            raise MemreproError(f"{where}: {error}") from error
        if len(value.at) != 1:
            raise MemreproError(f"{where} gives {len(value.at)} values: it must give one")
        yield _compared(table, row, column, formula, references, value)


def cells_of(tables: Tables, reference: str, row: str = "", column: str = "") -> Span:
    """The numbers that a reference names, in the table's order.

    Raises:
        MemreproError: if it names no table or no cell with a number.
    """
    parts = [part.strip() for part in reference.split(" | ")]
    if len(parts) != 3:
        raise MemreproError(f"{reference!r} must read 'table | rows | columns'")
    if parts[0] not in tables:
        raise MemreproError(f"{reference!r} names no table: known are {', '.join(tables)}")
    rows, columns = (part.replace("{row}", row).replace("{column}", column) for part in parts[1:])
    shown = [s for r, c, s in tables[parts[0]].cells() if _fits(rows, r) and _fits(columns, c)]
    return _printed_span(shown, reference)


def _printed_span(shown: Sequence[str], reference: str) -> Span:
    numbers = [number for s in shown if (number := parse(s))]
    if not numbers and shown:
        # Words are counted, not computed with.
        return _span(*[[math.nan] * len(shown)] * 3)
    if not numbers:
        raise MemreproError(f"{reference!r} names no cell")
    levels = [number._replace(bound="") for number in numbers]
    exact = [number.unit == "" and number.step == 1 for number in levels]
    ends = [
        (float(x.value), float(x.value)) if whole else (x.low, x.high)
        for x, whole in zip(levels, exact, strict=True)
    ]
    at = [float(x.value) for x in levels]
    return _span([low for low, _ in ends], at, [high for _, high in ends])


def _fits(pattern: str, name: str) -> bool:
    return any(
        re.fullmatch(".*".join(map(re.escape, one.strip().split("*"))), name)
        for one in pattern.split("; ")
    )


def _compared(
    table: Table, row: str, column: str, formula: str, references: Sequence[str], value: Span
) -> Finding:
    shown = table.rows[row][column]
    number = parse(shown)
    assert number is not None
    low, at, high = (float(end[0]) for end in value)
    holds = _meet(number, low, at, high)
    words, sure, why = (HOLDS if holds else FAILS), CERTAIN, "arithmetic on the printed numbers"
    rough = _rough(number)
    if not holds and (number.bound == "about" or number.step == 1) and _meet(rough, low, at, high):
        words, sure = HOLDS, WEAK
        why = f"as a round number: to the nearest {float(rough.step):g}"
    elif not holds and number.bound == "about":
        sure, why = LIKELY, "arithmetic on the printed numbers, of which this is no exact one"
    within = "" if low == high else f" ({low:.6g} to {high:.6g} with what rounding leaves open)"
    where = row if column == "printed" else f"{row}, {column}"
    source = f"{formula}" + (f" of {'; '.join(references)}" if references else "")
    return Finding(
        table.document, table.name, "recomputed", where, shown, f"{source}: {at:.6g}{within}",
        shown, words, sure, why, 1,
    )  # fmt: skip


def _rough(number: Printed) -> Printed:
    """A number read to the place of its last digit that is not 0."""
    step = number.step
    while number.value and number.value % (step * 10) == 0:
        step *= 10
    return number._replace(step=step)


def _meet(number: Printed, low: float, at: float, high: float) -> bool:
    """Whether an interval meets the values that a printed number stands for.

    A change may be printed without its sign, as a drop.
    """
    near = 1e-9 * max(1.0, abs(at))
    if number.bound == "more":
        return high >= float(number.value) - near
    if number.bound == "less":
        return low <= float(number.value) + near
    same = low <= number.high + near and high >= number.low - near
    return same or (not number.signed and -high <= number.high + near and -low >= number.low - near)
