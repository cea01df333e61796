"""Estimates with their standard errors, t or z, p, stars and intervals: one row or one cell.

t is estimate / SE; p follows from t or z; an interval is symmetric around its estimate, or of a
ratio around its logarithm, and holds 0 (or 1) where p is above its level.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from memrepro.audit.finding import FAILS, LIKELY, WEAK, Finding, tally
from memrepro.audit.heads import is_matrix
from memrepro.audit.printed import parse
from memrepro.audit.rules.evidence import Held, held, tally_and_exceptions
from memrepro.audit.rules.intervals import Interval, interval_of, is_ratio
from memrepro.audit.rules.text.pvalues import Test, agrees, p_values
from memrepro.audit.tables import Table

_HEADS: Mapping[str, str] = {
    "estimate": r"B|b|β|Δ|γ|(?:a?OR|HR|RR|IRR)(?: .*)?|(?i:adj(?:usted|\.)? )?(?:OR|HR|RR)"
    r"|(?i:(?:adj(?:usted|\.)? )?(?:odds|hazard|risk|rate|prevalence) ratios?)"
    r"|(?i:beta|coef(?:f|ficient)?s?\.?|est(?:imate|\.)?s?"
    r"|unstandardi[sz]ed(?: coefficients?)?|mean diff(?:erence)?|log[- ]?odds)",
    "error": r"(?i:S\.?E\.?(?: ?b)?|std\.? ?err(?:or|\.)?|standard errors?|s\.e\.m\.?|std\. e\.)",
    "t": r"ts?|[tT][- ](?i:value|stat(?:istic)?|ratio|test)s?|t ?\([\d.]+\)",
    "z": r"[zZ](?i:[- ](?:value|score|stat(?:istic)?|ratio))?s?|(?i:wald z)",
    "F": r"F(?i:[- ](?:value|stat(?:istic)?|ratio))?s?|F ?\([\d., ]+\)",
    "chi2": r"χ ?[2²](?: ?\(\d+\))?|(?i:chi2|chi-?\s?squared?(?: .*)?|wald(?: χ2)?)",
    "r": r"r(?: ?\(\d+\))?|(?i:pearson(?:'s)? r)",
    "p": r"P|(?i:p(?:[- ]?values?)|sig\.?|pr\s*\(.*|P>\|[tz]\|)|p|p\s*[(<].*",
    "df": r"(?i:d\.?f\.?(?: ?\(.*\))?|degrees of freedom)",
    "df1": r"(?i:d\.?f\.?1|num(?:erator)? ?df|df ?n)",
    "df2": r"(?i:d\.?f\.?2|den(?:ominator)? ?df|df ?d)",
    "interval": r".*\b(?:CI|C\.I\.|(?i:confidence interval)|HDI|(?i:credible interval))\b.*",
}  # fmt: skip
# A head's last part, and its group before; the comma of 'F(1, 38)' is none between them.
_LAST = re.compile(r"(?:(.*), )?([^,()]*(?:\([^()]*\)[^,()]*)*)")
_MEDIAN = re.compile(r"median|\bIQR\b|quartile|range|\bmin\b|\bHDI\b|credible|bootstrap", re.I)
_TELLING, _MOST = 3, 0.75
_SKEWED = 0.1  # of an interval's width, as bootstraps and correlations are


def _parts(table: Table) -> Iterator[tuple[str, dict[str, str]]]:
    """A group of columns, and which column of it is what."""
    groups: dict[str, dict[str, str]] = {}
    for column in table.columns:
        found = _LAST.fullmatch(column)
        group, head = (found[1] or "", found[2]) if found else ("", column)
        for what, pattern in _HEADS.items():
            if re.fullmatch(pattern, head.strip(" .$")):
                groups.setdefault(group, {}).setdefault(what, column)
                break
    shared = groups.get("", {})
    for group, own in groups.items():
        yield group, {**{k: v for k, v in shared.items() if k == "df"}, **own}


def statistics(table: Table) -> Iterator[Finding]:
    """Columns of an estimate, its SE, t or z, degrees of freedom, p and interval, row by row."""
    if is_matrix(table):
        return
    for _, at in _parts(table):
        yield from _quotients(table, at)
        yield from _ps(table, at)
        yield from _midpoints(table, at)


def _quotients(table: Table, at: Mapping[str, str]) -> Iterator[Finding]:
    """T or z is the estimate over its standard error."""
    column = at.get("t") or at.get("z")
    if not column or "error" not in at or "estimate" not in at or is_ratio(at["estimate"]):
        return
    made = []
    for row, cells in table.rows.items():
        estimate, error = parse(cells[at["estimate"]]), parse(cells[at["error"]])
        if estimate is None or error is None or error.low <= 0:
            continue
        ends = [e / s for e in (estimate.low, estimate.high) for s in (error.low, error.high)]
        if one := held(row, column, cells[column], min(ends), max(ends), 6.0):
            signless = not (parse(cells[column]) or estimate).signed and max(ends) < 0
            made.append(
                held(row, column, cells[column], -max(ends), -min(ends), 6.0) or one
                if signless else one
            )  # fmt: skip
    yield from _where_most(table, "estimate and SE", "estimate / SE", made)


def _where_most(
    table: Table, rule: str, formula: str, made: Sequence[Held], needed: int = _TELLING
) -> Iterator[Finding]:
    good = sum(one.holds for one in made)
    if good >= 2 and good >= _MOST * len(made):
        sure = LIKELY if good >= needed else WEAK
        yield from tally_and_exceptions(table, rule, formula, made, "which most rows follow", sure)


def _ps(table: Table, at: Mapping[str, str]) -> Iterator[Finding]:
    """P against the statistic of its row."""
    if "p" not in at:
        return
    kind = next((k for k in ("t", "z", "F", "chi2", "r") if k in at), "")
    if not kind:
        return
    made = []
    for row, cells in table.rows.items():
        test = _test(kind, cells, at)
        result = agrees(test) if test else None
        if result:
            made.append((row, cells[at["p"]], cells[at[kind]], *result))
    good = sum(two for *_, two, _, _ in made)
    if not good or good < _MOST * len(made):
        return
    rule, why = "p of its statistic", f"{good} of {len(made)} rows agree; two-sided"
    yield tally(table, rule, at["p"], f"p follows from {at[kind]}", good, len(made), why)._replace(
        sure=LIKELY)  # fmt: skip
    for row, shown, value, two, one_sided, (low, high) in made:
        if not two:
            yield Finding(
                table.document, table.name, rule, f"{row}, {at['p']}", shown,
                f"p from {low:.4g} to {high:.4g}", f"{value} and {shown}", FAILS,
                WEAK if one_sided or good < _TELLING else LIKELY,
                "one-sided it would hold" if one_sided else why, 2,
            )  # fmt: skip


def _test(kind: str, cells: Mapping[str, str], at: Mapping[str, str]) -> Test | None:
    number, p = parse(cells[at[kind]]), _p_in(cells[at["p"]])
    if number is None or p is None or number.bound:
        return None
    degrees = [parse(cells[at[key]]) if key in at else None for key in ("df", "df1", "df2")]
    inside = re.search(r"[(\[]\s*(\d+(?:\.\d+)?)(?:\s*,\s*(\d+(?:\.\d+)?))?\s*[)\]]", at[kind])
    one = degrees[0] or degrees[1]
    first = float(one.value) if one else float(inside[1]) if inside else None
    two = degrees[2]
    second = float(two.value) if two else float(inside[2]) if inside and inside[2] else None
    if kind == "F" and "df" in at and (both := re.match(
        r"\(?(\d+(?:\.\d+)?)\s*[,;/]\s*(\d+(?:\.\d+)?)\)?", cells[at["df"]])):  # fmt: skip
        first, second = float(both[1]), float(both[2])
    if kind in ("F", "chi2", "r") and not first:
        return None
    digits = max(0, -int(number.value.as_tuple().exponent))
    return Test(kind, first, second, f"{abs(number.value):.{digits}f}", *p)


def _p_in(shown: str) -> tuple[str, str] | None:
    """A cell's p and its sign: '.003', '<.001', '0.21'."""
    found = re.search(
        r"(?P<sign>[<>≤≥]?)\s*=?\s*(?<![\d.])(?P<p>\d(?:\.\d+)?e-\d+|0?\.\d+|[01]\.0+|1)(?![\d.])",
        shown,
    )
    if not found or re.search(r"[a-zA-Z]{3}", shown):
        return None
    return found["p"], {"≤": "<", "≥": ">", "": "="}.get(found["sign"], found["sign"])


