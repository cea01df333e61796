"""What numbers look like whatever they are of: recall rises with k, changes add up."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from statistics import median

from memrepro.audit.finding import CERTAIN, FAILS, HOLDS, LIKELY, TELLS, WEAK, Finding, tally
from memrepro.audit.ledger import Entry, entries
from memrepro.audit.printed import Printed, parse
from memrepro.audit.rules.granularity import ways
from memrepro.audit.tables import PROSE, Table

_FAR = 2.5
_HOURS = {"hour": 1.0, "day": 24.0, "week": 168.0, "month": 730.5, "year": 8766.0}
_ROUND = ("0.0000", "0.5000", "1.0000")
# What cannot fall with k beside recall: whether something is found, and the first one's rank.
_FOUND = re.compile(r"\b(?:hits?|hit rate|HR|success|pass|acc|MRR)@\d+(?![.\d])", re.I)
_THRESHOLD = re.compile(r"@\s*0?\.\d|@\d+\.\d")  # of an overlap, which no longer list is
_AGAIN = re.compile(r"(.+) \(2\)")  # as a reader tells two columns of one head apart
_STEP = re.compile(r"\d+(?:\.\d+)?")
_CELLS = 4  # of a column, from which on it has a number of digits


def _by_depth(table: Table) -> Iterator[tuple[str, str, str, dict[int, Entry]]]:
    """Metric, row, both heads without k, and the line's entries by k, from the least on."""
    lines: dict[tuple[str, str, str], dict[int, Entry]] = {}
    for entry in entries([table]):
        heads = f"{entry.row} | {entry.column}"
        metric = "found" if _FOUND.search(heads) else entry.metric
        if _THRESHOLD.search(heads):
            continue
        if entry.k and entry.kind == "share" and metric in ("recall", "found", "ndcg"):
            head = re.sub(rf"(?:@|Top-){entry.k}\b", "@k", heads)
            lines.setdefault((metric, entry.row, head), {})[int(entry.k)] = entry
    for (metric, row, head), line in lines.items():
        if len(line) > 1:
            yield metric, row, head, dict(sorted(line.items()))


def falling(table: Table) -> Iterator[Finding]:
    """Recall cannot fall as k grows; NDCG does so seldom."""
    n, good, failed = 0, 0, []
    for metric, _, _, line in _by_depth(table):
        for low, high in itertools.pairwise(line.values()):
            holds = Decimal(high.printed.rstrip("*")) >= Decimal(low.printed.rstrip("*"))
            n, good = n + 1, good + holds
            if not holds:
                failed.append((metric, low, high))
    if n:
        why, expected = "a longer list finds no less", "no recall and no NDCG falls"
        yield tally(table, "rises with k", "all", expected, good, n, why)
    for metric, low, high in failed:
        law = metric != "ndcg"
        yield Finding(
            table.document, table.name, "rises with k", f"{high.row}, {high.column}", high.printed,
            f"at least {low.printed}, as at k = {low.k}", high.printed, FAILS,
            CERTAIN if law else WEAK,
            "a longer list finds no less" if law else
            "the best order's gain grows with k too, so that an NDCG may fall, which is seldom", 1,
        )  # fmt: skip


def gains(table: Table) -> Iterator[Finding]:
    """From a lower k to a higher, NDCG gains less than recall: found documents lie far down.

    A row whose ratio is far from that of the others is told, or one where NDCG gains more.
    """
    lines = {(metric, row, head.lower()): line for metric, row, head, line in _by_depth(table)}
    ratios: list[tuple[float, Entry, Entry]] = []
    for (metric, row, head), recall in lines.items():
        if metric != "recall":
            continue
        ndcg = lines.get(("ndcg", row, head.replace("recall", "ndcg")), {})
        ks = [k for k in recall if k in ndcg]
        for low, high in itertools.pairwise(ks):
            gain = _gain(recall, low, high)
            if gain > 0:
                ratios.append((float(_gain(ndcg, low, high) / gain), recall[high], ndcg[high]))
    usual = median(r for r, _, _ in ratios) if len(ratios) > 3 else 0.0
    for ratio, recall_entry, ndcg_entry in ratios:
        far = usual > 0 and ratio > _FAR * usual
        if ratio > 1 or far:
            yield Finding(
                table.document, table.name, "gain with k",
                f"{ndcg_entry.row}, {ndcg_entry.column}", ndcg_entry.printed,
                "NDCG gains less than recall from one k to the next"
                + (f", here about {usual:.2f} of it" if usual else ""),
                f"{ratio:.2f} of what recall gains (recall {recall_entry.printed})", FAILS, WEAK,
                "a habit of such tables and no law: perhaps columns or digits changed places", 1,
            )  # fmt: skip


def _gain(line: dict[int, Entry], low: int, high: int) -> Decimal:
    return Decimal(line[high].printed.rstrip("*")) - Decimal(line[low].printed.rstrip("*"))


