"""The study as tables: every row, equal budgets, choices, ties, and which idea helps where."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN
from memrepro.papers.findings.arenas import HYBRID, Candidate, read_study
from memrepro.papers.findings.costs import Cost, cost_of
from memrepro.papers.findings.study import (
    ABOVE,
    BASELINES,
    BELOW,
    PRINTED,
    TUNED,
    UNCLEAR,
    Outcome,
    Study,
)
from memrepro.report.sources import FileSource, Source, write_sources
from memrepro.report.tables import Cell, number, with_ends

_SIDES = (ABOVE, UNCLEAR, BELOW)
_ALL = "all five"
_GENERATED = f"{_ALL}, on the generated sample"


def _cell(
    one: Outcome, column: str, text: str, sources: Sequence[Source], note: str = "", row: str = ""
) -> Cell:
    return Cell(
        row or one.row, column, one.arena.main, "", text, len(one.arena.query_ids), NOT_COMPARABLE,
        note=note, sources=write_sources(sources),
    )  # fmt: skip


def _against(one: Outcome, column: str, reference: str, budget: str) -> Cell:
    cell = _cell(one, column, "", one.sources_against(reference, budget))
    return cell._replace(metric=budget, comparison=one.against[reference][budget])


def study_cells(study: Study) -> Iterator[Cell]:
    """Every method on every arena: its value, and how it stands to the plain ones."""
    note = (
        "as printed: the document's own setting, or the released code's; as tuned: each person's "
        "or conversation's questions under the setting best on all others; intervals: 95 %, "
        "persons or conversations resampled, then their questions, the choice made again in each "
        "resample, the seed or the order of ties drawn; above or below: the interval leaves out 0, "
        "which is exploratory and no test; what is tested is the table confirmatory"
    )
    for one in study.outcomes:
        budget, own = one.arena.main, one.sources(one.arena.main)
        yield _cell(one, "value", with_ends(one.interval(budget)), own, note)
        note = ""
        for name in one.against:
            yield _against(one, f"less {name}", name, budget)
        for name in BASELINES:
            if name in one.against:
                sources = one.sources_against(name, budget)
                yield _cell(one, f"against {name}", one.side(name), sources)
    for lost in study.missing:
        n = len(lost.arena.query_ids)
        yield Cell(lost.row, "value", lost.arena.main, "", "", n, NOT_RUN, note=lost.why)


def budget_cells(study: Study) -> Iterator[Cell]:
    """Each method under equal budgets in docs and in tokens, and its difference from the hybrid."""
    for arena in study.arenas:
        note = (
            f"{arena.data}: tokens are those of whole docs, best first, until one would exceed "
            f"{arena.tokens}; choices are made on the budget that they are judged by"
        )
        for one in study.outcomes_on(arena):
            for budget in arena.budgets:
                name = budget.replace(str(arena.tokens), "T")
                text = number(one.mean(budget))
                yield _cell(one, name, text, one.sources(budget), note)._replace(metric=budget)
                note = ""
                if HYBRID in one.against:
                    yield _against(one, f"{name}, less {HYBRID}", HYBRID, budget)
            if not arena.counts_tokens:
                continue
            short = str(one.short)
            files = arena.files(one.candidates[:1])
            yield _cell(one, "lists shorter than T tokens", short, files)._replace(
                metric="questions"
            )


def choice_cells(study: Study) -> Iterator[Cell]:
    """What was chosen for how many groups, and what a choice on the test questions promises."""
    for one in study.outcomes:
        if one.variant != TUNED:
            continue
        sources, budget = one.sources(one.arena.main), one.arena.main
        groups = sum(one.chosen[budget].values())
        most, *others = (
            f"{_called(candidate)} ({times} of {groups})"
            for candidate, times in one.chosen[budget].most_common()
        )
        texts = {
            "settings": str(len(one.candidates)),
            "groups": str(groups),
            "chosen most": most,
            "others chosen": ", ".join(others) or "none",
            "chosen on other groups": number(one.mean(budget)),
            "best on these questions": number(one.best[1]),
            "optimism": f"{one.best[1] - one.mean(budget):+.4f}",
        }
        for column, text in texts.items():
            yield _cell(one, column, text, sources)


def _called(candidate: Candidate) -> str:
    """A run and its setting without data set and encoder, as `round-hybrid at 0.5`."""
    run = re.sub(r"^.*?(minilm|mpnet)-", "", candidate.run)
    return f"{run} at {candidate.setting}" if candidate.setting else run


def tie_cells(study: Study) -> Iterator[Cell]:
    """How many questions a tie at the cut-off touches, and how far its order moves the mean."""
    note = "tied docs in random orders; runs whose lists end at the cut-off do not show their ties"
    for one in study.outcomes:
        if one.variant != PRINTED or one.ties is None:
            continue
        means = one.mean(one.arena.main) + one.ties.moved.mean(axis=0)
        texts = {
            "questions with a tie at the cut-off": str(one.ties.questions),
            "as ranked": number(one.mean(one.arena.main)),
            "mean of the orders": number(float(means.mean())),
            "least": number(float(means.min())),
            "most": number(float(means.max())),
        }
        for column, text in texts.items():
            yield _cell(one, column, text, one.arena.files(one.candidates), note)
            note = ""


def cost_cells(study: Study) -> Iterator[Cell]:
    """The cost of a query of each method on each arena."""
    note = (
        "a query is encoded once, by BM25 not at all; keys compared: searches × the keys of the "
        "question's memory; vectors are float32; milliseconds: search alone, on the machine of the "
        "published measurement"
    )
    for arena in study.arenas:
        for one in study.best_variants(arena):
            cost = cost_of(one)
            files = [*arena.files(one.candidates[:1])]
            for column, text in _cost_texts(cost).items():
                yield _cell(one, column, text, files, note, f"{one.method}; {arena.name}")
                note = ""


def _cost_texts(cost: Cost) -> dict[str, str]:
    def counted(value: float | None, digits: int = 1) -> str:
        return "not counted" if value is None else f"{value:,.{digits}f}"

    timed = cost.milliseconds
    return {
        "keys a doc": counted(cost.keys),
        "searches a query": counted(cost.searches),
        "keys compared a query": counted(cost.compared, 0),
        "MB of vectors": counted(cost.megabytes),
        "besides": cost.work or "nothing",
        "a language model writes": cost.writes or "nothing",
        "ms a search": "not measured" if timed is None else f"{timed:.2f}",
    }


def count_cells(study: Study) -> Iterator[Cell]:
    """How many comparisons of each document's methods lie above, below, or show nothing clear.

    Those on texts of this project's own making have a row by themselves; methods of no document
    and published runs of others have none.
    """
    documents = read_study()["documents"]
    note = "exploratory: by the 95 % interval of each comparison, no test"
    for name in BASELINES:
        counted: Counter[tuple[str, str]] = Counter()
        for arena in study.arenas:
            for one in study.best_variants(arena):
                owner = one.method.partition(":")[0]
                if owner in documents and name in one.against:
                    rows = (_GENERATED,) if arena.generated else (owner, _ALL)
                    counted.update((row, one.side(name)) for row in rows)
        for owner in dict.fromkeys(owner for owner, _ in counted):
            n = sum(counted[owner, word] for word in _SIDES)
            for word in _SIDES:
                shown = str(counted[owner, word])
                yield Cell(
                    owner, f"{name}: {word}", "comparisons", "", shown, n, NOT_COMPARABLE,
                    note=note, sources=str(FileSource("findings/study.csv")),
                )  # fmt: skip
