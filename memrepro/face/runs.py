"""Rankings and what they are worth, question by question: committed runs, sweeps, and one's own."""

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from memrepro.core.memory import GRANULARITIES
from memrepro.core.ranking import COLUMNS
from memrepro.errors import MemreproError, cut
from memrepro.evaluate.comparison import QUESTION, Groups
from memrepro.evaluate.metrics import read_metric
from memrepro.face.committed import committed_plan
from memrepro.face.conversations import Conversations, gold_of
from memrepro.face.defaults import excluded_kinds
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.outside.forms import Row, id_of
from memrepro.outside.runs import Docs, check_rows, docs_of, problem_sentences
from memrepro.report.runs import check_order
from memrepro.study.evaluation import Gold, check_whole, each_protocol, read_gold
from memrepro.study.groups import groups_of_questions
from memrepro.study.plan import Plan, Protocol

_RUN_COLUMNS = [
    "dataset", "level", "method", "key_scheme", "encoder", "profile", "vary", "settings",
]  # fmt: skip


class Trace(NamedTuple):
    """How a run answered each query: the tables of `retrieve.rfmem.retrievers.Trace`."""

    queries: pd.DataFrame
    branches: pd.DataFrame
    hits: pd.DataFrame


class Judging(NamedTuple):
    """What a data set's questions are judged by.

    Attributes:
        gold: at every level, under every labelling.
        protocols: by name, the first of which is the default.
        groups: question ids → what an interval resamples.
        asked: the questions that count; None for all.
    """

    gold: Gold
    protocols: Mapping[str, Protocol]
    groups: Callable[[Sequence[str]], Groups]
    asked: frozenset[str] | None = None


@dataclass(frozen=True)
class Run:
    """A ranking of a data set's docs for its questions.

    Attributes:
        name: of the experiment; of one's own ranking 'own'.
        dataset: that it ranks.
        level: what its docs are: 'session', 'round', 'turn', or an extraction such as 'nlp-fact'.
        ranking: `query_id, doc_id, rank, score`, best first; one's own has no scores.
        setting: of a sweep; '' otherwise.
        problems: what is wrong with one's own ranking → the items, such as 'conv-26-q0: D99'.
        depth: how many docs a committed run was asked for; 0 of one's own, which may be short.
    """

    name: str
    dataset: str
    level: str
    ranking: pd.DataFrame = field(repr=False)
    setting: str = ""
    problems: Mapping[str, Sequence[str]] = field(default_factory=dict)
    judging: Judging = field(repr=False, kw_only=True)
    folder: Path | None = field(default=None, repr=False, kw_only=True)
    depth: int = field(default=0, repr=False, kw_only=True)

    def values(self, metric: str = "recall@10", level: str = "", protocol: str = "") -> pd.Series:
        """A metric of each question that counts, in 0..1, named after the metric.

        The index has the levels `query_id` and `kind`, and where a data set's intervals resample
        conversations or persons, `conversation` or `person`: `values.groupby("kind").mean()` works,
        and `compare` knows what to resample.

        Args:
            metric: such as 'recall@10', 'recall_all@5', 'ndcg@10', see `evaluate.metrics`.
            level: what is counted: the docs' own by default, or 'session'.
            protocol: whose labels count, of `evaluation.protocols` in params.yaml; its first by
                default.

        Raises:
            MemreproError: for an unknown metric or protocol, a k beyond the depth, or a level at
                which nothing is marked.
        """
        (name, k), known = read_metric(metric), self.judging.protocols
        if 0 < self.depth < k:
            raise MemreproError(f"{self} ranks {self.depth} docs a question: no value at k = {k}")
        chosen = protocol or next(iter(known))
        if chosen not in known:
            raise MemreproError(f"unknown protocol {protocol!r}: known are {', '.join(known)}")
        levels, only = list[str](), {chosen: known[chosen]}
        for at, _, evaluated in each_protocol(self.ranking, self.level, self.judging.gold, only):
            if at == (level or at):
                found = evaluated([name], [k])
                return self._series(found.query_ids, found.by[name, k], metric)
            levels.append(at)
        raise MemreproError(
            f"{self} has no values by {level or self.level} under the protocol {chosen!r}: "
            + (f"there are those by {', '.join(levels)}" if levels else "no evidence is marked")
        )

    def _series(self, query_ids: Sequence[str], values: np.ndarray, metric: str) -> pd.Series:
        kinds = [self.judging.gold.kinds[query_id] for query_id in query_ids]
        levels = {"query_id": list(query_ids), "kind": kinds}
        groups = self.judging.groups(query_ids)
        if groups.unit != QUESTION:
            levels[groups.unit] = list(groups.labels)
        index = pd.MultiIndex.from_arrays(list(levels.values()), names=list(levels))
        found = pd.Series(values, index, name=metric)
        asked = self.judging.asked
        return found if asked is None else found[index.isin(asked, level="query_id")]

    @property
    def gold(self) -> pd.DataFrame:
        """`query_id, level, part, doc_id`: the docs that answer each question, by level.

        The docs of one part of an answer are alternatives; a level such as 'round_audit' has
        other labels. No texts are needed.

        Example:
            >>> import memrepro as mr
            >>> gold = mr.run("locomo-minilm-rounds").gold
            >>> gold.query("query_id == 'conv-26-q0' and level == 'round'")["doc_id"].tolist()
            ['D1:3']
        """
        return gold_of(self.judging.gold.by_level)

    @property
    def trace(self) -> Trace:
        """How it answered each query, where it was kept.

        Raises:
            MemreproError: if it was not.
        """
        if self.folder is None or not self.folder.is_dir():
            raise MemreproError(
                f"{self} left no trace: only committed runs with `traced` in params.yaml have one"
            )
        return Trace(*(read_table(self.folder / f"{t}.parquet") for t in paths.TRACE_TABLES))

    def __str__(self) -> str:
        return f"{self.name} [{self.setting}]" if self.setting else self.name


