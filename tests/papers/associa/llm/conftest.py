"""What the tests of Associa's prompts share."""

import pytest

from memrepro.llm.records import AnswerStore


@pytest.fixture
def store(tmp_path):
    with AnswerStore(tmp_path / "answers.sqlite") as store:
        yield store
