"""Two rankings on the same questions: the one type of a paired difference, made in one place.

Questions of one conversation or person are no independent draws. An interval draws groups, then
questions within each (`clustered.Clusters`); a p-value flips the signs of whole groups. Where each
question stands for itself both are of questions.
"""

from dataclasses import asdict, dataclass
from functools import lru_cache
from math import isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memrepro.core.similarity import Doubles
from memrepro.errors import MemreproError
from memrepro.evaluate.bootstrap import SEED, Interval, paired_difference, unpaired_difference
from memrepro.evaluate.clustered import RESAMPLES, Clusters, interval
from memrepro.evaluate.multiple import sign_flip

QUESTION = "question"
LEVEL = 0.05
# Sums of fractions depend on their order in the last bits.
_DIGITS = 12


@dataclass(frozen=True)
class Groups:
    """What is resampled, and of each question which one it belongs to.

    Attributes:
        unit: 'question' where each stands for itself, else such as 'conversation' or 'person'.
        labels: of each question, shape (n,); not read where the unit is the question.
    """

    unit: str
    labels: tuple[str, ...]

    @property
    def n(self) -> int:
        """How many units there are."""
        return len(self.labels) if self.unit == QUESTION else len(set(self.labels))

    def only(self, chosen: NDArray[np.bool_]) -> "Groups":
        """The same of some questions, `chosen` of shape (n,)."""
        return Groups(self.unit, tuple(np.array(self.labels, object)[chosen].tolist()))

    def __str__(self) -> str:
        return units(self.n, self.unit)


def units(n: int, unit: str) -> str:
    """A number of units, such as '10 conversations'."""
    return f"{n:,} {unit}{'s' * (n != 1)}"


def signed_ends(interval: Interval) -> str:
    """An interval's ends with their signs; one group has none."""
    if isnan(interval.low):
        return "[no interval]"
    return f"[{interval.low:+.4f}, {interval.high:+.4f}]"


def questions(n: int) -> Groups:
    """Of n questions that each stand for themselves."""
    return Groups(QUESTION, ("",) * n)


@dataclass(frozen=True)
class Comparison:
    """The second of two rankings against the first, on the same questions, by one metric.

    Attributes:
        difference: the mean of second − first over the questions.
        low: lower end of its 95 % interval; NaN, as `high`, where only one group is there.
        high: upper end.
        p: two-sided, by flipping the signs of units; at least 2 / 2^groups.
        won: questions on which the second is better.
        lost: questions on which the first is better.
        tied: the others.
        n: questions.
        groups: units that were resampled.
        unit: what one is, such as 'conversation'.
    """

    difference: float
    low: float
    high: float
    p: float
    won: int
    lost: int
    tied: int
    n: int
    groups: int
    unit: str

    @property
    def interval(self) -> Interval:
        """The difference with its interval."""
        return Interval(self.difference, self.low, self.high)

    def sign(self, p: float | None = None) -> int:
        """1 or −1 where the interval leaves out 0 and p is below 0.05, else 0.

        Args:
            p: after a correction; without it, its own.
        """
        if not (self.p if p is None else p) < LEVEL:
            return 0
        return int(self.low > 0) - int(self.high < 0)

    @property
    def effect(self) -> str:
        """'a gain', 'a loss' or 'no clear change', by interval and test."""
        return ("a loss", "no clear change", "a gain")[self.sign() + 1]

    @property
    def unit_text(self) -> str:
        """What was resampled, such as '10 conversations'."""
        return units(self.groups, self.unit)

    @property
    def ends(self) -> str:
        """The interval's ends, such as '[+0.0123, +0.0456]'."""
        return signed_ends(self.interval)

    def __str__(self) -> str:
        moved = f"won {self.won}, lost {self.lost}"
        return f"{self.difference:+.4f} {self.ends}, {moved}, by {self.unit_text}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON and tables, numbers to six digits; None for the ends of no interval."""
        plain = asdict(self)
        numbers = {k: round(v, 6) + 0.0 for k, v in plain.items() if isinstance(v, float)}
        return plain | {name: None if isnan(value) else value for name, value in numbers.items()}


