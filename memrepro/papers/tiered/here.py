"""The tiered design on the data that are here: which run stands in which row.

Granularity is searched over the whole memory by cosine alone. The design has HOT, WARM and COLD;
each variant leaves one part out, or has another in its place. A row whose run is missing says why.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pandas as pd

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.tiered.decay import span
from memrepro.papers.tiered.printed import printed
from memrepro.report.profile import Metrics, difference
from memrepro.report.tables import Cell, number
from memrepro.retrieve.tiered.scoring import half_life
from memrepro.study.params import Experiment, Plan

COLUMNS = (("recall_all", 5), ("recall_all", 10), ("recall_any", 5), ("ndcg", 10))
GIVEN = ("recall_all", 50)  # the design gives fewer than 50 docs: all that it gives
TESTED = (("recall_all", 5), ("recall_all", 10), ("ndcg", 10))
Columns = tuple[tuple[str, int], ...]
TOP5 = ("recall_any", 5)  # the document's 'Top-5 accuracy'


class Task(NamedTuple):
    """One search under several encoders: encoder → (experiment, setting)."""

    title: str
    level: str
    runs: Mapping[str, tuple[str, str]]


class Study(NamedTuple):
    """A data set under an encoder, and how its experiments are named.

    Attributes:
        title: for people.
        stem: what the names of the experiments begin with.
        dataset: key of the data set.
        level: what the docs of the design are.
        temporal: the kind of questions that ask about time; '' where there is none.
        updates: the kind that asks what has changed; '' where there is none.
        tasks: of the table of models; a study without any has the design's tables alone.
    """

    title: str
    stem: str
    dataset: str
    level: str = "round"
    temporal: str = ""
    updates: str = ""
    tasks: tuple[Task, ...] = ()


MINILM, MPNET = "all-MiniLM-L6-v2", "all-mpnet-base-v2"
STUDIES: Mapping[str, tuple[Study, ...]] = {
    "sample": (
        Study(
            "sample, all-MiniLM-L6-v2", "sample", "sample", "round", "temporal-reasoning",
            "knowledge-update",
            (
                Task("sample, rounds", "round", {MINILM: ("sample-round-keys", "user_only")}),
                Task("sample, sessions", "session", {MINILM: ("sample-session-keys", "user_only")}),
            ),
        ),
    ),
    "open": (
        Study(
            "LoCoMo, all-MiniLM-L6-v2", "locomo-minilm", "locomo", "round", "temporal", "",
            (
                Task("LoCoMo, rounds", "round", {
                    MINILM: ("locomo-minilm-round-keys", "concat"),
                    MPNET: ("locomo-mpnet-round-keys", "concat"),
                }),
                Task("LoCoMo, sessions", "session", {
                    MINILM: ("locomo-minilm-session-keys", "concat"),
                    MPNET: ("locomo-mpnet-session-keys", "concat"),
                }),
                Task("PersonaBench, entries", "session", {
                    MINILM: ("rfmem-minilm-familiarity", ""),
                    MPNET: ("rfmem-mpnet-familiarity", ""),
                }),
            ),
        ),
        *(
            Study(f"PersonaBench, {encoder}", stem, "personabench-n00", "session")
            for encoder, stem in ((MINILM, "personabench-minilm"), (MPNET, "personabench-mpnet"))
        ),
    ),
    "full": (
        Study(
            "LongMemEval S, Contriever", "lme-s-contriever", "longmemeval-s", "round",
            "temporal-reasoning", "knowledge-update",
            (
                Task("LongMemEval S, rounds", "round", {
                    "Contriever": ("lme-s-contriever-round-keys", "user_only"),
                    "BGE-M3": ("lme-s-bge-m3-user", ""),
                    "Stella 1.5B": ("lme-s-stella-round-keys", "user_only"),
                }),
            ),
        ),
    ),
}  # fmt: skip
TURN, SEGMENT, WHOLE, UNDATED = (
    f"docs are rounds, keys are {keys}"
    for keys in ("turns", "segments", "whole sessions", "segments without dates")
)
CONTEXT = "docs are rounds, keys are turns in their context"
TURN_S, SEGMENT_S, WHOLE_S = (row.replace("rounds", "sessions") for row in (TURN, SEGMENT, WHOLE))
DESIGN, FLAT = "the design", "segments, hybrid, nothing else"
WEIGHTED = "segments, hybrid, decay, nothing else"
NO_WINDOW, NO_FLOOR, NO_COLD, NO_HOT = (
    f"without {part}" for part in ("WARM's 7 days and COLD", "the threshold", "COLD", "HOT")
)
WHOLE_MEMORY = "without WARM's 7 days, COLD and the threshold"
# Under the tiers the score orders what little there is, so it is varied without them.
NO_DECAY, BUCKETS, MEMORY_BANK, REINFORCED = (
    f"{WHOLE_MEMORY}, {part}"
    for part in ("without decay", "time buckets", "MemoryBank's score", "accesses counted")
)
SEMANTIC, PRINTED_ALPHA, KEYWORD = (f"hybrid, α = {alpha}" for alpha in ("1.0", "0.7", "0.0"))
# Row → experiment and setting, to be filled in from a study, and the level of its docs ('' is the
# study's own).
ROWS: Mapping[str, tuple[str, str, str]] = {
    TURN: ("{stem}-tiered-turn", "", ""),
    SEGMENT: ("{stem}-tiered-segment", "", ""),
    WHOLE: ("{stem}-tiered-whole", "", ""),
    UNDATED: ("{stem}-tiered-segment-undated", "", ""),
    CONTEXT: ("{stem}-tiered-context", "", ""),
    TURN_S: ("{stem}-session-tiered-turn", "", "session"),
    SEGMENT_S: ("{stem}-session-tiered-segment", "", "session"),
    WHOLE_S: ("{stem}-session-tiered-whole", "", "session"),
    DESIGN: ("{stem}-tiered", "", ""),
    NO_WINDOW: ("{stem}-tiered-no-window", "", ""),
    WHOLE_MEMORY: ("{stem}-tiered-whole-memory", "", ""),
    NO_DECAY: ("{stem}-tiered-no-decay", "", ""),
    BUCKETS: ("{stem}-tiered-buckets", "", ""),
    MEMORY_BANK: ("{stem}-tiered-memorybank", "", ""),
    NO_FLOOR: ("{stem}-tiered-no-floor", "", ""),
    NO_COLD: ("{stem}-tiered-no-cold", "", ""),
    NO_HOT: ("{stem}-tiered-no-hot", "", ""),
    REINFORCED: ("{stem}-tiered-reinforced", "", ""),
    FLAT: ("{stem}-tiered-hybrid", "", ""),
    WEIGHTED: ("{stem}-tiered-rate", "0.01", ""),
    SEMANTIC: ("{stem}-tiered-alpha", "1.0", ""),
    PRINTED_ALPHA: ("{stem}-tiered-alpha", "0.7", ""),
    KEYWORD: ("{stem}-tiered-alpha", "0.0", ""),
}
GRANULARITIES = (TURN, SEGMENT, WHOLE, TURN_S, SEGMENT_S, WHOLE_S)
DESIGNS = (
    DESIGN, NO_WINDOW, WHOLE_MEMORY, NO_DECAY, BUCKETS, MEMORY_BANK, NO_FLOOR, NO_COLD, NO_HOT,
    REINFORCED,
)  # fmt: skip


class Sweep(NamedTuple):
    """A sweep: the end of its name, what a setting is called, and the document's setting."""

    name: str
    called: str
    printed: float


