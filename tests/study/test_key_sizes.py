"""What a run's keys cost, against counts by hand and the encoder's own tokenizer."""

import numpy as np
import pytest

from memrepro.core.key_builder import PlainKeyBuilder
from memrepro.core.keys import Request
from memrepro.core.memory import Memory, Round
from memrepro.encode.load import TokenCounter
from memrepro.encode.models import model_folder
from memrepro.study.params import Experiment
from memrepro.study.search.key_sizes import key_sizes

LONG = "word " * 300


@pytest.fixture
def sizes():
    rounds = [
        Round.from_texts("a", user="one two", assistant="three"),
        Round.from_texts("b", user=LONG),
    ]
    memory = Memory.from_rounds(
        "m", *(("s", one) for one in (*rounds, Round.from_texts("c", user="one two")))
    )
    one = Experiment(
        "sample", "toy", "toy", "round", "fielded", "dense", "dense", {"k": 1}, "all-minilm-l6-v2"
    )
    keys = PlainKeyBuilder("round", "fielded").make(memory)
    return key_sizes(one, [Request(keys, ["q"], ["?"])])


def test_keys_are_counted_and_each_text_is_embedded_once(sizes):
    assert (sizes["docs"], sizes["keys"], sizes["texts"]) == (3, 4, 3)
    assert sizes["bytes"] == 4 * 384 * 4


def test_what_is_beyond_the_limit_is_not_read(sizes):
    # Two special tokens a text: "one two" has 4, "three" has 3, the long one 302.
    assert (sizes["tokens"], sizes["read"], sizes["cut"]) == (309, 4 + 3 + 256, 1)
    assert sizes["share_read"] == pytest.approx(np.mean([1, 1, 256 / 302]), abs=1e-6)


def test_tokens_are_those_of_transformers():
    from transformers import AutoTokenizer

    name = "all-minilm-l6-v2"
    texts = ["Naïve café, 3.5 km/h", LONG, "", "日本 :-)"]
    peer = AutoTokenizer.from_pretrained(model_folder(name))
    assert TokenCounter(name).counts(texts) == [len(peer(t)["input_ids"]) for t in texts]