def _midpoints(table: Table, at: Mapping[str, str]) -> Iterator[Finding]:
    """An estimate against the interval of another column, and the interval against p."""
    if "estimate" not in at or "interval" not in at:
        return
    ratio = is_ratio(at["estimate"]) or is_ratio(at["interval"])
    made, outside = [], []
    for row, cells in table.rows.items():
        shown, other = cells[at["estimate"]].strip(), cells[at["interval"]].strip("[](){} ")
        number = parse(shown)
        ends = interval_of(f"{shown.split()[0]} [{other}]") if shown else None
        if number is None or ends is None or (is_ratio(row) and not ratio):
            continue
        inside = ends.low <= ends.value <= ends.high
        outside.append((row, cells, ends, inside))
        low, high = ends.middle(ratio)
        one = held(row, at["estimate"], shown, low, high, ends.high - ends.low)
        if one and inside:
            made.append((one, ends))
    good = sum(inside for *_, inside in outside)
    standardized = _has_another(table, at, [(cells, ends) for _, cells, ends, _ in outside])
    for row, cells, ends, inside in outside:
        if not inside and good >= _MOST * len(outside):
            yield Finding(
                table.document, table.name, "value in its interval", f"{row}, {at['estimate']}",
                cells[at["estimate"]], f"a value from {ends.low:g} to {ends.high:g}",
                f"{ends.value:g}", FAILS, LIKELY if good >= 2 and not standardized else WEAK,
                f"an interval has its value inside, as {good} of {len(outside)} have", 1,
            )  # fmt: skip
    yield from _middles(table, made, ratio)
    if "p" in at:
        yield from _against_p(table, [(r, c, e) for r, c, e, i in outside if i], at["p"], ratio)


