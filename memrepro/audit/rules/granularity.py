"""Which numbers of questions make printed shares possible.

Where each of n questions counts 0 or 1, a share is one of 0/n, 1/n, …, n/n, written down in one of
three ways: rounded with halves up, rounded with halves to even, or cut off. A string that none of
them gives at n cannot be of n questions. Source: the GRIM test (Brown and Heathers, 2017), here for
shares, with the way of writing told apart.

All arithmetic on shares is in whole numbers, so that a half is a half.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from memrepro.errors import MemreproError

ROUNDED, EVEN, CUT = "rounded", "rounded to even", "cut off"
WAYS = (ROUNDED, EVEN, CUT)
ANY = "rounded or cut off"
LARGEST = 1000
# By chance at most this often, over all n and ways that were tried.
CHANCE = 1e-3
SOLUTIONS = 100


class Fit(NamedTuple):
    """How well a number of questions explains shares.

    Attributes:
        n: number of questions.
        way: of writing, of `ROUNDED`, `CUT` and `ANY`.
        possible: how many of the shares are possible so.
        of: how many there are.
        expected: how many would be by chance.
        chance: probability of as many by chance at one of all n and ways that were tried, at most.
        rivals: how many n's of the range make as many possible.
    """

    n: int
    way: str
    possible: int
    of: int
    expected: float
    chance: float
    rivals: int


def digits_of(shown: str) -> tuple[int, int]:
    """A printed share as whole units of its last digit, and the number of its digits.

    Raises:
        MemreproError: if it is no share, from 0 to 1.
    """
    try:
        number = Decimal(shown)
    except ArithmeticError as error:
        raise MemreproError(f"{shown!r} is no share: it must be a number from 0 to 1") from error
    if not 0 <= number <= 1:
        raise MemreproError(f"{shown!r} is no share: it must be a number from 0 to 1")
    digits = max(0, -int(number.as_tuple().exponent))
    return int(number.scaleb(digits)), digits


def written(k: int, n: int, digits: int) -> dict[str, int]:
    """The share k/n in units of the last of some digits, by way of writing it."""
    low, rest = divmod(k * 10**digits, n)
    half = 2 * rest - n
    return {
        ROUNDED: low + (half >= 0),
        EVEN: low + (half > 0 or (half == 0 and low % 2 == 1)),
        CUT: low,
    }


def ways(shown: str, n: int) -> dict[str, int]:
    """How a share can come of n questions: way of writing → number of right ones.

    Raises:
        MemreproError: if it is no share.
    """
    units, digits = digits_of(shown)
    near = units * n // 10**digits
    found: dict[str, int] = {}
    for k in range(max(0, near - 1), min(n, near + 2) + 1):
        for way, value in written(k, n, digits).items():
            if value == units:
                found.setdefault(way, k)
    return found


def possible(shown: str, n: int) -> bool:
    """Whether a share can come of n questions, however it was written."""
    return bool(ways(shown, n))


@cache
def density(n: int, digits: int, way: str) -> float:
    """The part of all strings of so many digits that n questions can give: 1 tells nothing."""
    scale = 10**digits
    if n >= scale:
        return 1.0
    low, rest = np.divmod(np.arange(n + 1, dtype=np.int64) * scale, n)
    rounded = low + (2 * rest >= n)
    seen = {ROUNDED: rounded, CUT: low, ANY: np.append(low, rounded)}[way]
    return float(len(np.unique(seen)) / (scale + 1))


def fits(
    shares: Sequence[str],
    candidates: Sequence[int] = range(1, LARGEST + 1),
    tried: Sequence[str] = (ROUNDED, CUT, ANY),
) -> list[Fit]:
    """Candidate numbers of questions under each way of writing, the best explanation first.

    Equal strings count once, since a number that is printed twice is no second evidence; 0 and 1
    are possible at every n and count not at all.

    Raises:
        MemreproError: if one is no share.
    """
    parsed = [digits_of(shown) for shown in sorted({*shares})]
    parsed = [(u, d) for u, d in parsed if 0 < u < 10**d]
    if not parsed:
        return []
    units = np.array([u for u, _ in parsed], np.int64)
    digits = [d for _, d in parsed]
    scales = np.array([10**d for d in digits], np.int64)
    n = np.asarray(candidates, np.int64)
    found = []
    for way in tried:
        counts = _hits(units, scales, n, way).sum(axis=1)
        by_digits = {d: np.array([density(int(one), d, way) for one in n]) for d in {*digits}}
        # Of several precisions, the mean stands for all.
        expected = np.sum([by_digits[d] for d in digits], axis=0)
        tails = binom.sf(counts - 1, len(parsed), np.minimum(1.0, expected / len(parsed)))
        rivals = dict(
            zip(*(one.tolist() for one in np.unique(counts, return_counts=True)), strict=True)
        )
        corrected = np.minimum(1.0, tails * len(tried) * len(n))
        found += [
            Fit(int(one), way, int(count), len(parsed), float(by_chance), float(chance),
                rivals[int(count)])
            for one, count, by_chance, chance in zip(n, counts, expected, corrected, strict=True)
        ]  # fmt: skip
    return sorted(found, key=lambda fit: (fit.chance, -fit.possible, fit.n, fit.way))


def _hits(
    units: NDArray[np.int64], scales: NDArray[np.int64], candidates: NDArray[np.int64], way: str
) -> NDArray[np.bool_]:
    """Whether each share is possible at each n, shape (candidates, shares)."""
    n = candidates[:, None]
    # Rounded with halves up: k/n lies in [u − ½, u + ½) units; cut off: in [u, u + 1).
    hits = np.zeros((len(n), len(units)), bool)
    if way in (ROUNDED, ANY):
        low = -((-(2 * units - 1) * n) // (2 * scales))
        hits |= low * 2 * scales < (2 * units + 1) * n
    if way in (CUT, ANY):
        low = -((-units * n) // scales)
        hits |= low * scales < (units + 1) * n
    return hits


def best(shares: Sequence[str]) -> Fit | None:
    """The number of questions that explains shares, or None where chance explains them as well."""
    found = fits(shares)
    return found[0] if found and found[0].chance <= CHANCE else None


def near_misses(shown: str, n: int) -> Iterator[tuple[str, int]]:
    """Strings with two neighbouring digits exchanged that n questions give, and how many are right.

    A string that is possible already has none. The first digit stays: who exchanges it sees it.
    """
    if possible(shown, n):
        return
    head, _, tail = shown.partition(".")
    for i in range(1, len(tail) - 1):
        if tail[i] != tail[i + 1]:
            other = f"{head}.{tail[:i]}{tail[i + 1]}{tail[i]}{tail[i + 2 :]}"
            if found := ways(other, n):
                yield other, next(iter(found.values()))


def sizes_of_parts(columns: Sequence[Sequence[str]], total: int) -> list[tuple[int, ...]]:
    """The numbers of questions that give each column's shares and add up to a total.

    Args:
        columns: the shares of each.
        total: what the numbers add up to.

    Returns:
        every solution, or the first `SOLUTIONS`.
    """
    candidates = [
        [n for n in range(1, total + 1) if all(_rounds(shown, n) for shown in shares)]
        for shares in columns
    ]
    # What the columns from i on can still add up to, so that no dead end is followed.
    reach: list[set[int]] = [{0}]
    for sizes in reversed(candidates):
        reach.append({n + rest for n in sizes for rest in reach[-1] if n + rest <= total})
    reach.reverse()
    found: list[tuple[int, ...]] = []

    def extend(taken: tuple[int, ...]) -> None:
        i, left = len(taken), total - sum(taken)
        if len(found) >= SOLUTIONS:
            return
        if i == len(candidates):
            found.append(taken)
            return
        for n in candidates[i]:
            if left - n in reach[i + 1]:
                extend((*taken, n))

    if total in reach[0]:
        extend(())
    return found


def _rounds(shown: str, n: int) -> bool:
    return bool({ROUNDED, EVEN} & ways(shown, n).keys())
