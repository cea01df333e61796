"""LongMemEval's reader: its rules on a small instance, every known fault, and S as released."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.core import prepared
from memrepro.data import longmemeval
from memrepro.data.fetch import fetch, mirror_copies
from memrepro.data.registry import registration
from memrepro.errors import MemreproError
from memrepro.files import atomic
from memrepro.study.params import load_plan
from tests.data.gathered import MIRROR, gather

DATE = "2023/05/20 (Sat) 02:21"
LEVELS = {
    f"{level}{labels}" for level in ("session", "round", "turn") for labels in ("", "_official")
}


def user(content, **flags):
    return {"role": "user", "content": content, **flags}


def assistant(content, **flags):
    return {"role": "assistant", "content": content, **flags}


@pytest.fixture
def instance():
    return {
        "question_id": "q1",
        "question_type": "multi-session",
        "question": "How many?",
        "question_date": "2023/05/30 (Tue) 23:40",
        "answer": "2",
        "answer_session_ids": ["answer_1", "answer_2"],
        "haystack_dates": [DATE, "2023/05/21 (Sun) 09:00", DATE],
        "haystack_session_ids": ["answer_1", "s", "answer_2"],
        "haystack_sessions": [
            [
                user("a", has_answer=False), assistant("b", has_answer=False),
                user("c", has_answer=True), assistant("d", has_answer=True),
            ],
            [assistant("e"), user("f", has_answer=True), user("g"), assistant("h"), assistant("i")],
            [user("j", has_answer=False), assistant("k", has_answer=True)],
        ],
    }  # fmt: skip


def read(*instances, **options):
    return gather(longmemeval.pieces_of(instances, "x", **options))


def load(folder, **options):
    return gather(prepared.save(longmemeval.stream(folder, "x", **options), folder / "out"))


def many(instance, count):
    """Copies under other ids."""
    return [copy.deepcopy(instance) | {"question_id": f"q{n}"} for n in range(count)]


def session_ids(dataset, memory_id="q1"):
    return [session.session_id for session in dataset.memories[memory_id].sessions]


@pytest.mark.parametrize(("duplicates", "place"), [("first", 0), ("last", 2)])
@pytest.mark.parametrize(("changed", "said"), [(False, "the same contents"), (True, "other")])
def test_a_session_that_stands_twice(instance, duplicates, place, changed, said):
    instance["haystack_session_ids"][2] = "answer_1"
    instance["answer_session_ids"] = ["answer_1"]
    instance["haystack_dates"][2] = "2023/05/25 (Thu) 10:00"
    sessions = instance["haystack_sessions"]
    sessions[2] = copy.deepcopy(sessions[0])
    if changed:
        sessions[2][0]["content"] = "z"
    dataset = read(instance, duplicates=duplicates)
    assert session_ids(dataset) == (["answer_1", "s"] if place == 0 else ["s", "answer_1"])
    memory = dataset.memories["q1"]
    kept = session_ids(dataset).index("answer_1")
    assert memory.times[kept] == ("2023-05-20T02:21" if place == 0 else "2023-05-25T10:00")
    first = memory.sessions[kept].rounds[0].turns[0].text
    assert first == sessions[place][0]["content"]
    ((item, reason),) = dataset.skipped
    assert item == "session 'answer_1' of question 'q1'"
    assert said in reason
    assert f"the {duplicates} is read" in reason
    assert dataset.qrels["session"] == {"q1": (("answer_1",),)}


def test_a_question_is_left_out_by_name_whether_the_file_holds_it_or_not(instance):
    other = instance | {"question_id": "q2"}
    without = read(other, left_out={"q1": "why"})
    assert without == read(instance, other, left_out={"q1": "why"})
    assert (list(without.memories), without.skipped) == (["q2"], [("question 'q1'", "why")])


def test_an_answer_session_that_is_not_there(instance):
    instance["answer_session_ids"].append("answer_9")
    dataset = read(instance, instance | {"question_id": "q2", "answer_session_ids": ["answer_1"]})
    assert dataset.faults == {"q1": "its answer session 'answer_9' is not in its haystack"}
    assert {level: set(gold) for level, gold in dataset.qrels.items()} == {
        level: {"q2"} for level in LEVELS
    }


@pytest.mark.parametrize("date", ["30 May", "", None, 3, "2023/05/32 (Tue) 23:40"])
def test_a_date_that_cannot_be_read_is_left_out(instance, date):
    instance["haystack_dates"][1] = instance["question_date"] = date
    dataset = read(instance)
    assert dataset.memories["q1"].times == ("2023-05-20T02:21", "", "2023-05-20T02:21")
    assert dataset.queries[0].at == ""
    items = [item for item, _ in dataset.skipped]
    assert items == ["date of session 's' of question 'q1'", "date of question 'q1'"]
    assert all(repr(date) in reason for _, reason in dataset.skipped)


FAULTS = [
    *((lambda i, key=key: i.pop(key), f"it has no '{key}'") for key in longmemeval._SCHEMA),
    (lambda i: i["haystack_dates"].pop(), "3 haystack_session_ids, 2 haystack_dates"),
    (lambda i: i["answer_session_ids"].append(3), "3 among its answer_session_ids"),
    (lambda i: i["haystack_sessions"][0][1].update(has_answer="no"), "'no' as 'has_answer'"),
    (lambda i: i.update(question=3), "a int as 'question'"),
    (lambda i: [s.clear() for s in i["haystack_sessions"]], "none of its sessions has a turn"),
]


@pytest.mark.parametrize(("change", "said", "place"), [(*f, n % 3) for n, f in enumerate(FAULTS)])
def test_an_instance_that_cannot_be_used_is_skipped(instance, change, said, place):
    instances = many(instance, 3)
    change(instances[place])
    dataset = read(*instances)
    assert set(dataset.memories) == {"q0", "q1", "q2"} - {f"q{place}"}
    ((item, reason),) = dataset.skipped
    name = instances[place].get("question_id", f"number {place + 1}")
    assert item == f"question {name!r}"
    assert said in reason


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        ({"role": "system", "content": "be kind"}, "has the role 'system'"),
        ({"role": "tool", "content": "{}"}, "has the role 'tool'"),
        ({"role": "assistant", "content": None}, "has no text as its 'content'"),
        ({"role": "user", "content": [{"type": "text", "text": "hi"}]}, "has no text as"),
        ("hi", "is a str: a turn is a JSON object"),
    ],
)
def test_a_turn_that_cannot_be_used_costs_no_more(instance, turn, said):
    """All else is as before, with the positions of the file; with the answer, it costs the gold."""
    plain = read(copy.deepcopy(instance))
    instance["haystack_sessions"][1].append(turn)
    with_it = read(copy.deepcopy(instance))
    assert (with_it.memories, with_it.qrels, with_it.queries) == (
        plain.memories, plain.qrels, plain.queries,
    )  # fmt: skip
    ((item, reason),) = set(with_it.skipped) - set(plain.skipped)
    place = len(instance["haystack_sessions"][1])
    assert item == f"turn {place} of session 's' of question 'q1'"
    assert said in reason
    instance["haystack_sessions"][1] = [turn, *instance["haystack_sessions"][1]]
    first = read(copy.deepcopy(instance)).memories["q1"].sessions[1].rounds[0].turns[0]
    assert first.turn_id == "s_2"
    if isinstance(turn, dict):
        instance["haystack_sessions"][1][0] = turn | {"has_answer": True}
        found = read(instance)
        assert found.faults == {"q1": "turn 1 of its session 's' has the answer and cannot be used"}
        assert not any(found.qrels.values())


@pytest.mark.parametrize("date", ["2023-05-30T23:40", "2023-05-30 23:40:59", "2023-05-30T23:40Z"])
def test_a_date_in_iso_8601_is_read(instance, date):
    instance["question_date"] = instance["haystack_dates"][1] = date
    dataset = read(instance)
    assert dataset.queries[0].at == dataset.memories["q1"].times[1] == "2023-05-30T23:40"
    assert dataset.skipped == read(instance).skipped == []


def test_too_many_that_cannot_be_used(instance):
    def broken(count, total):
        return [*many(instance, total - count), *[{"question_id": "bad"}] * count]

    assert len(read(*broken(5, 20)).memories) == 15
    assert len(read(*broken(6, 600)).memories) == 594
    with pytest.raises(MemreproError, match="x: 6 of 20 questions .* 'bad': it has no 'question_t"):
        read(*broken(6, 20))
    with pytest.raises(MemreproError, match="x: none of 2 questions .* 'bad': it has no"):
        read(*broken(2, 2))


def test_the_folder_must_hold_one_file(tmp_path, instance):
    with pytest.raises(MemreproError, match="found none"):
        load(tmp_path)
    atomic.write_json(tmp_path / "below" / "a.json", [instance])
    assert len(load(tmp_path).queries) == 1
    atomic.write_json(tmp_path / "b.json", {})
    with pytest.raises(MemreproError, match=r"found b\.json, a\.json"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"question_id": "q1"}', "begins with '{'"),
        (b"", "is not whole JSON: .* after 0 whole instances, not behind byte 0 of 0"),
        (b"[1, 2", "not behind byte 5 of 5; it is truncated or damaged: repair it, or name"),
        (b'["\xff"]', "is not whole JSON"),
        (b"[" * 99_999, "nests too deep"),
        (b'[{"a":' + b'{"a":' * 99_999, "is not whole JSON: a comma is missing"),
        (b'[{"a":' + b'{"b":' * 99_999, "nests too deep"),
        (b'[{"a": [1, {"a": 2}]}]', "is not whole JSON"),
        (b'[{"a": 1} {"a": 2}]', "is not whole JSON: a comma is missing after 0 whole instances"),
        (b'[{"a": 1}, {"a": 2},]', "is not whole JSON: .* after 1 whole instances"),
        (b'[{"a": 1}, {"a": 2}] 3', "is not whole JSON: .* after 1 whole instances"),
    ],
)
def test_a_file_that_is_no_json_list(tmp_path, text, said):
    (tmp_path / "a.json").write_bytes(text)
    with pytest.raises(MemreproError, match=said) as error:
        load(tmp_path)
    assert "\n" not in str(error.value)


def test_each_piece_comes_before_the_rest_is_read(instance):
    taken = []

    def instances():
        for one in many(instance, 10):
            taken.append(one["question_id"])
            yield one

    pieces = longmemeval.pieces_of(instances(), "x")
    assert taken == []
    for n in range(8):
        assert next(pieces).memory.memory_id == f"q{n}"
        assert len(taken) == n + 2


# A file cannot hold half a surrogate pair.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
TURN = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]), "content": TEXT},
    optional={"has_answer": st.none() | st.booleans()},
)
SESSIONS = st.lists(
    st.tuples(
        st.sampled_from(["answer_1", "answer_2", "a", "b", "c"]),
        st.sampled_from([DATE, "2023/05/21 (Sun) 09:00", "never"]),
        st.lists(TURN, max_size=4),
    ),
    max_size=5,
)


@st.composite
def instance_lists(draw):
    found = []
    for number in range(draw(st.integers(1, 6))):
        sessions = draw(SESSIONS)
        found.append(
            {
                "question_id": f"q{number}" + draw(st.sampled_from(["", "_abs"])),
                "question_type": "multi-session",
                "question": draw(TEXT),
                "question_date": draw(st.sampled_from([DATE, "never"])),
                "answer": draw(TEXT | st.integers(-(2**62), 2**62)),
                "answer_session_ids": draw(st.lists(st.sampled_from(["answer_1", "a", "z"]))),
                "haystack_dates": [date for _, date, _ in sessions],
                "haystack_session_ids": [session_id for session_id, _, _ in sessions],
                "haystack_sessions": [turns for _, _, turns in sessions],
            }
        )
    return found


def outcome(read):
    try:
        return read()
    except MemreproError as error:
        return str(error)


@settings(max_examples=30)
@given(
    instances=instance_lists(),
    duplicates=st.sampled_from(longmemeval.DUPLICATES),
    ascii_only=st.booleans(),
)
def test_a_stream_is_what_the_list_is(tmp_path_factory, instances, duplicates, ascii_only):
    folder = tmp_path_factory.mktemp("raw")
    text = json.dumps(instances, ensure_ascii=ascii_only)
    (folder / "a.json").write_text(text, encoding="utf-8")
    expected = outcome(lambda: read(*instances, duplicates=duplicates))
    assert outcome(lambda: load(folder, duplicates=duplicates)) == expected


@settings(max_examples=30)
@given(instances=instance_lists(), duplicates=st.sampled_from(longmemeval.DUPLICATES))
def test_gold_lies_in_the_memory_and_nothing_is_lost_silently(instances, duplicates):
    dataset = outcome(lambda: read(*instances, duplicates=duplicates))
    if isinstance(dataset, str):
        assert "none of" in dataset
        return
    for instance in instances:
        key = instance["question_id"]
        if key not in dataset.memories:
            assert any(item == f"question {key!r}" for item, _ in dataset.skipped)
            continue
        memory = dataset.memories[key]
        ids = {
            "session": {session.session_id for session in memory.sessions},
            "round": {r.round_id for r in memory.rounds},
            "turn": {turn.turn_id for r in memory.rounds for turn in r.turns},
        }
        for level, gold in dataset.qrels.items():
            found = {doc_id for part in gold.get(key, ()) for doc_id in part}
            assert found <= ids[level.removesuffix("_official")]
        assert key in dataset.qrels["session"] or key in dataset.faults or "_abs" in key
        left_out = [i for i, _ in dataset.skipped if i.startswith("session ") and f"{key!r}" in i]
        assert len(memory.sessions) + len(left_out) == len(instance["haystack_sessions"])


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """The oracle's and S's pieces, as params.yaml reads them, from the mirror's packed files."""

    def pieces(name, **parameters):
        if not all(any(mirror_copies(file, MIRROR)) for file in registration(name).files):
            pytest.skip(f"no mirror with {name}: {MIRROR} lacks its file, packed or not")
        folder = tmp_path_factory.mktemp(name)
        for file in registration(name).files:
            fetch(file, folder, licence="MIT", mirror=MIRROR)
        return longmemeval.stream(folder, name, **parameters)

    return pieces


