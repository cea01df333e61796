"""Which texts and times the keys of a memory have."""

import numpy as np
import pytest

from memrepro.core.extractions import Extraction, Extractions
from memrepro.core.memory import Memory, Round
from memrepro.errors import MemreproError
from memrepro.retrieve.tiered.keys.key_builder import (
    TieredKeyBuilder,
    asked_at,
    seconds,
    session_times,
)

TIMES = {"s1": "2023-05-08T13:56", "s2": "2023-05-20T09:00"}


def memory(times=TIMES):
    rounds = [
        ("s1", Round.from_texts("r1", user="cats purr", assistant="they do")),
        ("s1", Round.from_texts("r2", user="cats sleep", assistant="a lot")),
        ("s1", Round.from_texts("r3", user="cats eat", assistant="fish")),
        ("s2", Round.from_texts("r4", user="boats sail")),
    ]
    return Memory.from_rounds("m", *rounds, times=times)


def extractions():
    first, second = memory().sessions
    return Extractions.grouped(
        [
            Extraction(first.key, "r2", "gold", "fact", "cats like sleep"),
            Extraction(first.key, "r2", "gold", "fact", "cats are lazy"),
            Extraction(second.key, "r4", "gold", "fact", "boats exist"),
        ]
    )


def made(granularity, key_scheme, **options):
    return TieredKeyBuilder(granularity, key_scheme, extractions()).make(memory(**options))


def listed(keys):
    pairs = zip(keys.owner, keys.fields, keys.texts, strict=True)
    return [(keys.doc_ids[owner], name, text) for owner, name, text in pairs]


def test_a_segment_is_a_key_of_each_round_in_it():
    keys = made("round", "tiers:segment&gold-fact")
    first = (
        "user: cats purr\nassistant: they do\nuser: cats sleep\nassistant: a lot\nuser: cats eat"
    )
    second = "assistant: a lot\nuser: cats eat\nassistant: fish"
    assert listed(keys) == [
        ("r1", "warm", first), ("r2", "warm", first), ("r2", "warm", second),
        ("r2", "cold", "cats like sleep"), ("r2", "cold", "cats are lazy"),
        ("r3", "warm", first), ("r3", "warm", second), ("r4", "warm", "boats sail"),
        ("r4", "cold", "boats exist"),
    ]  # fmt: skip
    began, later = seconds(TIMES["s1"]), seconds(TIMES["s2"])
    assert keys.said.tolist() == [
        began + 240, began + 240, began + 300, began + 180, began + 180, began + 240, began + 300,
        later, later,
    ]  # fmt: skip
    assert keys.doc_said.tolist() == [began + 60, began + 180, began + 300, later]
    assert keys.doc_turns.tolist() == [2, 2, 2, 1]
    # Keys of one unit share its number.
    same = {(unit, text) for unit, text in zip(keys.units, keys.texts, strict=True)}
    assert len(same) == len(set(keys.units)) == 6


def test_a_memory_without_times_has_its_sessions_a_day_apart():
    began = session_times(memory({}))
    assert np.diff(began).tolist() == [86400.0]
    assert asked_at("", memory({})) == began[1] + 60


def test_when_a_query_is_asked():
    last = seconds(TIMES["s2"])
    assert asked_at(TIMES["s2"], memory()) == last + 60  # not before the session's last turn
    assert asked_at("2023-05-21T00:00", memory()) == seconds("2023-05-21T00:00")
    assert asked_at("2023-05-10T00:00", memory()) == seconds("2023-05-10T00:00")
    assert asked_at("", memory()) == last + 60


def test_errors():
    with pytest.raises(MemreproError, match="session 's2' of memory 'm' has no time"):
        session_times(memory({"s1": TIMES["s1"]}))
    with pytest.raises(MemreproError, match="with a unit of turn, context, segment"):
        TieredKeyBuilder.parse("round", "tiers:page")
