"""`python -m memrepro memory`: a person's tiered memory from the command line.

Tables for people, `--json` for programs. Here alone the clock is the system's where none is given.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memrepro.errors import MemreproError

ENCODER = "all-minilm-l6-v2"
_HASH = "hash-"
_PATIENT_MS = 10_000.0

Rows = list[dict[str, Any]]


def add_commands(subparsers: Any) -> None:
    """Add `memory` with its commands; each sets `action`, which takes the arguments, gives 0.

    Args:
        subparsers: what `ArgumentParser.add_subparsers` has returned.
    """
    about = "a person's tiered memory: add, search, see, correct, delete, carry away"
    memory = subparsers.add_parser("memory", help=about, description=about)
    commands = memory.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, action: Callable[[Any], int], text: str) -> argparse.ArgumentParser:
        command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
        command.set_defaults(action=action)
        command.add_argument("--user", required=True, help="whose memory: any name")
        command.add_argument("--root", required=True, type=Path, help="the folder of all memories")
        command.add_argument("--encoder", default=ENCODER, help=f"of texts (default: {ENCODER})")
        command.add_argument("--json", action="store_true", help="print JSON")
        return command

    def now(command: argparse.ArgumentParser) -> None:
        command.add_argument(
            "--now", default="", help="ISO 8601 or Unix seconds (default: the system's clock)"
        )

    one = add("add", _add, "take in messages, one JSON object a line")
    one.add_argument(
        "file", type=Path, help="message_id, speaker, at (ISO 8601 or Unix seconds), text, channel"
    )
    one = add("search", _search, "what is remembered of a question")
    one.add_argument("query")
    one.add_argument("--channel", help="of one channel alone")
    one.add_argument("--read", action="store_true", help="leave no trace, beside one who writes")
    now(one)
    one = add("list", _list, "see what is remembered")
    one.add_argument("what", choices=("messages", "segments", "facts"))
    one.add_argument("--status", default="active", help="of facts: active, superseded, …")
    one = add("delete", _delete, "delete for good")
    which = one.add_mutually_exclusive_group(required=True)
    which.add_argument("--message", action="append", metavar="ID", help="may be given repeatedly")
    which.add_argument("--between", nargs=2, metavar=("START", "END"), help="END not included")
    which.add_argument("--fact", metavar="ID", help="with its history")
    which.add_argument("--everything", action="store_true", help="all of the user's memory")
    one = add("edit", _edit, "put other words in place of a message's or fact's")
    which = one.add_mutually_exclusive_group(required=True)
    which.add_argument("--message", metavar="ID")
    which.add_argument("--fact", metavar="ID")
    one.add_argument("text")
    now(one)
    add("pause", _pause, "take in no messages until resumed")
    add("resume", _resume, "take in messages again")
    add("export", _export, "write all of it into one JSON file").add_argument("file", type=Path)
    add("import", _import, "take an export into an empty memory").add_argument("file", type=Path)
    now(add("maintain", _maintain, "close segments, make facts of old ones, merge facts"))
    add("metrics", _metrics, "what has been counted")


def _opened(arguments: argparse.Namespace, mode: Any = "write") -> Any:
    # Imported here because they take seconds, and `--help` needs none of it.
    from memrepro.encode.encoder import HashEncoder
    from memrepro.encode.load import load_encoder
    from memrepro.memory.memory import TieredMemory
    from memrepro.memory.settings import Settings

    name = arguments.encoder
    # For tests: without a model.
    hashed = name.startswith(_HASH) and name.removeprefix(_HASH).isdecimal()
    encoder = HashEncoder(int(name.removeprefix(_HASH))) if hashed else load_encoder(name)
    # Each command's first search is its only one, and a model's first call is slow.
    settings = Settings(dense_ms=_PATIENT_MS)
    return TieredMemory(arguments.root, arguments.user, encoder, settings, mode=mode)


def _add(arguments: argparse.Namespace) -> int:
    messages = read_messages(arguments.file)
    with _opened(arguments) as memory:
        return _print([asdict(memory.add(messages))], arguments)


def _search(arguments: argparse.Namespace) -> int:
    now = _now(arguments)
    with _opened(arguments, "read" if arguments.read else "write") as memory:
        answer = memory.search(arguments.query, now, arguments.channel)
    if arguments.json:
        print(json.dumps(asdict(answer), ensure_ascii=False, indent=1))
        return 0
    for failure in answer.failures:
        print(f"not by {failure}")
    if answer.says:
        print(answer.says)
        return 0
    return _print(
        [
            {"tier": item.tier, "score": f"{item.score:.3f}", "said": shown(item.at),
             "text": item.text, "messages": ", ".join(item.message_ids)}
            for item in answer.items
        ],
        arguments,
    )  # fmt: skip


def _list(arguments: argparse.Namespace) -> int:
    from memrepro.memory import control

    with _opened(arguments, "read") as memory:
        rows: Rows
        if arguments.what == "messages":
            rows = [{**asdict(one), "at": shown(one.at)} for one in control.messages(memory)]
        elif arguments.what == "segments":
            rows = [
                {"segment_id": one.segment_id, "tier": one.tier, "start": shown(one.start),
                 "end": shown(one.end), "accesses": one.accesses,
                 "messages": ", ".join(one.message_ids), "text": one.text}
                for one in control.segments(memory)
            ]  # fmt: skip
        else:
            rows = [
                {"fact_id": one.fact_id, "category": one.category, "text": one.text,
                 "confidence": one.confidence, "first_said": shown(one.created_at),
                 "last_said": shown(one.last_validated_at)}
                for one in control.facts(memory, arguments.status)
            ]  # fmt: skip
    return _print(rows, arguments)


def _delete(arguments: argparse.Namespace) -> int:
    from memrepro.memory import control
    from memrepro.memory.folders import user_folder

    if arguments.everything:
        if not user_folder(arguments.root, arguments.user).is_dir():
            raise MemreproError(f"{arguments.root} has no memory of {arguments.user!r}")
        control.delete_user(arguments.root, arguments.user)
        return _print([{"deleted": "everything"}], arguments)
    with _opened(arguments) as memory:
        if arguments.fact:
            control.delete_fact(memory, arguments.fact)
            deleted = f"fact {arguments.fact}"
        elif arguments.between:
            start, end = (seconds(text) for text in arguments.between)
            deleted = f"{control.delete_between(memory, start, end)} messages"
        else:
            control.delete_messages(memory, arguments.message)
            deleted = f"{len(arguments.message)} messages"
    return _print([{"deleted": deleted}], arguments)


def _edit(arguments: argparse.Namespace) -> int:
    from memrepro.memory import control

    edit = control.edit_message if arguments.message else control.edit_fact
    which, now = arguments.message or arguments.fact, _now(arguments)
    with _opened(arguments) as memory:
        edit(memory, which, arguments.text, now)
    return _print([{"edited": which}], arguments)


def _pause(arguments: argparse.Namespace) -> int:
    from memrepro.memory import control

    with _opened(arguments) as memory:
        control.pause(memory)
    return _print([{"memory": "paused"}], arguments)


def _resume(arguments: argparse.Namespace) -> int:
    from memrepro.memory import control

    with _opened(arguments) as memory:
        control.resume(memory)
    return _print([{"memory": "resumed"}], arguments)


def _export(arguments: argparse.Namespace) -> int:
    from memrepro.memory import control

    with _opened(arguments, "read") as memory:
        control.export(memory, arguments.file)
    return _print([{"exported": str(arguments.file)}], arguments)


def _import(arguments: argparse.Namespace) -> int:
    from memrepro.memory import control

    with _opened(arguments) as memory:
        control.import_(memory, arguments.file)
        n = len(control.messages(memory))
    return _print([{"imported": f"{n} messages"}], arguments)


def _maintain(arguments: argparse.Namespace) -> int:
    now = _now(arguments)
    with _opened(arguments) as memory:
        return _print([asdict(memory.maintain(now))], arguments)


def _metrics(arguments: argparse.Namespace) -> int:
    # A reader knows its own counts alone.
    with _opened(arguments) as memory:
        counts = memory.metrics()
    return _print([{"counter": name, "count": n} for name, n in counts.items()], arguments)


def read_messages(path: Path) -> list[Any]:
    """The messages of a file, one JSON object a line; `channel` may be left out.

    Raises:
        MemreproError: if it cannot be read, naming the first line that is no message.
    """
    from memrepro.retrieve.tiered.segments import Message

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
        except json.JSONDecodeError as error:
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
    if isinstance(when, int | float) and not isinstance(when, bool):
        return float(when)
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
    lines = " / ".join(text.splitlines())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in lines)


def _now(arguments: argparse.Namespace) -> float:
    return seconds(arguments.now) if arguments.now else time.time()


def _print(rows: Sequence[dict[str, Any]], arguments: argparse.Namespace) -> int:
    import pandas as pd

    if arguments.json:
        print(json.dumps(rows, ensure_ascii=False, indent=1))
    elif not rows:
        print("nothing")
    else:
        lines = [{name: _line(str(value)) for name, value in row.items()} for row in rows]
        print(pd.DataFrame(lines).to_markdown(index=False, disable_numparse=True))
    return 0