def _has_another(
    table: Table, at: Mapping[str, str], made: Sequence[tuple[Mapping[str, str], Interval]]
) -> bool:
    """Whether all intervals may be of another column left of them, such as a standardized one."""
    columns = table.columns[: table.columns.index(at["interval"])]
    group = at["interval"].rpartition(", ")[0]
    others = [c for c in columns if c not in at.values() and c.rpartition(", ")[0] == group]
    numbers = [[(parse(cells[c]), ends) for cells, ends in made] for c in others]
    return any(all(n and e.low <= n.value <= e.high for n, e in own) for own in numbers)


def _middles(
    table: Table, made: Sequence[tuple[Held, Interval]], ratio: bool
) -> Iterator[Finding]:  # fmt: skip
    """Estimates against the middle of their intervals; but of ratios many are not symmetric."""
    formula = "the middle of its interval" + " (of logarithms)" * ratio
    explained = set()
    for one, ends in [] if ratio else made:
        middle, width = (one.low + one.high) / 2, ends.high - ends.low
        # The interval of a share reaches further towards the middle of its scale.
        half = 0.5 if max(ends.value, ends.high) <= 1 else 50
        share = ends.low >= 0 and ends.high <= 2 * half
        towards = share and abs(middle - half) < abs(ends.value - half)
        if towards and abs(ends.value - middle) <= _SKEWED * width:
            explained.add(f"{one.row}, {one.column}")
    cells = [one for one, _ in made]
    for found in _where_most(table, "interval and estimate", formula, cells):
        if found.words != FAILS or found.where not in explained:
            yield found if ratio or found.words != FAILS else found._replace(sure=WEAK)


