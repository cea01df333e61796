"""Histories with questions, of LoCoMo and LongMemEval: a half to choose by, the other to report.

LongMemEval's questions share a history by 25, some 50 sessions as in its S.
"""

import json
import lzma
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from memrepro.memory.exchange.importers import read_chats
from memrepro.memory.times import seconds

_TURN = re.compile(r"D:?(\d+):(\d+)")
_ADVERSARIAL = 5
# Its history holds what looks like somebody's access token.
_LEFT_OUT = "gpt4_7a0daae1"
_TOGETHER = 25


@dataclass(frozen=True)
class Question:
    """Attributes: its key, its words, when it is asked, the turns that it names."""

    key: str
    text: str
    now: float
    gold: frozenset[str]
    answerable: bool


class History(NamedTuple):
    """Messages as `Memory.add` takes them, and what is asked of them."""

    data: str
    name: str
    chat: list[dict[str, Any]]
    questions: list[Question]


def locomo(path: Path, first: bool) -> Iterator[History]:
    """Conversations 1-4, or 5-10."""
    for sample in json.loads(path.read_text())[slice(4) if first else slice(4, None)]:
        chat = _read(sample, "locomo")
        here = {message["id"] for message in chat}
        end = max(message["at"] for message in chat)
        name = sample["sample_id"]
        questions = []
        for number, qa in enumerate(sample["qa"]):
            turns = {f"{name}:D{a}:{b}" for e in qa["evidence"] for a, b in _TURN.findall(e)}
            answerable = qa["category"] != _ADVERSARIAL
            gold = frozenset(turns & here)
            questions.append(Question(f"{name}-q{number}", qa["question"], end, gold, answerable))
        yield History("LoCoMo", name, chat, questions)


def longmemeval(path: Path, first: bool) -> Iterator[History]:
    """A half of the oracle's questions, 25 to a history."""
    with lzma.open(path) as file:
        rows = [row for row in json.load(file) if row["question_id"] != _LEFT_OUT]
    half = rows[: len(rows) // 2] if first else rows[len(rows) // 2 :]
    for start in range(0, len(half), _TOGETHER):
        chat: dict[str, dict[str, Any]] = {}
        questions = []
        for q in half[start : start + _TOGETHER]:
            # Of a session that two questions have the first one's date counts.
            for message in _read(q, "longmemeval"):
                chat.setdefault(message["id"], message)
            sessions = zip(q["haystack_session_ids"], q["haystack_sessions"], strict=True)
            gold = frozenset(f"{key}:{place}" for key, turns in sessions
                             for place, turn in enumerate(turns)
                             if turn.get("has_answer"))  # fmt: skip
            date = q["question_date"]
            now = seconds(f"{date[:10].replace('/', '-')}T{date[-5:]}")
            answerable = not q["question_id"].endswith("_abs")
            questions.append(Question(q["question_id"], q["question"], now, gold, answerable))
        yield History("LongMemEval", f"from {start}", list(chat.values()), questions)


def _read(sample: Mapping[str, Any], form: str) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as scratch:
        one = Path(scratch) / "one.json"
        one.write_text(json.dumps([sample]))
        return read_chats(one, form)
