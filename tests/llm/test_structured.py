"""Answers as JSON of a schema: used or refused, by the stated rule, never an exception."""

import json
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from memrepro.llm.model import Answer
from memrepro.llm.structured import KINDS, Parsed, Refused, parse, parse_all


class Entity(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1)
    category: Literal["person", "place"]


class Event(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str
    year: int | None = None
    entities: list[Entity] = []


GOOD = {"text": "Ines bought a kayak", "entities": [{"name": "Ines", "category": "person"}]}
WHOLE = json.dumps(GOOD)


def answer(text, finish="stop"):
    return Answer(text, 1, 1, 0.1, "m", "r", finish, "")


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        f"\n  {WHOLE}\n",
        f"```json\n{WHOLE}\n```",
        f"```\n{json.dumps(GOOD, indent=2)}\n```",
        f"Sure! Here is the event:\n{WHOLE}\nLet me know [if] it helps.",
        WHOLE.replace("Ines bought a kayak", 'She said: {not} \\u00e9 \\n \\" ok'),
        WHOLE.replace("Ines bought a kayak", "伊内斯买了一艘皮划艇"),
    ],
)
def test_one_whole_object_is_used_with_or_without_prose(text):
    got = parse(answer(text), Event)
    assert got.entities == [Entity(name="Ines", category="person")]


@pytest.mark.parametrize(
    ("text", "finish", "reason"),
    [
        ("", "stop", "no JSON: 0 characters without an object, ''"),
        ("I cannot help with that.", "stop", "no JSON: 24 characters without an object, 'I cannot"),
        ("我不知道", "stop", r"no JSON: 4 characters without an object, '\\u6211"),
        ("[1, 2]", "stop", "no JSON"),
        (WHOLE[:30], "stop", "half JSON: the text ends inside the object, after 30"),
        (WHOLE[:-1], "length", "half JSON: cut at the most tokens allowed"),
        (f"```json\n{WHOLE[:-3]}\n```", "stop", "half JSON"),
        ("{text: 'a'}", "stop", "bad JSON: Expecting property name"),
        ("{“text”: “a”}", "stop", "bad JSON"),
        ('{"text": "a", "text": "b"}', "stop", "bad JSON: the name 'text' stands twice"),
        ('{"text": "a", "year": NaN}', "stop", "bad JSON: NaN is not a JSON number"),
        ('{"text": "a", "year": ' + "9" * 5000 + "}", "stop", "bad JSON: Exceeds the limit"),
        ('{"text": ' + "[" * 100_000, "stop", "bad JSON: maximum recursion depth"),
        ("{name}: " + WHOLE, "stop", "bad JSON"),
        (f"{WHOLE}\n{WHOLE}", "stop", "two objects: another one begins at character 86"),
        (f"[{WHOLE}]", "stop", "misfit: an array, not an object"),
        ("{}", "stop", "misfit: text: Field required"),
        ('{"text": 7}', "stop", "misfit: text: Input should be a valid string"),
        ('{"text": "a", "year": "1999"}', "stop", "misfit: year: Input should be a valid integer"),
        ('{"text": "a", "entities": {}}', "stop", "misfit: entities: Input should be a valid arr"),
        ('{"text": "a", "note": "b"}', "stop", "misfit: note: Extra inputs are not permitted"),
        ('{"texte": "a"}', "stop", r"misfit: text: Field required \(and 1 more\)"),
        (WHOLE.replace("person", "人"), "stop", "misfit: entities.0.category: Input should be"),
        (WHOLE.replace('"Ines"', '""'), "stop", "misfit: entities.0.name: String should have at"),
        ('{"text": "\\ud800"}', "stop", "misfit"),
        ("", "refused: content_filter", "not answered: refused: content_filter"),
        (WHOLE, "refused: content_filter", "not answered"),
    ],
)  # fmt: skip
def test_all_else_is_refused_with_its_reason(text, finish, reason):
    with pytest.raises(Refused, match=f"^{reason}") as caught:
        parse(answer(text, finish), Event)
    assert caught.value.kind == reason.partition(":")[0].strip()
    assert len(str(caught.value)) < 300


def test_every_half_is_refused():
    for size in range(1, len(WHOLE)):
        with pytest.raises(Refused, match="^half JSON"):
            parse(answer(WHOLE[:size]), Event)


def test_a_run_is_counted_and_keeps_its_order():
    got = parse_all(
        [
            ("s1", answer(WHOLE)), ("s2", answer("no")), ("s3", answer("{}")),
            ("s4", answer(WHOLE[:-1])), ("s5", answer(WHOLE)),
        ],
        Event,
    )  # fmt: skip
    assert list(got.values) == ["s1", "s5"]
    assert got.refused == [
        ("s2", "no JSON: 2 characters without an object, 'no'"),
        ("s3", "misfit: text: Field required"),
        ("s4", f"half JSON: the text ends inside the object, after {len(WHOLE) - 1} characters"),
    ]
    assert {kind: n for kind, n in got.counts.items() if n} == {
        "used": 2, "no JSON": 1, "misfit": 1, "half JSON": 1,
    }  # fmt: skip
    assert tuple(got.counts) == KINDS


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["text", "year", "entities", "name"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(
    st.lists(
        st.text(max_size=40)
        | st.text(alphabet='{}[]":,` \\nul0', max_size=30)
        | JSON.map(json.dumps)
        | st.tuples(JSON.map(json.dumps), st.integers(0, 30)).map(lambda p: p[0][: p[1]]),
        max_size=5,
    )
)
def test_none_is_lost_and_none_raises(texts):
    got = parse_all(((str(i), answer(text)) for i, text in enumerate(texts)), Event)
    assert isinstance(got, Parsed)
    assert len(got.values) + len(got.refused) == len(texts) == sum(got.counts.values())
    assert len(got.values) == got.counts["used"]
    assert {reason.partition(":")[0] for _, reason in got.refused} <= set(KINDS[1:])
    for value in got.values.values():
        value.model_dump_json()
