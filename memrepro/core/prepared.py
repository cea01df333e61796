"""A data set as tables: turns, unique texts, haystacks, queries, and the qrels apart from them.

Each unique text is stored once and named by `text_id`, each session once and named by its key; a
memory is a list of sessions with their times. The qrels lie elsewhere, so that only evaluation
can read them.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from memrepro.core.extractions import DatedEvent, Extraction, Extractions, QueryRange
from memrepro.core.memory import Dataset, Memory, Parts, Piece, Query, Round, Session, Turn
from memrepro.errors import MemreproError
from memrepro.files.atomic import read_table, table_writer, write_table


def _schema(*columns: str) -> pa.Schema:
    return pa.schema([(c, pa.int32() if c == "part" else pa.string()) for c in columns])


_TABLES = {
    "turns": _schema("session_key", "session_id", "round_id", "turn_id", "field", "text_id"),
    "texts": _schema("text_id", "text"),
    "haystacks": _schema("memory_id", "session_key", "at"),
    "queries": _schema("query_id", "memory_id", "text", "at", "kind"),
}
_QREL = _schema("query_id", "kind", "level", "part", "doc_id", "reason", "field")
_PLACES = _schema("doc_id", "session_id")
_ASKED = _schema("query_id", "at")


def text_id(text: str) -> str:
    """A text's name: the first 32 hex digits of its SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _rows(table: pd.DataFrame) -> Iterator[Any]:
    """Named rows; pandas' own type for a cell is a union that fits nothing."""
    # Texts of Arrow are slow to take one by one: all at once, ten times as fast.
    return table.astype(object).itertuples(index=False)


def save(pieces: Iterable[Piece], folder: Path) -> Iterator[Piece]:
    """Write `turns`, `texts`, `haystacks` and `queries` (no qrels) and pass each piece on.

    What is kept in memory is one piece and the names of the texts and sessions seen.

    Raises:
        MemreproError: if the id of a memory or a query stands twice, or there is no piece.
    """
    texts, sessions, memories, asked = set[bytes](), set[str](), set[str](), set[str]()
    with ExitStack() as stack:
        out = {
            name: stack.enter_context(table_writer(folder / f"{name}.parquet", schema))
            for name, schema in _TABLES.items()
        }
        for piece in pieces:
            memory = piece.memory
            for what, key, seen in (
                ("memory", memory.memory_id, memories),
                *(("query", query.query_id, asked) for query in piece.queries),
            ):
                if key in seen:
                    raise MemreproError(f"{what} {key!r} stands twice: ids must be unique")
                seen.add(key)
            for session, at in zip(memory.sessions, memory.times, strict=True):
                out["haystacks"].add(memory.memory_id, session.key, at)
                if session.key in sessions:
                    continue
                sessions.add(session.key)
                turns = [(r.round_id, turn) for r in session.rounds for turn in r.turns]
                encoded = [turn.text.encode() for _, turn in turns]
                digests = [hashlib.sha256(data).digest()[:16] for data in encoded]
                names = [digest.hex() for digest in digests]
                out["turns"].extend(
                    [session.key] * len(turns),
                    [session.session_id] * len(turns),
                    [round_id for round_id, _ in turns],
                    [turn.turn_id for _, turn in turns],
                    [turn.field for _, turn in turns],
                    names,
                )
                for digest, name, data in zip(digests, names, encoded, strict=True):
                    if digest not in texts:
                        texts.add(digest)
                        out["texts"].add(name, data)
            for q in piece.queries:
                out["queries"].add(q.query_id, q.memory_id, q.text, q.at, q.kind)
            yield piece
        if not asked:
            raise MemreproError(
                f"{folder.name} is empty: found {len(memories)} memories and 0 queries; fetch it "
                "anew"
            )


def load(folder: Path, name: str) -> Dataset:
    """Read what `save` wrote."""
    texts = dict(_rows(read_table(folder / "texts.parquet")))
    grouped: dict[str, dict[str, list[Turn]]] = {}
    session_ids: dict[str, str] = {}
    for row in _rows(read_table(folder / "turns.parquet")):
        session_ids[row.session_key] = row.session_id
        turns = grouped.setdefault(row.session_key, {}).setdefault(row.round_id, [])
        turns.append(Turn(row.turn_id, row.field, texts[row.text_id]))
    sessions = {
        key: Session(session_ids[key], tuple(Round(i, tuple(t)) for i, t in rounds.items()))
        for key, rounds in grouped.items()
    }
    held: dict[str, list[tuple[Session, str]]] = {}
    for row in _rows(read_table(folder / "haystacks.parquet")):
        held.setdefault(row.memory_id, []).append((sessions[row.session_key], row.at))
    memories = {
        key: Memory(key, tuple(s for s, _ in pairs), tuple(at for _, at in pairs))
        for key, pairs in held.items()
    }
    queries = tuple(Query(*row) for row in _rows(read_table(folder / "queries.parquet")))
    return Dataset(name, memories, queries)