SWEEPS: Mapping[str, Sweep] = {
    "alpha": Sweep("{stem}-tiered-alpha", "α", 0.7),
    "rate": Sweep("{stem}-tiered-rate", "decay rate", 0.01),
    "threshold": Sweep("{stem}-tiered-threshold", "threshold", 0.65),
    "units": Sweep("{stem}-tiered-units", "segments given", 5),
    "diversity": Sweep("{stem}-tiered-diversity", "λ of MMR", 0.7),
    "window": Sweep("{stem}-tiered-window", "days of WARM", 7),
}


class Runs:
    """The rows of a study: per-question values, or why there are none."""

    def __init__(self, metrics: Metrics, plan: Plan, profile: str, study: Study) -> None:
        self.metrics, self.profile, self.study = metrics, profile, study
        self.planned = {**plan.experiments, **plan.sweeps}

    def place(self, row: str) -> tuple[str, str, str]:
        """The experiment, the setting and the level of a row."""
        experiment, setting, level = ROWS[row]
        return experiment.format(stem=self.study.stem), setting, level or self.study.level

    def is_planned(self, row: str) -> bool:
        """Whether params.yaml has a row's experiment."""
        return self.place(row)[0] in self.planned

    def why_not(self, row: str) -> str:
        """Why a row has no values; '' where it has."""
        experiment, setting, _ = self.place(row)
        return self.missing(experiment, setting)

    def missing(self, experiment: str, setting: str = "") -> str:
        """Why an experiment has no values under a setting; '' where it has."""
        if experiment not in self.planned:
            return f"{experiment} is not in params.yaml"
        if setting not in self.metrics.settings(experiment):
            return f"{' '.join([experiment, setting]).strip()} has not been run"
        return ""

    def values(self, row: str, metric: str, k: int) -> pd.DataFrame | None:
        """`query_id, kind, value` of a row that was run; None where its list is shorter than k."""
        experiment, setting, level = self.place(row)
        return self.at(experiment, setting, level, metric, k)

    def at(
        self, experiment: str, setting: str, level: str, metric: str, k: int
    ) -> pd.DataFrame | None:
        """The same of an experiment."""
        try:
            return self.metrics.values(experiment, level, metric, k, setting)
        except MemreproError:  # evaluation leaves cut-offs out that are beyond the list
            return None

    def docs(self, experiment: str, setting: str = "") -> float | None:
        """How many docs a query is given, on average over those of the run; None without a run."""
        path = paths.run(self.profile, experiment, self.planned[experiment].study)
        if not path.is_file():
            return None
        run = read_table(path)
        if setting and "setting" in run:
            run = run[run["setting"] == setting]
        asked = self._questions(experiment, setting)
        return float(run["query_id"].isin(asked).sum()) / len(asked) if asked else None

    def _questions(self, experiment: str, setting: str) -> set[str]:
        level = self.planned[experiment].granularity
        for metric, k in COLUMNS:
            found = self.at(experiment, setting, level, metric, k)
            if found is not None:
                return set(found["query_id"])
        return set()


