"""Vectors are of one encoder and of all that they should be of, or no search asks them."""

import os
import random
import shutil
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError
from memrepro.memory import cold, control
from memrepro.memory.index import TABLES, VectorIndex
from memrepro.memory.journal import Journal
from memrepro.memory.user_memory import Memory
from tests.memory.store_made import DAY, START, all_bytes, chat, check_whole, opened

NOW = START + 9 * DAY


class Other(HashEncoder):
    """Its vectors are as long as a `HashEncoder`'s, and elsewhere."""

    def __init__(self):
        super().__init__()
        self.identity = replace(self.identity, revision="2")

    def encode(self, texts, role):
        return np.roll(super().encode(texts, role), 1, axis=1)


class Killed(BaseException):
    """Stands for a kill: nothing after it runs."""


class Kills:
    """Lets so many steps of a writer be done, and no more."""

    def __init__(self, patch, steps):
        self.left = steps
        for owner, name in (
            (Journal, "put"), (VectorIndex, "clear"), (VectorIndex, "level"),
            (VectorIndex, "change"), (VectorIndex, "erase"), (VectorIndex, "_rows"),
        ):  # fmt: skip
            patch.setattr(owner, name, self.stepping(getattr(owner, name)))
        rmtree = shutil.rmtree

        def removing(path, *arguments, **more):
            self.step()
            if (half := path / "facts.lance").is_dir():
                rmtree(half)
                self.step()
            rmtree(path, *arguments, **more)

        patch.setattr("memrepro.memory.index.shutil.rmtree", removing)

    def step(self):
        if self.left <= 0:
            raise Killed
        self.left -= 1

    def stepping(self, work):
        def stepped(*arguments, **more):
            self.step()
            return work(*arguments, **more)

        return stepped


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder with 12 segments and facts of others, by the first encoder."""
    root = tmp_path_factory.mktemp("filled")
    with opened(root) as memory:
        memory.add(chat(12, text="I like fruit{i}"))
        memory.add([replace(m, at=m.at + 8 * DAY) for m in chat(24, first=100)])
        memory.maintain(NOW)
        assert memory.index.ids("facts")
        assert memory.index.ids("segments")
    return root


@pytest.fixture(autouse=True)
def written_in_groups_of_four(monkeypatch):
    monkeypatch.setattr("memrepro.memory.index._GROUP", 4)


def check_vectors(memory):
    """Every vector is the encoder's own."""
    check_whole(memory)
    texts = {segment.segment_id: segment.text for segment in control.segments(memory)}
    texts |= {fact.vector_id: fact.text for fact in control.facts(memory)}
    for table in TABLES:
        ids, vectors = memory.index.all(table)
        expected = memory.encoder.encode([texts[key] for key in ids], "document")
        assert vectors == pytest.approx(expected, abs=1e-6)


def found(memory, query):
    """The step that answered, and what it gave."""
    answer = memory.search(query, NOW)
    return answer.step, {item.item_id for item in answer.items}


def check_search(memory, expected):
    """Vectors are not asked, or all of them are there."""
    for query, by_vectors in expected.items():
        step, given = found(memory, query)
        assert step == "lexical" or (step, given) == by_vectors


def copied(filled, root):
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(filled, root)
    return root


def stuck(path, ignore_errors=False, **_):
    if not ignore_errors:
        raise PermissionError(13, "Permission denied", str(path))


def full(_):
    raise OSError(28, "No space left on device")


def expected_of(filled, root, encoder):
    with opened(copied(filled, root), encoder=encoder) as memory:
        check_vectors(memory)
    with opened(root, encoder=encoder, mode="read") as reader:
        return {query: found(reader, query) for query in ("own item103", "like fruit3")}


def test_a_kill_while_the_encoder_changes_mixes_no_vectors_and_hides_no_segment(filled, tmp_path):
    encoders = (HashEncoder(), Other())
    expected = [expected_of(filled, tmp_path / "whole", encoder) for encoder in encoders]
    assert {step for of in expected for step, _ in of.values()} == {"dense"}
    assert all(given for of in expected for _, given in of.values())
    kills = readers = 0
    while True:
        root = copied(filled, tmp_path / "one")
        with pytest.MonkeyPatch.context() as patch:
            Kills(patch, kills)
            try:
                opened(root, encoder=Other()).close()
                break
            except Killed:
                kills += 1
        for encoder, items in zip(encoders, expected, strict=True):
            # One of the two is told that the vectors are not of its encoder.
            with suppress(MemreproError), opened(root, encoder=encoder, mode="read") as reader:
                check_search(reader, items)
                readers += 1
            with opened(copied(root, tmp_path / "two"), encoder=encoder) as memory:
                check_vectors(memory)
    assert readers == kills > 10


def test_a_reader_does_not_ask_the_vectors_of_a_later_encoder(filled, tmp_path):
    root = copied(filled, tmp_path / "one")
    with opened(root, mode="read") as reader:
        assert reader.search("own item103", NOW).step == "dense"
        with opened(root, encoder=Other()) as memory:
            answer = reader.search("own item103", NOW)
            assert (answer.step, answer.failures[0]) == (
                "lexical",
                "dense: the vectors are of another encoder by now: open the memory again",
            )
            assert memory.search("own item103", NOW).step == "dense"


