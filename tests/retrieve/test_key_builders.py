"""The builder of each key scheme, and what its requests carry."""

import pytest

from memrepro.core.keys import Request
from memrepro.core.memory import Memory, Query, Round
from memrepro.errors import MemreproError
from memrepro.retrieve import attach_encoder, make_retriever
from memrepro.retrieve.key_builders import key_builder_for
from memrepro.retrieve.tiered.keys.key_builder import TimedRequest


def test_a_tiered_request_has_the_times_of_its_queries():
    memory = Memory(
        "m",
        Memory.from_rounds("m", ("s", Round.from_texts("r", user="Tea."))).sessions,
        ("2023-05-08",),
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


def test_a_dated_json_doc_is_what_the_released_program_writes():
    """RF-Mem's LongMemEval code: json.dumps of the date as the file has it, and of all contents."""
    said = [("s", Round.from_texts("r1", user="Tea, \"please\".", assistant="Café?")),
            ("s", Round.from_texts("r2", user="Yes.")),
            ("t", Round.from_texts("r3", user="Hi."))]  # fmt: skip
    memory = Memory.from_rounds("m", *said, times={"s": "2023-05-20T02:21"})
    keys = key_builder_for("dated-json")("session", "dated-json").make(memory)
    assert keys.doc_ids == ("s", "t")
    written = (
        r'{"date":"2023/05/20 (Sat) 02:21","conversation":["Tea, \"please\".","Caf\u00e9?","Yes."]}'
    )
    assert keys.texts == (written, '{"date":"","conversation":["Hi."]}')
    with pytest.raises(MemreproError, match="write 'dated-json' alone, by session"):
        key_builder_for("dated-json")("round", "dated-json")


def test_only_a_retriever_that_embeds_gets_an_encoder():
    plain = make_retriever("dense", "dense", {"k": 3})
    assert attach_encoder(plain, lambda texts: texts) is plain
    deliberated = make_retriever("associa", "deliberated", {"k": 3})
    attached = attach_encoder(deliberated, len)
    assert (attached.k, attached.max_iter) == (3, 2)
    assert attached.embed is len
