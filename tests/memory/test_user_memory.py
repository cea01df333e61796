"""The memory as a program uses it: with its defaults it finds, keeps and forgets."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError
from memrepro.memory import control, stretches
from memrepro.memory.everything import Signals, mixed
from memrepro.memory.language.words import spoken
from memrepro.memory.settings import EVERYTHING, calibrated
from memrepro.memory.times import seconds
from memrepro.memory.user_memory import Memory, users
from memrepro.text.lengths import count_tokens
from tests.memory.store_made import all_bytes, version

ASKED = "2023-06-01"
PATIENT = replace(EVERYTHING, dense_ms=60_000, index_seconds=600)


def opened(root, user="ann", **more):
    more = {"encoder": HashEncoder(64), "settings": PATIENT, **more}
    return Memory(root, user, more.pop("timezone", "Europe/Oslo"), **more)


def talk(n=200):
    """A chat of an hour a day: of each 20 messages one names a thing that no other does."""
    return [
        {"id": f"m{i}", "role": ("user", "assistant")[i % 2], "at": 1683504000.0 + 4320 * i,
         "content": f"our plan for thing{i}" if i % 20 == 3 else f"so the talk went on, {i} more"}
        for i in range(n)
    ]  # fmt: skip


def found(memory, now=ASKED):
    return [memory.search(f"which thing{i} was it?", now=now)[0].id for i in range(3, 200, 20)]


def test_nothing_is_lost_by_upkeep_a_quiet_year_or_an_export(tmp_path):
    expected = [f"m{i}" for i in range(3, 200, 20)]
    with opened(tmp_path) as memory:
        memory.add(talk())
        assert found(memory) == expected
        memory.maintain(ASKED)
        assert found(memory) == expected
        memory.maintain("2024-07-01")
        assert found(memory, "2024-07-01") == expected
        memory.export(tmp_path / "out.json")
    with opened(tmp_path, "bob") as other:
        other.import_(tmp_path / "out.json")
        assert found(other) == expected
    # A memory of the document's design gives its archive back.
    with opened(tmp_path, "cay", settings="as printed") as printed:
        printed.add(talk())
        printed.maintain("2024-07-01")
    with opened(tmp_path, "cay") as memory:
        assert found(memory) == expected
    assert users(tmp_path) == ["ann", "bob", "cay"]


def test_what_came_before_is_not_cut_again_in_a_chat_without_a_pause(tmp_path, monkeypatch):
    cut = []
    segment_id = stretches.segment_id
    monkeypatch.setattr(
        stretches,
        "segment_id",
        lambda messages, text: cut.append(text) or segment_id(messages, text),
    )
    chat = [{"content": f"note {i}", "at": 1683504000.0 + 60 * i, "id": f"m{i}"} for i in range(99)]
    with opened(tmp_path) as memory:
        memory.add(chat[:-1])
        cut.clear()
        memory.add(chat[-1])
        memory.forget("m5")
        assert len(set(cut)) <= 2
        assert len(memory.messages()) == 98


def test_a_message_is_found_by_what_stands_beside_it_and_a_late_word_of_a_long_one(tmp_path):
    with opened(tmp_path) as memory:
        memory.add([
            {"content": "How did the concert in Verona go?", "id": "asked", "role": "Bo"},
            {"content": "Wonderful, we danced all night", "id": "said", "role": "Cy"},
            {"content": "filler words " * 330 + " and the safe opens with 4711", "id": "long"},
        ])  # fmt: skip
        assert [hit.id for hit in memory.search("concert Verona", 2)] == ["asked", "said"]
        memory.add({"content": "two\n\nlines of a poem", "id": "poem"})
        assert memory.search("lines of a poem", 1)[0].text == "two\n\nlines of a poem"
        (hit,) = memory.search("what opens the safe?", 1)
        assert hit.id == "long"
        assert hit.text.endswith("4711")
        assert len(hit.text.split()) <= 160


def test_a_score_has_shares_of_the_neighbours_less_of_them_the_longer_the_message():
    words, cosines, zero = (
        np.array([1.0, 0.2, 0.0, 0.0]),
        np.array([0.1, 0.2, 0.3, 0.4]),
        np.zeros(4),
    )
    near = [np.array([True, True, False]), np.array([True, False])]
    lengths = np.array([50.0, 400.0, 800.0, 10.0])
    signals = Signals("abcd", cosines, words, near, lengths, zero > 0, zero)
    shares = replace(EVERYTHING, alpha=0.25, near_words=(0.5, 0.2), near_cosines=(0.4,),
                     near_length=200)  # fmt: skip
    by_words = [1 + 0.5 * 0.2, 0.2 + (0.5 * 1) / 2, (0.5 * 0.2 + 0.2 * 1) / 4, 0]
    by_cosine = [0.1 + 0.4 * 0.2, 0.2 + 0.4 * (0.1 + 0.3) / 2, 0.3 + 0.4 * 0.2 / 4, 0.4]
    expected = 0.75 * np.array(by_words) + 0.25 * np.array(by_cosine)
    np.testing.assert_allclose(mixed(signals, shares), expected)
    np.testing.assert_allclose(mixed(signals._replace(cosines=None), shares), by_words)


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("今天玩成语接龙游戏", "成语接龙"),
        ("週末に京都でラーメンを食べた", "ラーメン"),
        ("어제 부산에서 친구를 만났어요", "부산"),
        ("ฉันชอบกินข้าวผัดที่ตลาด", "ข้าวผัด"),
        ("我家里养了一只猫", "猫"),
        ("茶が好きです", "茶"),
    ],
)
def test_words_without_blanks_between_them_are_found(tmp_path, said, asked):
    # In few dimensions hashed words are alike by chance.
    with opened(tmp_path, encoder=HashEncoder(1024)) as memory:
        memory.add(
            ["今晚去看电影吧", "明日は会議があります", "오늘은 날씨가 좋네요", "วันนี้อากาศดีมาก", said]
        )
        best = memory.search(asked)
        assert best[0].text == said
        assert best.certain


def test_the_users_zone_decides_days(tmp_path):
    with opened(tmp_path, timezone="Asia/Tokyo") as memory:
        memory.add({"content": "we ate ramen", "at": "2023-05-09T00:30", "id": "late"})
        memory.add({"content": "we ate sushi", "at": "2023-05-08T23:30", "id": "early"})
        assert memory.search("what did we eat on May 9, 2023?", 1, now="2023-06-01")[0].id == "late"
        assert "Tuesday 2023-05-09\n- user: we ate ramen" in memory.context("ramen")


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("20230508", 1683504000),
        ("2023", 1672531200),
        (20230508, 1683504000),
        (1683504000, 1683504000),
    ],
)
def test_a_bare_number_is_a_day_a_year_or_refused(written, day):
    assert seconds(written) == day
    for number in ("12345", 0, "99999999"):
        with pytest.raises(MemreproError, match="may be Unix seconds or a date"):
            seconds(number)


def test_a_near_miss_is_told_and_the_threshold_may_be_set(tmp_path):
    with opened(tmp_path) as memory:
        assert memory.search("anything").says.startswith("I don't have memory")
        memory.add("the boiler was repaired")
        miss = memory.search("capital of Peru", threshold=0.9)
        assert miss.says == "nothing certain; nearest: the boiler was repaired"
        assert count_tokens(memory.context("capital of Peru", 5, threshold=0.9)) <= 5
        assert not miss.certain
        assert memory.search("capital of Peru", threshold=-1).says == ""
        assert memory.search("boiler repaired", threshold=0.999).certain
    assert 0 < calibrated("all-minilm-l6-v2") < 0.65


def test_metadata_is_kept_filtered_carried_and_forgotten(tmp_path):
    with opened(tmp_path) as memory:
        memory.add([{"content": "the budget is 900", "project": "roof", "n": 3, "paid": True},
                    {"content": "the budget is 400", "project": "garden"}])  # fmt: skip
        (hit,) = memory.search("budget", where={"project": "roof"})
        assert hit.metadata == {"project": "roof", "n": 3, "paid": True}
        assert len(memory.search("budget", where={"n": "3"})) == 1
        assert len(memory.search("budget", where={"paid": "true"})) == 1
        assert len(memory.search("budget", where={"paid": False})) == 0
        with pytest.raises(MemreproError, match="it must be a text, a number, True or False"):
            memory.search("budget", where={"n": [3]})
        memory.export(tmp_path / "out.json")
        would = memory.forget("the budget is 900", dry_run=True)
        assert [one.id for one in would] == [hit.id]
        assert len(memory.messages()) == 2
        memory.forget(hit.id)
        assert memory.forget("a wifi password") == []
        # What names nothing forgets nothing, and is sure of nothing.
        assert [memory.forget(vague) for vague in ("🎉", "?!", "what is the", "it")] == [[]] * 4
        assert not memory.search("?!", threshold=2.0).certain
        assert b"roof" not in all_bytes(memory.tiers.folder)
    with opened(tmp_path, "bob") as other:
        other.import_(tmp_path / "out.json")
        assert other.search("budget", where={"n": 3})[0].metadata["project"] == "roof"


def test_what_is_forgotten_is_gone_whether_files_are_overwritten_or_written_anew(tmp_path):
    anew = []
    with opened(tmp_path) as memory:
        memory.add(talk())
        for key in ("m3", "m23", "m43"):
            (one,) = [s for s in control.segments(memory.tiers) if s.message_ids == (key,)]
            vector = HashEncoder(64).encode([spoken(one.text)], "document")[0].tobytes()
            traces = [vector, one.segment_id.encode(), one.text.encode()]
            assert all(trace in all_bytes(memory.tiers.folder) for trace in traces)
            memory.forget(key)
            assert not any(trace in all_bytes(memory.tiers.folder) for trace in traces)
            anew.append(version(memory.tiers.folder) == 1)
        assert found(memory)[3:] == [f"m{i}" for i in range(63, 200, 20)]
    # Where rows may have been removed before, all is written anew.
    assert anew == [True, False, False]


def test_what_is_held_of_facts_is_what_is_read_anew(tmp_path):
    """One memory stays open, another one is opened for each change: their exports are the same."""
    changes = yaml.safe_load(Path(__file__).with_name("changes.yaml").read_text())
    said = [text for pair in changes["seen"]["superseded"][:7] for text in pair]

    def change(memory, step):
        memory.add({"id": f"m{step}", "content": said[step], "at": 1.7e9 + 3600 * step})
        now = 1.7e9 + 3600 * step + 60
        if step % 5 == 2:
            memory.forget(f"m{step - 1}")
        elif step % 5 == 3:
            # Said later than it is edited, so that its facts are not made at once.
            control.edit_message(memory.tiers, f"m{step}", f"I like number{step}.", now - 600)
        elif step % 5 == 4 and memory.facts():
            control.edit_fact(memory.tiers, memory.facts()[0].fact_id, "I like edits.", now)

    with opened(tmp_path / "held") as held:
        for step in range(len(said)):
            change(held, step)
            held.tiers.make_facts()
            with opened(tmp_path / "anew") as anew:
                change(anew, step)
            assert held.facts()
        held.export(tmp_path / "held.json")
    with opened(tmp_path / "anew") as anew:
        assert any("number8" in fact.text for fact in anew.facts())
        anew.export(tmp_path / "anew.json")
    assert (tmp_path / "held.json").read_bytes() == (tmp_path / "anew.json").read_bytes()


def test_what_changed_stands_before_what_it_replaced_and_both_stay(tmp_path):
    with opened(tmp_path) as memory:
        memory.add([{"content": "I live in Bergen", "at": "2023-01-05"},
                    {"content": "I moved to Oslo", "at": "2024-03-01"}])  # fmt: skip
        assert [hit.text for hit in memory.search("where do I live now?", 2)] == [
            "I moved to Oslo", "I live in Bergen"
        ]  # fmt: skip
        (now,) = memory.as_of("2024-06-01")
        (before,) = memory.as_of("2023-06-01")
        assert (now.fact.text, now.until) == ("I moved to Oslo", None)
        assert before.fact.text == "I live in Bergen"
        assert (before.until.date().isoformat(), before.until) == ("2024-03-01", now.since)
        assert [one.text for one in memory.history("I moved to Oslo")] == [
            "I live in Bergen", "I moved to Oslo"
        ]  # fmt: skip
        assert memory.history("i live in bergen")[0].text == "I live in Bergen"
        with pytest.raises(MemreproError, match="no fact is or was 'I live in Rome'"):
            memory.history("I live in Rome")


def test_threads_and_asyncio_share_a_memory_and_a_closed_one_says_so(tmp_path):
    memory = opened(tmp_path)
    failures = []

    def work(number):
        try:
            memory.add({"content": f"note{number} is here", "id": f"n{number}"})
            assert memory.search(f"note{number}")[0].id == f"n{number}"
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []

    async def asked():
        return await asyncio.gather(
            *(asyncio.to_thread(memory.search, f"note{number}", 1) for number in range(8))
        )

    assert [hits[0].id for hits in asyncio.run(asked())] == [f"n{number}" for number in range(8)]
    assert memory.tiers.recent(0) == []
    tiers = memory.tiers
    memory.close()
    with pytest.raises(MemreproError, match="closed"):
        memory.search("note1")
    with pytest.raises(Exception, match="closed"):
        tiers.search("note1", 1683504000.0)


def test_another_encoder_or_a_mistyped_user_changes_nothing(tmp_path):
    with opened(tmp_path) as memory:
        memory.add("I like tea")
    with pytest.raises(MemreproError, match="ask for all to be encoded anew"):
        opened(tmp_path, encoder=HashEncoder(32))
    with pytest.raises(MemreproError, match="no memory of 'anm': it has those of ann"):
        opened(tmp_path, "anm", create=False)
    with opened(tmp_path, "anm") as memory:
        assert not memory.search("tea")
    assert users(tmp_path) == ["ann"]
    with opened(tmp_path, encoder=HashEncoder(32), reencode=True) as memory:
        assert memory.search("tea").step == "dense"


def test_what_cannot_be_taken_is_named(tmp_path):
    with opened(tmp_path) as memory:
        for wrong, rule in [
            ({"role": "user"}, "message 0 has the content None"),
            ({"content": "a", "at": 12345}, "message 0: 12345 may be Unix seconds or a date"),
            ({"content": "a", "tags": {1}}, "its metadata is no JSON"),
            # Of pandas: with SQLite before 3.42 no search by metadata would work any more.
            ({"content": "a", "tag": float("nan")}, "its metadata is no JSON"),
            (5, "5 is no message"),
        ]:
            with pytest.raises(MemreproError, match=rule):
                memory.add(wrong)
        for asked, rule in [
            ({"query": "a", "k": 0}, "k is 0"),
            ({"query": "a", "k": 2.5}, "k is 2.5"),
            ({"query": None}, "the query must be a text"),
            ({"query": "a", "where": "b"}, "the metadata an object"),
            ({"query": "a", "threshold": "b"}, "the threshold is 'b'"),
        ]:
            with pytest.raises(MemreproError, match=rule):
                memory.search(**asked)
        with pytest.raises(MemreproError, match="tokens is 'b'"):
            memory.context("a", tokens="b")
    with pytest.raises(MemreproError, match="the user is None"):
        opened(tmp_path, None)
    with pytest.raises(MemreproError, match="an IANA name"):
        opened(tmp_path, timezone="Mars/Base")
    with pytest.raises(MemreproError, match="'write' or 'read'"):
        opened(tmp_path, mode="rw")


def test_it_works_from_any_folder_and_ends_while_the_encoder_is_busy(tmp_path):
    """A thread in an encoder's own code at exit used to abort the process (134)."""
    program = """
import sys, time, json
from memrepro.encode.encoder import HashEncoder
from memrepro.memory.settings import EVERYTHING
from memrepro.memory.user_memory import Memory
from dataclasses import replace
class Slow(HashEncoder):
    def encode(self, texts, role):
        if role == "query":
            time.sleep(1)
        return super().encode(texts, role)
m = Memory(sys.argv[1], encoder=Slow(16), settings=replace(EVERYTHING, dense_ms=50))
m.add("I like tea")
print(json.dumps([m.search("tea").step, m.search("tea")[0].text]))
"""
    away = {**os.environ, "MEMREPRO_CACHE": ""}
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "mem")], cwd=tmp_path, env=away,
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert (run.returncode, run.stderr) == (0, "")
    assert json.loads(run.stdout) == ["lexical", "I like tea"]


