"""The sample's gold facts: each in the text of its round, and one for all that a user tells."""

import pytest

from memrepro.core.memory import Dataset
from memrepro.data import sample
from memrepro.data.sample_extractions import extract
from memrepro.files import atomic
from tests.data.gathered import gather


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("raw")
    sample.compile_files(made, {"seed": 3, "questions": 24, "sessions": 16})
    return made


@pytest.fixture(scope="module")
def dataset(folder):
    return gather(sample.stream(folder, "sample"))


@pytest.fixture(scope="module")
def found(folder, dataset):
    held = Dataset("sample", dataset.memories, tuple(dataset.queries))
    return extract(folder, held)


def test_each_fact_stands_in_its_rounds_user_turn_and_no_round_has_two(found, dataset):
    rounds = {
        (session.key, r.round_id): r
        for memory in dataset.memories.values()
        for session in memory.sessions
        for r in session.rounds
    }
    places = [(t.session_key, t.round_id) for t in found.texts]
    assert len(places) == len(set(places))
    for text in found.texts:
        assert rounds[text.session_key, text.round_id].fields["user"].startswith(text.text)


def test_no_fact_of_the_file_is_lost(found, folder):
    told = {
        (session_id, turn["fact"])
        for instance in atomic.read_json(folder / "sample.json")
        for session_id, turns in zip(
            instance["haystack_session_ids"], instance["haystack_sessions"], strict=True
        )
        for turn in turns
        if "fact" in turn
    }
    assert {(t.round_id.rpartition("_")[0], t.text) for t in found.texts} == told
