"""COLD: facts with their provenance and history; each function is inside the caller's transaction.

328e0f776fdaed08, "COLD tier" and "Memory conflict resolution lacks standards": keeping both values
confuses, and overwriting loses context. Here the old value stays as a fact that no longer holds,
and each statement stands in the history with its own sources, so that nothing is lost unless a
person has it forgotten, and then all of it is gone.
"""

import json
import math
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace

from memrepro.errors import MemreproError
from memrepro.memory import cold_tables as tables
from memrepro.memory.folders import is_unicode
from memrepro.memory.language.fact import (
    CATEGORIES,
    OPERATIONS,
    STATUSES,
    Candidate,
    Change,
    Decide,
    Decision,
    Fact,
)
from memrepro.memory.language.known import Known


def facts(connection: sqlite3.Connection, status: str = "active") -> list[Fact]:
    """The facts of a status, by id; an error names an unknown status."""
    if status not in STATUSES:
        raise MemreproError(
            f"no fact has the status {status!r}: it is one of {', '.join(STATUSES)}"
        )
    return tables.facts_where(connection, "status", status)


def facts_of(connection: sqlite3.Connection, fact_ids: Sequence[str]) -> list[Fact]:
    """The active ones of these facts, by id."""
    found = tables.facts_where(
        connection, "fact_id", json.dumps(fact_ids), "SELECT value FROM json_each(?)"
    )
    return [fact for fact in found if fact.status == "active"]


def in_other_words(connection: sqlite3.Connection, among: Iterable[str] | None = None
                   ) -> list[Fact]:  # fmt: skip
    """The active facts, or those of some ids, whose words no segment that says them has."""
    said = (
        "CASE instr(f.text, ': ') WHEN 0 THEN f.text ELSE substr(f.text, instr(f.text, ': ')+2) END"
    )
    rows = connection.execute(
        "SELECT fact_id FROM facts f WHERE status = 'active' AND NOT EXISTS (SELECT 1 FROM"
        " fact_sources x JOIN segments s ON s.segment_id = x.source WHERE x.fact_id = f.fact_id"
        f" AND instr(s.text, {said}))"
        + ("" if among is None else " AND fact_id IN (SELECT value FROM json_each(?))"),
        () if among is None else (json.dumps(list(among)),),
    )
    return facts_of(connection, [fact_id for (fact_id,) in rows])


def lexical(connection: sqlite3.Connection, terms: str) -> dict[str, float]:
    """BM25 of the active facts that match FTS5's terms: fact id → score over 0."""
    rows = connection.execute(
        "SELECT fact_id, -bm25(fact_words) FROM fact_words JOIN facts f"
        " ON f.number = fact_words.rowid WHERE fact_words MATCH ?",
        (terms,),
    )
    return dict(rows)


def history(connection: sqlite3.Connection, fact_id: str) -> list[Change]:
    """What led to a fact, in order: its own changes, and those of all facts that gave way to it."""
    return tables.changes_of(connection, tables.LINE, fact_id)


def validity(connection: sqlite3.Connection) -> list[tuple[Fact, float, float | None]]:
    """Each fact but merged ones, since when it was said, and until when if it no longer holds.

    It ends when its successor was said, or when it was denied; where that is forgotten, when it was
    last said itself. One that came 'late' was over when what stands was first said.
    """
    ends = dict(
        connection.execute(
            "SELECT f.fact_id, coalesce("
            " (SELECT min(at) FROM fact_history h WHERE h.operation = 'update'"
            "  AND h.old_id = f.fact_id),"
            " (SELECT min(at) FROM fact_history h WHERE h.operation = 'delete'"
            "  AND h.fact_id = f.fact_id),"
            " (SELECT s.created_at FROM facts s WHERE s.fact_id = f.successor), last_validated_at)"
            " FROM facts f WHERE status IN ('superseded', 'deleted')"
        )
    )
    found = [fact for status in ("active", "superseded", "deleted")
             for fact in facts(connection, status)]  # fmt: skip
    return [(fact, fact.created_at, ends.get(fact.fact_id)) for fact in found]


