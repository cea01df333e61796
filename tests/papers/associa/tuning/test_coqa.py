"""Reading CoQA's file: what is taken, and what is skipped, named and counted."""

import re

import pytest

from memrepro.errors import MemreproError
from memrepro.papers.associa.tuning.coqa import read_coqa
from tests.papers.associa.tuning.made import content, write


def spoilt(tmp_path, spoil):
    value = content()
    spoil(value["data"])
    return read_coqa(*write(tmp_path / "coqa.json", value))


def test_stories_and_questions(tmp_path):
    coqa = read_coqa(*write(tmp_path / "coqa.json", content()))
    assert [story.story_id for story in coqa.stories] == ["s2library", "s1oven"]
    library = coqa.stories[0]
    assert library.text.startswith("The Harbour Library stands")
    assert [q.question_id for q in library.questions] == [f"s2library-{n:03d}" for n in range(1, 6)]
    first, last = library.questions[0], library.questions[-1]
    assert (first.text, first.answer) == ("Who founded the Harbour Library?", "Ida Marlow")
    assert first.cue == "Ida Marlow founded it in 1891"
    assert (last.answer, last.cue) == ("unknown", "")
    assert (coqa.skipped, coqa.total) == ((), 7)


def test_another_file_is_refused_in_one_sentence(tmp_path):
    path, _ = write(tmp_path / "coqa.json", content())
    with pytest.raises(MemreproError, match=r"coqa.json has the sha256 .*, and 0{64} is expected"):
        read_coqa(path, "0" * 64)
    with pytest.raises(MemreproError, match="none.json is not there: fetch coqa-train-v1.0.json"):
        read_coqa(tmp_path / "none.json", "0" * 64)


@pytest.mark.parametrize(
    ("spoil", "item", "reason"),
    [
        (lambda d: d[0]["answers"].pop(1), "s2library-002", "it has no answer of its turn"),
        (
            lambda d: d[0]["questions"][1].update(input_text=" "),
            "s2library-002",
            "input_text: String should have at least 1 character, not ' '",
        ),
        (lambda d: d[1].pop("story"), "story 2", "story: Field required"),
        (lambda d: d[1].update(id="s2library"), "story 2", "id: it stands before"),
        (lambda d: d.insert(1, "text"), "story 2", "the entry: .*, not 'text'"),
        (lambda d: d[1]["questions"][1].update(turn_id=1), "story 2", "turn_id: one stands twice"),
    ],
)
def test_what_cannot_be_used_is_skipped_and_named(tmp_path, spoil, item, reason):
    coqa = spoilt(tmp_path, spoil)
    ((named, said),) = coqa.skipped
    assert named == item
    assert re.match(reason, said)
    used = [q.question_id for story in coqa.stories for q in story.questions]
    assert item not in used
    assert coqa.total == len(used) + 1
