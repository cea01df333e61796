"""The store of answers: order, damage, files, kills, two writers."""

import json
import random
import sqlite3
import threading
import time
import zlib
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.errors import MemreproError
from memrepro.files.atomic import sha256
from memrepro.llm.endpoint import Endpoint
from memrepro.llm.model import Answer, ModelIdentity, Prompt, prompt_key
from memrepro.llm.recorded import Recorded, Recording
from memrepro.llm.records import AnswerStore, Record, read_record
from memrepro.llm.shipping import Exported, Imported, export_records, import_records
from tests.forked import forked
from tests.llm.server import said, serving
from tests.llm.test_model import prompts as any_prompts

IDENTITY = ModelIdentity("toy", "1")
PROMPTS = 200


def asked(n=PROMPTS):
    draw = random.Random(1)
    return [Prompt.from_user(f"text {i} " + "word " * draw.randrange(60)) for i in range(n)]


def answer_to(prompt, identity=IDENTITY):
    text = prompt.messages[-1].content
    model, revision = identity.model, identity.revision
    return Answer(said(text), len(text), 7, 0.25, model, revision, "stop", "toy 1")


class Toy:
    """A backend that counts what it is asked; it fails after `last` answers."""

    def __init__(self, last=None, identity=IDENTITY):
        self.identity, self.last, self.asked = identity, last, []

    def stream(self, prompts):
        for prompt in prompts:
            if len(self.asked) == self.last:
                raise MemreproError("the toy is broken")
            self.asked.append(prompt)
            yield prompt, answer_to(prompt, self.identity)


@pytest.fixture
def store(tmp_path):
    with AnswerStore(tmp_path / "a.sqlite") as store:
        yield store


def fill(store, n=20, identity=IDENTITY):
    records = [Record(p, answer_to(p, identity)) for p in asked(n)]
    assert store.add(records) == n
    return records


# Recording and replay.


def test_each_prompt_is_asked_for_once_and_answered_in_order(store):
    a, b, long = Prompt.from_user("a"), Prompt.from_user("b"), Prompt.from_user("long text")
    toy = Toy()
    model = Recording(store, toy, progress=False)
    got = model.answer([a, long, a, b])
    assert got == [answer_to(p) for p in (a, long, a, b)]
    # Longest first, ties by key.
    assert toy.asked == [long, *sorted([a, b], key=lambda p: prompt_key(IDENTITY, p))]
    assert model.answer([b, Prompt.from_user("new")])[1].text == said("new")
    assert (len(toy.asked), len(store)) == (4, 4)
    assert model.answer([]) == []


def test_replay_needs_no_model(store):
    prompts = [record.prompt for record in fill(store, 1200)]
    with AnswerStore(store.path) as again:
        replayed = Recorded(again, IDENTITY, "e").answer(prompts[::-1] + prompts)
    assert replayed == [answer_to(p) for p in prompts[::-1] + prompts]


def test_a_missing_answer_says_how_many_which_and_what_to_do(store):
    fill(store, 3)
    prompts = [*asked(5), asked(5)[4]]
    first = prompt_key(IDENTITY, prompts[3]).hex()
    with pytest.raises(
        MemreproError,
        match=r"2 of 5 answers of 'toy' \(revision '1'\) that experiment 'associa' needs.*; the "
        rf"first prompt's key is {first}: ask live where the model is",
    ):
        Recorded(store, IDENTITY, "associa").answer(prompts)


def test_what_another_process_recorded_meanwhile_is_not_asked_for(store):
    class Slow(Toy):
        def stream(self, prompts):
            for prompt, answer in super().stream(prompts):
                if len(self.asked) == 1:
                    with AnswerStore(store.path) as other:
                        other.add([Record(p, answer_to(p)) for p in asked(6)])
                yield prompt, answer

    model = Recording(store, toy := Slow(), progress=False)
    assert model.answer(asked(8)) == [answer_to(p) for p in asked(8)]
    assert len(toy.asked) < 8


# The store.


