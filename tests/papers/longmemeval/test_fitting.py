"""The protocol that printed numbers fit: numbers made under one are told to be of it."""

import pytest

from memrepro.files import paths
from memrepro.files.atomic import read_table
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