def _against_p(
    table: Table, made: Sequence[tuple[str, Mapping[str, str], Interval]], p: str, ratio: bool
) -> Iterator[Finding]:
    """A 95 % interval is clear of 0, or of 1 for a ratio, just where p is below 0.05."""
    null = 1.0 if ratio else 0.0
    compared = []
    for row, cells, ends in made:
        shown = _p_in(cells[p])
        if shown is None or null in (ends.low, ends.high):
            continue
        clear = not ends.low <= null <= ends.high
        value, sign = float(shown[0]), shown[1]
        if sign == ">" and value < 0.05:
            continue
        below = value < 0.05 if sign == "=" else sign == "<" and value <= 0.05
        low, high = ends.p(ratio) or (0.0, 1.0)
        near = sign == "=" and 0.045 <= value <= 0.055
        far = sign == "=" and not _within(value, low, high)
        compared.append((row, cells, ends, clear == below or near, far, (low, high)))
    good = sum(ok and not far for *_, ok, far, _ in compared)
    if good < 2 or good < _MOST * len(compared):
        return
    for row, cells, ends, ok, far, (low, high) in compared:
        if not ok or far:
            yield Finding(
                table.document, table.name, "interval and p", f"{row}, {p}", cells[p],
                f"p from {low:.3g} to {high:.3g}",
                f"[{ends.low:g}, {ends.high:g}] and p {cells[p]}",
                FAILS, LIKELY if not ok and good >= _TELLING and not _one_sided(cells[p], low, high)
                else WEAK,
                f"if it is a 95 % interval of the same test, as {good} of {len(compared)} are", 2,
            )  # fmt: skip


def _one_sided(shown: str, low: float, high: float) -> bool:
    """Whether a one-sided p, of either side, would agree."""
    p = _p_in(shown)
    value = float(p[0]) if p else 0.0
    return _within(2 * value, low, high) or _within(2 * (1 - value), low, high)


def _within(value: float, low: float, high: float) -> bool:
    """Whether a p is near what an interval gives: another approximation is off by some."""
    return low / 2 - 0.005 <= value <= 2 * high + 0.005


def tests_in_cells(table: Table) -> Iterator[Finding]:
    """Cells with a statistic and its p, 't(28) = 2.10, p = .045'."""
    about = f"{table.reading.get('caption', '')} {table.reading.get('note', '')}"
    for row, column, shown in table.cells():
        for one in p_values(table.document, table.name, shown, f" {row} {column} {about}"):
            yield one._replace(where=f"{row}, {column}", printed=shown)


def in_one_cell(table: Table) -> Iterator[Finding]:
    """Cells with an estimate and its interval, '1.25 (1.05, 1.49)', and the p beside them."""
    groups: dict[str, list[tuple[str, Mapping[str, str], Interval]]] = {}
    for row, column, shown in table.cells():
        if ends := interval_of(shown):
            groups.setdefault(column, []).append((row, table.rows[row], ends))
    for column, made in groups.items():
        # A median lies anywhere in its quartiles.
        made = [one for one in made if not _MEDIAN.search(f"{one[0]} {column}")]
        ratio = is_ratio(column) or is_ratio(str(table.reading.get("caption", "")))
        ratio = ratio and all(e.low > 0 for *_, e in made)
        middles = []
        for row, cells, ends in made:
            low, high = ends.middle(ratio)
            number = f"{ends.value:.{ends.digits}f}"
            one = held(row, column, number, low, high, ends.high - ends.low)
            # One at an end, such as a share of 0 %, is at the end of its scale too.
            if one and ends.low < ends.value < ends.high:
                middles.append((one._replace(shown=cells[column]), ends))
        yield from _middles(table, middles, ratio)
        group = column.rpartition(", ")[0]
        after = table.columns[table.columns.index(column) + 1 :]
        p = next((c for c in after if re.fullmatch(_HEADS["p"], c.rpartition(", ")[2])
                  and c.rpartition(", ")[0] in ("", group)), "")  # fmt: skip
        # Behind two estimates with intervals it is of their difference.
        several = any(c != column and c.rpartition(", ")[0] == group for c in groups)
        if p and several and after[0] != p:
            continue
        if p and (ratio or _is_difference(table, column)):
            yield from _against_p(table, made, p, ratio)


def _is_difference(table: Table, column: str) -> bool:
    names = f"{column} {table.reading.get('caption', '')}"
    return bool(re.search(r"diff|Δ|\bB\b|β|coef|estimate|effect|change|\bb\b", names))
