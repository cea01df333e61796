"""Export: what other systems read is all there, and their runs come back to the same questions."""

import json

import ir_measures
import pytest

from memrepro.core.memory import Memory, Piece, Query, Round
from memrepro.core.prepared import save, save_qrels
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import write_text
from memrepro.outside.export import export
from memrepro.study.params import load_plan

SAID = "tea, please\nor <b>coffee</b>\t“hm”"


@pytest.fixture
def prepared(tmp_path, monkeypatch):
    """Two memories under the sample's name, of two rounds each, and a question about the second."""
    plan = load_plan()
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    pieces = []
    for name in ("a/b", "c"):
        rounds = [
            (s, Round.from_texts(f"{s}:1", user=SAID, assistant="yes"))
            for s in (f"{name}1", f"{name}2")
        ]
        memory = Memory.from_rounds(name, *rounds, times={f"{name}1": "2023-05-20T10:00"})
        query = Query(f"q-{name}", name, "what\tdid I\nask for?", "2023-06-01T00:00", "kind")
        qrels = {
            "session": {query.query_id: ((f"{name}2", f"{name}1"),)},
            "round": {query.query_id: ((f"{name}2:1",),)},
        }
        pieces.append(Piece(memory, (query,), qrels))
    list(save_qrels(save(pieces, paths.prepared("sample")), paths.qrels("sample", "sample")))
    return plan


def test_each_memory_is_a_folder_that_ir_measures_reads(prepared, tmp_path):
    counts = export("sample", tmp_path / "out", prepared)
    assert list(counts.values()) == [2, 4, 2, 2]
    folder = tmp_path / "out" / "001-a_b"
    corpus = [json.loads(line) for line in (folder / "corpus.jsonl").read_text().splitlines()]
    assert corpus[0] == {
        "_id": "a/b1", "title": "2023-05-20T10:00", "text": f"user: {SAID}\nassistant: yes",
    }  # fmt: skip
    query = json.loads((folder / "queries.jsonl").read_text())
    assert (query["_id"], query["text"]) == ("q-a/b", "what\tdid I\nask for?")
    assert (folder / "topics.tsv").read_text() == "q-a/b\twhat did I ask for?\n"
    qrels = list(ir_measures.read_trec_qrels(str(folder / "qrels.txt")))
    assert {(q.query_id, q.doc_id) for q in qrels} == {("q-a/b", "a/b1"), ("q-a/b", "a/b2")}
    rows = (folder / "qrels" / "test.tsv").read_text().splitlines()
    assert rows == ["query-id\tcorpus-id\tscore", "q-a/b\ta/b2\t1", "q-a/b\ta/b1\t1"]
    assert "a/b\t001-a_b" in (tmp_path / "out" / "memories.tsv").read_text()


def test_what_was_stopped_can_be_run_again(prepared, tmp_path, monkeypatch):
    written = []

    def stopped(path, text):
        if len(written) == 7:
            raise KeyboardInterrupt
        written.append(path)
        write_text(path, text)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("memrepro.outside.export.write_text", stopped)
        export("sample", tmp_path / "out", prepared)
    assert export("sample", tmp_path / "out", prepared)["memories"] == 2


def test_docs_are_of_the_level(prepared, tmp_path):
    for level, ids in (("round", ["c1:1", "c2:1"]), ("turn", ["c1:1/user", "c1:1/assistant"])):
        export("sample", tmp_path / level, prepared, level)
        lines = (tmp_path / level / "002-c" / "corpus.jsonl").read_text().splitlines()
        assert [json.loads(line)["_id"] for line in lines][:2] == ids


def test_it_refuses_a_full_folder_and_data_that_are_not_here(prepared, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    with pytest.raises(MemreproError, match="is not empty"):
        export("sample", tmp_path / "full", prepared)
    with pytest.raises(MemreproError, match="the texts of locomo are not here"):
        export("locomo", tmp_path / "new", prepared)
