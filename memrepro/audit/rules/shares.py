"""Shares at the numbers of questions that a table states: those that no count can give.

Where a number of questions is not stated, see `unstated`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from scipy.stats import binom

from memrepro.audit.finding import CERTAIN, FAILS, HOLDS, LIKELY, TELLS, WEAK, Finding
from memrepro.audit.heads import NO_LEVEL, counts_questions
from memrepro.audit.ledger import Entry, entries
from memrepro.audit.printed import parse
from memrepro.audit.rules.granularity import (
    ANY,
    CHANCE,
    CUT,
    density,
    digits_of,
    fits,
    near_misses,
    possible,
    ways,
)
from memrepro.audit.tables import PROSE, Table

# Metrics of which each question counts 0 or 1, and those that are not named; an NDCG is no share.
COUNTED = ("recall", "accuracy", "agreement", "")
SIZED = re.compile(r"\b[nN]\s*=\s*\d")  # a head that says of how many
_READ = ("the caption", "the heads", "a row of the table")  # `n_source` where no person typed it
_NAMED = ("recall", "accuracy", "agreement")
_MOST = 0.8  # of the shares, from which on a number that was read is believed
_PARTS = 60
_FEW = 8
# Metrics of which a question counts in part, so that no cell need be a share of questions.
_GRADED = re.compile(
    r"\bF1|\bF-?score|BLEU|ROUGE|METEOR|\bMRR|\bM?AP\b|BERT|\bscore\b|perplex"
    r"|\bprec(?:ision)?\b|\| P$|\bSD\b|\bstd\b|\bdeviation\b|spearman|pearson|kendall|correlat",
    re.I,
)
_ERROR = re.compile(r"±|[(\[]\s*\d*\.\d+\s*[)\]]")  # a mean or an estimate with its error
_MUST = 6  # shares that can be written in one way alone, for each that cannot
TELLING = 0.3  # of the shares would be possible by chance


class Share(NamedTuple):
    """A printed share: its entry, the bare string, and how many steps it has (questions × runs)."""

    entry: Entry
    bare: str
    steps: int


def shares_of(table: Table, metrics: Sequence[str] = COUNTED) -> list[Share]:
    """The cells of a table that are shares of questions, with n × runs where n is stated.

    Prose is left out: it repeats tables, or rounds them.
    """
    found = []
    for entry in entries([table]):
        number = parse(entry.printed)
        if entry.kind != "share" or entry.metric not in metrics or entry.column == PROSE:
            continue
        if _GRADED.search(f"{entry.row} | {entry.column}") or _ERROR.search(entry.printed):
            continue
        if number and not number.bound:
            digits = -int(number.value.as_tuple().exponent)
            bare = f"{number.value:.{digits}f}"
            found.append(Share(entry, bare, entry.n * table.runs(entry.row)))
    return found


def stated(table: Table) -> Iterator[Finding]:
    """Shares at the numbers of questions that the table states.

    Where a reader found the number, a cell is held against it only if its metric counts questions,
    and, where the number stands in the caption, only if most cells are of it and chance is not
    enough for that.
    """
    if table.reading.get("partial"):
        return
    known = [s for s in shares_of(table) if 0 < s.steps < 10 ** digits_of(s.bare)[1]]
    known = [s for s in known if _is_meant(table, s)]
    strange = [s for s in known if not possible(s.bare, s.steps)]
    doubtful = table.reading.get("n_source") in _READ or not all(_is_sure(table, s) for s in known)
    if strange and doubtful and not _follow(known, strange):
        return
    if known:
        yield _counted(table, known, len(known) - len(strange))
    done: set[Share] = set()
    for share in strange:
        if share in done:
            continue
        if other := _changed_places(share, strange):
            done |= {share, other}
            yield _exchanged(table, share, other)
        else:
            yield impossible(table, share)
    yield from _other_way(table, known)


def is_read(table: Table, heads: Iterable[str]) -> bool:
    """Whether a reader found the numbers of questions, in a caption, a row or these heads."""
    return table.reading.get("n_source") in _READ or any(map(SIZED.search, heads))


def _is_sure(table: Table, share: Share) -> bool:
    """Whether a cell's number of questions is typed, or its heads name a metric that counts."""
    entry = share.entry
    heads = (entry.row, entry.column)
    return not is_read(table, heads) or entry.metric in _NAMED or counts_questions(*heads)


def _is_meant(table: Table, share: Share) -> bool:
    """Whether a cell's number of questions is meant for it: sure, or the caption names a metric."""
    heads = (share.entry.row, share.entry.column)
    if not is_read(table, heads):
        return True
    by_caption = counts_questions(str(table.reading.get("caption", "")))
    return not NO_LEVEL.search(" | ".join(heads)) and (_is_sure(table, share) or by_caption)


def _follow(known: Sequence[Share], strange: Sequence[Share]) -> bool:
    """Whether so many shares are of the numbers stated that chance does not give it."""
    p = sum(density(s.steps, digits_of(s.bare)[1], ANY) for s in known) / len(known)
    good = len(known) - len(strange)
    return good >= _MOST * len(known) and binom.sf(good - 1, len(known), p) <= CHANCE


def _other_way(table: Table, known: Sequence[Share]) -> Iterator[Finding]:
    """The few shares that are cut off where many others must be rounded, or the reverse."""
    found_ways = [(share, ways(share.bare, share.steps)) for share in known]
    cut = [share for share, found in found_ways if set(found) == {CUT}]
    rounded = [share for share, found in found_ways if found and CUT not in found]
    few, many = sorted((cut, rounded), key=len)
    if len(many) < max(_MUST, _MUST * len(few)) or any(table.runs(s.entry.row) > 1 for s in few):
        return
    so, other = ("cut off", "rounded") if few is cut else ("rounded", "cut off")
    for share in few:
        right = min(ways(share.bare, share.steps).values())
        yield Finding(
            table.document, table.name, "rounded or cut off", place(share), share.entry.printed,
            f"{other}, as {len(many)} others must be",
            f"{right} of {share.steps}, which gives {share.bare} only if {so}", FAILS, LIKELY,
            "if one table is written one way, and n is as stated", len(many) + 1,
        )  # fmt: skip