def test_a_message_that_comes_again_is_the_one_that_is_there(tmp_path, monkeypatch):
    said = {"id": "m1", "content": "I live in Bergen"}
    with opened(tmp_path) as memory:
        monkeypatch.setattr("time.time", lambda: 1.7e9)
        assert memory.add(said) == ["m1"]
        # A client that asks again hours later, and a copy that has no id.
        monkeypatch.setattr("time.time", lambda: 1.7e9 + 9999)
        assert memory.add(said) == ["m1"]
        assert memory.add([{"content": "I live in Bergen", "at": 1.7e9}, "hello"])[0] == "m1"
        assert len(memory.messages()) == 2
        with pytest.raises(MemreproError, match="'m1' is already that of another message"):
            memory.add({**said, "content": "I live in Oslo"})


def test_a_search_of_one_channel_or_of_metadata_gives_no_other_while_an_encoder_fails(tmp_path):
    class Moody(HashEncoder):
        broken = False

        def encode(self, texts, kind):
            assert not self.broken
            return super().encode(texts, kind)

    encoder = Moody(64)
    with opened(tmp_path, encoder=encoder) as memory:
        memory.add({"content": "I earn 100 crowns", "channel": "home", "at": "2024-01-01"})
        memory.add({"content": "we meet at nine", "channel": "work", "of": "roof"})
        encoder.broken = True
        told = memory.search("zebra", channel="work")
        assert (told.step, [hit.channel for hit in told]) == ("recent", ["work"])
        assert not memory.search("zebra", channel="school")
        assert not memory.search("zebra", where={"of": "house"})


