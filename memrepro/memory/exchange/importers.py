"""Chats of other programs and data sets as messages: ChatGPT, Claude, LoCoMo, LongMemEval, JSONL.

Each reader gives what `Memory.add` takes, with ids that stay when the same file comes again. A file
that is not of its form is refused by item and rule; it is the user's own, and nothing is said
against it.
"""

import hashlib
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memrepro.errors import MemreproError, cut
from memrepro.files.given import at_most, numbered_lines, read_text
from memrepro.memory.times import seconds

OWN = "memrepro"
Messages = list[dict[str, Any]]
_ROLES = ("user", "assistant")
_DATE_WITH_WEEKDAY = re.compile(r"(\d{4})/(\d\d)/(\d\d) \(\w+\) (\d\d:\d\d)")


def form_of(path: Path) -> str:
    """What a file looks like: 'memrepro', 'chatgpt', 'claude', 'locomo', 'longmemeval' or 'jsonl'.

    Raises:
        MemreproError: if it looks like none.
    """
    try:
        content = _content(path)
    except _NoJson:
        return "jsonl"
    first = content[0] if isinstance(content, list) and content else content
    if isinstance(first, dict):
        for form, key in _MARKS.items():
            if key in first:
                return form
        # A single line, or a list of messages.
        if {"content", "text"} & set(first):
            return "jsonl"
    raise MemreproError(
        f"{path} is of no form that is known: it must be of {', '.join(_MARKS)}, or JSON lines"
    )


def read_chats(path: Path, form: str) -> Messages:
    """The messages of a file of a form, as `Memory.add` takes them.

    Raises:
        MemreproError: naming the item, what it holds and what it must be.
    """
    return [message for chat in each_chat(path, form) for message in chat]


def each_chat(path: Path, form: str) -> list[Messages]:
    """The same, a list a chat; JSON lines are one.

    Raises:
        MemreproError: as `read_chats`.
    """
    if form == "jsonl":
        return [list(_jsonl(path))]
    try:
        content = _content(path)
    except _NoJson as error:
        raise MemreproError(f"{path} is no JSON ({error}): export the chats as JSON") from error
    rows = content if isinstance(content, list) else [content]
    found: list[Messages] = []
    for number, chat in enumerate(rows, 1):
        try:
            found.append(list(_READERS[form](chat)))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            what = f"it lacks {error}" if isinstance(error, KeyError) else cut(str(error), 80)
            raise MemreproError(
                f"chat {number} of {path} is not of the form {form}: {what}; nothing was taken in"
            ) from error
    return found


class _NoJson(ValueError):
    """A file that is no one JSON value."""


def _content(path: Path) -> Any:
    """The JSON of a file, or of `conversations.json` in an archive as it was downloaded."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive, archive.open("conversations.json") as chats:
                return json.loads(at_most(chats, path))
        return json.loads(read_text(path))
    except (OSError, UnicodeDecodeError, KeyError, zipfile.BadZipFile) as error:
        raise MemreproError(f"{path} cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise _NoJson(cut(str(error), 80)) from error


def _chatgpt(chat: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The branch that the person last saw: from the current node up.

    A message without a time has that of the one before it, else the chat's.
    """
    nodes = chat["mapping"]
    key, line = chat["current_node"] if nodes else None, []
    while key:
        line.append(node := nodes[key])
        key = node.get("parent")
        if len(line) > len(nodes):
            raise ValueError("its nodes are in a circle")
    at = chat.get("create_time")
    for node in reversed(line):
        message = node.get("message") or {}
        role = (message.get("author") or {}).get("role")
        parts = (message.get("content") or {}).get("parts") or []
        text = "\n".join(filter(None, map(_words_of_part, parts))).strip()
        if role in _ROLES and text:
            at = message.get("create_time") or at
            if at is None:
                raise ValueError(f"its message {message['id']!r} has no time")
            yield {"id": message["id"], "role": role, "content": text, "at": float(at),
                   "channel": "chatgpt", "title": chat.get("title") or ""}  # fmt: skip


def _words_of_part(part: Any) -> str:
    """The words of a part of a message: a text, or what was spoken."""
    if isinstance(part, dict) and part.get("content_type") == "audio_transcription":
        part = part.get("text")
    return part if isinstance(part, str) else ""


def _claude(chat: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for message in chat["chat_messages"]:
        parts = message.get("content") or []
        text = message.get("text") or "\n".join(
            part.get("text") or "" for part in parts if part.get("type") == "text"
        )
        if text.strip():
            role = {"human": "user"}.get(message["sender"], message["sender"])
            yield {"id": message["uuid"], "role": role, "content": text, "channel": "claude",
                   "at": message["created_at"], "title": chat.get("name") or ""}  # fmt: skip


def _locomo(sample: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    talk, name = sample["conversation"], sample["sample_id"]
    numbers = sorted(int(key[8:]) for key in talk if key[:8] == "session_" and key[8:].isdecimal())
    for number in numbers:
        began = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
        for place, turn in enumerate(talk[f"session_{number}"]):
            shown = f"\n[shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield {"id": f"{name}:{turn['dia_id']}", "role": turn["speaker"],
                   "content": turn["text"] + shown, "channel": name,
                   "at": began.replace(tzinfo=UTC).timestamp() + 30 * place}  # fmt: skip


def _longmemeval(question: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    sessions = zip(
        question["haystack_session_ids"], question["haystack_dates"],
        question["haystack_sessions"], strict=True,
    )  # fmt: skip
    for key, date, turns in sessions:
        usual = _DATE_WITH_WEEKDAY.fullmatch(date)
        began = seconds("{}-{}-{}T{}".format(*usual.groups()) if usual else date)
        for place, turn in enumerate(turns):
            said = turn.get("content") if isinstance(turn, dict) else None
            if isinstance(said, str) and said.strip() and turn.get("role") in _ROLES:
                yield {"id": f"{key}:{place}", "role": turn["role"], "content": said,
                       "at": began + 30 * place, "session": key}  # fmt: skip


def json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Number, from 1, and value of each line that is not empty, or member of a JSON list.

    Raises:
        MemreproError: if the file cannot be read, or a line is no JSON.
    """
    try:
        content = _content(path)
    except _NoJson:
        content = None
    if isinstance(content, list):
        yield from enumerate(content, 1)
        return
    for number, line in numbered_lines(path):
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as error:
            raise MemreproError(
                f"line {number} of {path} is no JSON ({cut(str(error), 80)}); nothing was taken in"
            ) from error


def _jsonl(path: Path) -> Iterator[dict[str, Any]]:
    for number, row in json_lines(path):
        if not isinstance(row, dict) or not isinstance(row.get("content", row.get("text")), str):
            raise MemreproError(
                f"line {number} of {path} is {cut(json.dumps(row), 60)!r}: it must be an object "
                "with a text `content`; nothing was taken in"
            )
        if not {"id", "message_id"} & set(row):
            # Another file of that name, or another row in that place, is another message.
            digest = hashlib.sha256(json.dumps(row).encode()).hexdigest()[:8]
            row = {"id": f"{path.name}:{number}:{digest}", **row}
        yield row


_READERS: Mapping[str, Callable[[Any], Iterator[dict[str, Any]]]] = {
    "chatgpt": _chatgpt, "claude": _claude, "locomo": _locomo, "longmemeval": _longmemeval,
}  # fmt: skip
# Form → the key that its first item has.
_MARKS = {OWN: "made_by", "chatgpt": "mapping", "claude": "chat_messages",
          "locomo": "conversation", "longmemeval": "haystack_sessions"}  # fmt: skip
