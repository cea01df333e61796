"""The file of examples: by rule and by a teacher, stable, and read back."""

import json
from functools import partial

import pytest

from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError
from memrepro.papers.associa.tuning.coqa import read_coqa
from memrepro.papers.associa.tuning.examples import draw_examples, read_examples, write_examples
from memrepro.papers.associa.tuning.samples import Recipe
from memrepro.papers.associa.tuning.teacher import stands_alone
from memrepro.retrieve.associa.model_deliberator import ask
from tests.papers.associa.tuning.made import Teacher, content, write

RECIPE = Recipe(nodes=8)
EMBED = partial(HashEncoder(256).encode, role="document")


@pytest.fixture
def coqa(tmp_path):
    return read_coqa(*write(tmp_path / "coqa.json", content()))


def test_without_a_teacher_only_questions_that_stand_alone_are_used(coqa):
    built = draw_examples(coqa, RECIPE, EMBED)
    assert built.counts == {
        "in CoQA": 7, "skipped": 0, "answered by the story": 6, "that can be used": 4,
        "chosen": 4, "used": 4,
    }  # fmt: skip
    ids = [sample.sample_id for sample in built.samples]
    assert ids == sorted(ids)
    queries = ("s1oven-001", "s1oven-002", "s2library-001", "s2library-003")
    assert ids == [f"{q}-{kind}" for q in queries for kind in ("missing", "sufficient")]
    assert built.left_out == ()


def test_lines_are_what_the_deliberating_model_is_asked_and_the_answer(coqa, tmp_path):
    samples = draw_examples(coqa, RECIPE, EMBED).samples
    path = tmp_path / "examples.jsonl"
    write_examples(path, samples)
    read = read_examples(path)
    assert [one.example_id for one in read] == [sample.sample_id for sample in samples]
    for one, sample in zip(read, samples, strict=True):
        assert one.messages[:-1] == ask(sample.query, sample.evidence).messages
        answer = one.messages[-1]
        assert answer.role == "assistant"
        if sample.sample_id.endswith("sufficient"):
            assert answer.content == "{}"
        else:
            assert json.loads(answer.content) == {"missing": list(sample.missing)}


def reply(prompt):
    """Restores with 'Indeed:' and names one clue; two answers cannot be used."""
    text = prompt.messages[-1].content
    question = text.rpartition("uestion: ")[2]
    if text.startswith("Text:"):
        return (
            "I cannot." if question == "When?" else json.dumps({"question": f"Indeed: {question}"})
        )
    if "Felix delivers" in text.rpartition("Clues")[2]:
        return '{"missing": []}'
    if "oven" in text.splitlines()[0]:
        return '{"missing": ["x"], "irrelevant": [99]}'
    return '```json\n{"missing": ["the founder", "the founder", " "]}\n```'


def test_a_teacher_restores_questions_and_writes_the_negative_answers(coqa):
    teacher = Teacher(reply)
    built = draw_examples(coqa, RECIPE, EMBED, teacher)
    used = {sample.query_id for sample in built.samples}
    assert used == {"s2library-001", "s2library-003", "s2library-004"}
    assert built.counts["that can be used"] == 6
    assert built.counts["used"] == 3
    assert {item: reason.partition(",")[0] for item, reason in built.left_out} == {
        "s2library-002": "no JSON: 9 characters without an object",
        "s1oven-002-missing": "misfit: nothing is named as missing",
        "s1oven-001-missing": "misfit: irrelevant: Extra inputs are not permitted",
    }
    missing, sufficient = built.samples[:2]
    assert missing.query == sufficient.query == "Indeed: Who founded the Harbour Library?"
    assert (missing.missing, sufficient.missing) == (("the founder",), ())
    # A question is shown with what was said before it, and not after.
    (asked,) = (p for p in teacher.prompts if p.messages[-1].content.endswith("Who rebuilt it?"))
    told = asked.messages[-1].content
    assert "Q: What destroyed the west wing?\nA: a fire" in told
    assert "How many books" not in told


@pytest.mark.parametrize(
    ("question", "alone"),
    [
        ("Who founded the Harbour Library?", True), ("Where does Ann's brother live?", True),
        ("Why?", False), ("Who else came along?", False), ("What did HE do there?", False),
        ("Who thinks the theatre is theirs?", False),
        ("What is the other heroine's name?", False), ("Is Theresa in the hall?", True),
    ],
)  # fmt: skip
def test_a_question_stands_alone_if_it_points_nowhere(question, alone):
    assert stands_alone(question) is alone


USER, REPLY = {"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}


@pytest.mark.parametrize(
    "line",
    [
        {"id": "a"},
        {"id": "a", "messages": [USER]},
        {"id": "a", "messages": [USER | {"content": 1}, REPLY]},
    ],
)
def test_a_line_that_is_no_example_is_named(tmp_path, line):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(line) + "\n")
    with pytest.raises(MemreproError, match="line 1 is no example"):
        read_examples(path)
    path.write_text("")
    with pytest.raises(MemreproError, match="holds no example"):
        read_examples(path)
