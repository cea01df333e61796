"""Comparisons of the tiered design's runs on the same questions, all of a data set one family."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from memrepro.papers.tiered.here import DESIGNS, GIVEN, TESTED, Runs
from memrepro.report import compared_rows as compared
from memrepro.report.compared_rows import Compared, compare_rows, correct
from memrepro.report.tables import Cell

_PANELS = (*TESTED, GIVEN)


class Pair(NamedTuple):
    """Two rows, of which a claim calls the first better, on all questions or on those of a kind."""

    better: str
    worse: str
    kind: str = ""

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.better} less {self.worse}" + (f", {self.kind}" if self.kind else "")


Compares = dict[Pair, list[Compared]]


def compare(runs: Runs, pairs: Sequence[Pair]) -> Compares:
    """Each pair whose rows were both run, by each metric that both have; corrected together."""
    result: Compares = {pair: [] for pair in pairs}
    made = [(pair, one) for pair in result for one in _of_pair(runs, pair)]
    for (pair, _), one in zip(made, correct([one for _, one in made]), strict=True):
        result[pair].append(one)
    return result


def _of_pair(runs: Runs, pair: Pair) -> Iterator[Compared]:
    if runs.why_not(pair.better) or runs.why_not(pair.worse):
        return
    # Lists of the whole memory go to 50 docs, those of the design end where it does.
    both_end = pair.better in DESIGNS and pair.worse in DESIGNS
    for metric, k in _PANELS if both_end else TESTED:
        before, now = (runs.values(row, metric, k) for row in (pair.worse, pair.better))
        if before is None or now is None:
            continue
        if pair.kind:
            before, now = (part[part["kind"] == pair.kind] for part in (before, now))
            if before.empty:
                continue
        yield compare_rows(pair.better, pair.worse, f"{metric}@{k}", now, before)


def _named(found: Compares) -> compared.Named:
    return [(pair.name, one) for pair, of_pair in found.items() for one in of_pair]


def differences(found: Compares) -> Iterator[Cell]:
    """Each comparison: its difference, and its p-value before and after the correction."""
    return compared.differences(_named(found), "made")


def draw(found: Compares, title: str, folder: Path, name: str) -> list[Path]:
    """Each difference with its interval, a panel a metric; nothing where none was made."""
    panels = [f"{metric}@{k}" for metric, k in _PANELS]
    return compared.draw(_named(found), panels, 17, title, folder, name)
