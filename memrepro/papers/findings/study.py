"""Every document's method as printed and as tuned fairly, on the same docs, questions and budgets.

'As tuned' answers each user's or conversation's questions under the setting with the best mean over
all others. Intervals are of resamples of those groups, then of questions, in each of which the
choice is made again, and the seed or the order of ties is drawn where it is chance.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from memrepro.core.similarity import Doubles
from memrepro.evaluate.bootstrap import Interval
from memrepro.evaluate.clustered import interval
from memrepro.evaluate.multiple import sign_flip
from memrepro.papers.findings.arenas import (
    BM25,
    DENSE,
    HYBRID,
    Arena,
    Candidate,
    Ties,
    arenas,
)
from memrepro.report.compared import Compared, correct
from memrepro.report.sources import Source
from memrepro.study.params import load_plan

PRINTED, TUNED = "as printed", "as tuned"
REFERENCES = (DENSE, BM25, HYBRID)
EVEN = (HYBRID, PRINTED)  # which nobody has printed: both halves weigh alike
TESTED = (DENSE, HYBRID)  # of the main budget; one family with Holm's correction
HELPS, HARMS, OPEN = "helps", "harms", "not significant"
_WORDS = {1: HELPS, 0: OPEN, -1: HARMS}
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
    against: dict[str, dict[str, Compared]] = field(default_factory=dict)

    @property
    def row(self) -> str:
        """What its row is called."""
        return _row(self.method, self.variant, self.arena)

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

    def verdict(self, reference: str) -> str:
        """One of `HELPS`, `HARMS` and `OPEN` at the main budget; '' against itself."""
        found = self.against.get(reference, {}).get(self.arena.main)
        return _WORDS[found.sign] if found is not None else ""


class NotRun(NamedTuple):
    """A method that a profile has not run on an arena."""

    arena: Arena
    method: str
    variant: str
    why: str

    @property
    def row(self) -> str:
        """What its row is called."""
        return _row(self.method, self.variant, self.arena)


def _row(method: str, variant: str, arena: Arena) -> str:
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

    def of(self, arena: Arena) -> list[Outcome]:
        """What was run on an arena."""
        return [one for one in self.outcomes if one.arena.name == arena.name]

    def best_variants(self, arena: Arena) -> list[Outcome]:
        """Each method of an arena once: as tuned where it was, else as printed."""
        return list({one.method: one for one in self.of(arena)}.values())


@lru_cache(maxsize=2)
def run_study(profile: str) -> Study:
    """Everything that a profile has run, its differences corrected together."""
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
                    found.append(_outcome(arena, method, variant, run, candidates, seeds))
        _compare(found)
        outcomes += found
    _correct(outcomes)
    return Study(outcomes, missing)


def _outcome(
    arena: Arena,
    method: str,
    variant: str,
    printed: Candidate,
    candidates: list[Candidate],
    seeds: str,
) -> Outcome:
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
        for name, reference in plain.items():
            if one is not reference:
                one.against[name] = {b: _difference(one, reference, b) for b in one.values}


def _difference(one: Outcome, reference: Outcome, budget: str) -> Compared:
    new, old = one.values[budget], reference.values[budget]
    mean = float((new - old).mean())
    found = interval(mean, one.resampled[budget] - reference.resampled[budget])
    won, lost = int((new > old).sum()), int((new < old).sum())
    shown = f"{mean:+.4f} [{found.low:+.4f}, {found.high:+.4f}], won {won}, lost {lost}"
    p = sign_flip(new - old) if budget == one.arena.main else float("nan")
    sources = (*reference.sources(budget), *one.sources(budget))
    return Compared(one.row, reference.row, "", budget, shown, found, len(new), p, sources=sources)


def tested(outcomes: Sequence[Outcome]) -> Iterator[tuple[Outcome, str]]:
    """The comparisons that are one family, an outcome and a reference each."""
    for one in outcomes:
        for name in TESTED:
            if name in one.against:
                yield one, name


def _correct(outcomes: Sequence[Outcome]) -> None:
    family = list(tested(outcomes))
    before = [one.against[name][one.arena.main] for one, name in family]
    for (one, name), now in zip(family, correct(before), strict=True):
        one.against[name][one.arena.main] = now
