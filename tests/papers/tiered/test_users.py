"""tiered_users: every user has a memory of their own, and a full disk is refused before it is."""

import shutil
from collections import namedtuple

import pytest

from memrepro.errors import MemreproError
from memrepro.papers.tiered import scale, users


@pytest.fixture(autouse=True)
def in_process(monkeypatch):
    monkeypatch.setattr(scale, "alone", lambda work, *arguments: work(*arguments))


def test_users_are_apart_and_each_step_is_timed(tmp_path, monkeypatch):
    monkeypatch.setattr(users, "_ASKED", 2)
    monkeypatch.setattr(users, "_KEPT", 2)
    disk, files = users.fill(tmp_path, 5, 20)
    assert disk > 0
    assert files > 0
    folders = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert len(folders) == 5
    held = sum(p.stat().st_size for folder in folders for p in folder.rglob("*") if p.is_file())
    assert held / 2**20 == pytest.approx(5 * disk)
    rows, _, open_files = users.measure(tmp_path, 5, 20)
    assert [row[1] for row in rows] == [2] * 5
    assert all(0 < p50 <= p95 for *_, p50, p95 in rows)
    assert open_files > 0
    # Two users have taken in an exchange, and the others have not.
    counts = []
    for number in range(5):
        with scale.opened(tmp_path, user=f"user {number}", mode="read") as memory:
            asked = "SELECT count(*) FROM messages WHERE message_id LIKE 'new %'"
            counts.append(memory.journal.connection.execute(asked).fetchone()[0])
    assert sorted(counts) == [0, 0, 0, 2, 2]


def test_a_disk_without_room_is_refused_before_any_copy(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(0, 0, 1))
    with pytest.raises(MemreproError, match="5 users of 20 segments take .* and .* 0.0 GB free"):
        users.fill(tmp_path, 5, 20)
    assert list(tmp_path.iterdir()) == []