def _cells(runs: Runs, row: str, columns: Columns, note: str) -> Iterator[Cell]:
    """A row's metrics and docs a query, or 'not run' with the reason."""
    experiment, setting, level = runs.place(row)
    why = runs.missing(experiment, setting)
    for metric, k in columns:
        name = f"{metric}@{k}"
        found = None if why else runs.at(experiment, setting, level, metric, k)
        if found is None:
            reason = why or f"{row}: not evaluated at {k}"
            yield Cell(row, name, name, "", "", 0, NOT_RUN, note=reason)
            continue
        value = number(found["value"].mean())
        yield Cell(row, name, name, "", value, len(found), NOT_COMPARABLE, note=note)
    docs = None if why else runs.docs(experiment, setting)
    if docs is not None:
        yield Cell(row, "docs a query", "docs", "", f"{docs:.1f}", 0, NOT_COMPARABLE, note=note)


def granularity(runs: Runs) -> Iterator[Cell]:
    """Turns, segments and whole sessions as keys, by round and by session."""
    note = (
        "cosine alone over the whole memory; a round's keys are its turns, the segments that it "
        "stands in, or its whole session; a session's are all of its turns, segments, or itself"
    )
    for row in (*GRANULARITIES, CONTEXT, UNDATED):
        if row in GRANULARITIES or runs.is_planned(row):
            yield from _cells(runs, row, COLUMNS, note)


def granularity_by_type(runs: Runs) -> Iterator[Cell]:
    """recall_all@5 of the granularities by type of question (MemGAS's finding, as quoted)."""
    for row in GRANULARITIES:
        if why := runs.why_not(row):
            yield Cell(row, "all", "recall_all@5", "", "", 0, NOT_RUN, note=why)
            continue
        found = runs.values(row, "recall_all", 5)
        if found is None:
            continue
        for kind, part in [("all", found), *found.groupby("kind", sort=True)]:
            value, n = number(part["value"].mean()), len(part)
            yield Cell(row, str(kind), "recall_all@5", "", value, n, NOT_COMPARABLE)


