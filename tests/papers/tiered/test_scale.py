"""tiered_scale: what is synthetic is as it says, and the table says what was measured."""

import numpy as np
import pytest

from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.memory import control
from memrepro.memory.journal import day
from memrepro.papers.tiered import scale
from memrepro.retrieve.tiered.keys.segments import cut
from memrepro.study.plan import Plan
from memrepro.text.temporal import dated_events


def test_a_text_has_one_vector_of_length_one_and_others_are_as_far_as_sentences():
    encoder = scale.Drawn(384)
    texts = [f"text {i}" for i in range(2000)]
    vectors = encoder.encode(texts, "document")
    assert vectors.dtype == np.float32
    assert np.array_equal(encoder.encode(texts[7:8], "query")[0], vectors[7])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(2000), abs=1e-5)
    cosines = (vectors @ vectors.T)[np.triu_indices(2000, 1)]
    # In r dimensions the cosine of two random directions has a deviation of about 1 / sqrt(r).
    assert abs(cosines.mean()) < 0.01
    assert cosines.std() == pytest.approx(24**-0.5, rel=0.1)


def test_three_turns_are_a_segment_and_name_no_day():
    (batch,) = scale.segments(0, 300)
    messages = [message for segment in batch for message in segment]
    assert cut(messages) == [(i, i + 3) for i in range(0, 900, 3)]
    assert len({m.message_id for m in messages}) == len({m.text for m in messages}) == 900
    assert not any(dated_events(m.text, day(m.at)) for m in messages)
    (older,) = scale.segments(-10, 0)
    assert older[-1][-1].at < messages[0].at
    assert not {m.text for s in older for m in s} & {m.text for m in messages}


def test_loaded_and_streamed_stores_are_the_same(tmp_path, monkeypatch):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    assert scale.fill_tiered(tmp_path / "one", 40) > 0
    monkeypatch.setattr(scale, "STREAMED", 0)
    assert np.isnan(scale.fill_tiered(tmp_path / "two", 40))
    found = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        with scale.opened(folder, mode="read") as memory:
            tiers = [s.tier for s in control.segments(memory)]
            assert tiers == ["cold"] * 4 + ["warm"] * 40
            assert memory.index.ids("segments") == memory.journal.keys("warm")
            assert len(control.facts(memory)) == len(memory.index.ids("facts")) == 4
            assert {s for f in control.facts(memory) for s in f.sources} == memory.journal.keys(
                "cold"
            )
            segments = [(s.segment_id, s.text, s.message_ids) for s in control.segments(memory)]
            found.append((segments, control.messages(memory), control.facts(memory)))
    assert found[0] == found[1]
    steps = scale.open_tiered(tmp_path / "one", 40)
    query = scale.questions(scale._QUERIES, 11)[0]
    assert steps["WARM, dense and BM25"](query).step == "dense"
    assert steps["WARM, BM25 alone"](query).step in ("lexical", "recent")
    (item, *_) = steps["WARM, then COLD's facts"](query).items
    assert (item.tier, item.text) == ("cold", scale.questions(4, 13)[0])
    assert len(steps["HOT"](query)) == 20
    assert scale.recall_tiered(tmp_path / "one") == 1.0


def test_the_table_has_a_row_for_each_step_of_each_store(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    plan = Plan.__new__(Plan)
    monkeypatch.setattr(scale, "load_plan", lambda: plan)
    entry = type("Entry", (), {"profile": "open", "segments": (20,)})
    monkeypatch.setattr(Plan, "scale", lambda *_: entry)
    monkeypatch.setattr(scale, "alone", lambda work, *arguments: work(*arguments))
    monkeypatch.setattr(scale, "_QUERIES", 3)
    done = scale.run("small")
    table = read_table(paths.measured("open") / "small.parquet")
    assert list(table.columns) == scale.COLUMNS
    assert table.equals(done.summary)
    assert list(table["store"].value_counts(sort=False).items()) == [
        ("tiered", 4), ("LanceDB over turns", 1), ("FAISS over turns", 1)
    ]  # fmt: skip
    assert set(table["filled"]) == {"streamed"}
    assert (table["n"] == 3).all()
    assert (table["p50_ms"] <= table["p95_ms"]).all()
    assert (table[["disk_mb", "ingest_s_per_1000"]] > 0).all().all()
    assert table["recall_5"].dropna().tolist() == [1.0]
