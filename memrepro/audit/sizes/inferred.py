"""Findings by inferred numbers of questions, as sure as a clean table of these sizes allows.

How sure: how often a table without slips would look as strange. The Bayes factor of 'a slip' bounds
it: under the model of a clean table a factor of x or more comes with a probability of at most 1/x
(Markov's inequality). Where that bound is small, clean tables are drawn with the inferred sizes and
searched again, a bounded number of them in a document, so that the same tables give the same
findings. Both rates are multiplied by the number of blocks of the
document that were searched.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from memrepro.audit.finding import FAILS, LIKELY, TELLS, WEAK, Finding
from memrepro.audit.rules.granularity import CUT, near_misses
from memrepro.audit.rules.shares import nearest, place
from memrepro.audit.sizes.block import MISSING, Block, blocks
from memrepro.audit.sizes.joint import FREE, LARGEST, MICRO, Explained, Ints, explain
from memrepro.audit.tables import Table

# A fifth of what 'likely' means, as which sizes and wholes to expect is a guess: of 688 clean made
# tables 1.7 % had a bound of 1 %.
RATE_LIKELY, RATE_WEAK = 0.002, 0.05
_SLIP = 0.5  # a cell that is rather one than not
_DRAWN = 20  # clean tables for a block, of which twice as many for a document
_FEWEST = 10  # questions of a test
_SEARCHED = 100  # blocks of a document, about half a minute


def inferred(tables: Sequence[Table]) -> Iterator[Finding]:
    """What the jointly inferred numbers of questions say of a document's tables.

    Args:
        tables: of one document; percentages as shares.
    """
    open_ = [b for table in tables for b in blocks(table) if not all(b.stated)]
    left = 2 * _DRAWN
    if len(open_) > _SEARCHED:
        yield _stopped(open_[_SEARCHED:])
    for block in open_[:_SEARCHED]:
        found = explain(block.units, block.whole, block.digits, block.stated)
        if any(found.sizes):
            yield _sizes(block, found)
        if not _believable(block, found):
            continue
        if found.slip > _SLIP and found.factor > len(open_) / RATE_WEAK:
            drawn = min(left, _DRAWN)
            left -= drawn
            yield from _slips(block, found, len(open_), drawn)


def _believable(block: Block, found: Explained) -> bool:
    """Whether sizes are those of a test: none of a few questions, none at the end of the search.

    More than one slip in a column, or in ten cells, is rather another set of questions in some of
    the rows, or a column that is of something else.
    """
    sizes = [n for n in found.sizes if n]
    slips = (found.cells > _SLIP).sum(axis=0)
    few = int(slips.max()) <= 1 and int(slips.sum()) <= max(1, len(block.cells) // 10)
    return few and all(_FEWEST <= n < LARGEST for n in sizes)


def _stopped(left: Sequence[Block]) -> Finding:
    """Which tables the search has left out."""
    names = ", ".join(dict.fromkeys(block.table.name for block in left))
    return Finding(
        left[0].table.document, names, "inferred sizes", f"{len(left)} blocks", "", "",
        f"not searched: the search stops after {_SEARCHED} blocks of columns in a document", TELLS,
        WEAK, "the search is bounded; audit these tables by themselves", len(left),
    )  # fmt: skip


def _sizes(block: Block, found: Explained) -> Finding:
    def listed_sizes(sizes: Sequence[int]) -> str:
        return ", ".join(f"{p.strip(' ,@')} {n or '?'}"
                         for p, n in zip(block.parts, sizes, strict=True))  # fmt: skip

    rival = f"; else {listed_sizes(found.rival)} ({found.rival_sure:.0%})" if found.rival else ""
    return Finding(
        block.table.document, block.table.name, "inferred sizes", f"{len(block.lines)} lines", "",
        "", f"{listed_sizes(found.sizes)} ({found.sure:.0%}){rival}", TELLS,
        LIKELY if found.sure > 1 - RATE_WEAK else WEAK,
        f"the likeliest numbers of questions, each counting 0 or 1; shares {found.way}, the whole "
        f"their {found.kind}" if block.has_whole else
        f"the likeliest numbers of questions, each counting 0 or 1; shares {found.way}",
        len(block.cells),
    )  # fmt: skip


def _slips(block: Block, found: Explained, checks: int, drawn: int) -> Iterator[Finding]:
    as_much, drawn = _as_strange(block, found, drawn)
    bound = checks / found.factor
    rate = max(bound, checks * as_much / drawn) if drawn else bound
    if rate > RATE_WEAK:
        return
    sure = LIKELY if rate <= RATE_LIKELY else WEAK
    why = (
        f"a clean table would look so with p < {max(rate, 1e-12):.0e} over {checks} searched; "
        f"{as_much} of {drawn} that were drawn with these sizes do"
    )
    rivals = f" (by other sizes: {found.rival_sure:.0%})" if found.rival else ""
    for line, part in zip(*np.nonzero(found.cells > _SLIP), strict=True):
        at = -1 if part == len(block.parts) else int(part)
        share, n = block.cells[int(line), at], found.sizes[at] if at >= 0 else sum(found.sizes)
        if at >= 0:
            hints = [f"{o} is ({k} of {n})" for o, k in near_misses(share.bare, n)]
            near = (
                f"with two digits exchanged {hints[0]}"
                if hints
                else (f"nearest: {nearest(share._replace(steps=n))}")
            )
            rule, expected = "impossible share", f"a share of {n}, as the others are{rivals}"
            said = f"no such share; {near}"
        else:
            rule, expected = "whole and parts", f"the {found.kind} of its parts, as in other rows"
            said = f"{share.bare}, by {n} questions{rivals}; it or a part may be wrong"
            if found.kind == MICRO:
                said += f"; nearest by the parts: {_whole(block, found, int(line))}"
        yield Finding(
            block.table.document, block.table.name, rule, place(share), share.entry.printed,
            expected, said, FAILS, sure, why, 1 if at >= 0 else len(block.parts) + 1,
        )  # fmt: skip


def _whole(block: Block, found: Explained, line: int) -> str:
    sizes, scale = np.array(found.sizes), 10**block.digits
    right = np.rint(np.maximum(block.units[line], 0) / scale * sizes).sum()
    return f"{right / sizes.sum():.{block.digits}f}"


def _as_strange(block: Block, found: Explained, drawn: int) -> tuple[int, int]:
    """How many of how many drawn clean tables have as large a Bayes factor."""
    if not all(found.sizes):
        return 0, 0
    seed = [block.digits, *found.sizes, *np.maximum(block.units, 0).ravel().tolist()]
    rng = np.random.default_rng(seed)
    made = (_clean(block, found, rng) for _ in range(drawn))
    factors = [explain(*one, block.digits, block.stated).factor for one in made]
    return sum(factor >= found.factor for factor in factors), drawn


def _clean(block: Block, found: Explained, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """A table of the same sizes and nearly the same numbers, printed the same way."""
    sizes, scale = np.array(found.sizes), 10**block.digits
    right = rng.binomial(sizes, np.clip((block.units + 0.5) / (scale + 1), 0, 1))
    up = 0 if found.way == CUT else 1

    def units(top: Ints, n: Ints) -> Ints:
        return np.asarray((2 * top * scale + up * n) // (2 * n), np.int64)

    made = np.where(block.units == MISSING, MISSING, units(right, sizes))
    if found.kind == FREE:
        return made, block.whole
    if found.kind == MICRO:
        whole = units(right.sum(axis=1), sizes.sum())
    else:
        whole = np.rint((right / sizes).mean(axis=1) * scale).astype(np.int64)
    return made, np.where(block.whole == MISSING, MISSING, whole)
