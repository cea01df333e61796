"""Messages and memories for the tests of the store."""

import lancedb

from memrepro.encode.encoder import HashEncoder
from memrepro.memory.memory import TieredMemory
from memrepro.memory.settings import Settings
from memrepro.retrieve.tiered.keys.segments import Message

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
# Monday 2023-05-08 00:00 UTC.
START = 1683504000.0
# Hashed words are alike only as far as texts share words; a loaded machine is slow.
SETTINGS = Settings(threshold=0.3, dense_ms=600_000, index_seconds=600)
OLD = START + 30 * DAY


def said(number, text, minute, channel="telegram"):
    return Message(f"m{number}", "user", START + minute * MINUTE, text, channel)


def chat(n, first=0, every=1.0, text="I own item{i}"):
    return [said(i, text.format(i=i), i * every) for i in range(first, first + n)]


def opened(root, user="ann", settings=SETTINGS, **more):
    return TieredMemory(root, user, more.pop("encoder", None) or HashEncoder(), settings, **more)


def check_whole(memory):
    """Every final segment is in one tier, and each index has what its tier has, and no more."""
    journal = memory.journal
    warm, cold = journal.keys("warm"), journal.keys("cold")
    assert not warm & cold
    assert memory.index.ids("segments") == warm
    words = journal.connection.execute(
        "SELECT segment_id, w.text = s.text FROM words w LEFT JOIN segments s ON s.number = w.rowid"
    ).fetchall()
    assert {key for key, _ in words} == warm
    assert len(words) == len(warm)
    assert all(same for _, same in words)
    for table in ("words", "fact_words"):
        journal.connection.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
    facts = journal.connection.execute(
        "SELECT fact_id, number, text FROM facts WHERE status = 'active' ORDER BY number"
    ).fetchall()
    assert {key.split(".")[0] for key in memory.index.ids("facts")} == {key for key, _, _ in facts}
    words = journal.connection.execute("SELECT rowid, text FROM fact_words ORDER BY rowid")
    assert words.fetchall() == [(number, text) for _, number, text in facts]
    sources = journal.connection.execute("SELECT DISTINCT source FROM fact_sources")
    assert {key for (key,) in sources} <= cold
    assert not journal.get("behind")


def all_bytes(root):
    return b"\0".join(path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file())


def version(folder):
    """Of the segments' vectors: 1 where they were written anew."""
    vectors = lancedb.connect(folder / "vectors.lance")
    return vectors.open_table("segments").version


def ids(messages):
    return [message.message_id for message in messages]
