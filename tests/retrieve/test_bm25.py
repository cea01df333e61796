"""BM25: the Okapi formula by hand, the tokenisations, the tie rules."""

from math import log

import pytest

from memrepro.core.key_builder import make_keys
from memrepro.core.keys import Request
from memrepro.core.memory import Memory, Round
from memrepro.errors import MemreproError
from memrepro.retrieve import make_retriever

TEXTS = ["red car red road", "green tea", "Red wine, cold", "blue sky over the sea"]


def search(query, texts=TEXTS, **parameters):
    memory = Memory.of("m", *((f"d{i}", Round.of(f"d{i}", user=t)) for i, t in enumerate(texts)))
    asked = Request(make_keys(memory, "user_only"), ["q"], [query])
    (ranking,) = make_retriever("bm25", "bm25", {"k": len(texts), **parameters}).search([asked])
    return dict(zip(ranking.doc_ids, ranking.scores, strict=True)), list(ranking.doc_ids)


def okapi(frequency, length, containing, n=4, mean=14 / 4, k1=1.5, b=0.75):
    idf = log(n - containing + 0.5) - log(containing + 0.5)
    return idf * frequency * (k1 + 1) / (frequency + k1 * (1 - b + b * length / mean))


def test_okapi_by_hand():
    scores, order = search("car", tokenisation="words")
    assert scores["d0"] == pytest.approx(okapi(1, 4, 1), rel=1e-6)
    assert scores["d1"] == 0
    assert order[0] == "d0"


def test_official_tokens_keep_case_and_punctuation():
    scores, _ = search("Red wine,", tokenisation="official")
    assert scores["d2"] == pytest.approx(2 * okapi(1, 3, 1), rel=1e-6)
    assert scores["d0"] == 0  # 'red' is another token than 'Red'
    assert search("red wine", tokenisation="words")[0]["d2"] > 0


def test_ties():
    assert search("nothing", ties="reverse_input")[1] == ["d3", "d2", "d1", "d0"]
    assert search("nothing")[1] == search("nothing", texts=["x y", "z", "a b c", "d e"])[1]


def test_a_memory_without_a_token_is_named():
    with pytest.raises(MemreproError, match="doc 'd0' has no token under the tokenisation 'words'"):
        search("anything", texts=["!!", "..."])
