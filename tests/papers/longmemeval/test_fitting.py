"""The protocol that printed numbers fit: numbers made under one are told to be of it."""

import pytest

from memrepro.core.prepared import load_qrels
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.longmemeval import fitting
from memrepro.papers.longmemeval.fitting import best_fit, under_each
from memrepro.report.sources import RunSource

PLACES = [
    RunSource("locomo-bm25-words", "", level, metric, k, kind)
    for level in ("session", "round")
    for metric in ("recall_all", "ndcg_longmemeval")
    for k in (5, 10)
    for kind in ("", "temporal")
]


@pytest.fixture(scope="module")
def candidates():
    """What each protocol gives of LoCoMo's published ranking: real, and nearest to LongMemEval."""
    ranking = read_table(paths.run("open", "locomo-bm25-words"))[["query_id", "doc_id"]]
    return {place: under_each(place, ranking) for place in PLACES}


def test_the_first_protocol_is_what_tables_show(candidates):
    known = read_table(paths.protocols("open"))
    known = known[known["experiment"] == "locomo-bm25-words"]
    for place, found in candidates.items():
        if not place.kind:
            for protocol, one in found.items():
                of = (known["level"] == place.level) & (known["protocol"] == protocol)
                of &= (known["metric"] == place.metric) & (known["k"] == place.k)
                assert (one.n, one.value) == pytest.approx(
                    tuple(known.loc[of, ["n", "value"]].iloc[0])
                )


@pytest.mark.parametrize("truth", ["stated", "lenient", "audit", "audit-citations"])
def test_numbers_made_under_a_protocol_fit_it_best(candidates, truth):
    judged = [
        (f"{found[truth].value:.4f}", found) for found in candidates.values() if truth in found
    ]
    first, *others = best_fit(judged)
    assert (first.close, first.cells) == (len(judged), len(judged))
    # LoCoMo has no abstention, so that two protocols are one there.
    alike = {one.protocol for one in (first, *others) if one[1:] == first[1:]}
    assert alike == ({"stated", "with-abstention"} if truth == "stated" else {truth})
    assert all(one.close < first.close for one in others if one.protocol not in alike)


def test_an_abstention_counts_as_the_type_that_it_was_made_of(monkeypatch):
    """So that the temporal questions are 127 or 133 in LongMemEval."""
    kinds, gold = load_qrels(paths.qrels("sample", "sample"), "session")
    abstentions = [q for q, kind in kinds.items() if kind == "abstention"]
    types = dict.fromkeys(abstentions[:3], "temporal-reasoning")
    monkeypatch.setattr(fitting, "asked_types", lambda *_: types)
    ranking = read_table(paths.run("sample", "sample-bm25-user"))[["query_id", "doc_id"]]
    found = under_each(
        RunSource("sample-bm25-user", "", "session", "recall_all", 5, "temporal-reasoning"), ranking
    )
    assert all(q in gold for q in types)
    n = sum(kind == "temporal-reasoning" for kind in kinds.values())
    assert (found["stated"].n, found["with-abstention"].n) == (n, n + 3)
