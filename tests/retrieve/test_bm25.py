"""BM25: the Okapi formula by hand, the tokenisations, the tie rules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from memrepro.core.key_builder import make_keys
from memrepro.core.keys import Request
from memrepro.core.memory import Memory, Round
from memrepro.errors import MemreproError
from memrepro.retrieve import make_retriever
from memrepro.text.okapi import Lexicon, Postings
from tests.retrieve.made import random_request

TEXTS = ["red car red road", "green tea", "Red wine, cold", "blue sky over the sea"]


def search(query, texts=TEXTS, **parameters):
    memory = Memory.from_rounds(
        "m", *((f"d{i}", Round.from_texts(f"d{i}", user=t)) for i, t in enumerate(texts))
    )
    asked = Request(make_keys(memory, "user_only"), ["q"], [query])
    (ranking,) = make_retriever("bm25", "bm25", {"k": len(texts), **parameters}).search([asked])
    return dict(zip(ranking.doc_ids, ranking.scores, strict=True)), list(ranking.doc_ids)


words = st.lists(st.sampled_from("abcdefg"), max_size=9)


@given(st.lists(words, min_size=1, max_size=9).filter(any), st.lists(words, max_size=4))
def test_scores_are_the_librarys_to_the_last_bit(corpus, queries):
    lexicon = Lexicon(str.split)
    ours, peer = Postings([lexicon.count(text) for text in corpus]), BM25Okapi(corpus)
    for query in [*queries, [], ["x", "a"], list("aab")]:
        found = ours.scores(lexicon.numbers(" ".join(query)))
        assert found.tobytes() == peer.get_scores(query).tobytes()


def test_official_tokens_keep_case_and_punctuation():
    scores, _ = search("Red wine,", tokenisation="official")
    assert scores["d2"] > 0
    assert scores["d0"] == 0  # 'red' is another token than 'Red'
    assert search("red wine", tokenisation="words")[0]["d2"] > 0


def test_ties():
    assert search("nothing", ties="reverse_input")[1] == ["d3", "d2", "d1", "d0"]
    assert search("nothing")[1] == search("nothing", texts=["x y", "z", "a b c", "d e"])[1]


def test_a_memory_without_a_token_is_named():
    with pytest.raises(MemreproError, match="doc 'd0' has no token under the tokenisation 'words'"):
        search("anything", texts=["!!", "..."])


def searched(retriever, request, **parameters):
    return make_retriever(*retriever.split("."), {"k": 12, **parameters}).search([request])


def test_the_hybrid_is_bm25_at_one_end_and_dense_at_the_other():
    request = random_request(12)  # the queries' texts are q0, q1, q2, the docs' 'text 0', …
    request = Request(
        request.keys, request.query_ids, ["text 3 7", "7 11", "none"], request.query_vectors
    )
    for alpha, end in ((0.0, "bm25.bm25"), (1.0, "dense.dense")):
        mixed = searched("bm25.hybrid", request, alpha=alpha)
        assert [r.doc_ids for r in mixed] == [r.doc_ids for r in searched(end, request)]
    # In between it is the formula, with BM25 as a share of its largest value.
    lexical, dense = (
        {r.query_id: dict(zip(r.doc_ids, r.scores, strict=True)) for r in searched(end, request)}
        for end in ("bm25.bm25", "dense.dense")
    )
    for ranking in searched("bm25.hybrid", request, alpha=0.3):
        words, cosine = lexical[ranking.query_id], dense[ranking.query_id]
        most = max(words.values()) or 1.0
        wanted = [0.3 * cosine[d] + 0.7 * words[d] / most for d in ranking.doc_ids]
        np.testing.assert_allclose(ranking.scores, wanted, rtol=1e-6)
    with pytest.raises(MemreproError, match=r"alpha is 1\.5, and must lie in 0\.\.1"):
        searched("bm25.hybrid", request, alpha=1.5)
