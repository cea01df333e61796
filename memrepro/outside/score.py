"""Rankings made elsewhere under every protocol, and beside all committed runs of the data set.

Where the data set's gold is not here, a qrels file or a rule on ids stands for it: the one protocol
is then that gold, and there is no committed run to compare with.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import Comparison, Groups, compare, mean_interval
from memrepro.evaluate.comparison import questions as single_questions
from memrepro.evaluate.metrics import METRICS, Values
from memrepro.evaluate.multiple import holm
from memrepro.files import paths
from memrepro.files.atomic import read_yaml
from memrepro.outside.each import (
    EACH_COLUMNS,
    KIND_COLUMNS,
    Grouped,
    by_kind,
    each_question,
    whole_memories,
    without_kinds,
)
from memrepro.outside.qrels import NOT_LISTED, gold_by_rule, read_qrels, rule_of
from memrepro.outside.runs import (
    LEVELS,
    Docs,
    OutsideRun,
    docs_of,
    name_of,
    questions_of,
    read_against,
    read_run,
)
from memrepro.provenance.places import is_evaluated
from memrepro.report.profile import Metrics
from memrepro.study.evaluation import Gold, each_protocol, read_gold
from memrepro.study.groups import groups_of_questions
from memrepro.study.params import Plan, Protocol

VALUE_COLUMNS = ["run", "level", "protocol", "metric", "k", "n", "value", "low", "high", "by"]
BESIDE_COLUMNS = [
    "run", "level", "beside", "setting", "n", "value", "value_beside", "difference", "low", "high",
    "p", "p_holm", "won", "lost", "tied", "groups", "unit",
]  # fmt: skip
_DEEPEST = 100_000  # the largest cut-off, of whose places each metric keeps numbers
# Name, setting and level of a run → each question's value.
Others = Mapping[tuple[str, str, str], pd.Series]
QUESTION_COLUMNS = ["run", "level", "beside", "query_id", "kind", "value", "value_beside", "change"]


@dataclass(frozen=True)
class Scored:
    """What came out of scoring the runs of one data set.

    Attributes:
        dataset: by its name in params.yaml.
        metric, k: what runs are compared by.
        runs: as they were read.
        values: `VALUE_COLUMNS`: every protocol, metric and cut-off, means with 95 % intervals;
            `by` is what was resampled, such as '10 conversations'.
        beside: `BESIDE_COLUMNS`: each run beside every committed run of the same level, and every
            other outside run; the best first. Differences are run − beside, by the data set's unit.
        questions: `QUESTION_COLUMNS`: those won from and lost to the best committed run.
        basis: whose gold it is, in words.
        each: `each.EACH_COLUMNS` and each metric at k, under the first protocol.
        kinds: `each.KIND_COLUMNS`: the one metric by kind of question.
        whole: run and level → the share of questions whose whole memory k reaches.
        peers: what the runs are compared with, in words.
    """

    dataset: str
    metric: str
    k: int
    runs: tuple[OutsideRun, ...]
    values: pd.DataFrame
    beside: pd.DataFrame
    questions: pd.DataFrame
    basis: str = "the data set's own"
    each: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=EACH_COLUMNS))
    kinds: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=KIND_COLUMNS))
    whole: Mapping[tuple[str, str], float] = field(default_factory=dict)
    peers: str = "committed runs"

    def mean(self, name: str, level: str) -> dict[str, Any]:
        """`n, value, low, high, by` of a run at a level, under the stated protocol."""
        rows = self.values[
            (self.values[["run", "level", "metric", "k"]] == [name, level, self.metric, self.k])
            .all(axis=1)
        ]  # fmt: skip
        return {name: rows.iloc[0][name] for name in ("n", "value", "low", "high", "by")}

    def place(self, name: str, level: str) -> tuple[int, int]:
        """A run's place by its mean among the committed runs and itself, and how many they are."""
        committed = self.beside[
            (self.beside["run"] == name)
            & (self.beside["level"] == level)
            & ~self.beside["beside"].isin([run.name for run in self.runs])
        ]
        better = int((committed["value_beside"] > committed["value"]).sum())
        return better + 1, len(committed) + 1