def conflicts(connection: sqlite3.Connection) -> dict[str, int]:
    """Segment id → of how many facts that were contradicted later it is a source, if of any.

    MemoryBank's conflict(m) ("score(m,q) = sim × w_time − γ × conflict(m)"), as a count.
    Contradicted is what is superseded or deleted, not what was merged.
    """
    return dict(
        connection.execute(
            "SELECT source, count(*) FROM fact_sources JOIN facts USING (fact_id) "
            "WHERE status IN ('superseded', 'deleted') GROUP BY source ORDER BY source"
        ).fetchall()
    )


def apply(
    connection: sqlite3.Connection,
    candidates: Sequence[Candidate],
    now: float,
    decide: Decide,
    active: Known | None = None,
) -> list[Change]:
    """Take candidates in, in the order in which they were said, and say what changed.

    A statement (text, sources, time) that the history has changes nothing. One that contradicts
    what was said after it comes 'late': it is kept as superseded, and what stands stays.

    Args:
        connection: in a transaction.
        candidates: in any order; of those said at one time the order counts.
        now: Unix seconds.
        decide: such as `conflicts.by_rules`.
        active: the active facts, which are kept in step; read where they are not given.

    Raises:
        MemreproError: if a candidate or a decision is not as `fact` says; roll back then.
    """
    for candidate in candidates:
        _check(candidate)
    if active is None:
        active = Known(facts(connection) if candidates else ())
    changes = []
    for given in sorted(candidates, key=lambda one: one.at):
        candidate = given._replace(sources=tuple(sorted(set(given.sources))))
        if tables.known(connection, candidate):
            continue
        decision = decide(candidate, active)
        if decision.operation not in OPERATIONS or (
            decision.operation != "add" and not active.has(decision.fact_id)
        ):
            raise MemreproError(
                f"the decision on {candidate.text[:60]!r} is {decision.operation!r} of the fact "
                f"{decision.fact_id!r}: it must be one of {', '.join(OPERATIONS)}, and of an "
                "active fact unless it is 'add'"
            )
        changes.append(_carry_out(connection, candidate, decision, now, active))
    return changes


def edit(connection: sqlite3.Connection, fact_id: str, text: str, now: float) -> Fact:
    """A person's own words in place of an active fact's text; the earlier ones stay in the history.

    What a person wrote is certain: the confidence becomes 1. The id and the sources stay.

    Raises:
        MemreproError: if there is no such active fact, or the text is empty or not valid Unicode.
    """
    fact = tables.the_fact(connection, fact_id)
    if fact.status != "active":
        raise MemreproError(f"the fact {fact_id!r} is {fact.status}: only an active one is edited")
    told = Candidate(text, fact.category, 1.0, (), now)
    _check(told, edited=True)
    tables.note(connection, "edit", fact_id, "", told, now, "a person's words")
    edited = replace(fact, text=text, confidence=1.0, last_validated_at=now)
    tables.write(connection, edited)
    return edited


def merge(
    connection: sqlite3.Connection, survivor_id: str, fact_id: str, now: float, reason: str
) -> Change:
    """Let one active fact give way to another that says the same; the other takes its sources.

    Raises:
        MemreproError: if they are not two active facts.
    """
    survivor, fact = (tables.the_fact(connection, one) for one in (survivor_id, fact_id))
    if survivor_id == fact_id or {survivor.status, fact.status} != {"active"}:
        raise MemreproError(
            f"the fact {fact_id!r} ({fact.status}) cannot be merged into {survivor_id!r} "
            f"({survivor.status}): they must be two active ones"
        )
    # Of all who said the same only those who said it in these words, so that it goes with them.
    sources = {
        source
        for change in tables.changes_of(connection, tables.MERGED, fact_id)
        if change.text == fact.text and change.operation != "delete"
        for source in change.sources
    }
    told = Candidate(
        fact.text, fact.category, fact.confidence, tuple(sorted(sources)), fact.last_validated_at
    )
    tables.write(connection, replace(fact, status="merged"), survivor_id)
    tables.write(
        connection,
        replace(
            survivor,
            sources=fact.sources,
            confidence=max(survivor.confidence, fact.confidence),
            created_at=min(survivor.created_at, fact.created_at),
            last_validated_at=max(survivor.last_validated_at, fact.last_validated_at),
        ),
    )
    return tables.note(connection, "merge", survivor_id, fact_id, told, now, reason)


