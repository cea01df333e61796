"""People's control: what is deleted is in no byte of any file, and what is exported comes back."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace

import pytest

from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError
from memrepro.memory import control, folders
from memrepro.memory.folders import user_folder
from memrepro.memory.index import VectorIndex
from memrepro.memory.journal import Journal
from tests.memory.store_made import (
    DAY,
    HOUR,
    OLD,
    SETTINGS,
    START,
    all_bytes,
    chat,
    check_whole,
    ids,
    opened,
    said,
)

NOW = START + 2 * HOUR
RARE, RARE_TOO = "Xyloquartz", "Brimsnaffle"


def gone(memory, *words):
    """No byte of a word is there, nor of its end: FTS5 stores what words begin with once."""
    data = all_bytes(memory.folder).lower()
    for word in words:
        assert word[3:].lower().encode() not in data, word


def there(memory, word):
    return word[3:].lower().encode() in all_bytes(memory.folder).lower()


def filled(root, *more, **options):
    memory = opened(root, **options)
    memory.add(chat(40))
    memory.add([said(100, f"I like {RARE} a lot", 300), said(101, f"{RARE} is fine", 301), *more])
    memory.add(chat(5, first=600))
    return memory


def vectors_with(memory, word):
    texts = [s.text for s in control.segments(memory) if word in s.text]
    facts = [f.text for f in control.facts(memory) if word in f.text]
    return [v.tobytes() for v in HashEncoder().encode([*texts, *facts], "document")]


@pytest.mark.parametrize("migrated", [False, True])
def test_a_deleted_message_is_in_no_byte(tmp_path, migrated):
    memory = filled(tmp_path)
    if migrated:
        memory.maintain(OLD)
        assert any(RARE in fact.text for fact in control.facts(memory))
    memory.search(RARE, NOW)
    vectors = vectors_with(memory, RARE)
    assert there(memory, RARE)
    assert vectors
    assert all(vector in all_bytes(memory.folder) for vector in vectors)
    control.delete_messages(memory, ["m100", "m101"])
    gone(memory, RARE)
    assert not any(vector in all_bytes(memory.folder) for vector in vectors)
    assert ids(control.messages(memory)) == ids([*chat(40), *chat(5, first=600)])
    check_whole(memory)
    assert not any(RARE in item.text for item in memory.search(RARE, NOW).items)
    memory.close()
    gone(memory, RARE)
    # It may be said again.
    with opened(tmp_path) as memory:
        assert memory.add([said(100, f"I like {RARE} a lot", 300)]).stored == 1


@pytest.mark.parametrize("migrated", [False, True])
def test_an_edited_message_takes_its_segments_and_facts_with_it(tmp_path, migrated):
    with filled(tmp_path) as memory:
        now = OLD if migrated else NOW
        memory.maintain(now)
        control.edit_message(memory, "m100", f"I like {RARE_TOO}", now)
        control.edit_message(memory, "m101", "yes", now)
        gone(memory, RARE)
        check_whole(memory)
        segment = next(s for s in control.segments(memory) if "m100" in s.message_ids)
        assert RARE_TOO in segment.text
        facts = [fact.text for fact in control.facts(memory)]
        assert any(RARE_TOO in text for text in facts) == migrated
        assert any(RARE_TOO in item.text for item in memory.search(f"I like {RARE_TOO}", now).items)
        memory.add([said(700, "a twin", 0.1)])
        with pytest.raises(MemreproError, match="'m0' is a copy of another one"):
            control.edit_message(memory, "m0", "A  twin", now)
        with pytest.raises(MemreproError, match="text is empty"):
            control.edit_message(memory, "m1", " ", now)
        with pytest.raises(MemreproError, match="no message"):
            control.edit_message(memory, "zz", "a", now)


def test_a_fact_is_edited_and_deleted(tmp_path):
    with filled(tmp_path, said(102, f"I live in {RARE_TOO}", 302)) as memory:
        memory.maintain(OLD)
        one = next(f for f in control.facts(memory) if RARE_TOO in f.text)
        control.edit_fact(memory, one.fact_id, "The user lives in Qwyzzle", OLD)
        check_whole(memory)
        answer = memory.search("The user lives in Qwyzzle", OLD)
        assert answer.items[0].text == "The user lives in Qwyzzle"
        assert [c.operation for c in control.history(memory, one.fact_id)][-1] == "edit"
        vectors = vectors_with(memory, "Qwyzzle")
        control.delete_fact(memory, one.fact_id)
        gone(memory, "Qwyzzle")
        assert not any(vector in all_bytes(memory.folder) for vector in vectors)
        assert there(memory, RARE_TOO)
        control.delete_messages(memory, ["m102"])
        gone(memory, RARE_TOO)
        check_whole(memory)
        with pytest.raises(MemreproError, match="no fact"):
            control.delete_fact(memory, one.fact_id)
        with pytest.raises(MemreproError, match="an edit: its time 1.* is not in the years 1900"):
            control.edit_fact(memory, one.fact_id, "later", 1e3 * OLD)


def test_a_deleted_user_leaves_nothing_and_others_stay(tmp_path):
    filled(tmp_path).close()
    filled(tmp_path, user="bob").close()
    with opened(tmp_path), pytest.raises(MemreproError, match="another process is writing"):
        control.delete_user(tmp_path, "ann")
    control.delete_user(tmp_path, "ann")
    assert list(tmp_path.iterdir()) == [user_folder(tmp_path, "bob")]
    with opened(tmp_path) as memory:
        assert memory.recent() == []


class Killed(BaseException):
    """Stands for a kill: nothing after it runs."""


@pytest.mark.parametrize("step", ["erase", "scrub", "change"])
def test_a_deletion_that_was_interrupted_is_finished_at_the_next_opening(
    tmp_path, monkeypatch, step
):
    memory = filled(tmp_path)
    owner, name = {
        "erase": (VectorIndex, "erase"),
        "scrub": (Journal, "scrub"),
        "change": (VectorIndex, "change"),
    }[step]

    def killed(*_):
        raise Killed

    vectors = vectors_with(memory, RARE)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, killed)
        with pytest.raises(Killed):
            control.delete_messages(memory, ["m100", "m101"])
    os.close(memory._lock)
    # The journal is scrubbed beside the vectors.
    left = vectors[0] in all_bytes(memory.folder) if step == "erase" else there(memory, RARE)
    assert left
    with opened(tmp_path) as memory:
        gone(memory, RARE)
        check_whole(memory)


def test_a_users_deletion_that_was_interrupted_is_finished_at_the_next_opening(
    tmp_path, monkeypatch
):
    filled(tmp_path).close()

    def killed(path, **_):
        if path.exists():
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(folders.shutil, "rmtree", killed)
        with pytest.raises(Killed):
            control.delete_user(tmp_path, "ann")
    assert RARE.encode() in all_bytes(tmp_path)
    with opened(tmp_path, user="bob"):
        assert RARE.encode() not in all_bytes(tmp_path)


def test_a_deletion_beside_one_who_removes_the_same_bytes_is_a_deletion(tmp_path, monkeypatch):
    """An opening sweeps what deletions have left, at any moment of this one."""
    filled(tmp_path).close()
    filled(tmp_path, user="bob").close()
    really, beside = folders.shutil.rmtree, []

    def removed_beside(path, **more):
        if not beside:
            beside.append(path)
            with opened(tmp_path, user="bob"):
                pass
        really(path, **more)

    monkeypatch.setattr(folders.shutil, "rmtree", removed_beside)
    control.delete_user(tmp_path, "ann")
    assert beside
    assert list(tmp_path.iterdir()) == [user_folder(tmp_path, "bob")]


def test_a_reader_brings_no_deleted_user_back(tmp_path):
    """LanceDB makes the folder that it connects to, and a folder of vectors alone is refused."""
    filled(tmp_path).close()
    with opened(tmp_path, mode="read") as reader:
        control.delete_user(tmp_path, "ann")
        with suppress(MemreproError):
            reader.search(RARE, NOW)
        assert list(tmp_path.iterdir()) == []
    (user_folder(tmp_path, "ann") / "vectors.lance").mkdir(parents=True)  # as one may have left it
    filled(tmp_path).close()


def test_a_memory_on_a_read_only_mount_is_read(tmp_path):
    """What a log holds besides is not passed over in silence."""
    filled(tmp_path).close()
    unclosed = filled(tmp_path, user="bob")
    read = "\n".join([
        "from pathlib import Path", "from tests.memory.store_made import opened",
        "for user in ('ann', 'bob'):",
        f"    with opened(Path({str(tmp_path)!r}), user, mode='read') as memory:",
        f"        found = memory.search('I own item3', {NOW}).items",
        "        print(len(memory.journal.messages()), found[0].text)",
    ])  # fmt: skip
    mounted = f"mount --bind {tmp_path} {tmp_path} && mount -o remount,bind,ro {tmp_path}"
    shell = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    if not shutil.which("unshare") or subprocess.run([*shell, mounted], check=False).returncode:
        pytest.skip("this system mounts nothing for a test")
    ran = subprocess.run(
        [*shell, f'{mounted} && exec "$@"', "sh", sys.executable, "-c", read],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.stdout.startswith("47 [2023-05-08 00:"), ran.stderr
    assert "was not closed, and its file system is read-only" in ran.stderr
    unclosed.close()


def test_a_reader_that_holds_an_old_state_is_named_and_the_bytes_go_later(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.memory.journal._PATIENT", 200)
    memory = filled(tmp_path)
    with opened(tmp_path, mode="read") as reader, reader.journal.snapshot():
        assert reader.journal.messages()
        with pytest.raises(MemreproError, match="another process has been reading"):
            control.delete_messages(memory, ["m100", "m101"])
        assert "m100" not in ids(control.messages(memory))
    memory.close()
    with opened(tmp_path) as memory:
        gone(memory, RARE)


def test_an_export_comes_back_the_same(tmp_path):
    settings = replace(SETTINGS, warm_days=0.2)
    memory = filled(tmp_path / "one", said(102, "I live in Oslo", 302), settings=settings)
    memory.maintain(START + 0.5 * DAY)
    memory.search("item3", NOW)
    control.mark(memory, "m3", 0.5)
    control.edit_fact(memory, control.facts(memory)[0].fact_id, "edited", NOW)
    (tmp_path / "own.json").write_text("{}")
    with pytest.raises(MemreproError, match=r"own\.json holds something else: name a new file"):
        control.export(memory, tmp_path / "own.json")
    for _ in range(2):  # its own file is written again
        control.export(memory, tmp_path / "one.json")
    content = json.loads((tmp_path / "one.json").read_text())
    assert content["format"] == "memrepro tiered memory 1"
    assert set(content["made_by"]["versions"]) == {"memrepro", "lancedb", "sqlite"}
    with opened(tmp_path / "two", user="bob", settings=settings) as other:
        control.import_(other, tmp_path / "one.json")
        control.export(other, tmp_path / "two.json")
        assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
        check_whole(other)
        assert other.recent() == memory.recent()
        for query in ("I own item3", "live in Oslo", "edited"):
            assert other.search(query, NOW).items == memory.search(query, NOW).items
        with pytest.raises(MemreproError, match="is not empty"):
            control.import_(other, tmp_path / "one.json")
    memory.close()


@pytest.mark.parametrize(
    "damage",
    [
        lambda c: c.update(format="memrepro tiered memory 2"),
        lambda c: c["tables"].pop("facts"),
        lambda c: c["tables"]["messages"][0].update(at="yesterday"),
        lambda c: c["tables"]["facts"][0].update(category="hobby"),
        lambda c: c.update(tables=[]),
        lambda c: c["tables"]["facts"][0].update(created_at=1e300),
        lambda c: c["tables"]["facts"][0].update(last_validated_at=float("inf")),
        lambda c: c["tables"]["fact_history"][0].update(changed_at=1.7e12),
        lambda c: c["tables"]["segments"][0].update(end=float("nan")),
        lambda c: c["tables"]["messages"][0].update(importance=float("inf")),
        lambda c: c["tables"]["segments"][0].update(text=""),
        lambda c: c["tables"]["segments"][0].update(text="[2023-05-08 00:00] user: other"),
        lambda c: c["tables"]["segment_messages"].clear(),
        lambda c: c["tables"]["fact_history"][0].update(sources="none"),
        lambda c: c["tables"]["metadata"].append({"message_id": "m0", "content": "[1]"}),
    ],
)
def test_a_damaged_export_is_refused_and_nothing_kept(tmp_path, damage):
    with opened(tmp_path / "one") as memory:
        memory.add(chat(5, text="I like fruit{i}"))
        memory.maintain(OLD)
        control.export(memory, tmp_path / "one.json")
    content = json.loads((tmp_path / "one.json").read_text())
    damage(content)
    (tmp_path / "bad.json").write_text(json.dumps(content))
    with opened(tmp_path / "two") as other:
        with pytest.raises(MemreproError, match=r"bad\.json|no valid|its time|is not in the"):
            control.import_(other, tmp_path / "bad.json")
        assert control.messages(other) == []
        assert control.segments(other) == []


def test_users_folders_are_for_their_owner_alone(tmp_path):
    with opened(tmp_path) as memory:
        assert memory.folder.stat().st_mode & 0o077 == 0
