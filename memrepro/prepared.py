"""A data set as tables: rounds, unique texts, queries, and the qrels apart from them.

Each unique text is stored once and named by `text_id`; a memory is an index into them. The
qrels lie elsewhere, so that only evaluation can read them.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.memory import Dataset, Memory, Parts, Query, Round
from memrepro.store import read_table, write_table

_ROUND = ["memory_id", "round_id", "session_id", "at", "field", "text_id"]
_QUERY = ["query_id", "memory_id", "text", "at", "kind"]
_QREL = ["query_id", "kind", "level", "part", "doc_id"]


def text_id(text: str) -> str:
    """A text's name: the first 32 hex digits of its SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _rows(table: pd.DataFrame) -> Iterator[Any]:
    """Named rows; pandas' own type for a cell is a union that fits nothing."""
    return table.itertuples(index=False)


def save(dataset: Dataset, folder: Path) -> list[Path]:
    """Write `rounds`, `texts` and `queries` (no qrels) and return their paths."""
    texts: dict[str, str] = {}
    rows = []
    for memory in dataset.memories.values():
        for r in memory.rounds:
            for name, text in r.fields.items():
                key = text_id(text)
                texts[key] = text
                rows.append((memory.memory_id, r.round_id, r.session_id, r.at, name, key))
    tables = {
        "rounds": pd.DataFrame(rows, columns=_ROUND),
        "texts": pd.DataFrame(list(texts.items()), columns=["text_id", "text"]),
        "queries": pd.DataFrame(
            [[getattr(q, c) for c in _QUERY] for q in dataset.queries], columns=_QUERY
        ),
    }
    written = []
    for name, table in tables.items():
        write_table(folder / f"{name}.parquet", table)
        written.append(folder / f"{name}.parquet")
    return written


def load(folder: Path, name: str) -> Dataset:
    """Read what `save` wrote; the data set comes without qrels."""
    texts = dict(_rows(read_table(folder / "texts.parquet")))
    memories: dict[str, dict[str, Round]] = {}
    for row in _rows(read_table(folder / "rounds.parquet")):
        rounds = memories.setdefault(row.memory_id, {})
        known = rounds.get(row.round_id)
        fields = {**(known.fields if known else {}), row.field: texts[row.text_id]}
        rounds[row.round_id] = Round(row.round_id, row.session_id, row.at, fields)
    queries = _rows(read_table(folder / "queries.parquet"))
    return Dataset(
        name,
        {key: Memory(key, tuple(rounds.values())) for key, rounds in memories.items()},
        tuple(Query(*row) for row in queries),
    )


def save_qrels(dataset: Dataset, path: Path) -> None:
    """Write each query's kind and gold: ids only; a query without gold has one row, part −1."""
    rows: list[tuple[str, str, str, int, str]] = []
    for query in dataset.queries:
        gold = [
            (query.query_id, query.kind, level, number, doc_id)
            for level, by_query in dataset.qrels.items()
            for number, part in enumerate(by_query.get(query.query_id, ()))
            for doc_id in part
        ]
        rows += gold or [(query.query_id, query.kind, "", -1, "")]
    write_table(path, pd.DataFrame(rows, columns=_QREL))


def load_qrels(path: Path, level: str) -> tuple[dict[str, str], dict[str, Parts]]:
    """Read the kinds of all queries, and the gold of one level of those that have it.

    Returns:
        query id → kind (every query), and query id → parts (those with gold at the level).
    """
    table = read_table(path)
    kinds = dict(zip(table["query_id"], table["kind"], strict=True))
    gold: dict[str, dict[int, list[str]]] = {}
    for row in _rows(table[table["level"] == level]):
        gold.setdefault(row.query_id, {}).setdefault(int(row.part), []).append(row.doc_id)
    return kinds, {q: tuple(tuple(part) for part in parts.values()) for q, parts in gold.items()}
