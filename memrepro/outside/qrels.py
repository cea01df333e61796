"""Gold that does not come from a prepared data set: a qrels file, or a rule on the docs' ids."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from memrepro.core.memory import Parts
from memrepro.errors import MemreproError
from memrepro.files.atomic import read_yaml
from memrepro.outside.forms import qrel_rows

# Stands for the gold of a question of which a run lists none: it is not found at any cut-off.
NOT_LISTED = "gold that the run does not list"


def read_qrels(path: Path) -> tuple[dict[str, Parts], list[float]]:
    """Query id → its relevant docs, each a part of one alternative; those of grade 0 or less not.

    Args:
        path: of a form of `forms.qrel_rows`, packed by gzip or not.

    Returns:
        The docs, and the grades over 0 that there are, ascending: here they count alike.

    Raises:
        MemreproError: naming the line that is no qrel, or if nothing is relevant.
    """
    gold: dict[str, dict[str, None]] = {}
    grades: set[float] = set()
    for query_id, doc_id, grade in qrel_rows(path):
        if grade > 0:
            gold.setdefault(query_id, {})[doc_id] = None
            grades.add(grade)
    if not gold:
        raise MemreproError(f"{path} marks no doc as relevant")
    return {query_id: _parts(docs) for query_id, docs in gold.items()}, sorted(grades)


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
