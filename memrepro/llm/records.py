"""The records: each answer under the hash of model, revision, parameters and prompt, in SQLite."""

import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from memrepro.encode.models import cache_folder
from memrepro.errors import MemreproError
from memrepro.files.database import Database
from memrepro.llm.model import Answer, Prompt, as_written, prompt_key

_COLUMNS = "key BLOB PRIMARY KEY, crc INTEGER NOT NULL, record BLOB NOT NULL"


@dataclass(frozen=True)
class Record:
    """A prompt with its answer; both hold a data set's texts, so a record never goes into git."""

    prompt: Prompt
    answer: Answer

    @property
    def key(self) -> bytes:
        """Computed from what is in it, so it cannot be another prompt's."""
        return prompt_key(self.answer.identity, self.prompt)

    def as_json(self) -> str:
        """One line: the key in hex, the prompt, the answer; names in alphabetical order."""
        line = {"key": self.key.hex(), **as_written(self)}
        return json.dumps(line, ensure_ascii=False, sort_keys=True, allow_nan=False)


_RECORD, _ANSWER = TypeAdapter(Record), TypeAdapter(Answer)


def read_record(line: Any) -> Record:
    """The record of a line of JSON, already parsed.

    Raises:
        ValueError: if a field is missing, is of another type or is not known, or if the key is
            not that of the prompt and the model.
        MemreproError: if a parameter is out of range.
    """
    if not isinstance(line, dict):
        raise ValueError(f"is a {type(line).__name__}, not a JSON object")
    try:
        record = _RECORD.validate_json(
            json.dumps({name: value for name, value in line.items() if name != "key"}), strict=True
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{place}: {first['msg']}") from error
    if line.get("key") != record.key.hex():
        raise ValueError(f"has the key {line.get('key')!r}, and its content {record.key.hex()!r}")
    if json.loads(record.as_json()) != line:
        raise ValueError("has a field that a record does not have")
    return record


class AnswerStore(Database):
    """Records by key in one SQLite file; several processes may use it at once (local disks only).

    An answer that is there stays as it is: of two writers, the first one's answer is everybody's.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Open the file (by default `answers.sqlite` in `models.cache_folder()`), or make it.

        Raises:
            MemreproError: if it is damaged or cannot be written.
        """
        super().__init__(
            path or cache_folder() / "answers.sqlite",
            "answers",
            _COLUMNS,
            what="store of answers",
            if_damaged="move it away, with its -wal and -shm files, and import an exported file, "
            "or record again",
            synchronous="FULL",  # what is kept here cost money: a power cut must not lose it
        )

    def read(self, keys: Sequence[bytes]) -> list[Answer]:
        """The answers of keys that are all here, in order.

        Raises:
            MemreproError: if one is missing or damaged.
        """
        found: dict[bytes, Answer] = {}
        for key, crc, data in self.rows_of("key, crc, record", list(dict.fromkeys(keys))):
            with self._sound(key, crc, data):
                found[key] = _ANSWER.validate_python(json.loads(data)["answer"])
        if lost := [key for key in keys if key not in found]:
            raise self.damaged(f"{len(lost)} answers are not there")
        return [found[key] for key in keys]

    def add(self, records: Sequence[Record]) -> int:
        """Commit records in one transaction, and say how many were new; others stay as they are.

        Raises:
            MemreproError: if the file cannot be written.
        """
        rows = []
        for record in records:
            key, data = record.key, record.as_json().encode()
            rows.append((key, zlib.crc32(key + data), data))
        return self.insert(rows)

    def records(self) -> Iterator[Record]:
        """All records in the order of their keys.

        Raises:
            MemreproError: if one is damaged.
        """
        for key, crc, data in self.rows("SELECT key, crc, record FROM answers ORDER BY key"):
            with self._sound(key, crc, data):
                record = read_record(json.loads(data))
            yield record

    @contextmanager
    def _sound(self, key: bytes, crc: int, data: bytes) -> Iterator[None]:
        """Compare a row with its check, and name it if its record cannot be read."""
        if zlib.crc32(key + data) != crc:
            raise self.damaged(f"the record {key.hex()[:12]}… does not fit its check")
        try:
            yield
        except (ValueError, KeyError, TypeError, MemreproError) as error:
            raise self.damaged(f"the record {key.hex()[:12]}… {error!r}") from error
