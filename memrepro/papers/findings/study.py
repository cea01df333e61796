"""Every document's method as printed and as tuned fairly, on the same docs, questions and budgets.

'As tuned' answers each person's or conversation's questions under the setting with the best mean
over all others. Intervals are of resamples of those groups, then of questions, in each of which the
choice is made again, and the seed or the order of ties is drawn where it is chance. What an
interval says is exploratory; what is tested is named in `study.yaml` (`confirmatory`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from memrepro.core.similarity import Doubles
from memrepro.evaluate.bootstrap import Interval
from memrepro.evaluate.clustered import interval
from memrepro.evaluate.comparison import Comparison, compare
from memrepro.papers.findings.arenas import (
    BM25,
    DENSE,
    HYBRID,
    Arena,
    Candidate,
    Ties,
    arenas,
)
from memrepro.report.sources import Source
from memrepro.study.params import load_plan

PRINTED, TUNED = "as printed", "as tuned"
REFERENCES = (DENSE, BM25, HYBRID)
EVEN = (HYBRID, PRINTED)  # which nobody has printed: both halves weigh alike
BASELINES = (DENSE, HYBRID)
ABOVE, BELOW, UNCLEAR = "above", "below", "no clear difference"
_NO_SEED = "42"


@dataclass
class Outcome:
    """A method on an arena, as printed or as tuned.

    Attributes:
        arena: where.
        method: its name.
        variant: `PRINTED` or `TUNED`.
        printed: the run as printed.
        candidates: the run, or those that a choice may fall on.
        values: budget → each question's value, shape (n,).
        resampled: budget → the mean of each resample.
        chosen: budget → how many groups were given each candidate.
        best: the candidate that is best on all questions, and its mean at the main budget: what a
            choice on the questions themselves would say.
        ties: of the run as printed.
        short: questions whose list ends before the budget of tokens.
        references: the plain ones that it is compared with, by their methods.
        against: reference → budget → the difference.
    """

    arena: Arena
    method: str
    variant: str
    printed: Candidate
    candidates: list[Candidate]
    values: dict[str, Doubles]
    resampled: dict[str, Doubles]
    chosen: dict[str, Counter[Candidate]]
    best: tuple[Candidate, float]
    ties: Ties | None = None
    short: int = 0
    references: dict[str, "Outcome"] = field(default_factory=dict)
    against: dict[str, dict[str, Comparison]] = field(default_factory=dict)

    @property
    def row(self) -> str:
        """What its row is called."""
        return _row_name(self.method, self.variant, self.arena)

    def mean(self, budget: str) -> float:
        """The mean over all questions."""
        return float(self.values[budget].mean())

    def interval(self, budget: str) -> Interval:
        """The mean with its interval."""
        return interval(self.mean(budget), self.resampled[budget])

    def sources(self, budget: str) -> tuple[Source, ...]:
        """The run where there is one, else all files."""
        if len(self.candidates) == 1:
            return self.arena.source(self.candidates[0], budget)
        return self.arena.files(self.candidates)

    def sources_against(self, reference: str, budget: str) -> tuple[Source, ...]:
        """Of a difference: the reference's, then its own."""
        return (*self.references[reference].sources(budget), *self.sources(budget))

    def side(self, reference: str) -> str:
        """One of `ABOVE`, `BELOW` and `UNCLEAR` by the interval at the main budget, no test."""
        found = self.against[reference][self.arena.main]
        return ABOVE if found.low > 0 else BELOW if found.high < 0 else UNCLEAR


class NotRun(NamedTuple):
    """A method that a profile has not run on an arena."""

    arena: Arena
    method: str
    variant: str
    why: str

    @property
    def row(self) -> str:
        """What its row is called."""
        return _row_name(self.method, self.variant, self.arena)


def _row_name(method: str, variant: str, arena: Arena) -> str:
    how = "at α = 0.5" if (method, variant) == EVEN else variant
    return f"{method}{'' if method in (DENSE, BM25) else f', {how}'}; {arena.name}"


class Study(NamedTuple):
    """All of a profile: what was run, in the order of `study.yaml`, and what was not."""

    outcomes: list[Outcome]
    missing: list[NotRun]

    @property
    def arenas(self) -> list[Arena]:
        """Those where something was run."""
        return list({one.arena.name: one.arena for one in self.outcomes}.values())

    def outcomes_on(self, arena: Arena) -> list[Outcome]:
        """What was run on an arena."""
        return [one for one in self.outcomes if one.arena.name == arena.name]

    def best_variants(self, arena: Arena) -> list[Outcome]:
        """Each method of an arena once: as tuned where it was, else as printed."""
        return list({one.method: one for one in self.outcomes_on(arena)}.values())


@lru_cache(maxsize=2)
def run_study(profile: str) -> Study:
    """Everything that a profile has run."""
    outcomes: list[Outcome] = []
    missing: list[NotRun] = []
    for arena in arenas(profile, load_plan()):
        found = []
        for method, printed, tuned, seeds in arena.methods():
            if not printed:
                missing.append(NotRun(arena, method, PRINTED, "the profile has no run of it"))
            for variant, candidates in ((PRINTED, printed), (TUNED, tuned)):
                if candidates:
                    run = (printed or candidates)[0]
                    found.append(outcome_of(arena, method, variant, run, candidates, seeds))
        _compare(found)
        outcomes += found
    return Study(outcomes, missing)


def outcome_of(
    arena: Arena,
    method: str,
    variant: str,
    printed: Candidate,
    candidates: list[Candidate],
    seeds: str = "",
) -> Outcome:
    """A method's values on an arena: of one candidate, or chosen on other groups among several."""
    clusters, values = arena.clusters, arena.values(candidates)
    ties = arena.ties(candidates[0]) if variant == PRINTED else None
    drawn = _seeds(arena, seeds)
    if not drawn and ties is not None and ties.questions:
        drawn = {arena.main: ties.moved}
    answered, resampled, chosen = {}, {}, {}
    for budget, of in values.items():
        answered[budget] = clusters.answered(of)
        resampled[budget] = clusters.means(of, drawn.get(budget))
        chosen[budget] = Counter(candidates[i] for i in clusters.choose(of))
    means = values[arena.main].mean(axis=0)
    best = int(np.argmax(means))
    return Outcome(
        arena, method, variant, printed, candidates, answered, resampled, chosen,
        (candidates[best], float(means[best])), ties, arena.too_short(candidates[0]),
    )  # fmt: skip


def _seeds(arena: Arena, pattern: str) -> Mapping[str, Doubles]:
    """Budget → how far another seed moves each question; {} where no sweep over seeds was run."""
    found = arena.candidates([pattern]) if pattern else []
    own = [place for place, one in enumerate(found) if one.setting == _NO_SEED]
    if not own:
        return {}
    return {name: of - of[:, own] for name, of in arena.values(found).items()}


def _compare(found: Sequence[Outcome]) -> None:
    """The differences of an arena's outcomes from the plain ones, on all budgets."""
    plain = {one.method: one for one in found if one.method in REFERENCES}  # the hybrid as tuned
    for one in found:
        one.references = {n: reference for n, reference in plain.items() if reference is not one}
        for name, reference in one.references.items():
            one.against[name] = {
                budget: compare(
                    reference.values[budget], values, one.arena.groups,
                    one.resampled[budget] - reference.resampled[budget],
                )
                for budget, values in one.values.items()
            }  # fmt: skip