def test_missing_keeps_the_order(store):
    keys = [record.key for record in fill(store, 3)]
    strange = [bytes([i]) * 32 for i in (9, 3)]
    one, two = strange
    assert store.missing([one, keys[1], two, one]) == [one, two, one]
    with pytest.raises(MemreproError, match="1 answers are not there"):
        store.read([keys[0], strange[0]])


log_probabilities = st.lists(st.floats(max_value=0, allow_infinity=False), max_size=3).map(tuple)


@given(any_prompts, st.text(max_size=9), st.none() | st.integers(0, 9), log_probabilities)
def test_a_record_comes_back_from_its_line(prompt, text, tokens, scores):
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    record = Record(prompt, Answer(text, tokens, None, 0.1, "m", "r", "length", "x", scores))
    assert read_record(json.loads(record.as_json())) == record
    assert ('"scores"' in record.as_json(), '"options"' in record.as_json()) == (
        bool(scores), bool(prompt.parameters.options),
    )  # fmt: skip


LINE = json.loads(Record(asked(1)[0], answer_to(asked(1)[0])).as_json())


def spoilt(*path, value):
    line = json.loads(json.dumps(LINE))
    inner = line
    for name in path[:-1]:
        inner = inner[name]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return line


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ([1], "is a list, not a JSON object"),
        (spoilt("key", value=None), "has the key None"),
        (spoilt("answer", "text", value=None), "answer.text: Field required"),
        (spoilt("answer", "prompt_tokens", value="7"), "answer.prompt_tokens: Input should be a v"),
        (spoilt("answer", "seconds", value=float("nan")), "not JSON compliant"),
        (spoilt("answer", "model", value="other"), "has the key"),
        (spoilt("prompt", "messages", value=[]), "messages of nobody"),
        (spoilt("prompt", "messages", 0, "content", value="x"), "has the key"),
        (spoilt("prompt", "parameters", "seed", value=-1), "seed is -1"),
        (spoilt("note", value="more"), "a field that a record does not have"),
    ],
)
def test_a_line_that_is_no_record_is_refused(tmp_path, store, line, reason):
    with pytest.raises((ValueError, MemreproError), match=reason):
        read_record(line)
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(LINE) + "\n" + json.dumps(line) + "\n")
    with pytest.raises(MemreproError, match=r"r\.jsonl, line 2: .*nothing was imported"):
        import_records(store, path, sha256(path))
    assert len(store) == 0


# Files.


def test_records_go_by_file_in_one_order(tmp_path, store):
    records = fill(store, 20)
    out = tmp_path / "out.jsonl"
    done = export_records(store, out)
    assert done == Exported(20, sha256(out))
    keys = [json.loads(line)["key"] for line in out.read_text().splitlines()]
    assert keys == sorted(record.key.hex() for record in records)
    with AnswerStore(tmp_path / "b.sqlite") as other:
        other.add(records[10:][::-1])
        assert import_records(other, out, done.sha256) == Imported(10, 10, 0)
        assert import_records(other, out, done.sha256) == Imported(0, 20, 0)
        again = export_records(other, tmp_path / "again.jsonl")
    assert again == done
    assert (tmp_path / "again.jsonl").read_bytes() == out.read_bytes()


def test_an_import_changes_no_answer_that_is_here(tmp_path, store):
    records = fill(store, 2)
    out = tmp_path / "out.jsonl"
    done = export_records(store, out)
    with AnswerStore(tmp_path / "b.sqlite") as other:
        mine = replace(records[0], answer=replace(records[0].answer, text="mine"))
        other.add([mine])
        assert import_records(other, out, done.sha256) == Imported(1, 0, 1)
        assert other.read([mine.key]) == [mine.answer]


def test_another_file_is_refused(tmp_path, store):
    out = tmp_path / "out.jsonl"
    export_records(store, out)
    with pytest.raises(MemreproError, match=r"has the sha256 [0-9a-f]{64}, and 0{64} is expected"):
        import_records(store, out, "0" * 64)
    with pytest.raises(MemreproError, match=r"none\.jsonl is missing"):
        import_records(store, tmp_path / "none.jsonl", "0" * 64)


