"""A data set written as tables and read again: what every reader's data must survive."""

from pathlib import Path

from memrepro.core import prepared
from memrepro.core.memory import Dataset


def check_round_trip(data: Dataset, folder: Path) -> None:
    """Save the data set piece by piece, and compare what is read with it."""
    tables, qrels, places = folder / "data", folder / "qrels.parquet", folder / "places.parquet"
    saved = prepared.save_qrels(prepared.save(data.pieces(), tables), qrels)
    for _ in prepared.save_places(saved, places):
        pass
    again = prepared.load(tables, data.name)
    assert again.memories == data.memories
    assert list(again.memories) == list(data.memories)
    # Pieces go by memory, so that is the queries' order in the tables.
    place = {memory_id: n for n, memory_id in enumerate(data.memories)}
    assert list(again.queries) == sorted(data.queries, key=lambda q: place[q.memory_id])
    for level in (*data.qrels, "no such level"):
        kinds, gold = prepared.load_qrels(qrels, level)
        assert kinds == {q.query_id: q.kind for q in data.queries}
        assert gold == data.qrels.get(level, {})
    assert prepared.load_faults(qrels) == data.faults
    assert prepared.load_places(places) == {
        doc_id: session.session_id
        for memory in data.memories.values()
        for session in memory.sessions
        for r in session.rounds
        for doc_id in (r.round_id, *(turn.turn_id for turn in r.turns))
        if doc_id != session.session_id
    }
