"""The study's arenas (`study.yaml`): whose questions, which runs, and each question's values.

An arena is a data set's docs at one level under one encoder. Its budgets are docs (recall_all at 5
and 10) and tokens of a reader; all values are under the first protocol. A list that is shorter than
a budget has no more to give, and is counted as it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache, cached_property, lru_cache
from os.path import relpath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from numpy.typing import NDArray

from memrepro.core.similarity import Doubles
from memrepro.evaluate.budgets import tie_orders, tied_at, tokens_until
from memrepro.evaluate.clustered import Clusters
from memrepro.evaluate.comparison import QUESTION, Groups
from memrepro.evaluate.metrics import Judged, Ranks, coded, evaluate, ranks_of
from memrepro.files import paths
from memrepro.files.atomic import read_table, read_yaml
from memrepro.report.sources import FileSource, RunSource, Source
from memrepro.study.evaluation import Gold, cutoffs, read_gold
from memrepro.study.groups import groups_of_questions
from memrepro.study.params import Plan

_FILE = Path(__file__).with_name("study.yaml")
_METRIC = "recall_all"
_TIE_ORDERS = 10
DENSE, BM25, HYBRID = "dense", "BM25", "plain hybrid"
_ENDS = {DENSE: "1.0", BM25: "0.0"}


class Candidate(NamedTuple):
    """A run, and a setting where it is a sweep ('' otherwise)."""

    run: str
    setting: str

    def __str__(self) -> str:
        return f"{self.run}[{self.setting}]" if self.setting else self.run


class Ties(NamedTuple):
    """What the order of ties decides at the first ten docs.

    Attributes:
        questions: how many have a tie over the cut-off.
        moved: how far each random order moves each question, shape (n, n_orders).
    """

    questions: int
    moved: Doubles


@cache
def read_study() -> Mapping[str, Any]:
    """The study as it is written, read once."""
    found: Mapping[str, Any] = read_yaml(_FILE)
    return found


def arenas(profile: str, plan: Plan) -> Iterator["Arena"]:
    """Each arena of a profile whose data set has gold at its level, an encoder at a time."""
    entries = read_study()
    for entry in entries.get(profile, ()):
        for short, encoder in entry["encoders"].items():
            arena = Arena(profile, entry, short, encoder, entries["k"], plan)
            if arena.judged is not None:
                yield arena


@lru_cache(maxsize=1)
def _clusters(labels: tuple[str, ...]) -> Clusters:
    """Of the questions of these groups, which one encoder after the other answers."""
    return Clusters(labels)


class Arena:
    """A data set's docs at one level, and the runs over them under one encoder.

    Args:
        profile: whose runs.
        entry: of `study.yaml`.
        short: the encoder's name in runs.
        encoder: its own.
        k: the cut-off.
        plan: of the runs.
    """

    def __init__(
        self, profile: str, entry: Mapping[str, Any], short: str, encoder: str, k: int, plan: Plan
    ) -> None:
        self.profile, self.entry, self.encoder, self.k = profile, entry, encoder, k
        self.data, self.level, self.dataset = entry["arena"], entry["level"], entry["dataset"]
        self.name = f"{self.data}, {encoder}"
        # In its own profile the sample is all there is, and is counted.
        self.generated = bool(entry.get("generated"))
        self._short, self._plan = short, plan
        budgets = {f"{_METRIC}@{one}": (_METRIC, one) for one in (k // 2, k)}
        if "also" in entry:
            budgets[f"{entry['also']}@{k}"] = (entry["also"], k)
        self._at_docs, self.tokens = budgets, int(entry["tokens"])
        self.main = f"{_METRIC}@{k}"
        self.in_tokens = f"{_METRIC} in {self.tokens} tokens"
        # Few runs at a time, as they are large; several figures are taken from each.
        self._table = lru_cache(maxsize=1)(self._read_table)
        self._files: dict[tuple[Candidate, ...], tuple[Source, ...]] = {}
        self._known: dict[Candidate, dict[str, Doubles]] = {}  # a run stands in several methods
        self._too_short: dict[Candidate, int] = {}

    @cached_property
    def _gold(self) -> Gold:
        where = self._plan.dataset(self.dataset).profile
        return read_gold(where, self.dataset, self._plan.evaluation.protocols)

    @cached_property
    def judged(self) -> Judged | None:
        """The gold of the first protocol; None where the data set has none at the level."""
        key, protocol = next(iter(self._plan.evaluation.protocols.items()))
        return self._gold.judged(self.level, key, protocol)

    @cached_property
    def query_ids(self) -> tuple[str, ...]:
        """The questions, shape (n,)."""
        assert self.judged is not None  # `arenas` has left out those without
        return self.judged.query_ids

    @cached_property
    def _lengths(self) -> pd.DataFrame:
        where = self._plan.dataset(self.dataset).profile
        return read_table(paths.lengths(where, self.dataset)).astype({"tokens": "int64"})

    @cached_property
    def counts_tokens(self) -> bool:
        """Whether the docs of the level are few enough that their tokens were counted."""
        return bool((self._lengths["level"] == self.level).any())

    @cached_property
    def budgets(self) -> list[str]:
        """The names of the budgets: in docs, then in tokens where they are counted."""
        return [*self._at_docs, *([self.in_tokens] if self.counts_tokens else [])]

    @cached_property
    def _tokens_of(self) -> tuple[pd.Index, pd.Index, pd.Index, NDArray[np.int64]]:
        """Memories, docs, and beside each memory · docs + doc its tokens."""
        held = self._lengths[self._lengths["level"] == self.level]
        (memories, first), (docs, second) = (
            pd.factorize(held[name]) for name in ("memory_id", "doc_id")
        )
        places = memories.astype(np.int64) * len(second) + docs
        return pd.Index(first), pd.Index(second), pd.Index(places), held["tokens"].to_numpy()

    @cached_property
    def memories(self) -> pd.Series:
        """The memory of each question, by its id."""
        asked = self._lengths[self._lengths["level"] == "query"]
        return asked.set_index("doc_id")["memory_id"].astype(str)

    @cached_property
    def groups(self) -> Groups:
        """The conversation or person of each question, by the data set's unit."""
        return groups_of_questions(self.dataset, self.query_ids, self._plan)

    @cached_property
    def clusters(self) -> Clusters:
        """Settings are chosen for each of these on all others; a question by itself is one."""
        alone = self.groups.unit == QUESTION
        return _clusters(self.query_ids if alone else self.groups.labels)

    @cached_property
    def docs(self) -> float:
        """How many docs a question is searched among, on average."""
        held = self._lengths[self._lengths["level"] == self.level].groupby("memory_id").size()
        return float(held.reindex(self.memories.reindex(self.query_ids)).mean())

    def candidates(self, patterns: Sequence[str]) -> list[Candidate]:
        """The runs and settings that patterns name, in their order, then the plan's."""
        found: dict[Candidate, None] = {}
        for pattern in patterns:
            name, _, setting = self.fill(pattern).partition("[")
            for run, one in self._plan.runs.items():
                if one.profile != self.profile or not fnmatchcase(run, name):
                    continue
                if not paths.run(self.profile, run, one.study).is_file():
                    continue
                for known in one.variants():
                    if fnmatchcase(known, setting.removesuffix("]") or "*"):
                        found[Candidate(run, known)] = None
        return list(found)

    def fill(self, pattern: str) -> str:
        """A pattern with the encoder's short name."""
        return pattern.replace("{encoder}", self._short)

    def methods(self) -> Iterator[tuple[str, list[Candidate], list[Candidate], str]]:
        """`method, printed, tuned, seeds`: the plain ones first; `printed` has at most one."""
        plain = self.entry["plain"]
        for name, alpha in _ENDS.items():
            yield name, self.candidates([f"{plain}[{alpha}]"]), [], ""
        yield HYBRID, self.candidates([f"{plain}[0.5]"]), self.candidates([plain]), ""
        for name, entry in self.entry["methods"].items():
            if self._short not in entry.get("encoders", [self._short]):
                continue
            tuned = self.candidates(entry.get("tuned", ()))
            printed = self.candidates(entry["printed"])[:1]
            yield name, printed, tuned if len(tuned) > 1 else [], self.fill(entry.get("seeds", ""))

    def values(self, candidates: Sequence[Candidate]) -> dict[str, Doubles]:
        """Budget → the value of each question under each candidate, shape (n, n_candidates)."""
        for one in candidates:
            if one not in self._known:
                self._evaluate(one.run)
        found = [self._known[one] for one in candidates]
        return {name: np.stack([one[name] for one in found], axis=1) for name in self.budgets}

    def _evaluate(self, run: str) -> None:
        """Find the values of all settings of a run at once."""
        ranks, spent, whole = self._rows_of_gold(run)
        assert self.judged is not None
        metrics, ks = ([*dict.fromkeys(of)] for of in zip(*self._at_docs.values(), strict=True))
        by = evaluate(ranks, self.judged, metrics, ks).by
        found = {name: by[at] for name, at in self._at_docs.items()}
        if self.counts_tokens:
            few, of = spent <= self.tokens, ranks.settings
            assert of is not None
            given = replace(ranks, pairs=ranks.pairs[few], ranks=ranks.ranks[few], settings=of[few])
            deep = int(given.ranks.max(initial=1))  # a floor may leave nothing at all
            found[self.in_tokens] = evaluate(given, self.judged, [_METRIC], [deep]).by[
                _METRIC, deep
            ]
        for place, setting in enumerate(self._plan.runs[run].variants()):
            one = Candidate(run, setting)
            self._known[one] = {name: values[place] for name, values in found.items()}
            self._too_short[one] = int((whole[place] <= self.tokens).sum())

    def _rows_of_gold(self, run: str) -> tuple[Ranks, Doubles, Doubles]:
        """The ranks of a run that can be gold, and what its lists cost a reader.

        Returns:
            The ranks, of all settings; beside each the tokens of all docs of the question down to
            its own; and the tokens of each question's whole list, shape (n_settings, n).
        """
        table, settings = self._table(run), [*self._plan.runs[run].variants()]
        assert self.judged is not None
        (query, queries), (doc, docs) = (coded(table[name]) for name in ("query_id", "doc_id"))
        of = np.zeros(len(table), np.int64)
        if "setting" in table:  # one that found nothing has no rows
            of = coded(table["setting"].cat.set_categories(settings))[0]
        tokens = self._doc_tokens(table, query, doc)
        width = len(queries) + 1  # the last is of those that are not asked
        lists, known = of * width + query, of >= 0
        spent = tokens_until(pd.Series(lists), tokens).to_numpy()
        whole = np.bincount(lists[known], np.nan_to_num(tokens)[known], len(settings) * width)
        of_lists = whole.astype(np.float64).reshape(-1, width)
        asked = table["query_id"].cat.categories.get_indexer(pd.Index(self.query_ids))
        is_gold = pc.is_in(docs, self.judged.ids[1].unique()).to_numpy(zero_copy_only=False)[doc]
        rows = np.flatnonzero(is_gold & known)
        ranks = Ranks(
            queries, docs, query[rows] * len(docs) + doc[rows],
            table["rank"].to_numpy(np.int64)[rows], of[rows], len(settings),
        )  # fmt: skip
        return ranks, spent[rows], of_lists[:, asked]

    def _ranking(self, one: Candidate) -> pd.DataFrame:
        """`query_id, doc_id, rank, score` of a run, in order of rank for each question.

        The ids are categories, those of questions in the order of their texts.
        """
        table = self._table(one.run)
        if one.setting and "setting" in table:
            table = table[table["setting"] == one.setting]
        queries = table["query_id"].cat
        table = table.assign(query_id=queries.set_categories(sorted(queries.categories)))
        # By number, which is as stable as by text and much faster.
        table = table.take(np.lexsort((table["rank"], table["query_id"].cat.codes)))
        return table[["query_id", "doc_id", "rank", "score"]].reset_index(drop=True)

    def _read_table(self, run: str) -> pd.DataFrame:
        """A run of all settings, in each of which a question's rows are in order of rank."""
        path = paths.run(self.profile, run, self._plan.runs[run].study)
        return read_table(path, ["setting", "query_id", "doc_id"])

    def _doc_tokens(self, run: pd.DataFrame, query: Any, doc: Any) -> Doubles:
        """The tokens of each row's doc, whose codes are given, shape (n_rows,)."""
        queries, docs = (run[name].cat.categories for name in ("query_id", "doc_id"))
        memory_ids, doc_ids, places, tokens = self._tokens_of
        asked = memory_ids.get_indexer(pd.Index(self.memories.reindex(queries)))[query]
        named = doc_ids.get_indexer(docs)[doc]
        at = places.get_indexer(pd.Index(asked * len(doc_ids) + named))
        return np.where((at < 0) | (asked < 0) | (named < 0), np.nan, tokens[at])

    def too_short(self, one: Candidate) -> int:
        """How many questions have a list that ends before the budget of tokens does."""
        self.values([one])
        return self._too_short[one]

    def ties(self, one: Candidate) -> Ties | None:
        """The ties at the cut-off; None where the list ends there, or its scores rise in it."""
        if not (self._table(one.run)["rank"] > self.k).any():
            return None
        run = self._ranking(one)
        query = run["query_id"].cat.codes.to_numpy()
        same = query[1:] == query[:-1]
        if not (run["rank"] > self.k).any() or (np.diff(run["score"])[same] > 0).any():
            return None
        tied = tied_at(run, self.k)
        asked = set(run["query_id"][tied]) & set(self.query_ids)
        ranks, (metric, k) = ranks_of(run), self._at_docs[self.main]
        assert self.judged is not None
        before = evaluate(ranks, self.judged, [metric], [k]).by[metric, k]
        moved = [
            evaluate(other, self.judged, [metric], [k]).by[metric, k] - before
            for other in tie_orders(run, tied, ranks, _TIE_ORDERS if asked else 1)
        ]
        return Ties(len(asked), np.stack(moved, axis=1))

    def source(self, one: Candidate, budget: str) -> tuple[Source, ...]:
        """Where the values of a candidate come from."""
        planned, evaluation = self._plan.runs[one.run], self._plan.evaluation
        if budget in self._at_docs:
            metric, k = self._at_docs[budget]
            kept = k in cutoffs(planned, self._plan)
            if planned.varies_keys:  # of these less is kept
                kept = k in evaluation.protocol_ks and metric in evaluation.protocol_metrics
            if kept:
                return (RunSource(one.run, one.setting, self.level, metric, k),)
        return self.files([one])

    def files(self, candidates: Sequence[Candidate]) -> tuple[Source, ...]:
        """The files of runs, and of the gold and lengths that judge them."""
        key = (*candidates,)
        if key not in self._files:
            runs = dict.fromkeys(one.run for one in candidates)
            of_runs = sorted(
                paths.run(self.profile, run, self._plan.runs[run].study) for run in runs
            )
            where = self._plan.dataset(self.dataset).profile
            judging = [paths.qrels(where, self.dataset), paths.lengths(where, self.dataset)]
            root = paths.results(self.profile)
            # Gold may lie with another profile's data.
            self._files[key] = tuple(FileSource(relpath(path, root)) for path in of_runs + judging)
        return self._files[key]
