"""What the endpoint says as reader, judge, extractor and deliberator: by rule, from the prompt."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from memrepro.read.judge import NO, YES
from memrepro.retrieve.associa.deliberation import Coverage, QueryEvidence
from memrepro.retrieve.associa.model_deliberator import answer_text

_WORD = re.compile(r"\w{3,}")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_OPTION = re.compile(r"^\(([a-z])\) (.*)$", re.MULTILINE)
_QUESTION = re.compile(r"^(?:Question|The user now says): (.*)$", re.MULTILINE)


def reply(messages: Sequence[Mapping[str, str]]) -> str:
    """The answer to a chat: the same for the same prompt."""
    text = messages[-1]["content"]
    given = _object(text)
    if "answer_to_grade" in given:
        return _verdict(given)
    if "evidence" in given:
        asked = QueryEvidence(given["question"], tuple(given["evidence"]))
        return answer_text(Coverage().missing([asked])[0])
    if "rounds" in given:
        return json.dumps({"events": [_event(one) for one in given["rounds"]]})
    return _answer(text)


def _object(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _verdict(given: Mapping[str, str]) -> str:
    """Yes where the answer has half of the reference's words."""
    reference = next(
        _words(str(value)) for name, value in given.items()
        if name not in ("question", "asked_at", "a_wrong_answer", "answer_to_grade")
    )  # fmt: skip
    shared = reference & _words(given["answer_to_grade"])
    return YES if 2 * len(shared) >= len(reference) > 0 else NO


def _event(one: Mapping[str, Any]) -> dict[str, Any]:
    """The first sentence of a round, its longest word as an entity, and the speaker's tie to it."""
    speaker, words = next(iter(one["said"].items()))
    sentence = next((s.strip() for s in _SENTENCE.findall(words) if s.strip()), words)
    thing = max(_WORD.findall(sentence), key=len, default="something")
    entities = [{"text": thing, "category": "Object"}]
    relations = [{"head": speaker, "text": "mentions", "tail": thing}]
    if thing.casefold() == speaker.casefold():
        relations = []
    return {"round": one["round"], "text": sentence, "time": None, "entities": entities,
            "relations": relations}  # fmt: skip


def _answer(text: str) -> str:
    """The option, or else the sentence of the history, that shares most words with the question."""
    found = _QUESTION.search(text)
    question = _words(found.group(1)) if found else set[str]()
    options = _OPTION.findall(text)
    if options:
        history = _words(text[: found.start()] if found else "")
        return f"({max(options, key=lambda one: len(_words(one[1]) & history))[0]})"
    sentences = _SENTENCE.findall(text[: found.start()] if found else text)
    best = max(sentences, key=lambda one: len(_words(one) & question), default="")
    return " ".join(best.split()) if _words(best) & question else "empty"