def score(
    files: Sequence[Path], dataset: str, plan: Plan, level: str = "", metric: str = "recall_all",
    k: int = 10, leave_out: Collection[str] = (),
) -> Scored:  # fmt: skip
    """Evaluate run files of a data set.

    Args:
        files: one run each; two of one stem are numbered in their order.
        dataset: by its name in params.yaml.
        plan: of params.yaml.
        level: of the docs; by default each file's own.
        metric: what runs are compared by, of `METRICS`.
        k: its cut-off.
        leave_out: kinds of question that no value counts.

    Raises:
        MemreproError: for what `read_run` refuses, an unknown metric, or a data set without gold.
    """
    check_metric(metric, k)
    whole, grouped = gold_of(dataset, plan), _groups(dataset, plan)
    gold = without_kinds(whole, leave_out)
    runs = told_apart([read_run(path, dataset, plan, level) for path in files])
    values, kept = values_of(runs, gold, plan, metric, k, grouped)
    if not kept:
        raise MemreproError(f"{dataset} marks no evidence at the level of {files[0]}")
    others = _committed(dataset, plan, metric, k, whole.kinds.keys() - gold.kinds.keys())
    first = next(iter(plan.evaluation.protocols.values()))
    each = each_question(runs, gold, first, plan.evaluation.metrics, k)
    known = docs_of(dataset, plan.dataset(dataset).profile)
    return Scored(
        dataset, metric, k, tuple(runs), values, *beside_others(kept, others, grouped, gold.kinds),
        each=each, kinds=by_kind(each, metric, grouped), whole=whole_memories(each, known, k),
    )  # fmt: skip


def score_by(
    files: Sequence[Path], dataset: str, plan: Plan, qrels: Path | None,
    metric: str = "recall_all", k: int = 10, level: str = "",
) -> Scored:  # fmt: skip
    """Evaluate run files by a qrels file, or by the rule on the ids of a data set that is not here.

    Args:
        files: one run each.
        dataset: its name; without a qrels file one of `rules.yaml`.
        plan: of params.yaml, for its metrics and cut-offs.
        qrels: the file; None for the rule.
        metric: what sentences tell, of `METRICS`.
        k: its cut-off.
        level: what the docs are called, as ids do not tell; 'session' by default.

    Raises:
        MemreproError: for a file that cannot be read, or a data set without a rule.
    """
    check_metric(metric, k)
    rule = rule_of(dataset)
    if qrels is None and not rule:
        raise MemreproError(f"the gold of {dataset} is not here: name it by --qrels FILE")
    gold, grades = read_qrels(qrels) if qrels else ({}, [])
    asked = list(gold) or list(dict.fromkeys(q for path in files for q in questions_of(path)))
    known = Docs(dict.fromkeys(asked, ""), {}, ())
    runs = told_apart([read_against(path, known, dataset, level or LEVELS[0]) for path in files])
    name = f"gold of {qrels.name}" if qrels else f"gold by ids ({rule})"
    if len(grades) > 1:
        name += f", its grades {grades[0]:g} to {grades[-1]:g} counted alike"
    protocols, metrics = {name: Protocol("stated", {})}, plan.evaluation.metrics
    tables, each, ks = [], [], {k, *plan.evaluation.ks}
    for run in runs:
        told = gold or gold_by_rule(rule, run.frame)
        if all(parts == ((NOT_LISTED,),) for parts in told.values()):
            raise MemreproError(
                f"{run.path} is of no question of {dataset}: none of its docs has an id that fits "
                f"{rule!r}, such as its first, {run.frame['doc_id'].iloc[0]!r}"
            )
        own = Gold(dict.fromkeys(told, ""), {}, {LEVELS[0]: {}, run.level: told}, {})
        tables.append(values_under([run], own, protocols, metrics, ks, (metric, k))[0])
        each.append(each_question([run], own, protocols[name], metrics, k))
    none = pd.DataFrame(columns=BESIDE_COLUMNS), pd.DataFrame(columns=QUESTION_COLUMNS)
    return Scored(
        dataset, metric, k, tuple(runs), pd.concat(tables), *none, name, each=pd.concat(each)
    )