def _counted(table: Table, known: Sequence[Share], good: int) -> Finding:
    found_ways = [set(ways(s.bare, s.steps)) for s in known]
    rounded = sum("rounded" in found for found in found_ways)
    cut = sum("cut off" in found for found in found_ways)
    p = sum(density(s.steps, digits_of(s.bare)[1], ANY) for s in known)
    source = table.reading.get("n_source", "stated")
    return Finding(
        table.document, table.name, "shares", "all cells with a stated n", "",
        f"{len(known)} shares of {_sizes(known)} questions (n: {source})",
        f"{good} of {len(known)}: {rounded} as rounded, {cut} as cut off",
        HOLDS if good == len(known) else TELLS, CERTAIN,
        f"if each question counts 0 or 1; {p:.0f} of {len(known)} would be possible by chance",
        len(known),
    )  # fmt: skip


def _sizes(known: Sequence[Share]) -> str:
    sizes = sorted({s.steps for s in known})
    return ", ".join(map(str, sizes)) if len(sizes) <= _FEW else f"{sizes[0]} to {sizes[-1]}"


def _changed_places(share: Share, strange: Sequence[Share]) -> Share | None:
    """An impossible share of the same row or column that is possible here, and this one there."""
    for other in strange:
        same_line = share.entry.row == other.entry.row or share.entry.column == other.entry.column
        if other is not share and same_line and share.steps != other.steps:
            crossed = possible(share.bare, other.steps) and possible(other.bare, share.steps)
            if crossed:
                return other
    return None


def place(share: Share) -> str:
    """Row and column of a share, for people."""
    return f"{share.entry.row}, {share.entry.column}"


def _exchanged(table: Table, share: Share, other: Share) -> Finding:
    chance = 1.0
    for one, at in ((share, other), (other, share)):
        chance *= density(at.steps, digits_of(one.bare)[1], ANY)
    return Finding(
        table.document, table.name, "exchanged cells", f"{place(share)}; {place(other)}",
        f"{share.entry.printed}; {other.entry.printed}",
        f"shares of {share.steps} and of {other.steps} questions, in this order",
        f"{share.bare} is a share of {other.steps} and {other.bare} of {share.steps}: exchanged",
        FAILS, LIKELY, f"neither is possible in its place; by chance both would be in {chance:.1%}",
        2,
    )  # fmt: skip


def impossible(table: Table, share: Share) -> Finding:
    """That no count gives a share at its number of questions, and what would."""
    hints = [f"{other} is ({right} of {share.steps})" for other, right in
             near_misses(share.bare, share.steps)]  # fmt: skip
    found = f"no number of right ones gives {share.bare}"
    if hints:
        found += f"; with two digits exchanged {' and '.join(hints)}"
    else:
        found += f"; nearest: {nearest(share)}"
    runs = table.runs(share.entry.row)
    why = "if each question counts 0 or 1, and n is as stated"
    if runs > 1:
        why += f"; a mean of {runs} numbers that were rounded may be one unit off"
    return Finding(
        table.document, table.name, "impossible share", place(share), share.entry.printed,
        f"a share of {share.steps}", found, FAILS, CERTAIN if runs == 1 else WEAK, why, 1,
    )  # fmt: skip


def nearest(share: Share) -> str:
    """The two shares of its number of questions that a share lies between."""
    digits = digits_of(share.bare)[1]
    low = int(float(share.bare) * share.steps)
    return " and ".join(
        f"{k / share.steps:.{digits}f} ({k})" for k in (low, low + 1) if k <= share.steps
    )


def in_parts(tables: Sequence[Table]) -> Iterator[Finding]:
    """Shares of tables where a question may count in part: halves, thirds, fifths of n questions.

    All columns of one n are taken together, over all tables that say so.
    """
    groups: dict[int, list[Share]] = {}
    for table in tables:
        for share in shares_of(table) if table.reading.get("partial") else ():
            if share.steps:
                groups.setdefault(share.steps, []).append(share)
    for n, group in groups.items():
        yield from _parts_of(n, group)


def _parts_of(n: int, group: Sequence[Share]) -> Iterator[Finding]:
    distinct = sorted({share.bare for share in group})
    tried = fits(distinct, [n * parts for parts in range(1, _PARTS + 1)], [ANY])
    if not tried or tried[0].chance > CHANCE:
        return
    fit, chance = tried[0], tried[0].chance
    parts = fit.n // n
    sure = LIKELY if fit.expected < TELLING * fit.of else WEAK
    strange = [share for share in group if not possible(share.bare, fit.n)]
    where = f"all columns of {n} questions"
    why = f"by chance {fit.expected:.1f} of {fit.of} would be, p < {max(chance, 1e-12):.0e}"
    names = ", ".join(dict.fromkeys(share.entry.table for share in group))
    yield Finding(
        group[0].entry.document, names, "parts of a question", where, "", "",
        f"{fit.possible} of {fit.of} distinct shares are {n} questions in parts of 1/{parts}",
        TELLS, sure, why, fit.of,
    )  # fmt: skip
    for share in strange:
        entry = share.entry
        yield Finding(
            entry.document, entry.table, "impossible share", place(share), entry.printed,
            f"{n} questions in parts of 1/{parts}, as {fit.possible} of {fit.of}",
            f"{share.bare} is none", FAILS, sure, why, 1,
        )  # fmt: skip
