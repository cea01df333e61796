"""Prompts, parameters and the key of an answer."""

from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.errors import MemreproError
from memrepro.llm.model import Message, ModelIdentity, Parameters, Prompt, prompt_key

tricky = st.one_of(
    st.text(max_size=6),
    st.sampled_from(['", "', '"]', "a|b", "a\x00b", "\\", '\\"', "", " ", "null", "é", "e\u0301"]),
)
some = tricky.filter(bool)
free = st.builds(
    Parameters,
    st.sampled_from([0, 0.0, -0.0, 0.5, 1, 1.0, 1e-9]),
    st.integers(1, 3),
    st.integers(0, 2),
    st.lists(some, max_size=2).map(tuple),
)
options = st.lists(some, min_size=2, max_size=3, unique=True).map(tuple)
parameters = free | st.builds(lambda texts, seed: Parameters(seed=seed, options=texts), options,
                              st.integers(0, 1))  # fmt: skip
prompts = st.builds(
    lambda first, chat, last, p: Prompt((*first, *chat, Message("user", last)), p),
    st.lists(st.builds(Message, st.just("system"), tricky), max_size=1),
    st.lists(st.builds(Message, st.sampled_from(["user", "assistant"]), tricky), max_size=2),
    tricky,
    parameters,
)
identities = st.builds(ModelIdentity, tricky, tricky)
IDENTITY = ModelIdentity("m", "1")
PROMPT = Prompt.from_user("hello", "be brief", Parameters(0.5, 9, 3, ("\n",)))


@given(identities, prompts, identities, prompts)
@settings(max_examples=40)
def test_keys_are_equal_only_for_equal_inputs(one, asked, other, also):
    assert (prompt_key(one, asked) == prompt_key(other, also)) == ((one, asked) == (other, also))


@given(some, tricky, tricky)
def test_text_never_moves_between_messages(a, b, c):
    moved = (Prompt.from_user(b + a, c), Prompt.from_user(b, a + c), Prompt.from_user(a + b, c))
    for one in moved:
        for other in moved:
            assert (prompt_key(IDENTITY, one) == prompt_key(IDENTITY, other)) == (one == other)


@pytest.mark.parametrize("field", [f.name for f in fields(Parameters)])
def test_every_parameter_changes_the_key(field):
    new = {"temperature": 0.6, "maximum_tokens": 10, "seed": 4, "stop": ("\n", "END"),
           "options": ("a", "b")}[field]  # fmt: skip
    greedy = replace(PROMPT, parameters=replace(PROMPT.parameters, temperature=0.0))
    changed = replace(greedy, parameters=replace(greedy.parameters, **{field: new}))
    assert prompt_key(IDENTITY, changed) != prompt_key(IDENTITY, greedy)


def test_model_revision_role_and_order_change_the_key_and_it_is_pinned():
    a, b = Message("user", "a"), Message("assistant", "b")
    keys = {
        prompt_key(identity, prompt)
        for identity in (IDENTITY, ModelIdentity("m", "2"), ModelIdentity("1", "m"))
        for prompt in (
            PROMPT, Prompt((a, b, a)), Prompt((b, a, a)), Prompt((a, a, a)), Prompt((a, a)),
        )
    }  # fmt: skip
    assert len(keys) == 15
    assert prompt_key(IDENTITY, PROMPT).hex()[:16] == "4e6d883baa9c3161"


def test_equal_temperatures_are_written_alike():
    keys = {prompt_key(IDENTITY, Prompt.from_user("a", "", Parameters(t))) for t in (0, 0.0, -0.0)}
    assert len(keys) == 1


def test_a_lone_surrogate_is_one_sentence():
    with pytest.raises(MemreproError, match=r"prompt of 2 characters is not valid Unicode"):
        prompt_key(IDENTITY, Prompt.from_user("a\ud800"))


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"temperature": -1}, "temperature is -1: it must be a finite number from 0"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"temperature": True}, "temperature is True"),
        ({"maximum_tokens": 0}, "maximum_tokens is 0: it must be a whole number from 1"),
        ({"seed": -1}, "seed is -1"),
        ({"stop": "ab"}, "stop is 'ab': it must be a tuple of texts, none empty"),
        ({"stop": ("",)}, "none empty"),
        ({"options": ("a",)}, r"options is \('a',\): it must be a tuple of two or more texts"),
        ({"options": ("a", "a")}, "none twice"),
        ({"options": ("a", "")}, "none empty, none twice"),
        ({"options": ["a", "b"]}, "options is"),
        ({"options": ("a", "b"), "temperature": 0.5}, "at temperature 0"),
    ],
)
def test_parameters_out_of_range_are_refused(wrong, rule):
    with pytest.raises(MemreproError, match=rule):
        Parameters(**wrong)


@pytest.mark.parametrize(
    ("roles", "rule"),
    [
        ([], "messages of nobody"),
        (["system"], "the last must be the user's"),
        (["user", "assistant"], "the last must be the user's"),
        (["user", "system", "user"], "a system message may stand first only"),
        (["tool", "user"], "the role 'tool': it must be one of system, user, assistant"),
    ],
)
def test_messages_in_no_order_are_refused(roles, rule):
    with pytest.raises(MemreproError, match=rule):
        Prompt(tuple(Message(role, "x") for role in roles))