def compare(
    first: Doubles, second: Doubles, groups: Groups, resampled: Doubles | None = None
) -> Comparison:
    """The paired difference second − first of the same questions, each shape (n,).

    Args:
        first: of each question.
        second: of each question.
        groups: which of them belong together.
        resampled: the mean difference of each resample, shape (resamples,), where more than the
            questions is drawn again, such as a choice of settings: the interval is of these.

    Raises:
        MemreproError: if there is no question, or the three are not of the same number.
    """
    n = len(first)
    if not n or not n == len(second) == len(groups.labels):
        raise MemreproError(
            f"{n} values before, {len(second)} now and {len(groups.labels)} groups: a paired "
            "difference needs the same questions, at least one"
        )
    differences = np.asarray(second, float) - np.asarray(first, float)
    if resampled is None:
        found = mean_interval(differences, groups)
    else:
        found = interval(float(differences.mean()), np.round(resampled, _DIGITS))
    if groups.unit == QUESTION:
        p = sign_flip(differences)
    else:
        places = np.unique(np.array(groups.labels), return_inverse=True)[1]
        p = sign_flip(np.round(np.bincount(places, differences), _DIGITS))
    won, lost = int((differences > 0).sum()), int((differences < 0).sum())
    return Comparison(*found, p, won, lost, n - won - lost, n, groups.n, groups.unit)


def mean_interval(values: Doubles, groups: Groups) -> Interval:
    """The mean of values, shape (n,), n at least 1, with its 95 % interval by group."""
    if groups.unit == QUESTION:
        return paired_difference(np.zeros(len(values)), np.asarray(values, float))
    mean = float(np.mean(values))
    if groups.n < 2:
        return Interval(mean, nan, nan)
    clusters = _clusters(groups.labels)
    # Float sums may differ in the last bits by machine: what is told apart is not.
    return interval(mean, np.round(clusters.means(np.asarray(values, float)[:, None]), _DIGITS))


def gap_interval(values: Doubles, chosen: NDArray[np.bool_], groups: Groups) -> Interval:
    """The mean of the chosen questions − that of the others, with its 95 % interval by group.

    Args:
        values: of n questions, shape (n,).
        chosen: shape (n,), at least one true and one false.
        groups: of all n.
    """
    others = ~chosen
    if groups.unit == QUESTION:
        return unpaired_difference(values[others], values[chosen])
    mean = float(values[chosen].mean() - values[others].mean())
    if groups.n < 2:
        return Interval(mean, nan, nan)
    columns = [values * chosen, chosen, values * others, others]
    of_chosen, n_chosen, of_others, n_others = resampled_sums(np.stack(columns, 1), groups).T
    drawn = (n_chosen > 0) & (n_others > 0)
    gaps = of_chosen[drawn] / n_chosen[drawn] - of_others[drawn] / n_others[drawn]
    return interval(mean, np.round(gaps, _DIGITS))


def resampled_sums(columns: Doubles, groups: Groups) -> Doubles:
    """The sum of each column, shape (n, k), in each resample by group, shape (resamples, k)."""
    if groups.unit == QUESTION:
        n = len(columns)
        drawn = np.random.default_rng(SEED).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
        return np.asarray(drawn @ columns)
    return _clusters(groups.labels).sums(np.asarray(columns, float))


@lru_cache(maxsize=16)
def _clusters(labels: tuple[str, ...]) -> Clusters:
    """Of these groups, whose draws many comparisons share."""
    return Clusters(labels)


def least_detectable(differences: Doubles, groups: Groups, tests: int = 1) -> float:
    """The least mean difference that a two-sided test at 5 % would find with a power of 80 %.

    Some 2.8 standard errors of the mean by group (1.96 for the level and 0.84 for the power; by
    Student's t, more where groups are few), from the spread that the given differences have, shape
    (n,). Never below what sign flips of so few groups can show: infinite where 2 / 2^groups is not
    below the level.

    Args:
        differences: of each question.
        groups: which of them belong together.
        tests: of so many that are corrected together by Holm's method, the one of the least p.
    """
    from scipy.stats import t  # which takes a second to import, and few need

    level = LEVEL / tests
    if 2.0 ** (1 - groups.n) >= level:
        return float("inf")
    if groups.unit == QUESTION:
        error = float(np.std(differences, ddof=1)) / np.sqrt(len(differences))
    else:
        error = float(np.std(_clusters(groups.labels).means(differences[:, None]), ddof=1))
    return float(t.ppf([1 - level / 2, 0.8], groups.n - 1).sum() * error)
