"""What each command of `python -m memrepro memory` does, and how its result is shown."""

import argparse
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.encode.encoder import HashEncoder
from memrepro.encode.load import load_encoder
from memrepro.errors import MemreproError, printable
from memrepro.memory import control
from memrepro.memory.folders import user_folder
from memrepro.memory.memory import Mode, TieredMemory
from memrepro.memory.settings import Settings
from memrepro.retrieve.tiered.keys.segments import Message

_HASH = "hash-"
_PATIENT_MS = 10_000.0

Rows = list[dict[str, Any]]
# Rows are a table for people; a text is for them alone, and one object for programs alone.
Result = Rows | dict[str, Any] | str


def _opened(arguments: argparse.Namespace, mode: Mode = "write") -> TieredMemory:
    name = arguments.encoder
    # For tests: without a model.
    hashed = name.startswith(_HASH) and name.removeprefix(_HASH).isdecimal()
    encoder = HashEncoder(int(name.removeprefix(_HASH))) if hashed else load_encoder(name)
    # Each command's first search is its only one, and a model's first call is slow.
    settings = Settings(dense_ms=_PATIENT_MS)
    return TieredMemory(arguments.root, arguments.user, encoder, settings, mode=mode)


def _add(arguments: argparse.Namespace) -> Result:
    messages = read_messages(arguments.file)
    with _opened(arguments) as memory:
        return [asdict(memory.add(messages))]


def _search(arguments: argparse.Namespace) -> Result:
    now = seconds(arguments.now or time.time())
    with _opened(arguments, "read" if arguments.read else "write") as memory:
        answer = memory.search(arguments.query, now, arguments.channel)
    if arguments.json:
        return asdict(answer)
    for failure in answer.failures:
        print(f"not by {failure}")
    return answer.says or [
        {"tier": item.tier, "score": f"{item.score:.3f}", "said": shown(item.at),
         "text": item.text, "messages": ", ".join(item.message_ids)}
        for item in answer.items
    ]  # fmt: skip


def _list(arguments: argparse.Namespace) -> Result:
    with _opened(arguments, "read") as memory:
        if arguments.what == "messages":
            return [{**asdict(one), "at": shown(one.at)} for one in control.messages(memory)]
        if arguments.what == "segments":
            return [
                {"segment_id": one.segment_id, "tier": one.tier, "start": shown(one.start),
                 "end": shown(one.end), "accesses": one.accesses,
                 "messages": ", ".join(one.message_ids), "text": one.text}
                for one in control.segments(memory)
            ]  # fmt: skip
        return [
            {"fact_id": one.fact_id, "category": one.category, "text": one.text,
             "confidence": one.confidence, "first_said": shown(one.created_at),
             "last_said": shown(one.last_validated_at)}
            for one in control.facts(memory, arguments.status)
        ]  # fmt: skip


def _delete(arguments: argparse.Namespace) -> Result:
    if arguments.everything:
        if not user_folder(arguments.root, arguments.user).is_dir():
            raise MemreproError(f"{arguments.root} has no memory of {arguments.user!r}")
        control.delete_user(arguments.root, arguments.user)
        return [{"deleted": "everything"}]
    with _opened(arguments) as memory:
        if arguments.fact:
            control.delete_fact(memory, arguments.fact)
            return [{"deleted": f"fact {arguments.fact}"}]
        if arguments.between:
            n = control.delete_between(memory, *map(seconds, arguments.between))
        else:
            control.delete_messages(memory, arguments.message)
            n = len(arguments.message)
    return [{"deleted": f"{n} messages"}]


def _edit(arguments: argparse.Namespace) -> Result:
    edit = control.edit_message if arguments.message else control.edit_fact
    which, now = arguments.message or arguments.fact, seconds(arguments.now or time.time())
    with _opened(arguments) as memory:
        edit(memory, which, arguments.text, now)
    return [{"edited": which}]


def _pause(arguments: argparse.Namespace) -> Result:
    with _opened(arguments) as memory:
        control.pause(memory)
    return [{"memory": "paused"}]


def _resume(arguments: argparse.Namespace) -> Result:
    with _opened(arguments) as memory:
        control.resume(memory)
    return [{"memory": "resumed"}]


def _export(arguments: argparse.Namespace) -> Result:
    with _opened(arguments, "read") as memory:
        control.export(memory, arguments.file)
    return [{"exported": str(arguments.file)}]


def _import(arguments: argparse.Namespace) -> Result:
    with _opened(arguments) as memory:
        control.import_(memory, arguments.file)
        n = len(control.messages(memory))
    return [{"imported": f"{n} messages"}]


def _maintain(arguments: argparse.Namespace) -> Result:
    now = seconds(arguments.now or time.time())
    with _opened(arguments) as memory:
        return [asdict(memory.maintain(now))]


def _metrics(arguments: argparse.Namespace) -> Result:
    # A reader knows its own counts alone.
    with _opened(arguments) as memory:
        return [{"counter": name, "count": n} for name, n in memory.metrics().items()]


ACTIONS: Mapping[str, Callable[[argparse.Namespace], Result]] = {
    "add": _add, "search": _search, "list": _list, "delete": _delete, "edit": _edit,
    "pause": _pause, "resume": _resume, "export": _export, "import": _import,
    "maintain": _maintain, "metrics": _metrics,
}  # fmt: skip


def read_messages(path: Path) -> list[Message]:
    """The messages of a file, one JSON object a line; `channel` may be left out.

    Raises:
        MemreproError: if it cannot be read, naming the first line that is no message.
    """
    needed, known = {"message_id", "speaker", "at", "text"}, {"channel"}
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise MemreproError(f"{path} cannot be read: {error}") from error
    messages = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise MemreproError(f"line {number} of {path} is no JSON: {error}") from error
        if not isinstance(row, dict) or not needed <= set(row) <= needed | known:
            raise MemreproError(
                f"line {number} of {path} is no message: it must have message_id, speaker, at and "
                "text, may have channel, and nothing else"
            )
        try:
            row["at"] = seconds(row["at"])
        except MemreproError as error:
            raise MemreproError(f"line {number} of {path}: {error}") from error
        messages.append(Message(**row))
    return messages


def seconds(when: object) -> float:
    """Unix seconds of Unix seconds or ISO 8601, as text or number; without an offset it is UTC.

    Raises:
        MemreproError: if it is neither.
    """
    text = str(when)
    try:
        return float(text)
    except ValueError:
        pass
    try:
        time_read = datetime.fromisoformat(text)
    except ValueError as error:
        raise MemreproError(
            f"{when!r} is no time: write ISO 8601, such as 2023-05-08T13:56, or Unix seconds"
        ) from error
    return (time_read if time_read.tzinfo else time_read.replace(tzinfo=UTC)).timestamp()


def shown(at: float) -> str:
    """A time in ISO 8601, UTC, to the second."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def _line(text: str) -> str:
    """A text on one line, without what a terminal would obey."""
    return printable(" / ".join(text.splitlines()))


def show(result: Result, as_json: bool) -> None:
    """Print a command's result."""
    if as_json:
        print(json.dumps(result, indent=1))
    elif not isinstance(result, list):
        print(result)
    elif not result:
        print("nothing")
    else:
        lines = [{name: _line(str(value)) for name, value in row.items()} for row in result]
        print(pd.DataFrame(lines).to_markdown(index=False, disable_numparse=True))
