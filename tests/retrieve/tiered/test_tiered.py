"""The tiered retriever against a plain reading of the document, one query at a time."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.core.extractions import Extraction, Extractions
from memrepro.core.memory import Memory, Round
from memrepro.core.similarity import normalise
from memrepro.encode.encoder import HashEncoder
from memrepro.retrieve import make_retriever
from memrepro.retrieve.tiered.keys.key_builder import TieredKeyBuilder, TimedRequest
from memrepro.retrieve.tiered.keys.lexical import Lexical
from memrepro.retrieve.tiered.retrievers import RECENCIES
from memrepro.retrieve.tiered.scoring import additive_recency, bucket_recency, hybrid
from memrepro.retrieve.tiered.selection import adaptive, mmr

DAY = 86400.0
WORDS = ["cats", "boats", "rain", "tea", "music", "snow"]


def memory(n_sessions=6, days=3):
    """A session of two or three rounds every `days` days."""
    rounds, times = [], {}
    for s in range(n_sessions):
        times[f"s{s}"] = f"2023-05-{1 + s * days:02d}T10:00"
        for r in range(2 + s % 2):
            said = f"{WORDS[s % 6]} {WORDS[(s + r + 1) % 6]} {r}"
            rounds.append(
                (f"s{s}", Round.from_texts(f"s{s}r{r}", user=said, assistant=f"about {said}"))
            )
    return Memory.from_rounds("m", *rounds, times=times)


def facts(held):
    return Extractions.grouped(
        Extraction(session.key, r.round_id, "gold", "fact", f"fact of {r.fields['user']}")
        for session in held.sessions
        for r in session.rounds
    )


def asked(queries, at, key_scheme="tiers:segment&gold-fact", granularity="round", held=None):
    held = held or memory()
    keys = TieredKeyBuilder(granularity, key_scheme, facts(held)).make(held)
    encoder = HashEncoder(dimension=16)
    keys = keys.with_vectors(normalise(encoder.encode(keys.unique, "document")))
    vectors = normalise(encoder.encode(queries, "query"))
    names = [f"q{i}" for i in range(len(queries))]
    return TimedRequest(keys, names, queries, vectors, asked=at)


def search(request, **parameters):
    return make_retriever("tiered", "tiered", {"k": 50, **parameters}).search([request])


NOW = 1684000000.0  # 2023-05-13, after five of the six sessions


def by_the_document(request, number, *, k, alpha, recency, rate, floor, diversity, units, adapted,
                    warm_days, cold, sure, hot):  # fmt: skip
    """The docs that a query is given, read from the definition without any sharing."""
    keys, now = request.keys, request.asked[number]
    unit_ids = sorted(set(keys.units.tolist()))
    first = [keys.units.tolist().index(u) for u in unit_ids]
    said = np.array([keys.said[i] for i in first])
    warm = np.array([keys.fields[i] == "warm" for i in first])
    texts = [keys.texts[i] for i in first]
    vectors = keys.vectors[keys.rows[first]].astype(np.float64)
    docs = [
        [int(o) for o, u in zip(keys.owner, keys.units, strict=True) if u == x] for x in unit_ids
    ]
    ties = [min(keys.ties[d] for d in of) for of in docs]
    dense = vectors @ request.query_vectors[number].astype(np.float64)
    past = said <= now
    recent = past & ((now - said) <= (warm_days or 1e9) * DAY)

    def similarity(held):
        if alpha == 1:
            return dense
        return hybrid(dense, Lexical(texts).scores(request.query_texts[number], held), alpha)

    held = warm & recent
    similar = similarity(held)
    if cold and not (held.any() and dense[held].max() >= sure):
        older = ~warm & past & ~recent
        similar = np.where(older, similarity(older), similar)
        held = held | older
    hours = (now - said) / 3600
    score = {
        "none": similar,
        "additive": similar + additive_recency(hours, rate),
        "buckets": similar + bucket_recency(hours),
        "memory_bank": similar * additive_recency(hours, rate),
    }[recency]
    fit = np.flatnonzero(held & (dense >= floor) if floor else held)
    order = sorted(fit, key=lambda u: (-score[u], ties[u]))
    n = adaptive(sorted(dense[order], reverse=True)[:units]) if adapted else units
    if diversity < 1 and order:
        places = np.array(order)
        order = places[mmr(score[places], vectors[places], diversity, n)].tolist()
    order = order[:n]
    found = [d for u in order for d in sorted(docs[u], key=lambda d: keys.ties[d])]
    left = hot
    for doc in sorted(range(len(keys.doc_ids)), key=lambda d: (-keys.doc_said[d], keys.ties[d])):
        if left > 0 and keys.doc_said[doc] <= now:
            found.append(doc)
            left -= keys.doc_turns[doc]
    return [keys.doc_ids[d] for d in dict.fromkeys(found)][:k]


@settings(max_examples=30)
@given(
    st.fixed_dictionaries(
        {
            "k": st.sampled_from([3, 50]), "alpha": st.sampled_from([0.0, 0.7, 1.0]),
            "recency": st.sampled_from(RECENCIES), "rate": st.sampled_from([0.0, 0.01, 0.5]),
            "floor": st.sampled_from([0.0, 0.3]), "diversity": st.sampled_from([0.7, 1.0]),
            "units": st.sampled_from([2, 5]), "adapted": st.booleans(),
            "warm_days": st.sampled_from([0.0, 5.0]), "sure": st.sampled_from([0.2, 0.9]),
            "hot": st.sampled_from([0, 3]),
        }
    ),
    st.booleans(),
    st.floats(0, 20),
)  # fmt: skip
def test_it_is_the_document_read_plainly(parameters, cold, days):
    parameters["cold"] = cold and parameters["warm_days"] > 0
    request = asked(["cats and tea", "snow about music", "none of it"], [NOW + days * DAY] * 3)
    found = search(request, **parameters)
    for number, ranking in enumerate(found):
        assert list(ranking.doc_ids) == by_the_document(request, number, **parameters)


def test_what_was_given_is_fresher_for_the_next_question():
    queries, later = ["cats boats 0", "zzz"], [NOW + 60 * DAY, NOW + 61 * DAY]
    request = asked(queries, later, "tiers:segment")
    plain = search(request, recency="additive", units=1)
    kept = search(request, recency="additive", units=1, reinforced=True)
    assert kept[0].doc_ids == plain[0].doc_ids
    assert kept[1].doc_ids == kept[0].doc_ids != plain[1].doc_ids


@pytest.mark.parametrize("design", [{}, {"alpha": 0.7, "floor": 2.0, "hot": 2}])
def test_a_time_in_the_question_is_a_filter_and_lifts_the_floor(design):
    queries = ["cats and tea"] * 3
    request = asked(queries, [NOW] * 3, "tiers:segment")
    # Sessions every three days from the first on: days 1, 4, 7, 10 and 13 are past.
    days = [int(doc[1:].split("r")[0]) * 3 + 1 for doc in request.keys.doc_ids]
    dates = [[(day, day)] + [(40, 41)] * (day == 1) for day in days]
    ranged = replace(request, doc_dates=dates, ranges=[(4, 8), (41, 50), None])
    found = search(ranged, **design)
    assert {doc[:2] for doc in found[0].doc_ids} - {"s4"} == {"s1", "s2"}
    assert {doc[:2] for doc in found[1].doc_ids} - {"s4"} == {"s0"}
    assert found[2] == search(request, **design)[2]
    # What is recent is in every prompt, whatever the question asks about.
    assert any(doc.startswith("s4") for doc in found[0].doc_ids) == ("hot" in design)