@dataclass(frozen=True)
class Sweep:
    """One experiment under several settings of one parameter.

    Attributes:
        name: of the experiment.
        vary: the parameter, or 'key_scheme', 'granularity' or 'asked'.
        runs: setting → its run, in order.
    """

    name: str
    vary: str
    runs: Mapping[str, Run] = field(repr=False)

    def values(
        self, metric: str = "recall@10", level: str = "", protocol: str = ""
    ) -> pd.DataFrame:
        """`Run.values` of each setting, a column a setting; `.mean()` is the curve."""
        found = {key: one.values(metric, level, protocol) for key, one in self.runs.items()}
        return pd.DataFrame(found).rename_axis(columns=self.vary)


def run(
    source: str | pd.DataFrame, dataset: str | Conversations = "", *, setting: str = "",
    level: str = "", questions: Collection[str] | None = None,
) -> Run:  # fmt: skip
    """A committed run by its name, or a ranking of one's own, to be judged like any.

    Of one's own ranking a question that it leaves out counts as nothing found, a doc that is named
    twice by its first place, and an unknown doc keeps its place: `.problems` lists them.

    Args:
        source: an experiment of params.yaml (`memrepro experiments` lists them), or a table with
            `query_id`, `doc_id`, and `rank` or `score`; with neither, the order of its rows counts.
        dataset: of one's own ranking, by name (the repository has its gold) or as `load` gives it.
        setting: of a sweep.
        level: of one's own docs; by default the level that knows most of them.
        questions: of one's own ranking, the ids of those that count; all by default.

    Raises:
        MemreproError: for an unknown name, setting or data set, a ranking without the columns or of
            no known question, or a committed run outside a repository.

    Example:
        >>> import memrepro as mr
        >>> run = mr.run("rfmem-mpnet-familiarity")
        >>> run.ranking.columns.tolist(), run.ranking["query_id"].nunique()
        (['query_id', 'doc_id', 'rank', 'score'], 263)
        >>> values = run.values("recall@10")
        >>> print(f"{values.mean():.4f} of {len(values)} questions that count")
        0.5333 of 230 questions that count
    """
    if isinstance(source, pd.DataFrame):
        return _own(source, dataset, level, questions)
    plan = committed_plan(f"run({source!r})")
    one, variants = plan.experiment(source), plan.experiment(source).variants()
    if dataset or level or questions is not None:
        raise MemreproError(
            f"run({source!r}) is a committed run, whose data set and level are known: "
            "leave out dataset, level and questions"
        )
    if setting not in variants:
        raise MemreproError(
            f"{source} has no setting {setting!r}: "
            + (f"give one as text, of {cut(', '.join(variants))}" if one.vary else "it is no sweep")
        )
    return _committed(source, plan)[setting]


