"""Roll-ups: the first-place reading by a loop, the official one against the script's own steps."""

from itertools import product
from math import log2

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.errors import MemreproError
from memrepro.evaluate.metrics import lay_out, ranks_of
from memrepro.evaluate.rollup import OFFICIAL, evaluate_official, roll_up

PLACES = {"s1_1": "s1", "s1_3": "s1", "s2_1": "s2", "s3_1": "s3", "s3_1/user": "s3"}


def run_of(**rankings):
    rows = [(q, d, r, 1.0) for q, docs in rankings.items() for r, d in enumerate(docs, start=1)]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "rank", "score"])


def read(rolled):
    """query → docs in order; that the ranks count from 1 is asserted."""
    for _, part in rolled.groupby("query_id"):
        assert part["rank"].tolist() == list(range(1, len(part) + 1))
    return {str(q): part["doc_id"].tolist() for q, part in rolled.groupby("query_id")}


def test_extractions_become_their_rounds_or_sessions():
    run = run_of(q=["s1_3#gold-fact-2", "s2_1#gold-fact-1", "s1_3#gold-fact-1", "s1_1#gold-fact-1"])
    assert read(roll_up(run, "round", PLACES)) == {"q": ["s1_3", "s2_1", "s1_1"]}
    assert read(roll_up(run, "session", PLACES)) == {"q": ["s1", "s2"]}


def test_extractions_of_sessions_become_sessions_and_no_rounds():
    run = run_of(q=["s2#nlp-summary-1", "s1#nlp-summary-1", "s2_1#nlp-summary-1"])
    assert roll_up(run, "round", PLACES) is None
    assert read(roll_up(run, "session", PLACES)) == {"q": ["s2", "s1"]}


@given(st.permutations(sorted(PLACES)), st.integers(1, 5), st.randoms())
def test_first_place_by_a_loop(docs, depth, random):
    other = random.sample(docs, len(docs))
    run = run_of(a=docs[:depth], b=other[:depth]).assign(setting="x")
    expected = {}
    for query_id, ranking in (("a", docs[:depth]), ("b", other[:depth])):
        expected[query_id] = []
        for doc in ranking:
            if PLACES[doc] not in expected[query_id]:
                expected[query_id].append(PLACES[doc])
    rolled = roll_up(run, "session", PLACES)
    assert read(rolled) == expected
    assert list(rolled.columns) == list(run.columns)


# The released script, step by step (docs/protocols.md, LongMemEval): ids alone, no other gold.


def script_id(turn, session, has_answer):
    """The id of a turn in the script's corpus."""
    corpus_id = f"{session}_{turn}"
    return corpus_id if "answer" not in session or has_answer else corpus_id.replace(
        "answer", "noans"
    )  # fmt: skip


def strip(corpus_id):
    return "_".join(corpus_id.split("_")[:-1])


def script(ranked_ids, corpus_ids, k):
    """recall_all, recall_any and NDCG of the script for one question; `corpus_ids` in any order."""
    correct = {strip(i) for i in corpus_ids if "answer" in i}
    ranked = [strip(i) for i in ranked_ids]
    effective_k = k
    while effective_k <= len(ranked) and len(set(ranked[:effective_k])) < k:
        effective_k += 1
    recalled = set(ranked[:effective_k])

    def dcg(relevances):
        return sum(
            relevance / (log2(place) if place > 1 else 1)
            for place, relevance in enumerate(relevances[:effective_k], start=1)
        )

    ideal = dcg(sorted((int(strip(i) in correct) for i in corpus_ids), reverse=True))
    gained = dcg([int(i in correct) for i in ranked])
    return (
        float(all(doc in recalled for doc in correct)),
        float(any(doc in recalled for doc in correct)),
        gained / ideal,
    )


@st.composite
def corpora(draw):
    """Turns as (number, session, has the answer), with at least one gold turn; and a ranking."""
    sessions = draw(
        st.lists(
            st.tuples(st.booleans(), st.lists(st.booleans(), min_size=1, max_size=4)),
            min_size=1,
            max_size=7,
        )
    )
    turns = [
        (2 * number + 1, f"answer_{place}" if is_answer else f"ultra_{place}", is_answer and flag)
        for place, (is_answer, flags) in enumerate(sessions)
        for number, flag in enumerate(flags)
    ]
    turns.append((9, "answer_x", True))
    return turns, draw(st.permutations(turns))


def ours(turns, ranking, *ks):
    """The values of `evaluate_official`, in the order of `OFFICIAL` and of the cut-offs."""
    places = {f"{session}_{turn}": session for turn, session, _ in turns}
    gold = {"q": tuple((f"{s}_{t}",) for t, s, has_answer in turns if has_answer)}
    run = run_of(q=[f"{session}_{turn}" for turn, session, _ in ranking])
    found = evaluate_official(ranks_of(run), lay_out(gold), places, ks).by
    assert set(found) == set(product(OFFICIAL, ks))
    return tuple(float(found[pair].item()) for pair in product(OFFICIAL, ks))


@given(corpora(), st.integers(1, 12))
@settings(max_examples=60)
def test_a_whole_ranking_is_evaluated_as_by_the_script(corpus, k):
    turns, ranking = corpus
    expected = script([script_id(*t) for t in ranking], [script_id(*t) for t in turns], k)
    assert ours(turns, ranking, k) == pytest.approx(expected)


@given(corpora(), st.integers(1, 12), st.integers(1, 20))
@settings(max_examples=60)
def test_a_ranking_that_is_cut_is_equal_where_it_names_k_sessions(corpus, k, depth):
    """And never better otherwise: the script ranks the whole corpus, so that its k can grow on."""
    turns, ranking = corpus
    expected = script([script_id(*t) for t in ranking], [script_id(*t) for t in turns], k)
    cut = ours(turns, ranking[:depth], k)
    named = {strip(script_id(*turn)) for turn in ranking[:depth]}
    if len(named) >= k:
        assert cut == pytest.approx(expected)
    else:
        assert all(c <= e for c, e in zip(cut[:2], expected[:2], strict=True))


@given(st.lists(corpora(), min_size=2, max_size=3), st.integers(1, 12))
@settings(max_examples=30)
def test_each_question_is_evaluated_for_itself(asked, k):
    """All at once as one by one, one that found nothing among them."""
    asked.append((asked[0][0], []))
    places, gold, rankings = {}, {}, {}
    for number, (turns, ranking) in enumerate(asked):
        ids = {turn: f"{number}:{turn[1]}_{turn[0]}" for turn in turns}
        places |= {doc_id: f"{number}:{turn[1]}" for turn, doc_id in ids.items()}
        gold[f"q{number}"] = tuple((doc_id,) for turn, doc_id in ids.items() if turn[2])
        rankings[f"q{number}"] = [ids[turn] for turn in ranking]
    found = evaluate_official(ranks_of(run_of(**rankings)), lay_out(gold), places, [k]).by
    together = [tuple(found[name, k][place] for name in OFFICIAL) for place in range(len(asked))]
    assert together == [ours(turns, ranking, k) for turns, ranking in asked]


def test_a_doc_without_a_session_is_named():
    for run, gold in ((run_of(q=["stray"]), "s1_1"), (run_of(q=["s1_1"]), "stray")):
        with pytest.raises(MemreproError, match="doc 'stray' of query 'q' lies in no session"):
            evaluate_official(ranks_of(run), lay_out({"q": ((gold,),)}), PLACES, [5])