def design(runs: Runs) -> Iterator[Cell]:
    """The design, and what each of its parts does; below it the whole memory without tiers.

    A study beside the main one has the rows that are planned for it.
    """
    for row in (*DESIGNS, FLAT, SEGMENT, TURN):
        if runs.study.tasks or runs.is_planned(row):
            note = ""
            if runs.is_planned(row):
                note = f"{row}: {_given(runs.planned[runs.place(row)[0]])}"
            yield from _cells(runs, row, (*COLUMNS, GIVEN), note)


def _given(one: Experiment) -> str:
    """An experiment's parameters, for a note."""
    return ", ".join(f"{name} {value}" for name, value in one.parameters.items())


def sweep(runs: Runs, what: str) -> Iterator[Cell]:
    """A sweep's settings, one a row; a decay rate has its half-life beside it."""
    one, settings = swept(runs, what)
    called = SWEEPS[what].called
    if one is None or not settings:
        why = runs.missing(SWEEPS[what].name.format(stem=runs.study.stem))
        yield Cell(called, "metrics", "metrics", "", "", 0, NOT_RUN, note=why)
        return
    experiment = SWEEPS[what].name.format(stem=runs.study.stem)
    k, note = one.parameters["k"], _given(one)
    for setting in settings:
        row = f"{called} {float(setting):g}"
        for metric in dict.fromkeys(metric for metric, _ in COLUMNS):
            found = runs.at(experiment, setting, one.granularity, metric, k)
            if found is not None:
                value, n, name = number(found["value"].mean()), len(found), f"{metric}@{k}"
                yield Cell(row, name, name, "", value, n, NOT_COMPARABLE, note=note)
        if (docs := runs.docs(experiment, setting)) is not None:
            shown = f"{docs:.1f}"
            yield Cell(row, "docs a query", "docs", "", shown, 0, NOT_COMPARABLE, note=note)
        if what == "rate":
            true = _half_life(float(setting))
            yield Cell(row, "half-life", "arithmetic", "", true, 0, NOT_COMPARABLE, note=note)


def swept(runs: Runs, what: str) -> tuple[Experiment | None, list[str]]:
    """A sweep's experiment, None where it is not planned, and its settings that were run."""
    experiment = SWEEPS[what].name.format(stem=runs.study.stem)
    if experiment not in runs.planned:
        return None, []
    return runs.planned[experiment], runs.metrics.settings(experiment)


def _half_life(rate: float) -> str:
    if rate <= 0:
        return "no decay"
    return span(half_life(rate)) if rate < 1 else "0: nothing that is past counts"


def models(runs: Runs) -> Iterator[Cell]:
    """Top-5 accuracy, the share of questions with a gold doc among five, by encoder and task."""
    name = f"{TOP5[0]}@{TOP5[1]}"
    note = "Top-5 accuracy is recall_any@5; the document's shares are of another task"
    tasks = runs.study.tasks
    encoders = dict.fromkeys([*(e for task in tasks for e in task.runs), MPNET, *printed("models")])
    values = {
        (encoder, task.title): runs.at(*task.runs[encoder], task.level, *TOP5)
        for task in tasks
        for encoder in task.runs
    }
    for encoder in encoders:
        for task in tasks:
            found = values.get((encoder, task.title))
            if found is None:
                why = "no vectors of this data set here; models of a hub or a service need it"
                if encoder in task.runs:
                    why = runs.missing(*task.runs[encoder])
                yield Cell(encoder, task.title, name, "", "", 0, NOT_RUN, note=f"{encoder}: {why}")
                continue
            value, n = number(found["value"].mean()), len(found)
            yield Cell(encoder, task.title, name, "", value, n, NOT_COMPARABLE, note=note)
    for task in tasks:
        first, *others = task.runs
        before = values[first, task.title]
        for other in others:
            now = values[other, task.title]
            if before is not None and now is not None:
                shown, row = difference(before, now), f"{other} less {first}"
                yield Cell(row, task.title, name, "", shown, len(now), NOT_COMPARABLE, note=note)
