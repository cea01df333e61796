"""MTEB's published scores of all-MiniLM-L6-v2 on the two data sets, beside a run of its task."""

from collections.abc import Iterator

from memrepro.audit.verdicts import NOT_RUN, OTHER_EDITION, judge
from memrepro.files import paths
from memrepro.outside import mteb
from memrepro.report.tables import Cell
from memrepro.study.params import load_plan

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
    for one in mteb.beside(run, plan):
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