def forget(connection: sqlite3.Connection, fact_id: str) -> list[str]:
    """Remove a fact with its history: all values that gave way to it, and all that was said of it.

    A fact that superseded it stays; one that it was merged into says the same and goes too. The
    bytes are gone from the file once the caller's `secure_delete`, checkpoint or VACUUM has
    seen to it.

    Returns:
        The ids of the facts that were removed, sorted.

    Raises:
        MemreproError: if there is no such fact.
    """
    while tables.the_fact(connection, fact_id).status == "merged":
        (fact_id,) = connection.execute(
            "SELECT successor FROM facts WHERE fact_id = ?", (fact_id,)
        ).fetchone()
    gone = sorted(one for (one,) in connection.execute(tables.LINE, (fact_id,)))
    tables.remove(connection, gone)
    return gone


def forget_source(connection: sqlite3.Connection, segment_id: str) -> list[str]:
    """Remove all that one segment alone said: facts, and statements in the history of others.

    A fact that other segments say too stays, without this source; where its words are this
    segment's alone, it is told in those of the last statement that is left, under another id. What
    the segment superseded or denied does not come back; what another segment said to deny a fact
    that is removed becomes a fact itself.

    Returns:
        The ids of the facts that it said, and of those that came in their place.
    """
    held = tables.take_out_source(connection, segment_id)
    came = []
    for fact_id in held:
        fact = tables.the_fact(connection, fact_id)
        changes = tables.changes_of(connection, tables.MERGED, fact_id)
        told = [change for change in changes if change.operation != "delete"]
        if not fact.sources:
            for change in changes:
                if change.operation == "delete":
                    came.append(tables.set_free(connection, change))
            tables.remove(connection, [fact_id])
        elif all(change.text != fact.text for change in told):
            last = told[-1]
            # Numbers are not used twice, so neither are ids.
            new_id = tables.digest([fact_id, last.number])
            tables.rename(connection, fact_id, new_id)
            connection.execute(
                "UPDATE facts SET text = ?, category = ?, confidence = ? WHERE fact_id = ?",
                (last.text, last.category, last.confidence, new_id),
            )
            came.append(new_id)
    return [*held, *came]


def _carry_out(
    connection: sqlite3.Connection,
    candidate: Candidate,
    decision: Decision,
    now: float,
    active: Known,
) -> Change:
    """Write what was decided, and keep `active` in step."""
    operation, fact_id, reason = decision
    new = Fact.from_statement(tables.statement_id(candidate), candidate)
    at, new_id = candidate.at, new.fact_id
    if operation == "add":
        fact_id = ""
    else:
        old = active[fact_id]
        if operation == "noop":
            same = replace(
                old,
                sources=tuple(sorted({*old.sources, *candidate.sources})),
                confidence=max(old.confidence, candidate.confidence),
                created_at=min(old.created_at, at),
                last_validated_at=max(old.last_validated_at, at),
            )
            active.put(same)
            tables.write(connection, same)
            return tables.note(connection, "noop", fact_id, "", candidate, now, reason)
        if at < old.last_validated_at:
            tables.write(connection, replace(new, status="superseded"), fact_id)
            return tables.note(connection, "late", new_id, fact_id, candidate, now, reason)
        active.remove(fact_id)
        if operation == "delete":
            tables.write(connection, replace(old, status="deleted"))
            return tables.note(connection, "delete", fact_id, "", candidate, now, reason)
        tables.write(connection, replace(old, status="superseded"), new_id)
    tables.write(connection, new)
    active.put(new)
    return tables.note(connection, operation, new_id, fact_id, candidate, now, reason)


def _check(told: Candidate, *, edited: bool = False) -> None:
    """Refuse a candidate that is not as `Candidate` says."""
    rules = {
        "text": (bool(told.text.strip()) and is_unicode(told.text), "words in valid Unicode"),
        "category": (told.category in CATEGORIES, f"one of {', '.join(CATEGORIES)}"),
        "confidence": (0 <= told.confidence <= 1, "in 0..1"),
        "sources": (edited or (bool(told.sources) and all(told.sources)),
                    "segments' ids, at least one"),
        "at": (math.isfinite(told.at), "a finite number of seconds"),
    }  # fmt: skip
    for name, (good, rule) in rules.items():
        if not good:
            raise MemreproError(
                f"the {name} of a statement for COLD is {getattr(told, name)!r}: it must be {rule}"
            )
