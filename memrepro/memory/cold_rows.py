"""All that COLD holds as rows of JSON, out and in again ("privacy controls (… export/import)")."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from memrepro.errors import MemreproError
from memrepro.memory.fact import CATEGORIES, CHANGES, STATUSES


def _one_of(names: Sequence[str]) -> AfterValidator:
    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"none of {', '.join(names)}")
        return name

    return AfterValidator(check)


def _writable(text: str) -> str:
    if text != text.encode("utf-8", "replace").decode():
        raise ValueError("not valid Unicode")
    return text


Words = Annotated[str, Field(pattern=r"\S"), AfterValidator(_writable)]
Text = Annotated[str, AfterValidator(_writable)]
Seconds = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Category = Annotated[str, _one_of(CATEGORIES)]


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class FactRow(_Row):
    """A fact, its sources apart; `successor` is the fact that it gave way to, or ''."""

    fact_id: Words
    text: Words
    category: Category
    confidence: Share
    created_at: Seconds
    last_validated_at: Seconds
    status: Annotated[str, _one_of(STATUSES)]
    successor: Text


class SourceRow(_Row):
    """A segment that says a fact."""

    fact_id: Words
    source: Words


class HistoryRow(_Row):
    """An entry of the history (`fact.Change`), without its number; `said` is the statement's id."""

    operation: Annotated[str, _one_of(CHANGES)]
    fact_id: Words
    old_id: Text
    text: Words
    category: Category
    confidence: Share
    sources: list[Words]
    at: Seconds
    changed_at: Seconds
    reason: Text
    said: Words


_TABLES: dict[str, tuple[type[_Row], str]] = {
    "facts": (FactRow, "fact_id"),
    "fact_sources": (SourceRow, "fact_id, source"),
    "fact_history": (HistoryRow, "number"),
}


def export_rows(connection: sqlite3.Connection) -> dict[str, list[dict[str, Any]]]:
    """Table → its rows as JSON holds them; facts and sources by id, the history in order."""
    found = {}
    for table, (row, order) in _TABLES.items():
        names = list(row.model_fields)
        rows = connection.execute(f"SELECT {', '.join(names)} FROM {table} ORDER BY {order}")
        found[table] = [dict(zip(names, values, strict=True)) for values in rows]
    for entry in found["fact_history"]:
        entry["sources"] = json.loads(entry["sources"])
    return found


def import_rows(
    connection: sqlite3.Connection, rows: Mapping[str, Sequence[Mapping[str, Any]]]
) -> None:
    """Put exported rows into tables that hold no fact yet; `export_rows` then gives the same.

    Raises:
        MemreproError: if the tables hold facts, or naming the first row that is not as exported;
            roll back then.
    """
    if connection.execute("SELECT 1 FROM facts").fetchone():
        raise MemreproError(
            "COLD holds facts already: import into an empty memory, or forget them all first"
        )
    if set(rows) != set(_TABLES):
        raise MemreproError(
            f"the exported facts have the tables {', '.join(sorted(map(str, rows))) or 'none'}: "
            f"they must be {', '.join(_TABLES)}"
        )
    checked = {
        table: [_checked(row, table, number, one) for number, one in enumerate(rows[table], 1)]
        for table, (row, _) in _TABLES.items()
    }
    held = {row["fact_id"] for row in checked["facts"]}
    if len(held) != len(checked["facts"]):
        raise MemreproError("the exported facts have an id twice: export them again")
    for table, listed in checked.items():
        for number, row in enumerate(listed, 1):
            known = {row["fact_id"], row.get("successor", ""), row.get("old_id", "")} - {""}
            if strange := sorted(known - held):
                raise MemreproError(
                    f"row {number} of the exported {table} is of the fact {strange[0]!r}: no such "
                    "fact is exported"
                )
    for table, (model, _) in _TABLES.items():
        names = list(model.model_fields)
        marks = ", ".join("?" * len(names))
        connection.executemany(
            f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({marks})",
            [
                [json.dumps(one[n]) if n == "sources" else one[n] for n in names]
                for one in checked[table]
            ],
        )


def _checked(row: type[_Row], table: str, number: int, given: Any) -> dict[str, Any]:
    try:
        return row.model_validate(given).model_dump()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the row"
        raise MemreproError(
            f"row {number} of the exported {table} cannot be used: {place}: {first['msg'][:120]}"
        ) from error
