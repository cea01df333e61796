"""What each idea adds to each base: dense retrieval, BM25 and the plain hybrid (`factorial.yaml`).

An idea and its base share the keys' texts, the encoder, the BM25, the budget and the questions, and
differ by the idea alone. Settings are chosen on other groups for both, and chosen again in each
resample. Intervals are exploratory: no test is claimed.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.evaluate.comparison import Comparison, compare
from memrepro.files.atomic import read_yaml
from memrepro.papers.findings.arenas import Arena, Candidate
from memrepro.papers.findings.study import PRINTED, TUNED, Outcome, outcome_of
from memrepro.report import figures
from memrepro.report.panels import draw_intervals
from memrepro.report.sources import write_sources
from memrepro.report.tables import Cell, number
from memrepro.study.params import load_plan

_FILE = Path(__file__).with_name("factorial.yaml")
HYBRID = "hybrid"


class Added(NamedTuple):
    """An idea on a base of an arena, beside the base.

    Attributes:
        idea: its name.
        base: 'dense', 'BM25' or 'hybrid'.
        before: the base alone.
        after: the base with the idea.
        by: budget → after − before.
    """

    idea: str
    base: str
    before: Outcome
    after: Outcome
    by: Mapping[str, Comparison]


class Best(NamedTuple):
    """The best of all ideas and settings of an arena, chosen on other groups, beside the hybrid.

    `ideas` has the idea of each run that is not the hybrid itself.
    """

    before: Outcome
    after: Outcome
    difference: Comparison
    ideas: Mapping[str, str]

    def called(self, candidate: Candidate) -> str:
        """The idea of a run and its setting, as `segments, at 0.5`."""
        idea = self.ideas.get(candidate.run, "plain hybrid")
        return f"{idea}, at {candidate.setting}" if candidate.setting else idea


@cache
def _entries() -> Mapping[str, Any]:
    found: Mapping[str, Any] = read_yaml(_FILE)
    return found


@lru_cache(maxsize=2)
def run_factorial(profile: str) -> tuple[list[Added], list[Best]]:
    """Every idea on every base that a profile has run, and the best of each arena."""
    added: list[Added] = []
    best: list[Best] = []
    entries = _entries()
    for entry in entries.get(profile, ()):
        for short, encoder in entry["encoders"].items():
            arena = Arena(profile, entry, short, encoder, entries["k"], load_plan())
            if arena.judged is None or not arena.candidates([entry["plain"]]):
                continue
            own, everything = _arena(arena, entry, entries["bases"])
            added += own
            if everything is not None:
                best.append(everything)
    return added, best


def _arena(
    arena: Arena, entry: Mapping[str, Any], bases: Mapping[str, Sequence[str]]
) -> tuple[list[Added], Best | None]:
    plain = arena.candidates([entry["plain"]])
    before = {base: _outcome(arena, base, _at(plain, bases[base])) for base in bases}
    added: list[Added] = []
    mixed: list[Candidate] = _at(plain, bases[HYBRID])
    ideas: dict[str, str] = {}
    for idea, patterns in entry["ideas"].items():
        found = arena.candidates(patterns)
        for base, settings in bases.items():
            if not (some := _at(found, settings)):
                continue
            after = _outcome(arena, f"{base}, {idea}", some)
            by = {budget: _compared(before[base], after, budget) for budget in arena.budgets}
            added.append(Added(idea, base, before[base], after, by))
            if base == HYBRID and idea not in _entries()["controls"]:
                mixed += some
                ideas |= {candidate.run: idea for candidate in some}
    if not added:
        return [], None
    after = _outcome(arena, "best of all ideas", mixed)
    difference = _compared(before[HYBRID], after, arena.main)
    return added, Best(before[HYBRID], after, difference, ideas)


def _at(candidates: Sequence[Candidate], settings: Sequence[str]) -> list[Candidate]:
    return [one for one in candidates if one.setting in settings]


def _outcome(arena: Arena, name: str, candidates: list[Candidate]) -> Outcome:
    variant = TUNED if len(candidates) > 1 else PRINTED
    return outcome_of(arena, name, variant, candidates[0], candidates)


def _compared(before: Outcome, after: Outcome, budget: str) -> Comparison:
    return compare(
        before.values[budget], after.values[budget], before.arena.groups,
        after.resampled[budget] - before.resampled[budget],
    )  # fmt: skip


def factorial_cells(added: Sequence[Added]) -> Iterator[Cell]:
    """A row an idea and arena: what it adds to each base, by docs and by a reader's tokens."""
    note = (
        "each idea − the same base without it, at ten docs; settings of both are chosen on other "
        "groups; 95 % intervals by each data set's unit, the choice made again in each resample: "
        "exploratory, no test; T tokens: whole docs, best first, of a reader's budget"
    )
    for one in added:
        arena = one.after.arena
        row, n = f"{one.idea}; {arena.name}", len(arena.query_ids)
        for budget in arena.budgets:
            if one.base != HYBRID and budget != arena.main:
                continue
            column = f"on {one.base}"
            if budget != arena.main:
                column += f", {budget.replace(str(arena.tokens), 'T')}"
            sources = (*one.before.sources(budget), *one.after.sources(budget))
            yield Cell(
                row, column, budget, "", "", n, NOT_COMPARABLE, note=note,
                sources=write_sources(sources), comparison=one.by[budget],
            )  # fmt: skip
            note = ""
        if one.base == HYBRID:
            needs = _entries()["needs"].get(one.idea, {})
            texts = {
                "value on hybrid": number(one.after.mean(arena.main)),
                "stored": needs.get("stored", "nothing more"),
                "asked": needs.get("asked", "nothing more"),
            }
            for column, text in texts.items():
                yield Cell(
                    row, column, arena.main, "", text, n, NOT_COMPARABLE,
                    sources=write_sources(one.after.sources(arena.main)),
                )  # fmt: skip