def save_qrels(pieces: Iterable[Piece], path: Path) -> Iterator[Piece]:
    """Write each query's kind and gold (ids only), and pass each piece on.

    A query without gold has one row: part −1, and the reason where the data set knows it. `field`
    names whose words a gold doc holds; it is '' where it holds those of several. Of a piece that
    knows its docs' sources it names the source.
    """
    with table_writer(path, _QREL) as out:
        for piece in pieces:
            parts = (part for level in piece.qrels.values() for gold in level.values()
                     for part in gold)  # fmt: skip
            fields = _fields_of_docs(piece.memory, {doc for part in parts for doc in part})
            for query in piece.queries:
                gold = [
                    (level, number, doc_id, "")
                    for level, by_query in piece.qrels.items()
                    for number, part in enumerate(by_query.get(query.query_id, ()))
                    for doc_id in part
                ]
                reason = piece.faults.get(query.query_id, "")
                # A fault may concern the stated labels alone, with gold under others.
                for row in [*([("", -1, "", reason)] if reason or not gold else []), *gold]:
                    level, _, doc_id, _ = row
                    said = fields.get((level.partition("_")[0], doc_id), set())
                    alone = next(iter(said)) if len(said) == 1 else ""
                    field = piece.sources.get(doc_id, alone)
                    out.add(query.query_id, query.kind, *row, field)
            yield piece


def _fields_of_docs(memory: Memory, wanted: set[str]) -> dict[tuple[str, str], set[str]]:
    """(granularity, id) of the docs wanted → fields of their turns; an id may be of several."""
    found: dict[tuple[str, str], set[str]] = {}
    for session in memory.sessions:
        if wanted.isdisjoint((session.session_id, *_docs_within(session))):
            continue
        for r in session.rounds:
            for turn in r.turns:
                ids = (session.session_id, r.round_id, turn.turn_id)
                if not wanted.isdisjoint(ids):
                    for place in zip(("session", "round", "turn"), ids, strict=True):
                        found.setdefault(place, set()).add(turn.field)
    return found


def load_qrels(path: Path, level: str) -> tuple[dict[str, str], dict[str, Parts]]:
    """Read the kinds of all queries, and the gold of one level of those that have it.

    Returns:
        query id → kind (every query), and query id → parts (those with gold at the level).
    """
    kinds, gold = _qrels(path, path.stat().st_mtime_ns if path.is_file() else 0)
    return dict(kinds), dict(gold.get(level, {}))


@lru_cache(maxsize=8)
def _qrels(path: Path, changed: int) -> tuple[dict[str, str], dict[str, dict[str, Parts]]]:
    """The kinds and the gold by level, which is asked for level by level; another is read anew."""
    table = read_table(path, ["query_id", "kind", "level", "doc_id"])
    found: dict[str, dict[str, dict[int, list[str]]]] = {}
    columns = (table[name].tolist() for name in ("level", "query_id", "part", "doc_id"))
    for level, query_id, part, doc_id in zip(*columns, strict=True):
        of_query = found.setdefault(level, {}).setdefault(query_id, {})
        of_query.setdefault(part, []).append(doc_id)
    asked = table[["query_id", "kind"]].drop_duplicates("query_id")
    gold = {
        level: {q: tuple(map(tuple, parts.values())) for q, parts in by_query.items()}
        for level, by_query in found.items()
    }
    return dict(asked.itertuples(index=False)), gold


def load_evidence_fields(path: Path) -> dict[str, str]:
    """Query id → whose words its gold is, such as 'user' or 'assistant and user'.

    By its gold turns; by its sessions where the data set's docs are sessions. A query is left out
    where that is not known of all its gold.
    """
    table = read_table(path)
    gold = table[table["level"] == "turn"]
    if gold.empty:
        gold = table[table["level"] == "session"]
    found: dict[str, set[str]] = {}
    for row in _rows(gold):
        found.setdefault(row.query_id, set()).add(row.field)
    return {q: " and ".join(sorted(fields)) for q, fields in found.items() if "" not in fields}


