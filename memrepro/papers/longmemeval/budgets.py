"""Recall by the tokens that a reader is given: the retrieval half of LongMemEval's Figure 5.

Docs are given whole, best first, until the next one would exceed the budget. Evidence is counted by
rounds, whichever docs bring them: a session brings all of its own. A fact or summary stands for the
round or session that it was taken from; whether it still holds what was asked is not seen, so that
theirs is the most that a reader can find. Tokens are those of `lengths.parquet` and
`extracted_lengths.parquet` (`text.lengths.TOKENISER`), of the texts alone. A budget that some
question's list does not reach is left out, unless the list is all that the memory has: a short list
is not a bad one.
"""

from collections.abc import Iterator, Mapping
from math import inf
from typing import NamedTuple

import numpy as np
import pandas as pd

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.core.extractions import parent_of
from memrepro.core.memory import Parts
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report.runs import Runs
from memrepro.report.sources import FileSource, write_sources
from memrepro.report.specs import Spec, fill
from memrepro.report.tables import Cell, number
from memrepro.study.evaluation import Gold, read_gold
from memrepro.study.params import load_plan

BUDGETS = (250, 500, 1000, 1500, 2000, 2500)
ROUNDS = "round, K = V"
# What is given, from which run and setting; the first is what the others are compared with.
_GIVEN = {
    ROUNDS: ("{stem}-rounds", ""),
    "round, K = V, BM25 (words in lower case)": ("{lexical}-words", ""),
    "session, K = V, cut at the limit": ("{stem}-session-keys", "{base}"),
    "session, K = V, best of its windows": ("{stem}-session-windows", "{base}+{window}"),
    "fact": ("{stem}-facts", ""),
    "summary": ("{stem}-summaries", ""),
}
_NOTE = (
    "docs are given whole until the next would exceed the budget; evidence counted by rounds; a "
    "fact or summary counts as the round or session that it was taken from, which is the most that "
    "it can hold"
)


class Given(NamedTuple):
    """What a ranking gives a reader within each budget.

    Attributes:
        values: budget → `query_id, kind, value`, 1 where all evidence is given.
        docs: budget → the mean number of docs.
        sources: the files that this was computed from.
    """

    values: Mapping[int, pd.DataFrame]
    docs: Mapping[int, float]
    sources: str


def within(
    ranking: pd.DataFrame,
    tokens: pd.Series,
    gold: Mapping[str, Parts],
    places: Mapping[str, str],
    budgets: tuple[int, ...] = BUDGETS,
) -> Iterator[tuple[int, dict[str, float], float]]:
    """`budget, query id → 1 where all evidence is given, mean number of docs`.

    Args:
        ranking: `query_id, memory_id, doc_id` in order of rank for each question.
        tokens: of each doc, by memory and doc.
        gold: query id → parts, by rounds; other questions are left out.
        places: the session of each round.
        budgets: those that the list of each question reaches, or that is all of its memory, are
            yielded.
    """
    asked = ranking[ranking["query_id"].isin(gold.keys())]
    query, queries = pd.factorize(asked["query_id"])
    doc, docs = pd.factorize(asked["doc_id"])
    parents, units = pd.factorize(np.array([parent_of(one) for one in docs], object))
    index = pd.MultiIndex.from_frame(asked[["memory_id", "doc_id"]])
    ends = tokens.reindex(index).groupby(query).cumsum().to_numpy()
    # The first time that a round or session is given: ends do not fall.
    pairs, firsts = np.unique(query * len(units) + parents[doc], return_index=True)
    first = dict(zip(pairs.tolist(), ends[firsts].tolist(), strict=True))
    numbers = {unit: number for number, unit in enumerate(units)}
    # The tokens after which all evidence is given.
    needs = {
        name: max(
            min(
                first.get(place * len(units) + numbers[unit], inf) if unit in numbers else inf
                for one in piece
                for unit in (one, places.get(one, ""))
            )
            for piece in gold[name]
        )
        for place, name in enumerate(queries)
    }
    given = np.bincount(query, minlength=len(queries))
    # Where the lists end that could be longer.
    held = tokens.groupby(level="memory_id").size()
    last = len(query) - 1 - np.unique(query[::-1], return_index=True)[1]
    longer = held.reindex(asked["memory_id"].iloc[last]).to_numpy() > given
    shortest = min(ends[last][longer].tolist(), default=inf)
    for budget in budgets:
        if shortest <= budget:
            continue
        found = {name: float(need <= budget) for name, need in needs.items()}
        yield budget, found, float((ends <= budget).sum() / len(queries))


def given(runs: Runs, study: Spec) -> dict[str, Given]:
    """What each of the rankings that were run gives within each budget."""
    plan, dataset = load_plan(), study["dataset"]
    profile = plan.dataset(dataset).profile
    files = [path(profile, dataset) for path in (paths.lengths, paths.extracted_lengths)]
    lengths = pd.concat([read_table(path) for path in files if path.is_file()])
    memories = lengths[lengths["level"] == "query"].set_index("doc_id")["memory_id"]
    gold: Gold = read_gold(profile, dataset, plan.evaluation.protocols)
    wanted = gold.wanted("round", next(iter(plan.evaluation.protocols.values())))
    beside = [
        FileSource(f"data/{dataset}/{path.name}")
        for path in (*files, paths.qrels(profile, dataset), paths.places(profile, dataset))
        if path.is_file()
    ]
    found = {}
    for name, templates in _GIVEN.items():
        run, setting = (fill(one, study) for one in templates)
        if runs.why_not(run, setting):
            continue
        ranking = runs.ranking(run, setting)
        level = lengths[lengths["level"] == runs.planned[run].granularity]
        if level.empty:  # of so many docs or characters that their tokens were not counted
            continue
        tokens = level.set_index(["memory_id", "doc_id"])["tokens"]
        ranking = ranking.assign(memory_id=ranking["query_id"].map(memories))
        values, docs = {}, {}
        for budget, by_query, n in within(ranking, tokens, wanted, gold.places):
            kinds = [gold.kinds[query] for query in by_query]
            values[budget] = pd.DataFrame(
                {"query_id": list(by_query), "kind": kinds, "value": list(by_query.values())}
            )
            docs[budget] = n
        found[name] = Given(values, docs, write_sources([runs.file(run), *beside]))
    return found


def cells(runs: Runs, table: Spec) -> Iterator[Cell]:
    """A row what is given, a column a budget: recall_all by rounds, and the change by giving it."""
    found, base = given(runs, table), fill(_GIVEN[ROUNDS][0], table)
    for name, one in found.items():
        for budget, values in one.values.items():
            cell = Cell(
                name, f"{budget} tokens", "recall_all", "", number(float(values["value"].mean())),
                len(values), NOT_COMPARABLE, note=_NOTE, sources=one.sources,
            )  # fmt: skip
            yield cell
            yield cell._replace(
                column=f"{budget} tokens, docs", metric="docs", reproduced=f"{one.docs[budget]:.1f}"
            )
            first = found.get(ROUNDS)
            if first is not None and one is not first and budget in first.values:
                yield cell._replace(
                    column=f"{budget} tokens, less rounds",
                    reproduced="",
                    comparison=runs.compare(base, first.values[budget], values),
                    sources=f"{first.sources} + {one.sources}",
                )
