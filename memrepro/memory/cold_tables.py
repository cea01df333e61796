"""COLD's tables, row by row: facts, their sources, and the history of all that was said.

Every function works inside the caller's transaction.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable

from memrepro.errors import MemreproError
from memrepro.memory.fact import Candidate, Change, Fact

_TABLES = (
    # `successor` is the fact that this one gave way to, or ''.
    """CREATE TABLE IF NOT EXISTS facts (
        number INTEGER PRIMARY KEY, fact_id TEXT NOT NULL UNIQUE, text TEXT NOT NULL,
        category TEXT NOT NULL, confidence REAL NOT NULL, created_at REAL NOT NULL,
        last_validated_at REAL NOT NULL, status TEXT NOT NULL, successor TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS fact_sources (
        fact_id TEXT NOT NULL, source TEXT NOT NULL, PRIMARY KEY (fact_id, source))
        WITHOUT ROWID""",
    # `said` names the statement, so that one that comes again changes nothing.
    """CREATE TABLE IF NOT EXISTS fact_history (
        number INTEGER PRIMARY KEY AUTOINCREMENT, operation TEXT NOT NULL, fact_id TEXT NOT NULL,
        old_id TEXT NOT NULL, text TEXT NOT NULL, category TEXT NOT NULL, confidence REAL NOT NULL,
        sources TEXT NOT NULL, at REAL NOT NULL, changed_at REAL NOT NULL, reason TEXT NOT NULL,
        said TEXT NOT NULL)""",
    # The words of the active facts, whatever changes these.
    """CREATE VIRTUAL TABLE IF NOT EXISTS fact_words USING fts5(
        text, tokenize = 'unicode61 remove_diacritics 2')""",
    """CREATE TRIGGER IF NOT EXISTS fact_comes AFTER INSERT ON facts WHEN new.status = 'active'
        BEGIN INSERT INTO fact_words (rowid, text) VALUES (new.number, new.text); END""",
    """CREATE TRIGGER IF NOT EXISTS fact_goes AFTER DELETE ON facts WHEN old.status = 'active'
        BEGIN DELETE FROM fact_words WHERE rowid = old.number; END""",
    """CREATE TRIGGER IF NOT EXISTS fact_changes AFTER UPDATE OF text, status ON facts BEGIN
        DELETE FROM fact_words WHERE rowid = old.number;
        INSERT INTO fact_words (rowid, text)
            SELECT new.number, new.text WHERE new.status = 'active'; END""",
    "CREATE INDEX IF NOT EXISTS facts_by_status ON facts (status)",
    "CREATE INDEX IF NOT EXISTS facts_by_successor ON facts (successor)",
    "CREATE INDEX IF NOT EXISTS fact_sources_by_source ON fact_sources (source)",
    "CREATE INDEX IF NOT EXISTS fact_history_by_fact ON fact_history (fact_id)",
    "CREATE INDEX IF NOT EXISTS fact_history_by_said ON fact_history (said)",
)
_CHANGE = (
    "number, operation, fact_id, old_id, text, category, confidence, sources, at, changed_at, "
    "reason"
)
# Where a fact's id stands.
_REFERENCES = (
    ("facts", "successor"), ("fact_sources", "fact_id"), ("fact_history", "fact_id"),
    ("fact_history", "old_id"),
)  # fmt: skip
_LINE = """WITH RECURSIVE line (fact_id) AS (VALUES (?) UNION
    SELECT facts.fact_id FROM facts JOIN line ON facts.successor = line.fact_id {condition})
    SELECT fact_id FROM line"""
# A fact and all that gave way to it; a fact and all that was merged into it.
LINE = _LINE.format(condition="")
MERGED = _LINE.format(condition="WHERE facts.status = 'merged'")


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables `facts`, `fact_sources` and `fact_history` where they are not there yet."""
    for statement in _TABLES:
        connection.execute(statement)


def facts_where(
    connection: sqlite3.Connection, column: str, value: str, values: str = "?"
) -> list[Fact]:
    """The facts with a value in a column, or one of what `values` selects, by id."""
    rows = connection.execute(
        "SELECT fact_id, text, category, confidence, (SELECT json_group_array(source) FROM "
        "fact_sources WHERE fact_sources.fact_id = facts.fact_id), created_at, last_validated_at, "
        f"status FROM facts WHERE {column} IN ({values}) ORDER BY fact_id", (value,)
    )  # fmt: skip
    return [
        Fact(one, text, category, confidence, tuple(sorted(json.loads(told))), first, last, status)
        for one, text, category, confidence, told, first, last, status in rows
    ]


def the_fact(connection: sqlite3.Connection, fact_id: str) -> Fact:
    """One fact.

    Raises:
        MemreproError: if there is none of the id.
    """
    if not (found := facts_where(connection, "fact_id", fact_id)):
        raise MemreproError(f"there is no fact {fact_id!r}: it was forgotten, or never held")
    return found[0]


def changes_of(connection: sqlite3.Connection, which: str, fact_id: str) -> list[Change]:
    """The history of a fact and its `LINE`, or its `MERGED`, in order."""
    rows = connection.execute(
        f"SELECT {_CHANGE} FROM fact_history WHERE fact_id IN ({which}) ORDER BY number", (fact_id,)
    )
    return [
        Change(
            number, operation, one, old_id, text, category, confidence, tuple(json.loads(told)),
            at, changed_at, reason,
        )
        for number, operation, one, old_id, text, category, confidence, told, at, changed_at, reason
        in rows
    ]  # fmt: skip


def write(connection: sqlite3.Connection, fact: Fact, successor: str = "") -> None:
    """Write a fact's row, and such sources of it as are not there yet."""
    connection.execute(
        "INSERT INTO facts (fact_id, text, category, confidence, created_at, last_validated_at, "
        "status, successor) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (fact_id) DO UPDATE SET "
        "text = excluded.text, category = excluded.category, confidence = excluded.confidence, "
        "created_at = excluded.created_at, last_validated_at = excluded.last_validated_at, "
        "status = excluded.status, successor = excluded.successor",
        (fact.fact_id, fact.text, fact.category, fact.confidence, fact.created_at,
         fact.last_validated_at, fact.status, successor),
    )  # fmt: skip
    connection.executemany(
        "INSERT OR IGNORE INTO fact_sources VALUES (?, ?)",
        [(fact.fact_id, source) for source in fact.sources],
    )


def note(
    connection: sqlite3.Connection,
    operation: str,
    fact_id: str,
    old_id: str,
    told: Candidate,
    now: float,
    reason: str,
) -> Change:
    """Write one entry of the history."""
    text, category, confidence, sources, at = told
    values = (operation, fact_id, old_id, text, category, confidence)
    number = connection.execute(
        "INSERT INTO fact_history (operation, fact_id, old_id, text, category, confidence, "
        "sources, at, changed_at, reason, said) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*values, json.dumps(sources), at, now, reason, said(told)),
    ).lastrowid
    assert number is not None
    return Change(number, *values, sources, at, now, reason)


def known(connection: sqlite3.Connection, told: Candidate) -> bool:
    """Whether the history has this very statement."""
    row = connection.execute("SELECT 1 FROM fact_history WHERE said = ?", (said(told),)).fetchone()
    return row is not None


def take_out_source(connection: sqlite3.Connection, source: str) -> list[str]:
    """Take a source from all facts and entries; entries that have no other go.

    Returns:
        The ids of the facts that had it, sorted.
    """
    held = connection.execute(
        "SELECT fact_id FROM fact_sources WHERE source = ? ORDER BY fact_id", (source,)
    ).fetchall()
    connection.execute("DELETE FROM fact_sources WHERE source = ?", (source,))
    for number, sources in connection.execute(
        "SELECT number, sources FROM fact_history WHERE EXISTS "
        "(SELECT 1 FROM json_each(sources) WHERE value = ?)", (source,)
    ).fetchall():  # fmt: skip
        if left := [one for one in json.loads(sources) if one != source]:
            connection.execute(
                "UPDATE fact_history SET sources = ? WHERE number = ?", (json.dumps(left), number)
            )
        else:
            connection.execute("DELETE FROM fact_history WHERE number = ?", (number,))
    return [fact_id for (fact_id,) in held]


def set_free(connection: sqlite3.Connection, denial: Change) -> None:
    """Make an active fact of a denial in the history, as if what it denied had not been there."""
    new_id = digest([denial.fact_id, denial.number])
    connection.execute(
        "UPDATE fact_history SET operation = 'add', fact_id = ? WHERE number = ?",
        (new_id, denial.number),
    )
    at = denial.at
    fact = Fact(new_id, denial.text, denial.category, denial.confidence, denial.sources, at, at,
                "active")  # fmt: skip
    write(connection, fact)


def rename(connection: sqlite3.Connection, fact_id: str, new_id: str) -> None:
    """Give a fact another id, wherever it stands."""
    for table, column in (("facts", "fact_id"), *_REFERENCES):
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (new_id, fact_id))


def remove(connection: sqlite3.Connection, fact_ids: Iterable[str]) -> None:
    """Remove facts with their own history; what gave way to them has no successor then."""
    for fact_id in fact_ids:
        for table in ("facts", "fact_sources", "fact_history"):
            connection.execute(f"DELETE FROM {table} WHERE fact_id = ?", (fact_id,))
        for table, column in (("facts", "successor"), ("fact_history", "old_id")):
            connection.execute(f"UPDATE {table} SET {column} = '' WHERE {column} = ?", (fact_id,))


def said(told: Candidate) -> str:
    """A statement's id, 20 hex digits: of its text, its sources (sorted) and its time."""
    return digest([told.text, sorted(told.sources), told.at])


def digest(parts: list[object]) -> str:
    """20 hex digits of SHA-256 of what JSON makes of the parts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:20]
