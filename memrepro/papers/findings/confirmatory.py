"""The few comparisons that are tested, as `study.yaml` names them, and what the data could show.

One family: p-values flip the signs of whole conversations or persons and are corrected by Holm's
method. Every other comparison of the study is exploratory.
"""

from collections.abc import Iterator, Sequence
from math import isinf
from typing import NamedTuple

import numpy as np

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.errors import MemreproError
from memrepro.evaluate.bootstrap import RESAMPLES
from memrepro.evaluate.comparison import LEVEL, Comparison, Groups, least_detectable
from memrepro.evaluate.multiple import holm
from memrepro.papers.findings.arenas import HYBRID, Arena, read_study
from memrepro.papers.findings.study import Outcome, Study
from memrepro.report.sources import write_sources
from memrepro.report.tables import Cell, number

HELPS, HARMS, OPEN = "helps", "harms", "not significant"
_WORDS = {1: HELPS, 0: OPEN, -1: HARMS}


class Tested(NamedTuple):
    """One comparison of the family.

    Attributes:
        outcome: the method, as tuned where it has settings to choose from, else as printed.
        reference: what it is compared with.
        comparison: the difference at the main budget.
        p: by group, after Holm's correction over the family.
    """

    outcome: Outcome
    reference: str
    comparison: Comparison
    p: float

    @property
    def verdict(self) -> str:
        """One of `HELPS`, `HARMS` and `OPEN`."""
        return _WORDS[self.comparison.sign(self.p)]


def named() -> list[tuple[str, str, str]]:
    """`method, arena, reference` of each comparison of the family, whatever has been run."""
    return [(one["method"], one["arena"], one["reference"]) for one in read_study()["confirmatory"]]


def run_family(study: Study) -> list[Tested]:
    """The family, corrected together; [] where the profile has none of its arenas.

    Raises:
        MemreproError: if a comparison that is named was not made.
    """
    known = {
        (one.method, arena.name): one
        for arena in study.arenas
        for one in study.best_variants(arena)
    }
    names = {arena.name for arena in study.arenas}
    found = []
    for method, arena, reference in named():
        if arena not in names:
            continue
        one = known.get((method, arena))
        if one is None or reference not in one.against:
            raise MemreproError(
                f"study.yaml names the comparison of {method!r} with {reference!r} on {arena!r} as "
                "confirmatory, and it has not been run: run it, or take it out"
            )
        found.append((one, reference, one.against[reference][one.arena.main]))
    corrected = holm([comparison.p for *_, comparison in found])
    return [Tested(*one, p) for one, p in zip(found, corrected, strict=True)]


def family_cells(found: Sequence[Tested]) -> Iterator[Cell]:
    """Each comparison of the family: difference, p before and after the correction, verdict."""
    note = (
        "the confirmatory family, named in study.yaml: p flips the signs of whole conversations or "
        f"persons, two-sided, with Holm's correction over all {len(found)}; helps or harms: the "
        f"interval leaves out 0 and the corrected p is below {LEVEL}; all other comparisons are "
        "exploratory"
    )
    for one in found:
        budget, name = one.outcome.arena.main, one.reference
        texts = {
            f"less {name}": "",
            f"p, {name}": number(one.comparison.p),
            f"p after Holm, {name}": number(one.p),
            f"against {name}": one.verdict,
        }
        for column, text in texts.items():
            yield Cell(
                one.outcome.row, column, budget, "", text, one.comparison.n, NOT_COMPARABLE,
                note=note, sources=write_sources(one.outcome.sources_against(name, budget)),
                comparison=None if text else one.comparison,
            )  # fmt: skip
            note = ""


def detectable_cells(study: Study) -> Iterator[Cell]:
    """What each arena could show at its number of groups."""
    tests = len(named())
    note = (
        f"least p: what sign flips of so many groups can give; detectable: the least difference "
        f"that a test at 5 % finds with a power of 80 %, alone, or with the least p of {tests} "
        "under Holm's correction, by Student's t over groups; the median over the arena's methods "
        f"against the {HYBRID}, each with the spread that it has"
    )
    for arena in study.arenas:
        methods = [one for one in study.best_variants(arena) if HYBRID in one.against]
        texts = {
            "resampled": str(arena.groups),
            "least p": number(least_p(arena.groups)),
            "least p after Holm": number(min(1.0, tests * least_p(arena.groups))),
            "detectable alone": _detectable(arena, methods, 1),
            "detectable after Holm": _detectable(arena, methods, tests),
        }
        files = arena.files([one for method in methods for one in method.candidates[:1]])
        for column, text in texts.items():
            yield Cell(
                arena.name, column, arena.main, "", text, len(arena.query_ids), NOT_COMPARABLE,
                note=note, sources=write_sources(files),
            )  # fmt: skip
            note = ""


def least_p(groups: Groups) -> float:
    """The least p that sign flips can give: each way of flipping once, or as many as are drawn."""
    return max(2.0 ** (1 - groups.n), 1 / (RESAMPLES + 1))


def _detectable(arena: Arena, methods: Sequence[Outcome], tests: int) -> str:
    budget = arena.main
    found = [
        least_detectable(
            one.values[budget] - one.references[HYBRID].values[budget], arena.groups, tests
        )
        for one in methods
    ]
    least = float(np.median(found))
    return "none" if isinf(least) else number(least)
