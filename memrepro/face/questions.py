"""One question: what was asked, which docs answer it, and where each run found them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import pandas as pd

from memrepro.core.memory import GRANULARITIES
from memrepro.errors import MemreproError
from memrepro.evaluate.rollup import levels_of, roll_up
from memrepro.face.committed import committed_plan
from memrepro.face.conversations import Conversations, is_here, load
from memrepro.face.runs import committed_judging
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.study.evaluation import Gold
from memrepro.study.plan import Plan

_FOUND = ["run", "setting", "level", "rank", "doc_id", "gold"]


@dataclass(frozen=True)
class Question:
    """What is known of a question; texts only where its data set's files are on this machine.

    Attributes:
        query_id: its id.
        dataset: that it is of.
        kind: its type, as the data set has it.
        text: what is asked; '' without the data.
        at: when it is asked, ISO 8601; '' where that is not known, or without the data.
        gold: `level, part, doc_id, text`: the docs of one part of the answer are alternatives.
        found: `run, setting, level, rank, doc_id, gold`: the first places of each run, and each
            gold doc that it ranked further down.
    """

    query_id: str
    dataset: str
    kind: str
    text: str
    at: str
    gold: pd.DataFrame = field(repr=False)
    found: pd.DataFrame = field(repr=False)


def question(
    query_id: str, dataset: str = "", runs: str | Collection[str] | None = None, k: int = 3
) -> Question:
    """What was asked, what is gold, and what each committed run found.

    Args:
        query_id: as the data set, or this project where that has none, calls it.
        dataset: by name; by default the first that has such a question.
        runs: names of experiments or sweeps; by default all experiments on the data set, and no
            sweeps.
        k: how many of each run's first places are listed.

    Raises:
        MemreproError: for an unknown question, data set or run, or outside a repository.

    Example:
        >>> import memrepro as mr
        >>> asked = mr.question("conv-26-q0", runs=["locomo-minilm-rounds", "locomo-bm25-words"])
        >>> asked.kind, asked.gold.query("level == 'round'")["doc_id"].tolist()
        ('temporal', ['D1:3'])
        >>> asked.found.query("gold")[["run", "rank"]]
                            run  rank
        0  locomo-minilm-rounds     1
        3     locomo-bm25-words     1
    """
    plan = committed_plan(f"question({query_id!r})")
    name = dataset or _dataset_of(query_id, plan)
    gold = committed_judging(name, plan).gold
    if query_id not in gold.kinds:
        raise MemreproError(
            f"{name} has no question {query_id!r}: its ids are such as {next(iter(gold.kinds))!r}"
        )
    data = _loaded(name) if is_here(name) else None
    asked = [q for q in data.dataset.queries if q.query_id == query_id] if data else []
    found = pd.DataFrame(_found(query_id, name, gold, plan, runs, k), columns=_FOUND)
    return Question(
        query_id,
        name,
        gold.kinds[query_id],
        asked[0].text if asked else "",
        asked[0].at if asked else "",
        _gold(query_id, gold, data, asked[0].memory_id if asked else ""),
        found,
    )


_loaded = lru_cache(maxsize=1)(load)


def _dataset_of(query_id: str, plan: Plan) -> str:
    for name, entry in plan.datasets.items():
        path = paths.qrels(entry.profile, name)
        if (
            path.is_file()
            and (read_table(path, columns=["query_id"])["query_id"] == query_id).any()
        ):
            return name
    raise MemreproError(
        f"no data set has the question {query_id!r}: run(NAME).values().index lists a run's ids"
    )


def _gold(query_id: str, gold: Gold, data: Conversations | None, memory: str) -> pd.DataFrame:
    texts: dict[str, str] = {}
    rows = []
    for level in GRANULARITIES:
        parts = gold.by_level.get(level, {}).get(query_id, ())
        if data and parts:
            docs = data.docs(level)
            docs = docs[docs["memory_id"] == memory]
            texts = dict(zip(docs["doc_id"], docs["text"], strict=True))
        rows += [
            (level, number, doc_id, texts.get(doc_id, ""))
            for number, part in enumerate(parts)
            for doc_id in part
        ]
    return pd.DataFrame(rows, columns=["level", "part", "doc_id", "text"])


def _found(
    query_id: str, dataset: str, gold: Gold, plan: Plan, runs: str | Collection[str] | None, k: int
) -> Iterator[tuple[str, str, str, int, str, bool]]:
    """`_FOUND` of each run that lists the question, at its docs' level or the first with gold."""
    named = [runs] if isinstance(runs, str) else runs
    chosen = plan.experiments if named is None else {name: plan.experiment(name) for name in named}
    for name, one in chosen.items():
        if one.dataset != dataset:
            if runs is not None:
                raise MemreproError(f"the run {name} is on {one.dataset}, not on {dataset}")
            continue
        path = paths.run(one.profile, name, one.study)
        if not path.is_file():
            continue
        table = read_table(path)
        table = table[table["query_id"] == query_id]
        for setting, variant in one.variants().items():
            ranking = table[table["setting"] == setting] if setting else table
            for level in levels_of(variant.granularity):
                wanted = {
                    d for part in gold.by_level.get(level, {}).get(query_id, ()) for d in part
                }
                own = level == variant.granularity
                rolled = ranking if own else roll_up(ranking, level, gold.places)
                if rolled is not None and (wanted or own):
                    break
            else:
                continue
            for doc_id, rank in zip(rolled["doc_id"], rolled["rank"], strict=True):
                if rank <= k or doc_id in wanted:
                    yield name, setting, level, int(rank), doc_id, doc_id in wanted