def test_one_long_message_leaves_room_for_others(tmp_path):
    with opened(tmp_path) as memory:
        long = " ".join(f"the roof repair number {i} costs" for i in range(400))
        memory.add([long, *(f"neighbour {i} painted a wall" for i in range(8))])
        assert len(memory.search("what does the roof repair cost?", k=5)) == 5
        assert len(memory.search("what does the roof repair cost?", k=50)) == 9


@pytest.mark.parametrize(
    ("named", "meant", "others"),
    [
        ("Maria", "Maria owes me 900", ["Mario called", "Marina has a boat"]),
        ("my contract", "the contract is signed", ["I like the contrast of this photo"]),
        ("Anna's phone number", "Anna's phone number is 555", ["Ben's phone number is 556"]),
        ("the keys", "my key is under the mat", ["the keyboard is broken"]),
    ],
)
def test_only_what_has_all_words_that_are_named_is_forgotten(tmp_path, named, meant, others):
    with opened(tmp_path) as memory:
        memory.add([meant, *others])
        assert [hit.text for hit in memory.forget(named)] == [meant]
        assert [one.text for one in memory.messages()] == others


def test_what_changed_stays_over_when_the_change_is_forgotten(tmp_path):
    said = [f"My favourite food is {food}" for food in ("sushi", "pizza", "kebab")]
    with opened(tmp_path) as memory:
        memory.add([{"id": t, "content": t, "at": 1.7e9 + i * 86400} for i, t in enumerate(said)])
        memory.forget(said[1])
        (kebab,) = memory.facts()
        assert [change.text for change in memory.history(kebab)] == [said[0], said[2]]
        assert [held.fact.text for held in memory.as_of(1.7e9 + 86400)] == [said[0]]
        assert [held.fact for held in memory.as_of("2025-01-01")] == [kebab]
        assert memory.search("what is my favourite food?")[0].text == said[2]
        memory.forget(said[2])
        assert (memory.facts(), memory.as_of("2025-01-01")) == ([], [])


def test_a_message_is_forgotten_by_the_id_that_a_context_shows(tmp_path):
    with opened(tmp_path) as memory:
        memory.add(["I live in Bergen", {"content": "I like tea", "id": "2024-notes:1"},
                    {"content": "I like jazz", "id": "2024-notes:12"}])  # fmt: skip
        for line in memory.context("Bergen").splitlines():
            if "Bergen" in line:
                memory.forget(line.rpartition("[")[2].rstrip("]"))
        # Of two ids that begin alike a context tells which goes on, and that names neither.
        assert "jazz [2024-notes:1…]" in memory.context("jazz")
        assert memory.forget("2024-notes:…") == []
        assert [hit.text for hit in memory.forget("2024-notes:1")] == ["I like tea"]
        assert [hit.text for hit in memory.forget("2024-notes:1…")] == ["I like jazz"]
        assert memory.messages() == []
        memory.add("I like tea")
        assert memory.forget("…") == []