def same_in_row(table: Table) -> Iterator[Finding]:
    """A share of four digits that stands twice in a row, of different numbers of questions."""
    seen: dict[tuple[str, str], Entry] = {}
    for entry in entries([table]):
        if entry.kind != "share" or len(entry.printed) < len("0.0000"):
            continue
        other = seen.setdefault((entry.row, entry.printed), entry)
        both = bool(entry.n and other.n) and entry.n != other.n and entry.metric == other.metric
        if both and entry.printed.strip("*") not in _ROUND:
            fraction = _fraction(entry, other)
            yield Finding(
                table.document, table.name, "same number in a row",
                f"{entry.row}, {other.column} and {entry.column}", entry.printed,
                f"different shares of {other.n} and {entry.n} questions", "the same four digits",
                TELLS if fraction else FAILS, WEAK,
                f"both are {fraction}, which chance gives" if fraction else
                "it may be chance, or a number copied over another", 2,
            )  # fmt: skip


def _fraction(one: Entry, other: Entry) -> str:
    """The one fraction that both numbers of questions have and the string is, '' where none is."""
    common = math.gcd(one.n, other.n)
    made = [Fraction(k, common) for k in ways(one.printed.strip("*"), common).values()]
    return str(made[0]) if made else ""


def mixed(table: Table) -> Iterator[Finding]:
    """Numbers with fewer digits than most of their column, and whether zeros were dropped.

    A table that prints zeros at its numbers' ends dropped none, so that a shorter number is of
    less precision; one that prints none may have dropped them all. A row that is short in most
    columns is from another source, and a number is held against those of its size and above, as
    some print three digits wherever the point is.
    """
    short: dict[str, list[tuple[str, int, int]]] = {}
    for column in table.columns:
        shown = {
            row: number for row, cells in table.rows.items()
            if (number := parse(cells[column])) and number.step < 1 and not number.bound
        }  # fmt: skip
        finest = min((number.step for number in shown.values()), default=None)
        zeros = sum(int(x.value / x.step) % 10 == 0 for x in shown.values() if x.step == finest)
        sizes = Counter((_places(number), number.step) for number in shown.values())
        for row, own in shown.items():
            beside = [(step, n) for (places, step), n in sizes.items() if places >= _places(own)]
            finer = sum(n for step, n in beside if step < own.step)
            if finer >= _CELLS - 1 and 2 * finer > sum(n for _, n in beside):
                short.setdefault(row, []).append((column, finer, zeros))
    for row, found in short.items():
        if table.columns == [PROSE] or (len(found) > 1 and 2 * len(found) >= len(table.columns)):
            continue
        for column, finer, zeros in found:
            cell = table.rows[row][column]
            yield Finding(
                table.document, table.name, "mixed digits", f"{row}, {column}", cell,
                f"more digits, as {finer} others of its size have", cell,
                FAILS if zeros else TELLS, WEAK,
                f"{zeros} others end in a zero that is printed" if zeros else
                "no cell ends in a zero, so that zeros may have been dropped", finer + 1,
            )  # fmt: skip


def _places(number: Printed) -> int:
    """How many digits stand before the point."""
    return max(1, number.value.adjusted() + 1)


def same_head(table: Table) -> Iterator[Finding]:
    """A head that stands twice where all others differ; of steps such as k = 1, 5, 5, 20 likely."""
    again = [c for c in table.columns if (m := _AGAIN.fullmatch(c)) and m[1] in table.columns]
    others = [c for c in table.columns if c not in again]
    if len(again) != 1 or len(others) < _CELLS - 1:
        return
    head = again[0].removesuffix(" (2)")
    stem = re.sub(_STEP, "", head)
    steps = [float(m[0]) for c in others if re.sub(_STEP, "", c) == stem and (m := _STEP.search(c))]
    series = len(steps) >= _CELLS - 1 and steps in (sorted(set(steps)), sorted(set(steps))[::-1])
    both = [[cells[c] for cells in table.rows.values()] for c in (head, again[0])]
    numbers = "the same numbers" if both[0] == both[1] else "other numbers"
    yield Finding(
        table.document, table.name, "same head twice", again[0], head, "a head of its own",
        f"two columns of this head, with {numbers}", FAILS, LIKELY if series else WEAK,
        f"each of the other {len(others) - 1} stands once", 2,
    )  # fmt: skip


def half_lives(table: Table) -> Iterator[Finding]:
    """Half-lives beside their rates an hour: when (1 − rate)^t, or e^(−rate t), is a half."""
    for column in table.columns:
        if not re.search("half-?life", column, re.I):
            continue
        for row, cells in table.rows.items():
            rate, said = parse(row), parse(cells[column])
            if rate is None or said is None or not 0 < rate.value < 1 or said.unit not in _HOURS:
                continue
            value = float(rate.value)
            forms = [math.log(0.5) / math.log(1 - value), math.log(2) / value]
            hours = [form / _HOURS[said.unit] for form in forms]
            holds = any(said.low <= one <= said.high for one in hours)
            needed = math.log(2) / (float(said.value) * _HOURS[said.unit])
            yield Finding(
                table.document, table.name, "half-life", f"{row}, {column}", cells[column],
                f"{hours[0]:.2f} {said.unit}s ({forms[0]:.1f} hours)",
                f"{cells[column]}, which needs a rate of {needed:.4f}", HOLDS if holds else FAILS,
                CERTAIN, "arithmetic, if the rate is an hour's; e^(−rate t) gives "
                f"{hours[1]:.2f} {said.unit}s", 1,
            )  # fmt: skip
