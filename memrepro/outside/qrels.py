"""Gold that does not come from a prepared data set: a qrels file, or a rule on the docs' ids."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pandas as pd

from memrepro.core.memory import Parts
from memrepro.errors import MemreproError
from memrepro.files.atomic import read_yaml

_SHAPES = (
    'write TREC\'s "query_id 0 doc_id relevance", BEIR\'s "query-id corpus-id score", or JSONL: '
    '{"query_id": …, "relevant": [doc ids]}'
)
# Stands for the gold of a question of which a run lists none: it is not found at any cut-off.
NOT_LISTED = "gold that the run does not list"


def read_qrels(path: Path) -> dict[str, Parts]:
    """Query id → its relevant docs, each a part of one alternative; those of relevance 0 are not.

    Args:
        path: `.jsonl` (`query_id` and `relevant`, a list of ids), or three or four columns between
            blanks or tabs, with or without BEIR's heading.

    Raises:
        MemreproError: naming the line that is no qrel, or if nothing is relevant.
    """
    if not path.is_file():
        raise MemreproError(f"{path} is no file: {_SHAPES}")
    gold: dict[str, dict[str, None]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            for query_id, doc_id in _relevant(line, path.suffix == ".jsonl"):
                gold.setdefault(query_id, {})[doc_id] = None
        except (ValueError, TypeError, KeyError) as error:
            raise MemreproError(
                f"{path}, line {number}: {line[:80]!r} is no qrel ({error}); {_SHAPES}"
            ) from error
    if not gold:
        raise MemreproError(f"{path} marks no doc as relevant")
    return {query_id: _parts(docs) for query_id, docs in gold.items()}


def _relevant(line: str, as_json: bool) -> Iterator[tuple[str, str]]:
    if not line.strip() or line.startswith("query-id"):
        return
    if as_json:
        row = json.loads(line)
        if not isinstance(row["relevant"], list):
            raise TypeError("'relevant' is no list")
        yield from ((str(row["query_id"]), str(doc)) for doc in row["relevant"])
    else:
        query_id, *middle, doc_id, relevance = line.split()
        if len(middle) > 1:
            raise ValueError("more than four columns")
        if float(relevance) > 0:
            yield query_id, doc_id


def _parts(docs: Iterable[str]) -> Parts:
    return tuple((doc,) for doc in docs)


def rule_of(dataset: str) -> str:
    """The pattern of the ids of a data set's gold docs; '' where its ids do not tell."""
    rules: Mapping[str, str] = read_yaml(Path(__file__).with_name("rules.yaml"))
    return rules.get(dataset, "")


def gold_by_rule(pattern: str, ranking: pd.DataFrame) -> dict[str, Parts]:
    """Query id → the docs of its ranking whose whole id is of the pattern, in order of their ids.

    Args:
        pattern: a regular expression.
        ranking: `query_id, doc_id`.
    """
    gold = {}
    for query_id, docs in ranking.groupby("query_id", sort=False)["doc_id"]:
        found = sorted(doc for doc in set(docs) if re.fullmatch(pattern, doc))
        gold[str(query_id)] = _parts(found or [NOT_LISTED])
    return gold
