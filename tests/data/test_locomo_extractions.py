"""What LoCoMo's authors recorded, hung on rounds and sessions: the real file, and a tiny one."""

import copy
from dataclasses import replace

import pytest

from memrepro.data import locomo
from memrepro.data.locomo_extractions import extract
from memrepro.errors import MemreproError
from tests.data.gathered import change, gather, in_mirror
from tests.data.test_locomo import SAMPLE, write


@pytest.fixture(scope="module")
def real():
    return gather(locomo.stream(in_mirror("locomo"), "locomo"))


@pytest.fixture(scope="module")
def found(real):
    return extract(in_mirror("locomo"), real)


def test_of_a_part_of_the_conversations(real, found):
    """As `mr.search` asks where only some questions, and so some memories, are searched."""
    name = "conv-30"
    part = extract(in_mirror("locomo"), replace(real, memories={name: real.memories[name]}))
    assert part.dates == [one for one in found.dates if one.memory_id == name] != []
    assert 0 < len(part.texts) < len(found.texts)


@pytest.fixture
def tiny():
    return copy.deepcopy(SAMPLE)


def read(folder, sample):
    """The data set of a sample, and what is extracted from it."""
    data = gather(locomo.stream(write(folder, sample), "tiny"))
    return data, extract(folder, data)


@pytest.mark.parametrize("said", ["May", 0, 7])
def test_an_event_without_a_date_is_skipped(tmp_path, tiny, said):
    tiny["event_summary"]["events_session_2"]["date"] = said
    _, found = read(tmp_path, tiny)
    assert not found.dates
    assert ("1 recorded entries", "event_summary: without a date that can be read") in found.skipped


@pytest.mark.parametrize(
    ("path", "key", "value", "said"),
    [
        (["observation"], "session_x", {}, "'session_x' of c names no session"),
        (["observation", "session_2_observation"], "Ann", None, "no 'Ann': \\['Bob'\\]"),
        ([], "session_summary", [], "a list as 'session_summary'"),
    ],
)
def test_broken_extractions(tmp_path, tiny, path, key, value, said):
    change(tiny, path, key, value)
    with pytest.raises(MemreproError, match=said):
        read(tmp_path, tiny)
