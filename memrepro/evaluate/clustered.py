"""Settings chosen on other groups of questions, and a bootstrap that chooses again each time.

Questions of one user or conversation are no independent draws, and a setting that was chosen on the
questions that judge it looks better than it is. Here a group's questions are answered under the
setting with the best mean over the *other* groups, and a resample draws groups, then questions
within each, and chooses anew: intervals hold what the choice itself adds. With few groups, such as
PersonaBench's six users, such intervals are known to be too short rather than too long.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from memrepro.core.similarity import Doubles
from memrepro.errors import MemreproError
from memrepro.evaluate.bootstrap import SEED, Interval

RESAMPLES = 1999
# Means that differ by less are one: sums of fractions depend on their order in the last bits.
_DIGITS = 9


@dataclass(frozen=True)
class Clusters:
    """The groups of questions, and how often each resample has each question.

    Attributes:
        groups: of each question, such as its user, shape (n,).
        resamples: how many.
    """

    groups: tuple[str, ...]
    resamples: int = RESAMPLES

    def __post_init__(self) -> None:
        """Refuse what leaves nothing to choose on."""
        if len(set(self.groups)) < 2:
            raise MemreproError(
                f"{len(self.groups)} questions are of {len(set(self.groups))} group: a setting is "
                "chosen on other groups, so that there must be two"
            )

    @cached_property
    def members(self) -> list[NDArray[np.intp]]:
        """The questions of each group, groups in the order of their first question."""
        codes = np.array(self.groups)
        return [np.flatnonzero(codes == name) for name in dict.fromkeys(self.groups)]

    @cached_property
    def counts(self) -> list[Doubles]:
        """How often each resample has each question of a group, each (resamples, n_members).

        In double precision, as they are multiplied with values. A group that is drawn m times has
        m times as many questions, drawn from all of its own.
        """
        generator, n = np.random.default_rng(SEED), len(self.members)
        drawn = generator.multinomial(n, np.full(n, 1 / n), size=self.resamples)
        return [
            generator.multinomial(times * len(own), np.full(len(own), 1 / len(own))).astype(float)
            for times, own in zip(drawn.T, self.members, strict=True)
        ]

    @cached_property
    def every(self) -> Doubles:
        """`counts` of all groups in one, shape (resamples, n)."""
        found = np.empty((self.resamples, len(self.groups)))
        for own, who in zip(self.counts, self.members, strict=True):
            found[:, who] = own
        return found

    @cached_property
    def sizes(self) -> Doubles:
        """The questions of each resample, shape (resamples,)."""
        return np.asarray(self.every.sum(axis=1))

    def sums(self, values: Doubles) -> Doubles:
        """The sum of each column in each resample, shape (resamples, n_columns).

        Args:
            values: shape (n, n_columns).
        """
        return np.asarray(self.every @ values)

    def choose(self, values: Doubles) -> NDArray[np.intp]:
        """The setting under which each group is answered, shape (n_groups,); ties by their order.

        Args:
            values: a metric of each question under each setting, shape (n, n_settings).
        """
        order = np.concatenate(self.members)
        first = np.cumsum([0, *(len(own) for own in self.members[:-1])])
        sums = np.add.reduceat(values[order], first, axis=0)
        # What another group adds is the same for all settings but for its sum: no mean is needed.
        return _best(sums.sum(axis=0) - sums)

    def answered(self, values: Doubles) -> Doubles:
        """Each question's value under the setting that its group was given, shape (n,)."""
        found = np.empty(len(values))
        for own, setting in zip(self.members, self.choose(values), strict=True):
            found[own] = values[own, setting]
        return found

    def means(self, values: Doubles, drawn: Doubles | None = None) -> Doubles:
        """The mean of each resample, its settings chosen on the resample, shape (resamples,).

        All copies of a group are left out together where its setting is chosen.

        Args:
            values: shape (n, n_settings).
            drawn: what else is chance, such as the seed or the order of ties: how far each of its
                outcomes moves a question, shape (n, n_outcomes); a resample draws one.
        """
        # A group whose questions all settings answer alike has no part in the choice.
        differs, alike = (values != values[:, :1]).any(axis=1), values[:, 0].copy()
        # Whole numbers add up exactly: no last bits to round off, and half of them are enough.
        whole_numbers = not (values % 1).any()
        kind = np.float32 if whole_numbers else np.float64
        sums = []
        for own, who in zip(self.counts, self.members, strict=True):
            if differs[who].any():
                sums.append(own.astype(kind, copy=False) @ values[who].astype(kind, copy=False))
                alike[who] = 0
        of_all, resample = sum(sums), np.arange(self.resamples)
        total = np.zeros(self.resamples)
        for of_group in sums:
            others = of_all - of_group
            best = np.argmax(others, axis=1) if whole_numbers else _best(others)
            total += of_group[resample, best]
        if alike.any():
            total += self.every @ alike
        if drawn is not None:
            moved = self.every @ drawn
            which = np.random.default_rng(SEED).integers(0, drawn.shape[1], self.resamples)
            total = total + moved[resample, which]
        return np.asarray(total / self.sizes)


def _best(sums: Doubles) -> NDArray[np.intp]:
    """The setting of the largest sum along the last axis, the first of those that are equal."""
    return np.asarray(np.argmax(np.round(sums, _DIGITS), axis=-1))


def interval(mean: float, resampled: Doubles) -> Interval:
    """A mean with the 95 % percentile interval of its resamples, shape (resamples,)."""
    low, high = np.percentile(resampled, [2.5, 97.5])
    return Interval(mean, float(low), float(high))


def group_of(memory_id: str) -> str:
    """The person or conversation of a memory: what stands before an '@' (PersonaMem's ends)."""
    return memory_id.partition("@")[0]
