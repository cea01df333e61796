"""What servers of language models do: answers in place of the protocol, fields, proxies, keys."""

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

from memrepro.errors import MemreproError
from memrepro.llm.endpoint import Endpoint
from memrepro.llm.exchange import proxy_of
from memrepro.llm.model import ModelIdentity, Parameters, Prompt
from memrepro.llm.outcomes import outcome_of
from memrepro.llm.recorded import Recording
from memrepro.llm.records import AnswerStore
from memrepro.llm.request import Request
from memrepro.pipeline.commands_judge import by_type
from tests.llm.bodies import (
    CUTS,
    ENDS,
    FILTERS,
    NOT_TOO_LONG,
    OTHERS,
    THOUGHT,
    TOO_LONG,
    body,
    error,
)
from tests.llm.server import Fault, said, serving
from tests.torture.campaign import refusal

IDENTITY = ModelIdentity("toy-model", "1")
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
HERE = ("127.0.0.1", "localhost", "127.8.9.1", "[::1]", "a.localhost", "LOCALHOST", "localhost.")
ELSEWHERE = ("models.test", "10.1.2.3", "[2001:db8::1]", "localhost.test", "127.0.0.1.test")


def other_numbers(text: str, chance: Random) -> str:
    """A text with other numbers of as many digits."""
    return re.sub(r"\d+", lambda old: str(chance.randrange(1, 10 ** len(old[0]))), text)


def _with_other_numbers(value: Any, chance: Random, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _with_other_numbers(one, chance, key) for key, one in value.items()}
    if isinstance(value, list):
        return [_with_other_numbers(one, chance) for one in value]
    if isinstance(value, str) and name in ("message", "error"):
        return other_numbers(value, chance)
    return value


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """The block's variables; an empty one is none."""
    before = {name: os.environ.pop(name, None) for name in values}
    os.environ.update({name: value for name, value in values.items() if value})
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _became(folder: Path, faults: list[Fault], prompts: int, **settings: Any) -> list[str]:
    """What became of so many prompts, the first of which meet the faults, each for good."""
    asked = [Prompt.from_user(f"question {n}") for n in range(prompts)]
    with serving() as server, AnswerStore(folder / "answers.sqlite") as store:
        for number, fault in enumerate(faults):
            server.faults[f"question {number}"] = [fault] * 9
        live = Endpoint(server.url, IDENTITY, **{"pause": 0.001, "tries": 3} | settings)
        answers = Recording(store, live, progress=False).answer(asked)
        for one, prompt in list(zip(answers, asked, strict=True))[len(faults) :]:
            assert one.text == said(prompt.messages[-1].content)
        return [outcome_of(one) for one in answers]


def too_long(folder: Path, chance: Random) -> str:
    """Any number of prompts that are too long end no work, whoever says it, in what numbers."""
    names = chance.sample(list(TOO_LONG), chance.randint(1, 6))
    faults = [
        error(status, value if isinstance(value, bytes) else _with_other_numbers(value, chance))
        for status, value in map(TOO_LONG.get, names)  # type: ignore[misc]
    ]
    assert _became(folder, faults, 8) == ["too long"] * len(names) + ["answered"] * (8 - len(names))
    return "recorded"


