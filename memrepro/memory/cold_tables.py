"""COLD's tables, row by row; each function is inside the caller's transaction."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable

from memrepro.errors import MemreproError
from memrepro.memory.language.fact import Candidate, Change, Fact

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
    """One fact; an error if there is none of the id."""
    if not (found := facts_where(connection, "fact_id", fact_id)):
        raise MemreproError(f"there is no fact {fact_id!r}: it was forgotten, or never held")
    return found[0]


def changes_of(connection: sqlite3.Connection, which: str, fact_id: str) -> list[Change]:
    """The history of a fact and its `LINE`, or its `MERGED`, in order."""
    rows = connection.execute(
        "SELECT number, operation, fact_id, old_id, text, category, confidence, at, changed_at, "
        f"reason, sources FROM fact_history WHERE fact_id IN ({which}) ORDER BY number",
        (fact_id,),
    )
    return [Change(*values) for values in ((*row, tuple(json.loads(told))) for *row, told in rows)]


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
    values = (operation, fact_id, old_id, told.text, told.category, told.confidence, told.at, now,
              reason)  # fmt: skip
    number = connection.execute(
        "INSERT INTO fact_history (operation, fact_id, old_id, text, category, confidence, at, "
        "changed_at, reason, sources, said) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*values, json.dumps(told.sources), statement_id(told)),
    ).lastrowid
    assert number is not None
    return Change(number, *values, told.sources)


def known(connection: sqlite3.Connection, told: Candidate) -> bool:
    """Whether the history has this very statement."""
    row = connection.execute(
        "SELECT 1 FROM fact_history WHERE said = ?", (statement_id(told),)
    ).fetchone()
    return row is not None


def take_out_source(connection: sqlite3.Connection, source: str) -> list[str]:
    """Take a source from all facts and entries (without another they go): those facts' ids."""
    held = connection.execute(
        "SELECT fact_id FROM fact_sources WHERE source = ? ORDER BY fact_id", (source,)
    ).fetchall()
    connection.execute("DELETE FROM fact_sources WHERE source = ?", (source,))
    for number, sources in connection.execute(
        "SELECT number, sources FROM fact_history WHERE instr(sources, ?)", (json.dumps(source),)
    ).fetchall():
        if left := [one for one in json.loads(sources) if one != source]:
            connection.execute(
                "UPDATE fact_history SET sources = ? WHERE number = ?", (json.dumps(left), number)
            )
        else:
            connection.execute("DELETE FROM fact_history WHERE number = ?", (number,))
    return [fact_id for (fact_id,) in held]


def set_free(connection: sqlite3.Connection, denial: Change) -> str:
    """Make an active fact of a denial in the history, as if what it denied had not been there."""
    new_id = digest([denial.fact_id, denial.number])
    connection.execute(
        "UPDATE fact_history SET operation = 'add', fact_id = ? WHERE number = ?",
        (new_id, denial.number),
    )
    told = Candidate(denial.text, denial.category, denial.confidence, denial.sources, denial.at)
    write(connection, Fact.from_statement(new_id, told))
    return new_id


def rename(connection: sqlite3.Connection, fact_id: str, new_id: str) -> None:
    """Give a fact another id, wherever it stands."""
    for table, column in (("facts", "fact_id"), *_REFERENCES):
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (new_id, fact_id))


def remove(connection: sqlite3.Connection, fact_ids: Iterable[str]) -> None:
    """Remove facts with their own history; what gave way to them gives way to their successors."""
    for fact_id in fact_ids:
        # A link of a line goes, and the line stays; what was merged into it says the same.
        connection.execute(
            "UPDATE facts SET successor = (SELECT successor FROM facts WHERE fact_id = ?1)"
            " WHERE successor = ?1 AND status = 'superseded'",
            (fact_id,),
        )
        for table in ("facts", "fact_sources", "fact_history"):
            connection.execute(f"DELETE FROM {table} WHERE fact_id = ?", (fact_id,))
        for table, column in (("facts", "successor"), ("fact_history", "old_id")):
            connection.execute(f"UPDATE {table} SET {column} = '' WHERE {column} = ?", (fact_id,))


def statement_id(told: Candidate) -> str:
    """A statement's id, 20 hex digits: of its text, its sources (sorted) and its time."""
    return digest([told.text, sorted(told.sources), told.at])


def digest(parts: list[object]) -> str:
    """20 hex digits of SHA-256 of what JSON makes of the parts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:20]
