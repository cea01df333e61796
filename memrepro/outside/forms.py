"""Rows of runs and qrels in the forms that tools write: TREC, JSON, csv and parquet."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from numbers import Integral, Number
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from memrepro.errors import MemreproError, cut
from memrepro.files.given import (
    form_of,
    named_rows,
    numbered_json_lines,
    numbered_lines,
    read_json,
    table_rows,
)

# What a row is called, and how it is written.
_RUN = (
    "row of a run",
    "write TREC's query_id Q0 doc_id rank score tag; .csv with the columns query_id, doc_id and "
    'rank or score; or .jsonl: {"query_id": …, "ranked": [doc ids]}',
)
_QRELS = (
    "qrel",
    'write TREC\'s "query_id 0 doc_id relevance", BEIR\'s "query-id corpus-id score", or .jsonl: '
    '{"query_id": …, "relevant": [doc ids]}',
)
# How others head the columns of ours.
_HEADS = {
    "query_id": ("query_id", "query-id", "queryid", "qid", "q_id", "question_id", "topic"),
    "doc_id": ("doc_id", "doc-id", "docid", "corpus-id", "corpus_id", "did", "pid", "docno"),
    "rank": ("rank",),
    "score": ("score", "relevance", "rel", "label"),
    "iteration": ("iter", "iteration"),
}
_OURS = {head: name for name, heads in _HEADS.items() for head in heads}
_MOST_ROWS = 20_000_000  # of a parquet file, where a few bytes may stand for all
_TABLES, _LINES = (".csv", ".tsv"), (".jsonl", ".ndjson")
_WRONG = (ValueError, TypeError, KeyError)
Made = TypeVar("Made")
# (number of its line or row, what is made of it)
_Numbered = Iterator[tuple[int, Any]]


class Row(NamedTuple):
    """A doc in a run file; NaN where the file gives no rank or no score."""

    query_id: str
    doc_id: str
    rank: float
    score: float


class Qrel(NamedTuple):
    """How relevant a doc is to a question; not at all where the grade is not over 0."""

    query_id: str
    doc_id: str
    grade: float


def run_rows(path: Path) -> list[Row]:
    """The rows of a run file, in its order.

    Args:
        path: `.parquet` (`query_id, doc_id` and `rank` or `score`), `.jsonl` (the same a line, or
            `query_id` and `ranked`, a list of ids), `.json` (such a list; or query → doc → score,
            or query → ids), `.csv` or `.tsv` with named columns, anything else TREC's six columns.

    Raises:
        MemreproError: naming the first row that is none.
    """
    form = form_of(path)
    if form == ".parquet":
        return _each(path, "row", _parquet(path), _run_of_object, _RUN)
    if form == ".json" and isinstance(content := read_json(path), dict):
        return _each(path, "question", enumerate(content.items(), 1), _run_of_pair, _RUN)
    if form in (".json", *_LINES):
        return _each(path, "line", numbered_json_lines(path), _run_of_object, _RUN)
    if rows := _headed(path, form, ("query_id", "doc_id")):
        return _each(path, "line", rows, _run_of_object, _RUN)
    return _each(path, "line", _words(path), _run_of_words, _RUN)


def qrel_rows(path: Path) -> list[Qrel]:
    """The rows of a qrels file, in its order.

    Args:
        path: `.jsonl` (`query_id` and `relevant`, a list of ids), `.json` (such a list; or query →
            doc → grade, or query → ids), or three or four columns between blanks, tabs, commas or
            semicolons, with or without a heading.

    Raises:
        MemreproError: naming the first row that is none.
    """
    form = form_of(path)
    if form == ".json" and isinstance(content := read_json(path), dict):
        return _each(path, "question", enumerate(content.items(), 1), _qrels_of_pair, _QRELS)
    if form in (".json", *_LINES):
        return _each(path, "line", numbered_json_lines(path), _qrels_of_object, _QRELS)
    if headed := _headed(path, form, ("query_id", "doc_id", "score")):
        return _each(path, "line", headed, _qrel_of_cells, _QRELS)
    rows = table_rows(path) if form in _TABLES else []
    if not rows or len(rows[0][1]) == 1:
        rows = list(_words(path))
    if rows and {cell.lower() for cell in rows[0][1]} <= set(_OURS):
        del rows[0]  # BEIR's heading, in a file of any name
    return _each(path, "line", rows, _qrel_of_words, _QRELS)


def _each(
    path: Path,
    unit: str,
    numbered: Any,
    made: Callable[[Any], Iterator[Made]],
    said: tuple[str, str],
) -> list[Made]:
    """What is made of each row; the first of which nothing can be made is named."""
    found: list[Made] = []
    for number, row in numbered:
        try:
            found += made(row)
        except _WRONG as error:
            why = f"it lacks {error}" if isinstance(error, KeyError) else cut(str(error), 80)
            shown = repr(" ".join(map(str, row)) if isinstance(row, list) else row)
            raise MemreproError(
                f"{path}, {unit} {number}: {cut(shown, 60)} is no {said[0]} ({why}); {said[1]}"
            ) from error
    return found


def _words(path: Path) -> _Numbered:
    """The words of each line, between blanks or tabs, as an id may hold any other white space."""
    for number, line in numbered_lines(path):
        yield number, re.split(r"[ \t]+", line.strip(" \t"))


def _headed(path: Path, form: str, needed: Collection[str]) -> list[tuple[int, dict[str, str]]]:
    """The rows of a table by the names of its columns; none where its first row names none."""
    rows = table_rows(path) if form in _TABLES else []
    heads = {cell: _OURS.get(cell.lower(), cell) for cell in (rows[0][1] if rows else ())}
    if not set(needed) <= set(heads.values()):
        return []
    return [(n, {heads[k]: v for k, v in row.items()}) for n, row in named_rows(path, list(heads))]


def _run_of_words(words: Sequence[str]) -> Iterator[Row]:
    query_id, _, doc_id, rank, score, _ = words
    yield Row(query_id, doc_id, number_of(rank), number_of(score))


def _run_of_object(row: Mapping[str, Any]) -> Iterator[Row]:
    query_id = id_of(row["query_id"])
    if "ranked" in row:
        if not isinstance(row["ranked"], list):
            raise TypeError("'ranked' is no list")
        yield from _run_of_pair((query_id, row["ranked"]))
        return
    if "rank" not in row and "score" not in row:
        raise TypeError("it has neither rank nor score")
    yield Row(
        query_id, id_of(row["doc_id"]), number_of(row.get("rank")), number_of(row.get("score"))
    )


def _run_of_pair(pair: tuple[str, Any]) -> Iterator[Row]:
    query_id, docs = pair
    if isinstance(docs, Mapping):
        for doc_id, score in docs.items():
            yield Row(query_id, doc_id, np.nan, number_of(score))
    elif isinstance(docs, list):
        for rank, doc_id in enumerate(docs, start=1):
            yield Row(query_id, id_of(doc_id), rank, np.nan)
    else:
        raise TypeError("a question has a list of docs, or docs with scores")


def _qrel_of_words(words: Sequence[str]) -> Iterator[Qrel]:
    query_id, *middle, doc_id, grade = words
    if len(middle) > 1:
        raise ValueError("more than four columns")
    yield Qrel(query_id, doc_id, _grade(grade))


def _qrel_of_cells(row: Mapping[str, str]) -> Iterator[Qrel]:
    yield Qrel(row["query_id"], row["doc_id"], _grade(row["score"]))


def _qrels_of_object(row: Mapping[str, Any]) -> Iterator[Qrel]:
    if not isinstance(row["relevant"], list | dict):
        raise TypeError("'relevant' is no list")
    yield from _qrels_of_pair((id_of(row["query_id"]), row["relevant"]))


def _qrels_of_pair(pair: tuple[str, Any]) -> Iterator[Qrel]:
    query_id, docs = pair
    if isinstance(docs, Mapping):
        for doc_id, grade in docs.items():
            yield Qrel(query_id, doc_id, _grade(grade))
    elif isinstance(docs, list):
        for doc_id in docs:
            yield Qrel(query_id, id_of(doc_id), 1.0)
    else:
        raise TypeError("a question has a list of docs, or docs with grades")


def _grade(value: Any) -> float:
    if not np.isfinite(grade := number_of(value)):
        raise ValueError(f"{value!r} is no grade of relevance")
    return grade


def id_of(value: Any) -> str:
    """An id as text, of a text, a whole number, or UTF-8's bytes.

    Raises:
        TypeError: if it is none of these.
        ValueError: if the bytes are no UTF-8.
    """
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, bool) or not isinstance(value, str | Integral):
        raise TypeError(f"{value!r} is no id: it must be a text or a whole number")
    return str(value)


def number_of(value: Any) -> float:
    """A number, with a decimal comma too; NaN where there is none, infinity if it is too large.

    Raises:
        TypeError: if it is no number.
        ValueError: if the text is none.
    """
    if value is None or value is pd.NA or value == "":
        return np.nan
    if isinstance(value, bool) or not isinstance(value, Number | str):
        raise TypeError(f"{value!r} is no number")
    try:
        return float(value.replace(",", ".") if isinstance(value, str) else value)  # type: ignore[arg-type]
    except OverflowError:
        return np.inf


def _parquet(path: Path) -> _Numbered:
    if not path.is_file():
        raise MemreproError(f"{path} is no file: name a file that is there")
    import pyarrow.parquet as pq  # large, and of no use to who reads text alone
    from pyarrow import ArrowException

    try:
        if (rows := pq.read_metadata(path).num_rows) > _MOST_ROWS:
            raise MemreproError(f"{path} has {rows:,} rows; at most {_MOST_ROWS:,}: split it")
        table = pd.read_parquet(path)
    except (OSError, ValueError, TypeError, KeyError, ArrowException) as error:
        raise MemreproError(f"{path} is no parquet file: {error}") from error
    columns = [str(name) for name in table.columns]
    if missing := {"query_id", "doc_id"} - set(columns):
        raise MemreproError(f"{path} has no column {min(missing)!r}: found {cut(columns)}")
    if not {"rank", "score"} & set(columns):
        raise MemreproError(f"{path} has neither rank nor score: found {cut(columns)}")
    if len(set(columns)) < len(columns):
        raise MemreproError(f"{path} has two columns of one name: found {cut(columns)}")
    if "setting" in table and (n := table["setting"].astype(str).nunique()) > 1:
        raise MemreproError(f"{path} is a sweep of {n} settings: keep one")
    kept = [name for name in Row._fields if name in columns]
    yield from enumerate(table[kept].to_dict("records"), start=1)