@pytest.mark.parametrize("damage", ["rewriting fails", "a table is gone"])
def test_a_kill_during_a_purge_or_while_vectors_are_made_anew_hides_no_segment(
    filled, tmp_path, damage
):
    expected = expected_of(filled, tmp_path / "whole", HashEncoder())
    root, kills, killed = tmp_path / "one", 0, True
    while killed:
        memory = opened(copied(filled, root))
        with pytest.MonkeyPatch.context() as patch:
            if damage == "rewriting fails":
                patch.setattr(VectorIndex, "erase", full)
            else:
                shutil.rmtree(memory.folder / "vectors.lance" / "segments.lance")
            Kills(patch, kills)
            try:
                if damage == "rewriting fails":
                    control.delete_messages(memory, ["m123"])
                else:
                    memory.maintain(NOW)
                killed = False
            except Killed:
                kills += 1
        memory.journal.close()
        os.close(memory._lock)
        with opened(root, mode="read") as reader:
            check_search(reader, expected)
        with opened(root) as memory:
            check_vectors(memory)
    assert kills > 5


def test_a_purge_that_cannot_remove_what_it_must_says_so_and_is_finished_later(
    filled, tmp_path, monkeypatch
):
    root = copied(filled, tmp_path / "one")
    with opened(root) as memory:
        with monkeypatch.context() as patch:
            patch.setattr("memrepro.memory.index.shutil.rmtree", stuck)
            patch.setattr(VectorIndex, "erase", full)
            with pytest.raises(MemreproError, match=r"vectors\.lance.* cannot be removed"):
                control.delete_messages(memory, ["m123"])
        assert memory.journal.get("purge")
        assert memory.search("own item103", NOW).step == "lexical"
    with opened(root) as memory:
        assert not memory.journal.get("purge")
        check_vectors(memory)


@pytest.mark.parametrize("seed", range(3))
def test_facts_in_other_words_than_were_said_have_vectors_and_no_others(seed, tmp_path):
    """Whatever is added, edited or forgotten: only what changed is looked at."""
    draw, ids, wanted = random.Random(seed), [], 0
    says = ["I like {}", "I can't stand {}", "I sold the {}", "I have a {}", "My dog is called {}"]
    with Memory(tmp_path, encoder=HashEncoder(32)) as memory:
        tiers = memory.tiers
        for step in range(40):
            do, facts = draw.choice(["add", "add", "edit", "edit", "forget"]), memory.facts()
            text = draw.choice(says).format(draw.choice(["sushi", "coffee", "Rex"]))
            if do == "add":
                also = draw.choice(says).format("tea")
                at = START + step * DAY
                ids += memory.add([{"role": "user", "content": f"{text}. {also}.", "at": at}])
            elif do == "forget" and ids:
                memory.forget(ids.pop(draw.randrange(len(ids))))
            elif do == "edit" and facts:
                words = draw.choice([f"user: {text}", f"said otherwise {step}"])
                control.edit_fact(tiers, draw.choice(facts).fact_id, words, NOW)
            elif facts:
                control.delete_fact(tiers, draw.choice(facts).fact_id)
            expected = cold.in_other_words(tiers.journal.connection)
            assert tiers.index.ids("facts") == {fact.vector_id for fact in expected}
            wanted += len(expected)
    assert wanted > 5


def test_a_vector_that_a_kept_message_has_too_goes_with_the_last_of_them(tmp_path):
    texts = ["I like sushi", "I have a dog", "I like sushi", "I live in Oslo"]
    said = [{"role": "user", "content": t, "at": START + n * DAY} for n, t in enumerate(texts)]
    with Memory(tmp_path, encoder=HashEncoder(32)) as memory:
        first, other, last, erased = memory.add(said)
        memory.forget(erased)  # at the first deletion all are written anew
        index = memory.tiers.index
        vector = memory.tiers.encoder.encode(texts[:1], "document").tobytes()
        ids = index.ids("segments")
        memory.forget(first)
        (gone,) = ids - index.ids("segments")
        assert gone.encode() not in all_bytes(tmp_path)
        assert vector in index.traces("segments", sorted(ids))
        memory.forget(last)
        assert vector not in all_bytes(tmp_path)
        assert [hit.id for hit in memory.search("which pet do I have?")] == [other]


def test_where_vectors_of_facts_are_damaged_messages_come_and_go(tmp_path):
    with Memory(tmp_path, encoder=HashEncoder(32)) as memory:
        sushi, dog = memory.add(["I like sushi", "I have a dog"])
        control.edit_fact(memory.tiers, memory.facts()[0].fact_id, "said otherwise", NOW)
        for manifest in tmp_path.rglob("facts.lance/_versions/*"):
            manifest.write_bytes(b"damaged")
        memory.forget(sushi)
        (oslo,) = memory.add("I live in Oslo")
        assert {one.message_id for one in memory.messages()} == {dog, oslo}
        assert len(memory.tiers.index.ids("segments")) == 2
