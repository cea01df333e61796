"""Which numbers of questions explain all shares of a block, and whether a slip does so better.

A part of n questions prints k/n, k anything from 0 to n; with a small probability a cell is a slip
and may be anything. A whole is the share of all right answers (micro), the mean of the parts
(macro), or follows from nothing. Numbers of questions are drawn with a probability that falls as
1/n. From this every explanation (sizes, way of writing, kind of whole) has a posterior probability,
and so has 'no cell is a slip'. Source: Bayes' rule; for one share the GRIM test (Brown and
Heathers, 2017). Assumes that each question counts 0 or 1.

The search is over each column's likeliest sizes, then one and two columns at a time: bounded, and
not exhaustive.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.special import logsumexp

from memrepro.audit.rules.granularity import ANY, CUT, ROUNDED
from memrepro.audit.sizes.block import MISSING

MICRO, MACRO, FREE = "weighted mean", "plain mean", "no mean"
SLIP = 0.004  # the probability, beforehand, that a cell is a slip
LARGEST = 2000
_WAYS = {ROUNDED: 0.85, CUT: 0.1, ANY: 0.05}
_KINDS = {MICRO: 0.5, MACRO: 0.3, FREE: 0.2}
_NO_SHARE = 0.1  # the probability, beforehand, that a column holds no shares of questions
_ALONE, _PAIRED, _STARTS, _SWEEPS = 120, 20, 5, 4
_FAR = 20.0

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Explained(NamedTuple):
    """What explains a block.

    Attributes:
        sizes: the likeliest number of questions of each part, 0 where it holds no such shares.
        sure: their probability.
        rival: the runner-up, and its probability; () where there is none.
        way: of writing.
        kind: of the whole.
        slip: the probability that some cell is a slip.
        factor: how much likelier the block is with a slip than without, before any belief.
        cells: the probability that each is a slip, shape (lines, parts + 1); the whole stands last.
    """

    sizes: tuple[int, ...]
    sure: float
    rival: tuple[int, ...]
    rival_sure: float
    way: str
    kind: str
    slip: float
    factor: float
    cells: Floats


class _Column(NamedTuple):
    """What a column says of each candidate; low and high are counts, shape (candidates, lines)."""

    n: Ints
    low: Ints
    high: Ints
    clean: Floats
    mixed: Floats


class _Found(NamedTuple):
    """Explanations: sizes, log weights, with slips and without; and the columns' places."""

    sizes: Ints
    mixed: Floats
    clean: Floats
    way: str
    kind: str


