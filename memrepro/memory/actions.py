"""What each command of `python -m memrepro memory` does, and how its result is shown."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError, printable
from memrepro.files.atomic import read_yaml
from memrepro.memory import control
from memrepro.memory.exchange.importers import OWN, form_of, json_lines, read_chats
from memrepro.memory.folders import user_folder
from memrepro.memory.memory import Mode
from memrepro.memory.settings import NAMED, Settings
from memrepro.memory.times import seconds, shown
from memrepro.memory.user_memory import Memory, users
from memrepro.retrieve.tiered.keys.segments import Message

_HASH = "hash-"

Rows = list[dict[str, Any]]
# Rows are a table for people; a text is for them alone, and one object for programs alone.
Result = Rows | dict[str, Any] | str


def _opened(arguments: argparse.Namespace, mode: Mode = "write", *, create: bool = False) -> Memory:
    name = arguments.encoder
    # For tests: without a model.
    hashed = name.startswith(_HASH) and name.removeprefix(_HASH).isdecimal()
    return Memory(
        arguments.root, arguments.user, arguments.timezone, mode=mode, create=create,
        encoder=HashEncoder(int(name.removeprefix(_HASH))) if hashed else name,
        settings=arguments.settings, reencode=arguments.reencode, **_by_model(arguments),
    )  # fmt: skip


def _by_model(arguments: argparse.Namespace) -> dict[str, Any]:
    """What makes facts and decides on them, where a model is named."""
    if not arguments.model:
        return {}
    from memrepro.memory.language.model import by_model

    return by_model(read_yaml(arguments.model), arguments.model.stem)


def _zone(arguments: argparse.Namespace) -> ZoneInfo:
    return Settings(timezone=arguments.timezone).zone


def _now(arguments: argparse.Namespace) -> float:
    return seconds(arguments.now, _zone(arguments)) if arguments.now else time.time()


def _add(arguments: argparse.Namespace) -> Result:
    if arguments.text and arguments.file:
        raise MemreproError(f"{arguments.file} and --text are two things to add: name one")
    if arguments.text:
        with _opened(arguments, create=True) as memory:
            return [{"added": key} for key in memory.add(arguments.text)]
    if not arguments.file:
        raise MemreproError("there is nothing to add: name a file, or give --text")
    messages = read_messages(arguments.file, _zone(arguments))
    with _opened(arguments, create=True) as memory:
        added = memory.tiers.add(messages)
    if added.refused:
        raise MemreproError(f"the memory of {arguments.user!r} is paused: resume it to add")
    return [asdict(added)]


def _search(arguments: argparse.Namespace) -> Result:
    with _opened(arguments, "read" if arguments.read else "write") as memory:
        found = memory.search(
            arguments.query, arguments.k, channel=arguments.channel, now=_now(arguments),
            where=_where(arguments), threshold=arguments.threshold,
        )  # fmt: skip
    if arguments.json:
        hits = [{**asdict(hit), "at": hit.at.isoformat()} for hit in found]
        return {"step": found.step, "says": found.says, "failures": found.failures, "hits": hits}
    for failure in found.failures:
        print(f"not by {failure}")
    if found.says:
        print(_line(found.says))
    return [
        {"score": f"{hit.score:.3f}", "certain": "yes" if hit.certain else "no",
         "said": hit.at.isoformat(timespec="seconds"), "by": hit.role, "text": hit.text,
         "message": hit.id}
        for hit in found
    ]  # fmt: skip


def _where(arguments: argparse.Namespace) -> dict[str, object]:
    pairs = [one.partition("=") for one in arguments.where]
    if odd := next((name for name, sign, _ in pairs if not sign), None):
        raise MemreproError(f"--where {odd}: it must be NAME=VALUE")
    return {name: value for name, _, value in pairs}


def _context(arguments: argparse.Namespace) -> Result:
    with _opened(arguments, "read" if arguments.read else "write") as memory:
        text = memory.context(arguments.query, arguments.tokens, now=_now(arguments))
    if not text:  # beside the text, which may be a prompt's
        print(f"nothing that is remembered fits in {arguments.tokens} tokens", file=sys.stderr)
    return {"context": text} if arguments.json else printed_lines(text)


def _facts(arguments: argparse.Namespace) -> Result:
    with _opened(arguments, "read") as memory:
        zone = _zone(arguments)
        if arguments.history:
            return [
                {"said": shown(one.at, zone), "operation": one.operation, "text": one.text,
                 "reason": one.reason}
                for one in memory.history(arguments.history)
            ]  # fmt: skip
        held = memory.as_of(arguments.as_of or _now(arguments))
        return [
            {"fact_id": one.fact.fact_id, "category": one.fact.category, "text": one.fact.text,
             "since": one.since.isoformat(), "until": one.until.isoformat() if one.until else ""}
            for one in held
        ]  # fmt: skip


def _forget(arguments: argparse.Namespace) -> Result:
    with _opened(arguments) as memory:
        gone = memory.forget(arguments.what, dry_run=arguments.dry_run)
    done = "would go" if arguments.dry_run else "gone"
    return [{done: hit.id, "said": hit.at.isoformat(), "text": hit.text} for hit in gone]


def _users(arguments: argparse.Namespace) -> Result:
    return [{"user": user} for user in users(arguments.root)]


def _settings(arguments: argparse.Namespace) -> Result:
    rows = [{"settings": name, **asdict(one)} for name, one in NAMED.items()]
    changed = {key for key in rows[0] if len({str(row[key]) for row in rows}) > 1}
    return [{key: str(row[key]) for key in row if key in changed} for row in rows]


def _list(arguments: argparse.Namespace) -> Result:
    with _opened(arguments, "read") as opened:
        memory = opened.tiers
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
    with _opened(arguments) as opened:
        memory = opened.tiers
        if arguments.fact:
            control.delete_fact(memory, arguments.fact)
            return [{"deleted": f"fact {arguments.fact}"}]
        if arguments.between:
            n = control.delete_between(
                memory, *(seconds(t, _zone(arguments)) for t in arguments.between)
            )
        else:
            control.delete_messages(memory, arguments.message)
            n = len(arguments.message)
    return [{"deleted": f"{n} messages"}]


def _edit(arguments: argparse.Namespace) -> Result:
    edit = control.edit_message if arguments.message else control.edit_fact
    which, now = arguments.message or arguments.fact, _now(arguments)
    with _opened(arguments) as memory:
        edit(memory.tiers, which, arguments.text, now)
    return [{"edited": which}]


def _pause(arguments: argparse.Namespace) -> Result:
    with _opened(arguments) as memory:
        control.pause(memory.tiers)
    return [{"memory": "paused"}]


def _resume(arguments: argparse.Namespace) -> Result:
    with _opened(arguments) as memory:
        control.resume(memory.tiers)
    return [{"memory": "resumed"}]


def _export(arguments: argparse.Namespace) -> Result:
    with _opened(arguments, "read") as memory:
        memory.export(arguments.file)
    return [{"exported": str(arguments.file)}]


def _import(arguments: argparse.Namespace) -> Result:
    form = arguments.format or form_of(arguments.file)
    chats = None if form == OWN else read_chats(arguments.file, form)
    if chats == []:
        raise MemreproError(f"{arguments.file} holds no message; nothing was taken in")
    with _opened(arguments, create=True) as memory:
        before = len(memory.messages())
        if chats is None:
            memory.import_(arguments.file)
        else:
            try:
                memory.add(chats)
            except MemreproError as error:
                raise MemreproError(f"{arguments.file}: {error}; nothing was taken in") from error
        n = len(memory.messages()) - before
    return [{"imported": f"{n} messages", "from": form}]


def serve(arguments: argparse.Namespace) -> None:
    """Serve a memory to agents until its input ends."""
    from memrepro.memory.exchange.serve import server

    with _opened(arguments, create=True) as memory:
        server(memory).run("stdio")


def _maintain(arguments: argparse.Namespace) -> Result:
    now = _now(arguments)
    with _opened(arguments) as memory:
        return [asdict(memory.tiers.maintain(now))]


def _metrics(arguments: argparse.Namespace) -> Result:
    # A reader knows its own counts alone.
    with _opened(arguments) as memory:
        return [{"counter": name, "count": n} for name, n in memory.tiers.metrics().items()]


ACTIONS: Mapping[str, Callable[[argparse.Namespace], Result]] = {
    "add": _add, "search": _search, "list": _list, "delete": _delete, "edit": _edit,
    "pause": _pause, "resume": _resume, "export": _export, "import": _import,
    "maintain": _maintain, "metrics": _metrics, "context": _context, "facts": _facts,
    "forget": _forget, "users": _users, "settings": _settings,
}  # fmt: skip


def read_messages(path: Path, zone: tzinfo = UTC) -> list[Message]:
    """The messages of a file, one JSON object a line; `channel` may be left out.

    Raises:
        MemreproError: if it cannot be read, naming the first line that is no message.
    """
    needed, known = {"message_id", "speaker", "at", "text"}, {"channel"}
    messages = []
    for number, row in json_lines(path):
        if not isinstance(row, dict) or not needed <= set(row) <= needed | known:
            raise MemreproError(
                f"line {number} of {path} is no message: it must have message_id, speaker, at and "
                "text, may have channel, and nothing else"
            )
        try:
            row["at"] = seconds(row["at"], zone)
        except MemreproError as error:
            raise MemreproError(f"line {number} of {path}: {error}") from error
        messages.append(Message(**row))
    return messages


def _line(text: str) -> str:
    """A text on one line, without what a terminal would obey."""
    return printable(" / ".join(text.splitlines()))


def printed_lines(text: str) -> str:
    """A text of several lines, each without what a terminal would obey."""
    return "\n".join(map(printable, text.splitlines()))


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