def best_cells(best: Sequence[Best]) -> Iterator[Cell]:
    """The best combination of each arena, chosen fairly, and what a choice on its own would say."""
    note = (
        "the run that is best on all other groups, of the hybrid and of all ideas on it; optimism: "
        "what a choice on the test questions themselves would promise beyond that"
    )
    for one in best:
        arena, after = one.after.arena, one.after
        choices = after.chosen[arena.main]
        chosen, groups = choices.most_common(1)[0]
        texts: dict[str, str | Comparison] = {
            "plain hybrid": number(one.before.mean(arena.main)),
            "best, chosen on other groups": number(after.mean(arena.main)),
            "difference": one.difference,
            "chosen most": f"{one.called(chosen)} ({groups} of {sum(choices.values())})",
            "best on these questions": f"{one.called(after.best[0])}: {number(after.best[1])}",
            "optimism": f"{after.best[1] - after.mean(arena.main):+.4f}",
        }
        for column, text in texts.items():
            cell = Cell(
                arena.name, column, arena.main, "", "", len(arena.query_ids), NOT_COMPARABLE,
                note=note, sources=write_sources(after.sources(arena.main)),
            )  # fmt: skip
            yield cell.filled(text)
            note = ""


def draw(added: Sequence[Added], folder: Path) -> list[Path]:
    """What each idea adds to the hybrid, a panel an arena; and the start page's few."""
    rows = [
        (one.after.arena.name, one.idea, *one.by[one.after.arena.main].interval)
        for one in added
        if one.base == HYBRID
    ]
    data = pd.DataFrame(rows, columns=["data", "idea", "difference", "low", "high"])
    drawn = {"factorial_drawn": data, "documents_drawn": _of_documents(data)}
    return [
        path
        for name, part in drawn.items()
        if len(part)
        for path in figures.save(partial(_draw, part), part, folder, name)
    ]


def _of_documents(data: pd.DataFrame) -> pd.DataFrame:
    """Of all differences those of each document's own ideas, where all of these were run."""
    start = _entries()["start"]
    own = data[data["data"].isin(start["arenas"]) & data["idea"].isin(start["ideas"])]
    return own.assign(idea=own["idea"].map(start["ideas"]) + ": " + own["idea"])


def _draw(data: pd.DataFrame) -> Figure:
    title = "added to the plain hybrid: recall_all at ten docs, 95 % interval"
    return draw_intervals(data, "idea", "difference", "data", title=title)