def counts(units: Ints, scale: int, n: Ints, way: str) -> tuple[Ints, Ints]:
    """The least and most right answers that print as units, shapes (candidates, lines)."""
    n = n[:, None]
    # Rounded: from half a unit below to half a unit above; cut off: to a unit above.
    low = -((-units * n) // scale) if way == CUT else -((-(2 * units - 1) * n) // (2 * scale))
    high = (
        (2 * units + 1) * n // (2 * scale) if way == ROUNDED
        else -((-(units + 1) * n) // scale) - 1
    )  # fmt: skip
    return np.maximum(low, 0), np.minimum(high, n)


def _column(units: Ints, scale: int, stated: int, way: str) -> _Column:
    n = np.array([stated]) if stated else np.arange(1, LARGEST + 1)
    low, high = counts(units, scale, n, way)
    # Where both ways of writing are open, each is as likely.
    ends = [counts(units, scale, n, one) for one in ((ROUNDED, CUT) if way == ANY else (way,))]
    ways = [np.maximum(most - least + 1, 0) / (n[:, None] + 1) for least, most in ends]
    clean = np.mean(ways, axis=0)
    missing = units == MISSING
    clean[:, missing] = 1.0
    mixed = (1 - SLIP) * clean + SLIP / (scale + 1)
    mixed[:, missing] = 1.0
    return _Column(n, low, high, clean, mixed)


def _prior(column: _Column) -> Floats:
    total = float(np.log((1 / column.n).sum()))
    return np.asarray(np.log(1 / column.n) - total + np.log1p(-_NO_SHARE), float)


class _Micro:
    """The weighted mean: log weights of vectors of sizes, as places in the columns."""

    def __init__(self, columns: Sequence[_Column], whole: Ints, scale: int, way: str) -> None:
        self.columns, self.whole, self.scale, self.way = columns, whole, scale, way
        self.prior = [_prior(c) for c in columns]
        with np.errstate(divide="ignore"):
            self.clean = [np.log(c.clean * (1 - SLIP)).sum(axis=1) for c in columns]
        self.mixed = [np.log(c.mixed).sum(axis=1) for c in columns]
        self.known = whole != MISSING

    def of_whole(self, places: Ints) -> tuple[Floats, Floats]:
        """The probability of each whole, shape (vectors, lines): as it follows, and in all."""
        shape = (len(places), len(self.whole))
        low, high = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        total = np.zeros(len(places), np.int64)
        for j, column in enumerate(self.columns):
            at = places[:, j]
            n, own_low, own_high = column.n[at], column.low[at], column.high[at]
            bad = own_high < own_low
            total += n
            low += np.where(bad, 0, own_low)
            high += np.where(bad, n[:, None], own_high)
        least, most = counts(self.whole, self.scale, total, self.way)
        meets = (low <= most) & (least <= high)
        strings = (high - low) * np.minimum(1.0, self.scale / total[:, None]) + 1
        clean = meets / strings
        mixed = (1 - SLIP) * clean + SLIP * (len(self.columns) + 1) / (self.scale + 1)
        clean[:, ~self.known] = mixed[:, ~self.known] = 1.0
        return clean, mixed

    def weights(self, places: Ints) -> tuple[Floats, Floats]:
        """Log weights with slips and without, shape (vectors,) each."""
        clean, mixed = self.of_whole(places)
        with np.errstate(divide="ignore"):
            without = np.log(clean * (1 - SLIP)).sum(axis=1)
        within = np.log(mixed).sum(axis=1)
        for j in range(len(self.columns)):
            at = places[:, j]
            without = without + self.prior[j][at] + self.clean[j][at]
            within = within + self.prior[j][at] + self.mixed[j][at]
        return within, without

    def search(self, units: Ints) -> _Found:
        """The likeliest vectors that are met on the way."""
        own = [p + m for p, m in zip(self.prior, self.mixed, strict=True)]
        likely = [np.argsort(-one)[:_ALONE] for one in own]
        met: list[tuple[Ints, Floats, Floats]] = []

        def best_of(places: Ints) -> tuple[float, Ints]:
            within, without = self.weights(places)
            kept = np.argsort(-within)[:40]
            met.append((places[kept], within[kept], without[kept]))
            return float(within[kept[0]]), places[kept[0]]

        ends = []
        for start in self._starts(units, own):
            score, at = best_of(start[None])
            for _ in range(_SWEEPS):
                before = score
                for j in range(len(own)):
                    score, at = max(
                        (score, at), best_of(_varied(at, {j: self._near(at, j, likely)})),
                        key=lambda one: one[0],
                    )  # fmt: skip
                if score <= before:
                    break
            ends.append((score, at))
        score, at = max(ends, key=lambda one: one[0])
        for _ in range(2):
            before = score
            for i, j in combinations(range(len(own)), 2):
                some = {i: likely[i][:_PAIRED], j: likely[j][:_PAIRED]}
                score, at = max((score, at), best_of(_varied(at, some)), key=lambda one: one[0])
            if score <= before:
                break
        places = np.concatenate([m[0] for m in met])
        _, first = np.unique(places, axis=0, return_index=True)
        within = np.concatenate([m[1] for m in met])[first]
        without = np.concatenate([m[2] for m in met])[first]
        sizes = np.stack([c.n[places[first, j]] for j, c in enumerate(self.columns)], axis=1)
        return _Found(sizes, within, without, self.way, MICRO)

    def _near(self, at: Ints, j: int, likely: Sequence[Ints]) -> Ints:
        beside = np.arange(at[j] - 3, at[j] + 4)
        beside = beside[(beside >= 0) & (beside < len(self.columns[j].n))]
        return np.concatenate([likely[j], beside])

    def _starts(self, units: Ints, own: Sequence[Floats]) -> Iterator[Ints]:
        yield np.array([one.argmax() for one in own])
        weights = _weights(units, self.whole, self.scale)
        if weights is None:
            return
        totals = np.arange(len(own), LARGEST + 1)
        places, score = np.zeros((len(totals), len(own)), np.int64), np.zeros(len(totals))
        for j, column in enumerate(self.columns):
            # The likeliest size within one of the weight's share of the total.
            near = np.rint(totals * weights[j]).astype(int)[:, None] + np.arange(-1, 2)
            near = np.clip(near - int(column.n[0]), 0, len(column.n) - 1)
            best = own[j][near].argmax(axis=1)
            places[:, j] = near[np.arange(len(near)), best]
            score += own[j][places[:, j]]
        for one in np.argsort(-score)[: _STARTS - 1]:
            yield places[one]


def _varied(at: Ints, some: dict[int, Ints]) -> Ints:
    mesh = np.stack(np.meshgrid(*some.values(), indexing="ij"), axis=-1).reshape(-1, len(some))
    places = np.repeat(at[None], len(mesh), axis=0)
    places[:, list(some)] = mesh
    return places


def _weights(units: Ints, whole: Ints, scale: int) -> Floats | None:
    """The parts' weights of least total deviation; None where too few lines are whole."""
    kept = (units != MISSING).all(axis=1) & (whole != MISSING)
    values, targets = units[kept] / scale, whole[kept] / scale
    rows, parts = values.shape
    if rows < parts:
        return None
    cost = np.concatenate([np.zeros(parts), np.ones(rows)])
    bounds = np.vstack([np.hstack([values, -np.eye(rows)]), np.hstack([-values, -np.eye(rows)])])
    equal = np.concatenate([np.ones(parts), np.zeros(rows)])[None]
    solved = linprog(
        cost, A_ub=bounds, b_ub=np.concatenate([targets, -targets]), A_eq=equal, b_eq=[1.0],
        bounds=(0, None), method="highs",
    )  # fmt: skip
    return np.asarray(solved.x[:parts], float) if solved.success else None


def _apart(columns: Sequence[_Column], lines: int, scale: int) -> list[tuple[Ints, Floats, Floats]]:
    """Each column alone: its sizes, 0 for none, and log weights with slips and without."""
    made = []
    for whole in columns:
        # From as many questions on as there are strings, all are possible: that tells nothing.
        column = whole if len(whole.n) == 1 else _Column(
            whole.n[:scale], whole.low[:scale], whole.high[:scale], whole.clean[:scale],
            whole.mixed[:scale],
        )  # fmt: skip
        with np.errstate(divide="ignore"):
            clean = np.log(column.clean * (1 - SLIP)).sum(axis=1) + _prior(column)
        mixed = np.log(column.mixed).sum(axis=1) + _prior(column)
        seen = int((column.mixed[0] != 1.0).sum())
        none = np.log(_NO_SHARE) - seen * np.log(scale + 1)
        own = (np.append(column.n, 0), np.append(mixed, none),
               np.append(clean, none + seen * np.log1p(-SLIP)))  # fmt: skip
        made.append(own)
    return made


def _alone(
    apart: Sequence[tuple[Ints, Floats, Floats]], wholes: dict[str, tuple[float, float]], way: str
) -> Iterator[_Found]:
    """Explanations in which no whole ties the columns: the best of each, all mass upon them."""
    best = np.array([[n[mixed.argmax()] for n, mixed, _ in apart]])
    within = sum(float(logsumexp(mixed)) for _, mixed, _ in apart)
    without = sum(float(logsumexp(clean)) for *_, clean in apart)
    for kind, (mixed, clean) in wholes.items():
        yield _Found(best, np.array([within + mixed]), np.array([without + clean]), way, kind)


def _macro(units: Ints, whole: Ints, scale: int, way: str) -> tuple[Floats, Floats]:
    """The probability of each whole as the parts' mean, shape (lines,): as it follows, in all."""
    parts = units.shape[1]
    centre = units.mean(axis=1) + (0.0 if way == ROUNDED else 0.5)
    target = whole + (0.0 if way == ROUNDED else 0.5)
    # Parts and whole are each open by half a unit; a mean of printed numbers may be meant too.
    meets = np.abs(centre - target) <= 1.0 + (0.0 if way == ROUNDED else 0.5)
    known = (whole != MISSING) & (units != MISSING).all(axis=1)
    clean = np.where(meets, 0.5, 0.0)
    mixed = (1 - SLIP) * clean + SLIP * (parts + 1) / (scale + 1)
    clean[~known] = mixed[~known] = 1.0
    return clean, mixed


def explain(units: Ints, whole: Ints, digits: int, stated: Sequence[int]) -> Explained:
    """What explains shares best, over sizes, ways of writing and kinds of the whole.

    Args:
        units: of the last digit, shape (lines, parts); `MISSING` where none is printed.
        whole: the same, shape (lines,).
        digits: after the point.
        stated: the number of questions of each part, 0 where it is to be inferred.
    """
    scale, known = 10**digits, whole != MISSING
    found: list[_Found] = []
    models: dict[str, _Micro] = {}
    most = -np.inf
    for way, ahead in _WAYS.items():
        columns = [_column(u, scale, n, way) for u, n in zip(units.T, stated, strict=True)]
        model = models[way] = _Micro(columns, whole, scale, way)
        apart = _apart(columns, len(units), scale)
        alone = sum(float(logsumexp(mixed)) for _, mixed, _ in apart)
        most = max(most, alone)
        wholes = {FREE: (-float(known.sum()) * np.log(scale + 1),) * 2}
        if known.any():
            clean, mixed = _macro(units, whole, scale, way)
            with np.errstate(divide="ignore"):
                wholes[MACRO] = (np.log(mixed).sum(), np.log(clean * (1 - SLIP)).sum())
            # A way of writing that the parts speak against so clearly is not searched for.
            if alone > most - _FAR:
                found.append(_weighed(model.search(units), ahead))
        found += [_weighed(one, ahead) for one in _alone(apart, wholes, way)]
    return _explained(found, models, units, whole, scale)


def _weighed(found: _Found, ahead: float) -> _Found:
    added = np.log(ahead) + np.log(_KINDS[found.kind])
    return found._replace(mixed=found.mixed + added, clean=found.clean + added)


def _explained(
    found: Sequence[_Found], models: dict[str, _Micro], units: Ints, whole: Ints,
    scale: int,
) -> Explained:  # fmt: skip
    every = [(float(w), tuple(map(int, s)), one) for one in found
             for w, s in zip(one.mixed, one.sizes, strict=True)]  # fmt: skip
    within = float(logsumexp([w for w, *_ in every]))
    without = float(logsumexp(np.concatenate([one.clean for one in found])))
    slip = -np.expm1(min(0.0, without - within))
    cells = int((units != MISSING).sum() + (whole != MISSING).sum())
    ahead = cells * np.log1p(-SLIP)
    # The odds of a slip over those beforehand; beyond all measure where nothing is clean.
    factor = slip * np.exp(min(600.0, within - without) + ahead) / -np.expm1(ahead)
    every.sort(key=lambda one: -one[0])
    _, sizes, best = every[0]
    by_sizes: dict[tuple[int, ...], float] = {}
    for w, s, _ in every:
        by_sizes[s] = by_sizes.get(s, 0.0) + float(np.exp(w - within))
    others = sorted((p, s) for s, p in by_sizes.items() if s != sizes)
    rival_sure, rival = others[-1] if others else (0.0, ())
    at = _slips(best, models[best.way], np.array(sizes), units, whole, scale)
    return Explained(sizes, by_sizes[sizes], rival, rival_sure, best.way, best.kind, float(slip),
                     float(factor), at)  # fmt: skip


def _slips(
    best: _Found, model: _Micro, sizes: Ints, units: Ints, whole: Ints, scale: int
) -> Floats:
    """The probability that each cell is a slip under the best explanation."""
    made = np.zeros((units.shape[0], units.shape[1] + 1))
    places = np.zeros((1, len(sizes)), np.int64)
    for j, (n, column) in enumerate(zip(sizes, model.columns, strict=True)):
        if n:
            places[0, j] = int(n - column.n[0])
            made[:, j] = 1 - (1 - SLIP) * column.clean[places[0, j]] / column.mixed[places[0, j]]
            made[units[:, j] == MISSING, j] = 0.0
    if best.kind == FREE or not (whole != MISSING).any():
        return made
    clean, mixed = (
        (one[0] for one in model.of_whole(places)) if best.kind == MICRO
        else _macro(units, whole, scale, best.way)
    )  # fmt: skip
    made[:, -1] = np.where(whole == MISSING, 0.0, 1 - (1 - SLIP) * clean / mixed)
    return made
