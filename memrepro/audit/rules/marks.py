"""What is bold, underlined or starred against the numbers: best, second best, significant."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from memrepro.audit.finding import FAILS, LIKELY, WEAK, Finding, tally
from memrepro.audit.heads import HIGH, LOW, direction, group_of, is_apart, is_matrix
from memrepro.audit.printed import parse
from memrepro.audit.rules.intervals import interval_of
from memrepro.audit.tables import Table

_SIGNIFICANT = "marked significant"
_P = r"(?:^|[ ,])p(?:[- ]?values?)?$"
_CHANGE = r"Δ|(?i:\b(?:diff(?:erence)?|gain|change|improvement|delta)\b)"
_BOLD = re.compile(r"\bbold|underlin", re.I)
_BEST = re.compile(r"best|highest|lowest|top|max|min|winn|strongest|better|larg|small|optim", re.I)
# What rounding may do to the strength of a number.
_ROOM = 1.1
_RIVALS = 3  # numbers of which one is the best
_FEW = 8  # marks of which one may stand elsewhere
_TELLING = 3  # columns whose marks agree, from which on a mark is read as the best
_SURELY = 4  # from which on it is sure where no caption says so: one row may have three of four


class _Mark(NamedTuple):
    """A marked number: its line, its place in it, whether it holds, and what would.

    Attributes:
        line: the column that is judged, or the row.
        item: which of its rows, or columns.
        row, column: where it stands.
        end: 'high', 'low', 'high or low' by the names, or '' where it holds at neither.
        group: whether it is the best of its group of rows alone.
        told: what holds the place, at each end.
    """

    line: str
    item: str
    row: str
    column: str
    end: str
    group: bool
    told: Mapping[str, str]


def best(table: Table) -> Iterator[Finding]:
    """A bold number that is not the best of its column, in a table whose other bold ones are.

    Or of its row, where most rows are marked so. Which end is best an arrow or the metric's name
    tells, else the end at which the table's marks stand. People, oracles and upper bounds are no
    competitors; a number may be the best of its group of rows. A row or column that is bold
    throughout is emphasised and no claim.
    """
    if is_matrix(table):
        return
    for place, key in enumerate(("bold", "underlined")):
        across = [list(_marked(table, key, along)) for along in (False, True)]
        # Of columns and rows those that more marks are the best of, and fewer are not.
        found = max(across, key=lambda one: sum(1 if m.end else -2 for m in one))
        ends = Counter(m.end for m in found if m.end in (HIGH, LOW))
        good = [m for m in found if m.end]
        if len(found) < _TELLING or 2 * len(good) < len(found):
            continue
        lines = "rows" if found is across[1] and found else "columns"
        name = ("best", "second best")[place]
        why = f"{len(good)} of {len(found)} {lines} mark the {name} so; the mark is read as that"
        yield tally(table, f"marked {name}", f"all {lines}", f"each mark is the {name}", len(good),
                    len(found), why, f" {lines}")._replace(sure=LIKELY)  # fmt: skip
        one_end = ends.most_common(1)[0][0] if len(ends) == 1 else ""
        said = _is_said_best(table)
        apart = (
            _of_some_rows(table, found, one_end)
            or _is_emphasis(table, found)
            or _is_significance(table, found)
            or (found is across[0] and _is_of_row_groups(table, found))
            or said is False
        )
        # Marks at one end of several rows are not those of one's own method.
        spread = one_end and found is across[0] and len({m.row for m in good}) > 1
        needed = _TELLING if said or spread else _SURELY
        for mark in found:
            if mark.end or mark.group:
                continue
            shown = table.rows[mark.row][mark.column]
            usual = direction(mark.column, mark.row) or one_end
            better = mark.told[usual] if usual else " or ".join(dict.fromkeys(mark.told.values()))
            way = {HIGH: " (higher is better)", LOW: " (lower is better)"}.get(usual, "")
            few = len(found) - len(good) <= max(1, len(found) // _FEW)
            # Columns of one row may be of several kinds, if no caption says otherwise.
            beside = found is across[1] and not said
            sure = LIKELY if len(good) >= needed and few and not (apart or beside) else WEAK
            yield Finding(
                table.document, table.name, f"marked {name}", f"{mark.row}, {mark.column}", shown,
                f"the {name}: {better}{way}", shown, FAILS, sure, why, len(table.rows),
            )  # fmt: skip


def _of_some_rows(table: Table, found: Sequence[_Mark], end: str) -> bool:
    """Whether all marks stand in some rows beside each other and would be the best of these.

    `end` is where the marks that are the best stand, '' where that is at both.
    """
    rows = list(table.rows)
    marked = [rows.index(mark.row) for mark in found]
    first, last = min(marked), max(marked)
    if (first, last) == (0, len(rows) - 1) or first == last:
        return False
    for at, to in {(first, len(rows) - 1), (0, last), (first, last)}:
        kept = {r: table.rows[r] for r in rows[at : to + 1]}
        if len(kept) >= 3 and all(_holds_in(kept, mark, end) for mark in found):
            return True
    return False


def _is_of_row_groups(table: Table, found: Sequence[_Mark]) -> bool:
    """Whether each mark is the best of its row among the columns of one head, as others are not."""
    for mark in found:
        own = [c for c in table.columns if group_of(c) and group_of(c) == group_of(mark.column)]
        numbers = {c: n.value for c in own if (n := parse(table.rows[mark.row][c]))}
        values = numbers.values()
        if len(values) < _RIVALS or numbers[mark.column] not in (max(values), min(values)):
            return False
    return True


def _is_emphasis(table: Table, found: Sequence[_Mark]) -> bool:
    """Whether one row, or column, has all marks, and nearly all that it prints is marked."""
    row, column = found[0].row, found[0].column
    if all(mark.row == row for mark in found):
        line = list(table.rows[row].values())
    elif all(mark.column == column for mark in found):
        line = [cells[column] for cells in table.rows.values()]
    else:
        return False
    return 4 * len(found) >= 3 * sum(parse(shown) is not None for shown in line)


def _is_said_best(table: Table) -> bool | None:
    """Whether a caption or note that says what is bold says that it is the best, else None."""
    said = f"{table.reading.get('caption', '')} {table.reading.get('note', '')}"
    return bool(_BEST.search(said)) if _BOLD.search(said) else None


def _is_significance(table: Table, found: Sequence[_Mark]) -> bool:
    """Whether marks are of significance: all have p below 0.05, or an interval clear of 0.

    And some numbers without a mark have not.
    """
    places = {(mark.row, mark.column) for mark in found}
    ends = {(r, c): e for r, c, shown in table.cells() if (e := interval_of(shown))}
    clear = {place for place, e in ends.items() if not e.low <= 0 <= e.high}
    if places <= clear and len(clear) < len(ends):
        return True
    rows = {row for row, _ in places}
    for head in (c for c in table.columns if re.search(_P, c)):
        strong = {r: s for r, cells in table.rows.items() if (s := _strength(r, head, cells[head]))}
        if rows <= {r for r, s in strong.items() if s > 1} and min(strong.values()) <= 1:
            return True
    return False


def _holds_in(rows: Mapping[str, Mapping[str, str]], mark: _Mark, end: str) -> bool:
    values = [n.value for cells in rows.values() if (n := parse(cells[mark.column]))]
    own = parse(rows[mark.row][mark.column])
    best_ones = {HIGH: [max(values)], LOW: [min(values)]}.get(end, [max(values), min(values)])
    return own is not None and own.value in best_ones


def _marked(table: Table, key: str, across: bool) -> Iterator[_Mark]:
    """Every marked number that has rivals in its column, or in its row."""
    marks: Mapping[str, Sequence[str]] = table.reading.get(key, {})
    marks = {r: cs for r, cs in marks.items() if r in table.rows and len(cs) < len(table.columns)}
    cells = {(r, c) for r, cs in marks.items() for c in cs}
    grey = {(r, c) for r, cs in table.reading.get("grey", {}).items() for c in cs}
    lines, items = (table.rows, table.columns) if across else (table.columns, list(table.rows))
    at = 0 if key == "bold" else 1
    for line in lines:
        places = {i: (line, i) if across else (i, line) for i in items}
        values = {
            i: n.value for i, place in places.items()
            # A bound such as p < 0.01 is marked for what it says, and is the best of nothing.
            if (n := parse(table.rows[place[0]][place[1]])) and not n.bound
            and not ((is_apart(i) or re.search(_CHANGE, i)) and place not in cells)
            and place not in grey
        }  # fmt: skip
        own = [i for i in values if places[i] in cells]
        levels = sorted(set(values.values()))
        if not own or len(values) < 3 or len(levels) < at + 2:
            continue
        groups = _groups(values)
        # Several of one line are the best of as many groups, else the groups are not known.
        several = len({values[i] for i in own}) > 1
        if several and (across or not groups or 2 * len(own) > len(values)):
            continue
        known = direction(line)
        for item in own if several else own[:1]:
            rivals = {i: values[i] for i in groups.get(item, values)} if several else values
            if len(rivals) < _RIVALS:
                continue
            row, column = places[item]
            ends = known, at, across
            yield _judged(table, line, item, (row, column), rivals, own, groups, values, ends)


def _judged(
    table: Table, line: str, item: str, place: tuple[str, str], rivals: Mapping[str, Decimal],
    own: Sequence[str], groups: Mapping[str, Sequence[str]], values: Mapping[str, Decimal],
    ends_at: tuple[str, int, bool],
) -> _Mark:  # fmt: skip
    """A mark against its rivals; `ends_at`: the end by name, the place from it, along a row."""
    known, at, across = ends_at
    levels = sorted(set(rivals.values()))
    at = min(at, len(levels) - 1)
    ends = {HIGH: levels[-1 - at], LOW: levels[at]}
    mine = {values[i] for i in own if i in rivals}
    if levels[0] < 0 < levels[-1] and not known:  # of changes the nearest to 0 may be the best
        near = sorted(levels, key=abs)
        ends["zero"] = near[min(at, len(near) - 1)]
    met = [end for end, value in ends.items() if value in mine and known in ("", end)]
    told = {}
    for end, value in ends.items():
        holder = next(i for i, v in rivals.items() if v == value)
        row, column = (line, holder) if across else (holder, line)
        told[end] = f"{holder} {table.rows[row][column]}"
    group = groups.get(item, ())
    in_group = [values[i] for i in group if i in values]
    best_of_group = len(in_group) > 1 and values[item] in (max(in_group), min(in_group))
    # One mark in a column is of all rows where it is so elsewhere: its group tells for several.
    end = met[0] if len(met) == 1 else f"{HIGH} or {LOW}" if met else ""
    return _Mark(line, item, *place, end,
                 best_of_group and len(own) > 1, told)  # fmt: skip


def _groups(values: Mapping[str, Decimal]) -> dict[str, list[str]]:
    """Item → the items of its group, where names have their group before the last comma."""
    found: dict[str, list[str]] = {}
    for item in values:
        found.setdefault(group_of(item), []).append(item)
    if len(found) < 2 or all(len(one) < 2 for one in found.values()):
        return {}
    return {item: own for own in found.values() for item in own}


def significant(table: Table) -> Iterator[Finding]:
    """A mark of significance against what is printed with it, in a table where most agree.

    A change's interval is clear of 0 where it is marked, and a p is below 0.05. Only where both
    marked and unmarked numbers stand does a mark say anything. As a mark may be of a stricter
    level, one is missing only where a weaker number has it. That mark, interval and p are of one
    test is an assumption.
    """
    starred: Mapping[str, Sequence[str]] = table.reading.get("starred", {})
    made = []
    for row, column, shown in table.cells():
        strong = _strength(row, column, shown)
        if strong is not None:
            made.append((row, column, shown, column in starred.get(row, ()), strong))
    # The level of the marks: what the weakest number has that is marked and clear.
    level = min((s for *_, mark, s in made if mark and s > 1), default=1.0) * _ROOM
    agree = [s > 1 if mark else s <= level for *_, mark, s in made]
    good = sum(agree)
    if len({mark for *_, mark, _ in made}) < 2 or 2 * good <= len(made) or len(made) < _TELLING:
        return
    why = "if the mark is of the printed test at its level"
    yield tally(table, _SIGNIFICANT, "all changes and p", "marked where clear of 0, or p < 0.05",
                good, len(made), why)._replace(sure=LIKELY)  # fmt: skip
    for (row, column, shown, mark, _), holds in zip(made, agree, strict=True):
        if not holds:
            expected = "no mark: 0 is in the interval, or p is 0.05 or more" if mark else (
                "a mark, as a weaker one has")  # fmt: skip
            yield Finding(
                table.document, table.name, _SIGNIFICANT, f"{row}, {column}", shown, expected,
                f"{shown}, {'' if mark else 'not '}marked", FAILS, LIKELY if mark else WEAK, why, 3,
            )  # fmt: skip


def _strength(row: str, column: str, shown: str) -> float | None:
    """How clear a change is of 0, or a p of 0.05: above 1 where it is; None for another cell.

    None too where rounding leaves open on which side of 0 an end is.
    """
    number = parse(shown)
    if number is None:
        return None
    if re.search(_P, column):
        high = min(number.high, float(number.value)) if number.bound == "less" else number.high
        return (1 + 1e-9) * 0.05 / max(high, 1e-12)
    if (ends := interval_of(shown)) and (
        number.signed or ends.low < 0 or re.search(_CHANGE, f"{row}, {column}")
    ):
        inside = ends.low <= ends.value <= ends.high
        if 0 in (ends.low, ends.high) or not inside:
            return None
        return 2 * abs(ends.value) / (ends.high - ends.low)
    return None
