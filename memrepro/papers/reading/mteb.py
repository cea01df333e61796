"""MTEB's published scores of all-MiniLM-L6-v2 on the two data sets, beside a run of its task."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from memrepro.audit.verdicts import NOT_RUN, OTHER_EDITION, judge
from memrepro.files import paths
from memrepro.outside import mteb
from memrepro.report.tables import Cell
from memrepro.study.params import load_plan
from memrepro.study.plan import Plan

RUN = "mteb-locomo-minilm"
_ABSENT = (
    "a doc of MTEB's LongMemEval is a session of the history M (237,655 sessions, 460 to 490 a "
    "question, counted in M's own file too), of which the user's turns are the text; M is not "
    "here, and S has 38 to 62 sessions a question"
)
_NOTE = (
    "judged to three decimals; the turns of a conversation as MTEB has them, gold as the evidence "
    "names it, one subset of questions at a time"
)


def cells(profile: str) -> Iterator[Cell]:
    """A row a task and subset, a column a metric; a value of LongMemEval is not run."""
    plan = load_plan()
    run = paths.run(profile, RUN, plan.experiment(RUN).study)
    if not run.is_file():
        yield Cell(
            "LoCoMo", "recall@10", "recall@10", "", "", 0, NOT_RUN, note=f"{RUN} has not run"
        )
        return
    beside = mteb.beside(run, plan)
    for one in beside:
        row, shown = f"{one.task}, {one.subset}", f"{one.published:.3f}"
        if one.here < 0:
            yield Cell(row, one.metric, one.metric, shown, "", one.n, NOT_RUN, note=_ABSENT)
            continue
        label, term = judge(shown, one.here)
        if one.n != one.n_here:
            label, term = OTHER_EDITION, f"{one.n} questions there, {one.n_here} here"
        yield Cell(
            row, one.metric, one.metric, shown, f"{one.here:.5f}", one.n_here, label, term,
            note=f"{_NOTE}; published: {one.published:.5f}",
            sources=f"file {run.relative_to(paths.results(profile))}",
        )  # fmt: skip
    yield from _exchanged(run, plan, profile, beside)


def _exchanged(
    run: Path, plan: Plan, profile: str, beside: Sequence[mteb.Beside]
) -> Iterator[Cell]:
    """The values once docs of almost one cosine have changed places, as another precision may."""
    told = [one for one in beside if one.task == "LoCoMo" and one.here >= 0]
    for subset in dict.fromkeys(one.subset for one in told):
        if (found := mteb.exchanges(run, plan, subset)) is None:
            continue
        pairs, values = found
        where = ", ".join(f"{p.query_id} at rank {p.rank} ({p.gap:.6f})" for p in pairs)
        note = (
            f"LoCoMo, {subset}: the fewest neighbours among the first eleven docs, at most 0.0001 "
            f"apart in cosine, by whose exchange all published values come out to five decimals, "
            f"found by looking at these: {where}"
        )
        for one in (one for one in told if one.subset == subset):
            shown, value = f"{one.published:.5f}", values[one.metric]
            label, term = judge(shown, value, picked=True)
            yield Cell(
                f"LoCoMo, {subset}, {len(pairs)} pairs of neighbours exchanged", one.metric,
                one.metric, shown, f"{value:.5f}", one.n_here, label, term, note=note,
                sources=f"file {run.relative_to(paths.results(profile))}",
            )  # fmt: skip
