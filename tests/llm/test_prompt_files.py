"""Prompts from a file: the system message as worded, the data as JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.llm.prompt_files import PromptFile


@pytest.fixture(scope="module")
def prompts(tmp_path_factory):
    path = tmp_path_factory.mktemp("prompts") / "prompts.yaml"
    path.write_text("sort:\n  maximum_tokens: 7\n  system: |\n    One of CATEGORIES.\n")
    return PromptFile(path, ("a", "b c"))


@given(text=st.text())
def test_data_stay_one_json_value_under_the_system_message(prompts, text):
    made = prompts.prompt("sort", {"said": text})
    assert [m.role for m in made.messages] == ["system", "user"]
    assert made.messages[0].content == "One of a, b c."
    assert json.loads(made.messages[1].content) == {"said": text}
    assert (made.parameters.maximum_tokens, made.parameters.temperature) == (7, 0)


def test_two_files_of_one_name_keep_apart(prompts):
    other = PromptFile(prompts.path, ("x",))
    assert other.prompt("sort", {}).messages[0].content == "One of x."