def no_protocol(folder: Path, chance: Random) -> str:
    """An answer of another protocol has its name, or is tried again and then named."""
    text = chance.choice((None, "", "fine", [{"type": "text", "text": "fine"}]))
    extra = chance.choice(({}, {"tool_calls": [{"id": "1"}]}, {"reasoning_content": "hm"}))
    filled = text not in (None, "")
    form = chance.choice(("end", "cut", "filter", "other", "thought", "hidden", "error", "passing"))
    if form == "end":
        finish = chance.choice(ENDS if text is not None else ENDS[:-1])
        fault, became = body(text, finish, **extra), "answered" if filled else "empty"
    elif form == "cut":
        fault, became = body(text, chance.choice(CUTS), **extra), "cut at the limit"
    elif form == "filter":
        fault, became = body(text, chance.choice(FILTERS), **extra), "refused"
    elif form == "other":
        fault, became = body(text, chance.choice(OTHERS), **extra), "ended otherwise"
    elif form == "thought":
        thought = chance.choice(THOUGHT)
        fault, became = body(f"{thought}{text if filled and text == 'fine' else ''}"), "answered"
        became = "answered" if text == "fine" else "empty"
    elif form == "hidden":
        hidden, shown = chance.randrange(5_000), chance.randrange(1, 2_000)
        fault = body("fine", tokens=hidden + shown, hidden=hidden)
        became = "answered" if shown <= 512 else "over the limit"
    elif form == "error":
        fault = error(200, {"error": chance.choice(("busy", {"message": "busy"}, {"code": 503}))})
        became = ""
    else:
        fault = Fault(status=chance.choice((500, 502, 503, 504, 529, *range(520, 525))))
        became = ""
    found: list[str] = []
    sentence = refusal(lambda: found.extend(_became(folder, [fault], 4)))
    assert bool(sentence) == (not became), (form, fault, sentence)
    if sentence:
        assert re.search(r"1 prompts have no answer.* 3 tries", sentence), sentence
        return "tried again"
    assert found == [became, *["answered"] * 3], (form, fault, found)
    return "recorded"


def not_the_prompt(folder: Path, chance: Random) -> str:
    """An error that has nothing to do with the prompt's length is not taken for it."""
    status, value, told, _ = NOT_TOO_LONG[chance.choice(list(NOT_TOO_LONG))]
    fault = error(status, _with_other_numbers(value, chance))
    assert told in refusal(lambda: _became(folder, [fault], 3))
    return "named"


def fields(folder: Path, chance: Random) -> str:
    """A model is asked by the fields of its entry and no others, and recorded under them."""
    more = {
        name: chance.choice(values)
        for name, values in {
            "temperature": (None, 1.0), "seed": (None,), "reasoning_effort": ("low", "high"),
            "provider": ({"only": ["x"]},), "stop": (None,), "top_p": (0.9, None),
        }.items() if chance.random() < 0.5
    }  # fmt: skip
    limit = chance.choice(("max_tokens", "max_completion_tokens"))
    room, most = chance.choice((0, 4_000)), chance.randint(1, 900)
    request = Request(limit, room, more)
    asked = request.asked_of(IDENTITY)
    assert (asked == IDENTITY) == (request == Request())
    usual = {"temperature": 0.5, "seed": 3, limit: most + room, "stop": ["END"]}
    wanted = {name: value for name, value in (usual | more).items() if value is not None}
    prompt = Prompt.from_user("q", parameters=Parameters(0.5, most, 3, ("END",)))
    with serving() as server:
        ((_, answer),) = Endpoint(server.url, asked, request=request).stream([prompt])
        (sent,) = server.asked
    assert sent == {"model": "toy-model", "messages": [{"role": "user", "content": "q"}], **wanted}
    assert answer.identity == asked
    return "asked"


def own_numbers(folder: Path, chance: Random) -> str:
    """A judge's verdicts as LongMemEval's own program sums them up, here step by step."""
    import pandas as pd

    kinds = [f"type-{n}" for n in range(chance.randint(1, 6))]
    rows, types, by_kind, untold = [], {}, {}, []
    for number in range(chance.randint(1, 60)):
        kind, verdict = chance.choice(kinds), chance.choice((1.0, 0.0))
        query = f"q{number}" + "_abs" * (chance.random() < 0.3)
        if query.endswith("_abs"):
            types[query] = kind
            untold.append(verdict)
        rows.append((query, "abstention" if query.endswith("_abs") else kind, verdict))
        by_kind.setdefault(kind, []).append(verdict)
    table = by_type(pd.DataFrame(rows, columns=["query_id", "kind", "judged"]), types)
    found = dict(table[["of", "accuracy"]].itertuples(index=False, name=None))
    means = {kind: sum(one) / len(one) for kind, one in by_kind.items()}
    wanted = means | {
        "task-averaged": sum(means.values()) / len(means),
        "overall": sum(verdict for *_, verdict in rows) / len(rows),
    }
    assert all(abs(found[name] - value) < 1e-12 for name, value in wanted.items()), found
    assert not untold or abs(found["abstention"] - sum(untold) / len(untold)) < 1e-12
    return "the same"


