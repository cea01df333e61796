"""Numbers that follow from other printed numbers, recomputed with what rounding leaves open.

A formula is arithmetic over `a, b, …`, each the cells that a reference names: `table | rows |
columns`, several separated by ';', with '*' for anything, `{row}` and `{column}` for those of the
cell that is checked, and `row` for the number that its row is called. `document/table` names
another document's table. A cell stands for all values that round to it, so that a formula gives an
interval, and a printed number holds if its own meets that, or if it is less than one unit of its
last digit away, as what is cut off is. A comparison is of the numbers as printed: 1 where it holds.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memrepro.audit.documents import tables as documents_tables
from memrepro.audit.finding import CERTAIN, FAILS, HOLDS, LIKELY, WEAK, Finding
from memrepro.audit.printed import Printed, parse
from memrepro.audit.tables import PROSE, Table, matches
from memrepro.errors import MemreproError

_NAMES = "abcdefgh"


class Span(NamedTuple):
    """Values that are open between a low and a high end, and as printed; each shape (n,).

    Attributes:
        low: the least.
        at: as printed.
        high: the most.
        cells: row, column and string of each where they are cells of a table.
    """

    low: NDArray[np.float64]
    at: NDArray[np.float64]
    high: NDArray[np.float64]
    cells: tuple[tuple[str, str, str], ...] = ()


def _span(*ends: Sequence[float]) -> Span:
    low, at, high = (np.asarray(end, float) for end in ends)
    return Span(low, at, high)


def _same(values: NDArray[np.float64]) -> Span:
    return Span(values, values, values)


def _exactly(value: float) -> Span:
    return _span([value], [value], [value])


_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_NEAR = 1e-9
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Gt: lambda x, y: x > y + _NEAR,
    ast.GtE: lambda x, y: x >= y - _NEAR,
    ast.Lt: lambda x, y: x < y - _NEAR,
    ast.LtE: lambda x, y: x <= y + _NEAR,
    ast.Eq: lambda x, y: np.isclose(x, y, rtol=0, atol=_NEAR),
}
_REDUCERS: Mapping[str, Callable[[NDArray[np.float64]], Any]] = {
    "mean": np.mean, "sum": np.sum, "min": np.min, "max": np.max,
}  # fmt: skip


class Formula:
    """A formula over named spans.

    Raises:
        MemreproError: if it is no arithmetic of + - * / **, comparisons, numbers, names and the
            known functions.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._tree = ast.parse(text, mode="eval").body
        except SyntaxError as error:
            raise MemreproError(f"formula {text!r} is no arithmetic: {error.msg}") from error

    def value(self, names: Mapping[str, Span]) -> Span:
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
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                first, second = (self._value(side, names).at for side in (left, right))
                holds = np.asarray(_COMPARISONS[type(op)](first, second), float)
                return _same(np.atleast_1d(holds))
            case ast.Call(func=ast.Name(id=name), args=[inner]):
                return _called(name, self._value(inner, names), inner)
            case ast.Call(func=ast.Name(id="max"), args=[left, right]):
                values = (self._value(side, names) for side in (left, right))
                return _joined(np.maximum, *values)
        raise MemreproError(
            f"formula {self.text!r} has {ast.unparse(node)!r}: it may have + - * / **, one "
            "comparison, numbers, a to h, row, max of two things, and "
            f"{', '.join((*_FUNCTIONS, *_REDUCERS))} of one"
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
        return _span(*([float(_REDUCERS[name](end))] for end in value[:3]))
    match name:
        case "count":
            # Of a comparison, how often it holds; else how many cells there are.
            compared = isinstance(inner, ast.Compare)
            return _exactly(float(value.at.sum()) if compared else len(value.at))
        case "distinct":
            return _exactly(len({shown for _, _, shown in value.cells}))
        case "items":
            return _exactly(sum(len(shown.split(", ")) for _, _, shown in value.cells))
        case "round":
            return _same(np.rint(value.at))
        case "log":
            return Span(np.log(value.low), np.log(value.at), np.log(value.high))
    raise MemreproError(f"formula has the function {name!r}: known are {', '.join(_FUNCTIONS)}")


_FUNCTIONS = ("count", "distinct", "items", "round", "log")


def claims(tables: Sequence[Table]) -> Iterator[tuple[Table, str, str, list[str]]]:
    """Table, row, column and formula with references of every cell that has a formula."""
    for table in tables:
        for key, formula in table.reading.get("formulas", {}).items():
            rows, _, columns = str(key).partition(" | ")
            for row, column, shown in table.cells():
                if _fits(rows, row) and _fits(columns or "*", column) and parse(shown):
                    yield table, row, column, [str(part) for part in formula]


class Recomputed(NamedTuple):
    """A printed cell and what its formula gives; `agrees` and the rest say how they compare."""

    table: Table
    row: str
    column: str
    value: float
    low: float
    high: float
    source: str
    agrees: bool
    sure: str
    why: str

    @property
    def where(self) -> str:
        """Row and column, for people; a row of prose alone."""
        return self.row if self.column == PROSE else f"{self.row}, {self.column}"


def recomputed_cells(tables: Sequence[Table]) -> Iterator[Recomputed]:
    """Every cell that has a formula, with what the formula gives.

    Raises:
        MemreproError: naming the table, the row and what is wrong with its formula.
    """
    for table, row, column, formula in claims(tables):
        where = f"formula of {row!r} in table {table.name!r}"
        value = evaluate(formula, tables, where, {"row": row, "column": column})
        if len(value.at) != 1:
            raise MemreproError(f"{where} gives {len(value.at)} values: it must give one")
        yield _compared(table, row, column, formula, value)


def evaluate(
    formula: Sequence[str], tables: Sequence[Table], where: str, names: Mapping[str, str]
) -> Span:
    """What a formula with its references gives; `names` stand for `{…}` in the references.

    Raises:
        MemreproError: if it is no formula or a reference names nothing; it begins with `where`.
    """
    try:
        return Formula(formula[0]).value(spans_of(formula, tables, names))
    except MemreproError as error:
        raise MemreproError(f"{where}: {error}") from error


def spans_of(
    formula: Sequence[str], tables: Sequence[Table], names: Mapping[str, str]
) -> dict[str, Span]:
    """The cells that a formula's references name, by `a`, `b`, …; and `row` where it stands there.

    Raises:
        MemreproError: if a reference names nothing.
    """
    text, *references = formula
    spans = {
        letter: cells_of(tables, reference, names)
        for letter, reference in zip(_NAMES, references, strict=False)
    }
    if re.search(r"\brow\b", text):
        spans["row"] = _printed_span([(names["row"], "", names["row"])], names["row"])
    return spans


def recomputed(tables: Sequence[Table]) -> Iterator[Finding]:
    """Every cell that has a formula, against what the formula gives.

    Raises:
        MemreproError: naming the table, the row and what is wrong with its formula.
    """
    for one in recomputed_cells(tables):
        shown, low, high = one.table.rows[one.row][one.column], one.low, one.high
        within = "" if low == high else f" ({low:.6g} to {high:.6g} with what rounding leaves open)"
        yield Finding(
            one.table.document, one.table.name, "recomputed", one.where, shown,
            f"{one.source}: {one.value:.6g}{within}", shown, HOLDS if one.agrees else FAILS,
            one.sure, one.why, 1,
        )  # fmt: skip


def cells_of(tables: Sequence[Table], reference: str, names: Mapping[str, str]) -> Span:
    """The numbers that a reference names, in the table's order.

    Raises:
        MemreproError: if it names no table or no cell with a number.
    """
    filled = reference
    for key, value in names.items():
        filled = filled.replace(f"{{{key}}}", value)
    parts = [part.strip() for part in filled.split(" | ")]
    if len(parts) != 3:
        raise MemreproError(f"{reference!r} must read 'table | rows | columns'")
    document, _, name = parts[0].rpartition("/")
    known = {table.name: table for table in (documents_tables(document) if document else tables)}
    if name not in known:
        raise MemreproError(f"{reference!r} names no table: known are {', '.join(known)}")
    cells = known[name].cells()
    return _printed_span(
        [c for c in cells if _fits(parts[1], c[0]) and _fits(parts[2], c[1])], reference
    )


def _printed_span(cells: Sequence[tuple[str, str, str]], reference: str) -> Span:
    numbers = [(cell, number) for cell in cells if (number := parse(cell[2]))]
    if not numbers and cells:
        # Words are counted, not computed with.
        words = np.full(len(cells), math.nan)
        return Span(words, words, words, tuple(cells))
    if not numbers:
        raise MemreproError(f"{reference!r} names no cell")
    levels = [number._replace(bound="") for _, number in numbers]
    exact = [number.unit == "" and number.step == 1 for number in levels]
    ends = [
        (float(x.value), float(x.value)) if whole else (x.low, x.high)
        for x, whole in zip(levels, exact, strict=True)
    ]
    at = [float(x.value) for x in levels]
    span = _span([low for low, _ in ends], at, [high for _, high in ends])
    return span._replace(cells=tuple(cell for cell, _ in numbers))


def _fits(pattern: str, name: str) -> bool:
    return any(matches(one.strip(), name) for one in pattern.split("; "))


def _compared(
    table: Table, row: str, column: str, formula: Sequence[str], value: Span
) -> Recomputed:
    to_the_digit = bool(table.reading.get("to_the_digit"))
    agrees, sure, why = compared(table.rows[row][column], value, to_the_digit=to_the_digit)
    text, *references = formula
    source = f"{text}" + (f" of {'; '.join(references)}" if references else "")
    low, at, high = (float(end[0]) for end in value[:3])
    return Recomputed(table, row, column, at, low, high, source, agrees, sure, why)


def compared(shown: str, value: Span, *, to_the_digit: bool = False) -> tuple[bool, str, str]:
    """Whether a printed number is what follows from others, how sure that is, and why.

    Args:
        shown: the number as printed.
        value: what follows, with what rounding leaves open; one value.
        to_the_digit: whether a round number, too, is meant to its last digit.

    Raises:
        MemreproError: if it is no number.
    """
    number = parse(shown)
    if number is None:
        raise MemreproError(f"{shown!r} is no number")
    low, at, high = (float(end[0]) for end in value[:3])
    if _meet(number, low, at, high):
        return True, CERTAIN, _BY_NUMBERS
    if not number.bound and abs(at - float(number.value)) < float(number.step):
        return True, LIKELY, "less than one unit of the last digit away, as if cut off"
    rough = _rough(number)
    round_number = number.bound == "about" or (number.step == 1 and not to_the_digit)
    if round_number and _meet(rough, low, at, high):
        return True, WEAK, f"as a round number: to the nearest {float(rough.step):g}"
    if number.bound == "about":
        return False, LIKELY, f"{_BY_NUMBERS}, of which this is no exact one"
    return False, CERTAIN, _BY_NUMBERS


_BY_NUMBERS = "arithmetic on the printed numbers"


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
