"""The store gives what the measured retriever gives: one set of rules, two ways of running them."""

from dataclasses import replace

import numpy as np
import pytest

from memrepro.core.extractions import Extractions
from memrepro.core.memory import Memory, Round
from memrepro.core.ranking import tie_keys
from memrepro.core.similarity import normalise
from memrepro.encode.encoder import HashEncoder
from memrepro.memory.memory import TieredMemory
from memrepro.memory.settings import Settings
from memrepro.retrieve import make_retriever
from memrepro.retrieve.tiered.keys.key_builder import (
    TieredKeyBuilder,
    TimedRequest,
    messages_of,
    session_times,
)

WORDS = "cats boats rain tea music snow garden piano train bread".split()  # noqa: SIM905
QUERIES = ["cats and boats", "who plays the piano", "bread", "rain in the garden", "unheard of"]


def conversation():
    rng = np.random.default_rng(5)
    rounds, times = [], {}
    for s in range(12):
        times[f"s{s}"] = f"2023-05-{1 + 2 * s:02d}T10:00"
        for r in range(2 + s % 4):
            said = [" ".join(rng.choice(WORDS, 5)) for _ in range(2)]
            rounds.append((f"s{s}", Round.from_texts(f"s{s}r{r}", user=said[0], assistant=said[1])))
    return Memory.from_rounds("m", *rounds, times=times)


@pytest.mark.parametrize(
    ("recency", "floor", "alpha"),
    [
        ("additive", 0.3, 0.7),
        ("buckets", -1.0, 0.7),
        ("additive", 0.2, 1.0),
        ("buckets", 0.25, 0.0),
    ],
)
def test_the_same_segments_in_the_same_order(tmp_path, recency, floor, alpha):
    memory, encoder = conversation(), HashEncoder(dimension=64)
    times = session_times(memory)
    messages = [
        replace(message, channel="telegram")
        for session, began in zip(memory.sessions, times, strict=True)
        for message in messages_of(session, began)
    ]
    now = messages[-1].at + 3 * 3600
    # A loaded machine may pass the document's limit in time, which is not what is asked here.
    settings = Settings(
        warm_days=1e4, threshold=floor, alpha=alpha, recency=recency, dense_ms=60_000.0
    )
    with TieredMemory(tmp_path, "someone", encoder, settings) as store:
        store.add(messages)
        store.maintain(now)
    keys = TieredKeyBuilder("round", "tiers:dated-segment", Extractions({})).make(memory)
    keys = keys.with_vectors(encoder.encode(keys.unique, "document"))
    vectors = normalise(encoder.encode(QUERIES, "query"))
    names = [f"q{i}" for i in range(len(QUERIES))]
    request = TimedRequest(keys, names, QUERIES, vectors, asked=[now] * len(QUERIES))
    parameters = {
        "k": 50, "alpha": alpha, "recency": recency, "rate": 0.01, "floor": max(floor, 0.0),
        "diversity": 0.7, "units": 5, "adapted": True,
    }  # fmt: skip
    rankings = make_retriever("tiered", "tiered", parameters).search([request])
    round_of = {t.turn_id: r.round_id for r in memory.rounds for t in r.turns}
    ties = dict(zip(keys.doc_ids, tie_keys(keys.doc_ids), strict=True))
    found = 0
    with TieredMemory(tmp_path, "someone", encoder, settings, mode="read") as store:
        for query, ranking in zip(QUERIES, rankings, strict=True):
            answer = store.search(query, now)
            assert answer.step == "dense"
            rounds = []
            for item in answer.items:
                docs = {round_of[message_id] for message_id in item.message_ids}
                rounds += sorted(docs, key=ties.__getitem__)
            assert list(dict.fromkeys(rounds)) == list(ranking.doc_ids)
            found += len(rounds)
    assert found > 5
