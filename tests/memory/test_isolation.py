"""Users never meet, and nothing is made outside the root, whatever the ids are."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.memory.folders import user_folder
from memrepro.retrieve.tiered.keys.segments import Message
from tests.memory.store_made import MINUTE, START, all_bytes, opened

HOSTILE = (
    "", ".", "..", "../x", "/etc/passwd", "a", "A", "a ", " a", "a\0", "\0", "a/b", "a\\b", "é",
    "e\u0301", "а", "Ａ", "\u202ea", "con", "x" * 100_000, "%2e%2e%2f", "~", "$(id)", "';--",
    "\ud800", "\udfff", ".deleted-", "memory.sqlite", "\n", "ﬀ", "ff", "ı", "i", "İ", "ß", "ss",
)  # fmt: skip
users = st.lists(
    st.one_of(st.sampled_from(HOSTILE), st.text(max_size=20)), min_size=2, max_size=3, unique=True
)


def own(user_number, n):
    return [
        Message(
            f"m{i}", "user", START + i * MINUTE, f"our secret word is s{user_number}q{i}", "ide"
        )
        for i in range(n)
    ]


@settings(max_examples=6)
@given(users, st.integers(6, 14))
def test_no_search_finds_another_users_words(ids, n):
    with tempfile.TemporaryDirectory() as outside:
        before = set(Path(outside).iterdir())
        root = Path(outside) / "root" / "memories"
        root.mkdir(parents=True)
        memories = [opened(root, user=user) for user in ids]
        for number, memory in enumerate(memories):
            assert memory.add(own(number, n)).stored == n
        now = START + 60 * MINUTE
        for number, memory in enumerate(memories):
            answer = memory.search("our secret word is s0q1", now)
            assert answer.items
            for item in answer.items:
                assert f"s{number}q" in item.text
                assert not any(f"s{n}q" in item.text for n in range(len(ids)) if n != number)
            assert all(f"s{number}q" in m.text for m in memory.recent())
            memory.close()
            data = all_bytes(memory.folder)
            assert not any(f"s{n}q".encode() in data for n in range(len(ids)) if n != number)
        assert set(Path(outside).iterdir()) - before == {root.parent}
        assert sorted(root.iterdir()) == sorted(memory.folder for memory in memories)


def test_every_hostile_id_has_a_folder_of_its_own(tmp_path):
    folders = {user: user_folder(tmp_path, user) for user in HOSTILE}
    assert len(set(folders.values())) == len(set(HOSTILE))
    assert all(folder.parent == tmp_path and len(folder.name) == 64 for folder in folders.values())
    for user in ("", "../x", "\0", "\ud800", "x" * 100_000, ".deleted-"):
        with opened(tmp_path, user=user) as memory:
            assert memory.recent() == []
            memory.add(own(0, 1))
            assert memory.folder == folders[user]