def test_texts_with_line_separators_stay_one_line(tmp_path, store):
    prompt = Prompt.from_user("a\u2028b\x85c\r\nd\x00")
    store.add([Record(prompt, answer_to(prompt))])
    out = tmp_path / "out.jsonl"
    done = export_records(store, out)
    with AnswerStore(tmp_path / "b.sqlite") as other:
        assert import_records(other, out, done.sha256).new == 1
        assert next(other.records()).prompt == prompt


# Damage.


def overwrite(store, key, data, crc):
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE answers SET record = ?, crc = ? WHERE key = ?", (data, crc, key))


def is_damaged(store, key, why):
    for read in (lambda: store.read([key]), lambda: list(store.records())):
        with pytest.raises(MemreproError, match=rf"damaged \(the record {key.hex()[:12]}… {why}"):
            read()


def test_a_changed_record_and_one_under_another_key_are_seen(store):
    one, two = fill(store, 2)
    data = one.as_json().encode()
    changed = data.replace(b"letters", b"Letters")
    overwrite(store, one.key, changed, zlib.crc32(one.key + data))
    is_damaged(store, one.key, "does not fit its check")
    overwrite(store, one.key, two.as_json().encode(), zlib.crc32(two.key + data))
    is_damaged(store, one.key, "does not fit its check")


# Kills, and two writers, through a real endpoint.

AT_ONCE = 4


def work(path, url, step=1):
    with AnswerStore(path) as store:
        backend = Endpoint(url, IDENTITY, concurrency=AT_ONCE, pause=0.01)
        Recording(store, backend, progress=False).answer(asked()[::step])


def committed(path):
    if not path.exists():
        return 0
    db = sqlite3.connect(path, timeout=30)
    try:
        return db.execute("SELECT count(*) FROM answers").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
    finally:
        db.close()


def check_whole(path):
    """Every prompt has its own right answer, once, and the file is sound."""
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    with AnswerStore(path) as store:
        assert len(store) == PROMPTS
        got = Recorded(store, IDENTITY, "e").answer(asked())
        assert [a.text for a in got] == [said(p.messages[-1].content) for p in asked()]
        keys = [record.key for record in store.records()]
        assert sorted(keys) == sorted(prompt_key(IDENTITY, p) for p in asked())


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving(seconds=0.01) as server:
        yield server


def kill_at(target, server, draw, path, *steps):
    """Kill workers soon after a number of prompts; somewhat later the server says nothing more."""
    killed, answer = threading.Event(), server.content.reply

    def at_first(messages):
        if len(server.asked) > target + 2 * AT_ONCE:
            killed.wait()
        return answer(messages)

    server.content.reply = at_first
    runs = [forked(work, path, server.url, step) for step in steps]
    while len(server.asked) < target:
        assert any(run.is_alive() for run in runs), "the workers failed"
        time.sleep(0.001)
    for run in runs:
        time.sleep(draw.uniform(0, 0.02))
        run.kill()
        run.join()
    server.content.reply = answer
    killed.set()


def test_kills_lose_at_most_what_was_in_flight(tmp_path, server):
    path, draw, kills, sizes = tmp_path / "a.sqlite", random.Random(7), 4, [0]
    for _ in range(kills):
        target = len(server.asked) + draw.randint(15, 35)
        kill_at(target, server, draw, path, 1)
        sizes.append(committed(path))
    assert sizes == sorted(sizes), "something committed was lost"
    assert 0 < sizes[-1] < PROMPTS
    work(path, server.url)
    check_whole(path)
    times = Counter(body["messages"][-1]["content"] for body in server.asked)
    assert len(times) == PROMPTS
    # Each kill can cost the prompts in flight, and nothing else is asked for twice.
    assert sum(times.values()) - PROMPTS <= kills * AT_ONCE


def test_two_processes_killed_at_once(tmp_path, server):
    path, draw = tmp_path / "a.sqlite", random.Random(3)
    for _ in range(2):
        kill_at(len(server.asked) + 50, server, draw, path, 1, 2)
    work(path, server.url)
    check_whole(path)