def proxies(folder: Path, chance: Random) -> str:
    """This machine is asked directly; the proxy of another one is named without its password."""
    secret = "".join(chance.choices(LETTERS, k=12))
    proxy = f"http://{chance.choice(('user', 'a.b'))}:{secret}@127.0.0.1:9"
    variables = chance.choice((("HTTP_PROXY", "http_proxy"), ("ALL_PROXY", "all_proxy")))
    unset = ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy")
    with environment(**dict.fromkeys(unset, "")), environment(**{variables[1]: proxy}):
        host = chance.choice(HERE + ELSEWHERE)
        if host in HERE:
            assert proxy_of(f"http://{host}:8000/v1") == ""
            with serving() as server:
                url = server.url.replace("127.0.0.1", chance.choice(("127.0.0.1", "localhost")))
                assert dict(Endpoint(url, IDENTITY, pause=0.001).stream([Prompt.from_user("q")]))
            return "directly"
        live = Endpoint(f"http://{host}/v1", IDENTITY, pause=0.001, tries=1)
        sentence = refusal(lambda: list(live.stream([Prompt.from_user("q")])))
    assert "by way of the proxy 127.0.0.1:9" in sentence
    assert secret not in sentence
    return "named"


def keys(folder: Path, chance: Random) -> str:
    """A key that a server sends back, escaped or not, is recorded and shown nowhere."""
    key = "sk-" + "".join(chance.choices(LETTERS, k=chance.randint(8, 60)))
    how = "".join(chance.choice((c, f"\\u{ord(c):04x}", f"\\u{ord(c):04X}")) for c in key)
    made = json.loads(body("fine").body or b"")
    choice, usage = made["choices"][0], made["usage"]
    holder, name = chance.choice([
        (choice["message"], "content"), (choice["message"], "refusal"), (choice, "finish_reason"),
        (made, "model"), (made, "system_fingerprint"), (made, "id"), (usage, "note"),
        (choice["message"], "reasoning_content"), (made, "error"), (made, "HERE"),
    ])  # fmt: skip
    holder[name] = {"message": "HERE"} if name == "error" else "for HERE"
    status = 200 if name != "error" else chance.choice((200, 400, 500, 429))
    fault = Fault(status=status, body=json.dumps(made).replace("HERE", how).encode())
    asked = [Prompt.from_user(f"question {n}") for n in range(3)]
    with ExitStack() as stack:
        stack.enter_context(environment(TOY_KEY=key))
        server = stack.enter_context(serving(key=key))
        store = stack.enter_context(AnswerStore(folder / "answers.sqlite"))
        server.faults["question 0"] = [fault] * 9
        live = Endpoint(server.url, IDENTITY, key_variable="TOY_KEY", pause=0.001, tries=2)
        try:
            Recording(store, live, progress=False).answer(asked)
        except MemreproError as failure:
            shown = f"{failure} {failure!r} {failure.__cause__} {failure.__context__}"
            assert key not in shown
            assert how not in shown.replace("\\\\", "\\")
        else:
            raise AssertionError(f"{name} was recorded")
        assert len(store) == 2
    for path in folder.glob("answers.sqlite*"):
        assert key.encode() not in path.read_bytes()
    return "not recorded"


POINTS: dict[str, Callable[[Path, Random], str]] = {
    "5 prompts that are too long": too_long,
    "5 errors that are something else": not_the_prompt,
    "6 answers of other protocols": no_protocol,
    "7 fields of a request": fields,
    "7 LongMemEval's own numbers": own_numbers,
    "8 proxies": proxies,
    "18 keys sent back": keys,
}