def check_metric(metric: str, k: int) -> None:
    """Refuse an unknown metric, or a cut-off that no list reaches."""
    if metric not in METRICS:
        raise MemreproError(f"unknown metric {metric!r}: known are {', '.join(METRICS)}")
    if not 1 <= k <= _DEEPEST:
        raise MemreproError(f"k is {k}: it must be in 1 to {_DEEPEST:,}")


def is_here(dataset: str, plan: Plan) -> bool:
    """Whether a data set's own gold is on this machine."""
    return dataset in plan.datasets and (
        paths.qrels(plan.dataset(dataset).profile, dataset).is_file()
    )


def told_apart(runs: Sequence[OutsideRun]) -> list[OutsideRun]:
    """The runs, those of one stem with their order in the name."""
    named: list[OutsideRun] = []
    for run in runs:
        same = sum(name_of(one.path) == run.name for one in named)
        named.append(replace(run, name=f"{run.name} ({same + 1})") if same else run)
    return named


def further_protocols(plan: Plan, kinds: Collection[str] = ()) -> dict[str, Protocol]:
    """The protocols of `protocols.yaml`.

    Args:
        plan: of params.yaml, whose first protocol they follow where they say nothing.
        kinds: of a data set's questions, of which a protocol may count some alone.
    """
    first = next(iter(plan.evaluation.protocols.values()))
    made = {}
    for name, entry in _written().items():
        counted = entry.get("kinds")
        others = {kind: "not of this subset" for kind in kinds if counted and kind not in counted}
        made[name] = replace(first, labels=entry["labels"], exclude=others or first.exclude)
    return made


def _written() -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = read_yaml(Path(__file__).with_name("protocols.yaml"))
    return found


def _filled() -> set[str]:
    """The protocols under which a question without gold counts as found."""
    return {name for name, entry in _written().items() if entry.get("without_gold") == "found"}


def gold_of(dataset: str, plan: Plan) -> Gold:
    """A data set's gold under every protocol, those of `score` alone too."""
    protocols = {**plan.evaluation.protocols, **further_protocols(plan)}
    return read_gold(plan.dataset(dataset).profile, dataset, protocols)


def values_of(
    runs: Sequence[OutsideRun], gold: Gold, plan: Plan, metric: str, k: int,
    grouped: Grouped | None = None,
) -> tuple[pd.DataFrame, dict[tuple[str, str], pd.Series]]:  # fmt: skip
    """`VALUE_COLUMNS` of runs, and by run and level each question's value of the one metric at k.

    The latter under the first protocol, of which every committed run's questions are kept. Which
    questions belong together `grouped` tells; without it each stands for itself.
    """
    further = further_protocols(plan, set(gold.kinds.values()))
    protocols = {**plan.evaluation.protocols, **further}
    ks, metrics = {k, *plan.evaluation.ks}, plan.evaluation.metrics
    return values_under(runs, gold, protocols, metrics, ks, (metric, k), grouped, _filled())


def values_under(
    runs: Sequence[OutsideRun], gold: Gold, protocols: Mapping[str, Protocol],
    metrics: Sequence[str], ks: Collection[int], kept_by: tuple[str, int],
    grouped: Grouped | None = None, filled: Collection[str] = (),
) -> tuple[pd.DataFrame, dict[tuple[str, str], pd.Series]]:  # fmt: skip
    """As `values_of`, under any protocols; of one without gold under those `filled`, it is found.

    Cut-offs beyond a run's lists are left out, but for that of `kept_by`.
    """
    first = next(iter(protocols))
    rows: list[tuple[str, str, str, str, int, int, float, float, float, str]] = []
    kept: dict[tuple[str, str], pd.Series] = {}
    for run in runs:
        reached = sorted(k for k in ks if k <= run.depth or k == kept_by[1])
        for level, name, evaluated in each_protocol(run.frame, run.level, gold, protocols):
            values = evaluated(metrics, reached)
            if name == first:
                kept[run.name, level] = pd.Series(values.by[kept_by], list(values.query_ids))
            if name in filled:
                values = _every(values, gold.kinds)
            ids = values.query_ids
            groups = grouped(ids) if grouped else single_questions(len(ids))
            rows += [(run.name, level, name, *row) for row in _means(values, groups)]
    return pd.DataFrame(rows, columns=VALUE_COLUMNS), kept