def runs(dataset: str = "", level: str = "") -> pd.DataFrame:
    """The committed runs: a row an experiment, by its name.

    Args:
        dataset: those on one data set; by default all.
        level: those whose docs are 'session', 'round' or 'turn'; by default all.

    Returns:
        `dataset, level, method, key_scheme, encoder, profile, vary, settings`: what the first of a
        sweep's settings has, what it varies ('' for one run), and how many settings it has.

    Raises:
        MemreproError: for a data set or level that no run is on, or outside a repository.

    Example:
        >>> import memrepro as mr
        >>> mr.runs("locomo").loc["locomo-minilm-rounds", ["level", "method", "encoder"]].tolist()
        ['round', 'dense.dense', 'all-minilm-l6-v2']
    """
    plan = committed_plan("runs()")
    rows = {}
    for name, one in plan.runs.items():
        if paths.run(one.profile, name, one.study).is_file():
            first = next(iter(one.variants().values()))
            rows[name] = (
                one.dataset, first.granularity, f"{one.method}.{one.retriever}", first.key_scheme,
                one.encoder, one.profile, one.vary, len(one.variants()),
            )  # fmt: skip
    table = pd.DataFrame.from_dict(rows, orient="index", columns=_RUN_COLUMNS).rename_axis("run")
    for column, wanted in (("dataset", dataset), ("level", level)):
        known = sorted(set(table[column]))
        if wanted and wanted not in known:
            raise MemreproError(
                f"no committed run has the {column} {wanted!r}: there are {', '.join(known)}"
            )
        table = table[table[column] == wanted] if wanted else table
    return table


def sweep(name: str) -> Sweep:
    """A committed run under all settings of what it varies.

    Args:
        name: of a sweep of params.yaml; `memrepro experiments` lists them.

    Raises:
        MemreproError: for an unknown name, a run that is no sweep, or outside a repository.

    Example:
        >>> import memrepro as mr
        >>> curve = mr.sweep("locomo-minilm-round-hybrid").values("recall_all@10").mean()
        >>> print(f"alpha {curve.idxmax()}: {curve.max():.4f}")
        alpha 0.5: 0.6705
    """
    plan = committed_plan(f"sweep({name!r})")
    if not (vary := plan.experiment(name).vary):
        raise MemreproError(f"{name} is one run, no sweep: use run({name!r})")
    return Sweep(name, vary, _committed(name, plan))


def _committed(name: str, plan: Plan) -> dict[str, Run]:
    """Setting → run of an experiment; '' → the one of no sweep."""
    one = plan.experiment(name)
    path = paths.run(one.profile, name, one.study)
    columns = [*(["setting"] if one.vary else []), *COLUMNS]
    table, judging = read_table(path, columns=columns), committed_judging(one.dataset, plan)
    check_order(path, table)
    try:
        check_whole(name, one.variants(), table, judging.gold)
    except MemreproError as error:
        raise MemreproError(f"{path}: {error}") from error
    folder = paths.trace(one.profile, name, one.study) if one.traced else None
    found = {}
    for setting, variant in one.variants().items():
        part = table[table["setting"] == setting] if setting else table
        ranking = part[COLUMNS].reset_index(drop=True)
        found[setting] = Run(
            name, one.dataset, variant.granularity, ranking, setting, judging=judging,
            folder=folder, depth=variant.parameters["k"],
        )  # fmt: skip
    return found


def committed_judging(dataset: str, plan: Plan) -> Judging:
    """A data set's committed gold under the protocols of params.yaml."""
    protocols = plan.evaluation.protocols
    gold = read_gold(plan.dataset(dataset).profile, dataset, protocols)
    return Judging(gold, protocols, lambda ids: groups_of_questions(dataset, ids, plan))