def with_evidence(pieces):
    """Questions that are no abstention and have evidence in a user's turn."""
    return sum(
        piece.queries[0].kind != "abstention" and any(piece.qrels["session_official"].values())
        for piece in pieces
    )


def slots(piece):
    """Sessions of a haystack as the file has them."""
    lost = [item for item, _ in piece.skipped if item.startswith("session ")]
    return len(piece.memory.sessions) + len(lost)


def counted():
    """Question id → its number of sessions in the oracle, S and M, as somebody counted them."""
    path = MIRROR / "longmemeval" / "session_counts.csv"
    if not path.is_file():
        pytest.skip(f"no mirror: {path} is missing")
    return atomic.read_table(path).set_index("question_id").astype(int)


def test_s_is_what_was_counted_less_one_question(released):
    parameters = load_plan().dataset("longmemeval-s").parameters
    (left_out,) = parameters["left_out"]
    sizes, sessions, evidence, noans, most, skipped = {}, set(), 0, 0, 0, []
    for piece in released("longmemeval-s", **parameters):  # one at a time: all take a gigabyte
        sizes[piece.memory.memory_id] = slots(piece)
        sessions |= {session.key for session in piece.memory.sessions}
        evidence += with_evidence([piece])
        stated, official = (piece.qrels[f"session{kind}"] for kind in ("", "_official"))
        noans += stated != official
        most = max([most, *map(len, piece.qrels["session"].values())])
        skipped += piece.skipped
    expected = counted()["s_cleaned"]
    assert expected.sum() == 23_867
    assert sizes == expected.drop(left_out).to_dict()
    assert (len(sizes), len(sessions), evidence, most) == (499, 19_167, 418, 6)
    assert noans == 113
    assert skipped[0] == (f"question {left_out!r}", parameters["left_out"][left_out])
    assert sum("stands twice" in reason for _, reason in skipped) == 13
