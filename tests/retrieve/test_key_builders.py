"""The builder of each key scheme, and what its requests carry."""

import pytest

from memrepro.core.key_builder import PlainKeyBuilder
from memrepro.core.keys import Request
from memrepro.core.memory import Memory, Query, Round
from memrepro.errors import MemreproError
from memrepro.retrieve import FAMILIES, attach_encoder, make_retriever
from memrepro.retrieve.associa.key_builder import GraphKeyBuilder
from memrepro.retrieve.key_builders import check_key_scheme, family_of, key_builder_for, measure_for
from memrepro.retrieve.tiered.key_builder import TieredKeyBuilder, TimedRequest


@pytest.mark.parametrize(
    ("key_scheme", "family", "builder"),
    [
        ("user_only", "", PlainKeyBuilder),
        ("concat+split-merge:nlp-fact", "", PlainKeyBuilder),
        ("user_only+graph:nlp-fact&nlp-event", "associa", GraphKeyBuilder),
        ("tiers:segment&nlp-fact", "tiered", TieredKeyBuilder),
    ],
)
def test_each_key_scheme_has_its_builder(key_scheme, family, builder):
    assert family_of(key_scheme) == family
    assert family in ("", *FAMILIES)
    assert key_builder_for(key_scheme) is builder
    check_key_scheme("round", key_scheme)
    made = builder("round", key_scheme)
    assert made.texts == []
    said = [("s", Round.of("r1", user="Tea.")), ("t", Round.of("r2", user="Snow."))]
    assert made.sessions_of_docs(Memory.of("m", *said)).tolist() == [0, 1]


@pytest.mark.parametrize("key_scheme", ["concat", "tiers:turn"])
def test_mere_keys_have_nothing_to_measure(key_scheme):
    assert measure_for(key_scheme) is None


@pytest.mark.parametrize(
    ("granularity", "key_scheme", "said"),
    [
        ("round", "usr", "unknown key scheme 'usr'"),
        ("turn", "user_only+graph:nlp-fact", "'round' or 'session'"),
        ("turn", "tiers:turn", "by round or session"),
        ("nlp-fact", "user_only", "an extraction has no speaker"),
    ],
)
def test_what_cannot_be_built_is_refused(granularity, key_scheme, said):
    with pytest.raises(MemreproError, match=said):
        check_key_scheme(granularity, key_scheme)
    with pytest.raises(MemreproError, match=said):
        key_builder_for(key_scheme)(granularity, key_scheme)


def test_a_tiered_request_has_the_times_of_its_queries():
    memory = Memory(
        "m", Memory.of("m", ("s", Round.of("r", user="Tea."))).sessions, ("2023-05-08",)
    )
    queries = [Query("q", "m", "What?", "2023-06-01T00:00", "kind")]
    requests = {}
    for key_scheme in ("user_only", "tiers:turn"):
        builder = key_builder_for(key_scheme)("round", key_scheme)
        requests[key_scheme] = builder.request(builder.make(memory), memory, queries)
        assert requests[key_scheme].query_ids == ["q"]
    assert type(requests["user_only"]) is Request
    timed = requests["tiers:turn"]
    assert isinstance(timed, TimedRequest)
    assert timed.asked == [1685577600.0]


def test_only_a_retriever_that_embeds_gets_an_encoder():
    plain = make_retriever("dense", "dense", {"k": 3})
    assert attach_encoder(plain, lambda texts: texts) is plain
    deliberated = make_retriever("associa", "deliberated", {"k": 3})
    attached = attach_encoder(deliberated, len)
    assert (attached.k, attached.max_iter) == (3, 2)
    assert attached.embed is len