def load_faults(path: Path) -> dict[str, str]:
    """Query id → why it has no gold, for those of which the data set says it."""
    table = read_table(path)
    return {row.query_id: row.reason for row in _rows(table[table["reason"] != ""])}


def save_places(pieces: Iterable[Piece], path: Path) -> Iterator[Piece]:
    """Write which session each round and turn lies in (ids only), and pass each piece on.

    That is what a roll-up of a ranking to sessions needs. Docs that are sessions are left out.

    Raises:
        MemreproError: if one doc id lies in two sessions.
    """
    places: dict[str, str] = {}
    seen = set[str]()
    with table_writer(path, _PLACES) as out:
        for piece in pieces:
            for session in piece.memory.sessions:
                if session.key in seen:
                    continue
                seen.add(session.key)
                docs = _docs_within(session)
                new = [doc_id for doc_id in docs if doc_id not in places]
                out.extend(new, [session.session_id] * len(new))
                for doc_id in docs:
                    if places.setdefault(doc_id, session.session_id) != session.session_id:
                        raise MemreproError(
                            f"doc {doc_id!r} lies in the sessions {places[doc_id]!r} and "
                            f"{session.session_id!r}: ids must tell the session"
                        )
            yield piece


def _docs_within(session: Session) -> dict[str, None]:
    """The ids of a session's rounds and turns, each once, but its own where one has the same."""
    docs: dict[str, None] = {}
    for r in session.rounds:
        docs[r.round_id] = None  # which may be that of its first turn
        for turn in r.turns:
            docs[turn[0]] = None
    docs.pop(session.session_id, None)
    return docs


def load_places(path: Path) -> dict[str, str]:
    """Doc id → session id."""
    return dict(_rows(read_table(path)))


def save_asked(pieces: Iterable[Piece], path: Path) -> Iterator[Piece]:
    """Write when the session of each query's last evidence took place, and pass each piece on.

    Evidence is what any labelling counts, so that none of them has some that is later. A query
    without evidence, or with some of a session without a time, is left out.
    """
    with table_writer(path, _ASKED) as out:
        for piece in pieces:
            sessions = (session.session_id for session in piece.memory.sessions)
            times = dict(zip(sessions, piece.memory.times, strict=True))
            by_query: dict[str, list[str]] = {}
            for level, gold in piece.qrels.items():
                if level.startswith("session"):
                    for query_id, parts in gold.items():
                        found = (times.get(doc, "") for part in parts for doc in part)
                        by_query.setdefault(query_id, []).extend(found)
            for query in piece.queries:
                if all(evidence := by_query.get(query.query_id, [""])):
                    out.add(query.query_id, max(evidence))
            yield piece


def load_asked(path: Path) -> dict[str, str]:
    """Query id → when the session of its last evidence took place, ISO 8601 to the minute."""
    return dict(_rows(read_table(path)))


def save_extracted(texts: Iterable[Extraction], folder: Path) -> Path:
    """Write extracted texts and return the path."""
    path = folder / "texts.parquet"
    write_table(path, pd.DataFrame(list(texts), columns=list(Extraction._fields), dtype=str))
    return path


def save_dates(dates: Iterable[DatedEvent], path: Path) -> None:
    """Write the dates of what sessions tell of."""
    _save_spans(dates, DatedEvent._fields, path)


def save_ranges(ranges: Iterable[QueryRange], path: Path) -> None:
    """Write the dates that queries ask about."""
    _save_spans(ranges, QueryRange._fields, path)


def _save_spans(rows: Iterable[tuple[Any, ...]], columns: Sequence[str], path: Path) -> None:
    frame = pd.DataFrame(list(rows), columns=list(columns))
    # An empty column has no type of its own.
    types = {c: "int32" if c in ("start", "end") else "str" for c in columns}
    write_table(path, frame.astype(types))


def load_extractions(folder: Path) -> Extractions:
    """The extracted texts of a data set."""
    return Extractions.grouped(
        Extraction(*row) for row in _rows(read_table(folder / "texts.parquet"))
    )


def load_dates(path: Path, sources: Sequence[str]) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """(memory id, session id) → the dates of the sources, as ordinals, both ends counted."""
    found: dict[tuple[str, str], list[tuple[int, int]]] = {}
    table = read_table(path)
    for row in map(DatedEvent._make, _rows(table[table["source"].isin(list(sources))])):
        found.setdefault((row.memory_id, row.session_id), []).append((row.start, row.end))
    return found


def load_ranges(path: Path, source: str) -> list[QueryRange]:
    """The dates that queries ask about by a source."""
    return [row for row in map(QueryRange._make, _rows(read_table(path))) if row.source == source]