def _every(values: Values, asked: Collection[str]) -> Values:
    """The same with those of all questions that have no gold counted as found."""
    known = set(values.query_ids)
    without = [query_id for query_id in asked if query_id not in known]
    return Values(
        (*values.query_ids, *without),
        {key: np.append(column, np.ones(len(without))) for key, column in values.by.items()},
    )


def _groups(dataset: str, plan: Plan) -> Grouped:
    """Which questions of a data set belong together."""
    return lambda query_ids: groups_of_questions(dataset, query_ids, plan)


def _means(
    values: Values, groups: Groups
) -> Iterator[tuple[str, int, int, float, float, float, str]]:
    for (metric, k), column in values.by.items():
        yield metric, k, len(column), *mean_interval(column, groups), str(groups)


def _committed(dataset: str, plan: Plan, metric: str, k: int, gone: Collection[str]) -> Others:
    """The committed runs on a data set, without the questions that are gone."""
    found = {}
    planned = {name: one for name, one in plan.runs.items() if one.dataset == dataset}
    for profile in sorted(filter(is_evaluated, {one.profile for one in planned.values()})):
        metrics = Metrics(profile)
        for name, one in planned.items():
            if one.moves_questions or name not in metrics.experiments:
                continue
            for setting, level, named, cut in metrics.evaluated(name):
                if (named, cut) == (metric, k):
                    table = metrics.values(name, level, metric, k, setting)
                    values = table.set_index("query_id")["value"]
                    found[name, setting, level] = values.drop(list(gone), errors="ignore")
    return found


def beside_others(
    kept: Mapping[tuple[str, str], pd.Series], others: Others, grouped: Grouped,
    kinds: Mapping[str, str],
) -> tuple[pd.DataFrame, pd.DataFrame]:  # fmt: skip
    """`BESIDE_COLUMNS` and `QUESTION_COLUMNS` of runs beside others and each other.

    Args:
        kept: run and level → each question's value.
        others: what they are compared with; one of other questions is passed over.
        grouped: which questions belong together.
        kinds: of the questions.
    """
    rows, questions = [], []
    for (run, level), values in kept.items():
        peers = {(n, s): v for (n, s, at), v in others.items() if at == level}
        peers |= {(n, ""): v for (n, at), v in kept.items() if at == level and n != run}
        groups, mine = grouped([*values.index]), list[tuple[str, str, float, Comparison]]()
        for (name, setting), theirs in peers.items():
            if set(theirs.index) == set(values.index):
                theirs = theirs.reindex(values.index)
                compared = compare(theirs.to_numpy(), values.to_numpy(), groups)
                mine.append((name, setting, float(theirs.mean()), compared))
        mean, corrected = float(values.mean()), holm([found.p for *_, found in mine])
        told = [
            (run, level, name, setting, found.n, mean, other, *found.interval, found.p, p,
             found.won, found.lost, found.tied, found.groups, found.unit)
            for (name, setting, other, found), p in zip(mine, corrected, strict=True)
        ]  # fmt: skip
        told.sort(key=lambda row: (-row[6], row[2], row[3]))
        rows += told
        if best := next(((r[2], r[3]) for r in told if (*r[2:4], level) in others), None):
            theirs = others[(*best, level)].reindex(values.index)
            name = " ".join(best).strip()
            questions += [
                (run, level, name, q, kinds[q], float(values[q]), float(theirs[q]),
                 "won" if values[q] > theirs[q] else "lost")
                for q in values.index if values[q] != theirs[q]
            ]  # fmt: skip
    return (
        pd.DataFrame(rows, columns=BESIDE_COLUMNS),
        pd.DataFrame(questions, columns=QUESTION_COLUMNS),
    )