def _own(
    table: pd.DataFrame, dataset: str | Conversations, level: str,
    questions: Collection[str] | None,
) -> Run:  # fmt: skip
    if isinstance(dataset, Conversations):
        name, known, judging = dataset.name, docs_in(dataset), judging_of(dataset)
    elif dataset:
        plan = committed_plan(f"run(ranking, {dataset!r})")
        name, known = dataset, docs_of(dataset, plan.dataset(dataset).profile)
        judging = committed_judging(dataset, plan)
    else:
        raise MemreproError("a ranking of your own needs its data set: run(ranking, 'locomo')")
    if missing := {"query_id", "doc_id"} - set(table):
        raise MemreproError(
            f"the ranking has no column {min(missing)!r}: found {cut(', '.join(map(str, table)))}"
        )
    if level not in ("", *GRANULARITIES):
        raise MemreproError(f"unknown level {level!r}: known are {', '.join(GRANULARITIES)}")
    if questions is not None:
        asked = dict.fromkeys([questions] if isinstance(questions, str) else questions)
        if not asked:
            raise MemreproError("questions is empty: give the id of at least one, or leave it out")
        if strange := [q for q in asked if q not in known.memory_of]:
            raise MemreproError(f"{name} has no question {strange[0]!r}")
        judging = judging._replace(asked=frozenset(asked))
        known = replace(known, memory_of={q: known.memory_of[q] for q in asked})
    rows = pd.DataFrame({one: table.get(one, np.nan) for one in Row._fields}, columns=Row._fields)
    for one in ("query_id", "doc_id"):
        if (gaps := rows[one].isna()).any():  # which make floats of a column of whole numbers
            raise MemreproError(f"the ranking, row {gaps.argmax() + 1} has no {one}: leave it out")
        try:
            rows[one] = [*map(id_of, rows[one])]
        except (TypeError, ValueError) as error:
            raise MemreproError(f"the ranking: {error}") from error
    for one in ("rank", "score"):  # what is no number orders nothing, and is named
        # A decimal comma is read as in a file.
        plain = pd.to_numeric(rows[one].replace(",", ".", regex=True), errors="coerce")
        rows[one] = plain.astype(float)
    if not (given := [one for one in ("rank", "score") if one in table]):
        rows["rank"] = rows.groupby("query_id", sort=False).cumcount() + 1
    elif len(rows) and rows[given].isna().all(axis=None):
        raise MemreproError(f"the ranking has no number as {' or '.join(given)}: nothing orders it")
    level, ranking, problems = check_rows(rows, known, name, "the ranking", level)
    for sentence in problem_sentences("the ranking", problems):
        warnings.warn(sentence, stacklevel=3)
    return Run("own", name, level, ranking, problems=problems, judging=judging)


def judging_of(conversations: Conversations, leave_out: Sequence[str] = ()) -> Judging:
    """What the questions of conversations are judged by.

    Args:
        conversations: with their gold.
        leave_out: kinds of question that do not count, beside those that are never counted.

    Raises:
        MemreproError: for a kind that no question has.
    """
    kinds = {query.kind for query in conversations.dataset.queries}
    if strange := [kind for kind in leave_out if kind not in kinds]:
        raise MemreproError(
            f"no question of {conversations.name} is of the kind {strange[0]!r}: there are "
            f"{', '.join(sorted(map(repr, kinds)))}"
        )
    exclude = {**excluded_kinds(), **dict.fromkeys(leave_out, "left out as asked")}
    protocols = {"stated": Protocol("stated", exclude)}
    return Judging(conversations.as_gold(), protocols, conversations.groups)


def docs_in(conversations: Conversations) -> Docs:
    """The docs and questions of conversations; a message goes by its own id too."""
    held = {
        (level, name): frozenset(doc.round_id for s in memory.sessions for doc in of_session(s))
        for level, of_session in GRANULARITIES.items()
        for name, memory in conversations.dataset.memories.items()
    }
    memory_of = {query.query_id: query.memory_id for query in conversations.dataset.queries}
    aliases = tuple(
        (r"(?s)(.+)", name.replace("\\", r"\\") + r"/\1")
        for name, memory in conversations.dataset.memories.items()
        if memory.sessions[0].session_id.startswith(f"{name}/")
    )
    return Docs(memory_of, held, aliases)
