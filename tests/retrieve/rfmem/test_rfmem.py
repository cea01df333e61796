"""RF-Mem: the formulas by hand, the gate's regions, what a trace tells."""

from math import exp, log

import numpy as np
import pandas as pd
import pytest

from memrepro.core.ranking import to_frame
from memrepro.errors import MemreproError
from memrepro.retrieve import make_retriever
from memrepro.retrieve.rfmem.gate import Gate
from memrepro.retrieve.rfmem.retrievers import Familiarity

from ..made import random_request, two_vectors_a_doc

GATED = {"k": 5, "beam_width": 3, "fanout": 1, "alpha": 0.5, "sharpness": 30.0}


def gate(**changed):
    own = {"sharpness": 30.0, "entropy_threshold": 0.2, "mean_high": 0.6, "mean_low": 0.1}
    return Gate(**{**own, **changed})


def test_entropy_by_hand():
    scores = np.array([0.5, 0.4])
    p = 1 / (1 + exp(-30 * 0.1))
    entropy = -p * log(p) - (1 - p) * log(1 - p)
    assert gate(entropy_form="sum").entropy(scores) == pytest.approx(entropy)
    assert gate(entropy_form="mean").entropy(scores) == pytest.approx(entropy / 2)


@pytest.mark.parametrize(
    ("scores", "familiar"),
    [
        ([0.7, 0.6], True),  # mean above the upper threshold, whatever the entropy
        ([0.1, 0.0], False),  # mean below the lower one
        ([0.9, 0.1], True),  # between, entropy near 0
        ([0.5, 0.5], False),  # between, entropy log 2 / 2 > 0.2
        ([], False),  # no hits
    ],
)
def test_the_gates_regions(scores, familiar):
    assert gate().is_familiar(np.array(scores)) is familiar


def test_the_gate_may_probe_a_shorter_list_and_under_another_floor_than_it_returns():
    asked = random_request(60, n_queries=8)
    scores = np.array([r.scores for r in Familiarity(5, -1).search([asked])])
    floor = float(np.median(scores))
    assert (scores < floor).any(axis=1).any()
    entropies = [gate().entropy(s) for s in scores]
    own = {**GATED, "mean_high": 2.0, "mean_low": -2.0, "floor": floor,
           "entropy_threshold": float(np.median(entropies))}  # fmt: skip
    trace = make_retriever("rfmem", "gated", {**own, "probe_floor": -1}).trace([asked])
    assert trace.queries["entropy"].tolist() == entropies
    assert trace.queries["mean"].tolist() == [s.mean() for s in scores]
    direct = trace.hits[trace.hits["round"] == -1]
    assert len(direct)
    assert direct["score"].min() >= floor
    other = make_retriever("rfmem", "gated", own).trace([asked])
    assert other.queries["entropy"].tolist() != entropies
    same = make_retriever("rfmem", "gated", {**own, "probe_floor": floor}).trace([asked])
    pd.testing.assert_frame_equal(same.queries, other.queries)
    few = make_retriever("rfmem", "gated", {**own, "probe_floor": -1, "probe_k": 3}).trace([asked])
    assert few.queries["mean"].tolist() == [s[:3].mean() for s in scores]
    with pytest.raises(MemreproError, match="probe_floor is 'x', and must be of type float"):
        make_retriever("rfmem", "gated", {**own, "probe_floor": "x"})


def test_the_printed_gate_lets_an_entropy_of_tau_pass():
    asked = random_request(60, n_queries=8)
    familiar = make_retriever("rfmem", "familiarity", {"k": 5}).search([asked])
    middle = gate(entropy_form="sum").entropy(np.array(familiar[3].scores))
    between = {**GATED, "mean_high": 2.0, "mean_low": -2.0, "entropy_threshold": middle}
    printed = make_retriever("rfmem", "gated_printed", between).trace([asked])
    released = make_retriever("rfmem", "gated", {**between, "entropy_form": "sum"}).trace([asked])
    assert printed.queries["path"][3] == "familiarity"
    assert released.queries["path"][3] == "recollection"


@pytest.mark.parametrize(
    ("high", "low", "paths"),
    [(-1.0, -2.0, {"familiarity"}), (2.0, 1.5, {"recollection"}), (2.0, -2.0, None)],
)
@pytest.mark.parametrize("name", ["gated", "gated_printed"])
def test_the_trace_tells_where_each_hit_was_found(name, high, low, paths):
    asked = [random_request(60, n_queries=8), random_request(30, seed=2, n_queries=1)]
    asked[1].query_ids[:] = ["other"]
    form = "mean" if name == "gated" else "sum"
    familiar = make_retriever("rfmem", "familiarity", {"k": 5}).search(asked)
    entropies = [gate(entropy_form=form).entropy(np.array(f.scores)) for f in familiar]
    own = {**GATED, "mean_high": high, "mean_low": low}
    retriever = make_retriever(
        "rfmem", name, {**own, "entropy_threshold": float(np.median(entropies))}
    )
    rankings = retriever.search(asked)
    trace = retriever.trace(asked)
    assert trace.queries["query_id"].tolist() == [*asked[0].query_ids, "other"]
    assert trace.queries["entropy"].tolist() == entropies
    assert set(trace.queries["path"]) == (paths or {"familiarity", "recollection"})
    deep = set(trace.queries.loc[trace.queries["path"] == "recollection", "query_id"])
    assert set(trace.branches["query_id"]) == deep
    pd.testing.assert_frame_equal(
        trace.hits[["query_id", "doc_id", "rank", "score"]], to_frame(rankings), check_dtype=False
    )
    assert set(trace.hits.loc[~trace.hits["query_id"].isin(deep), "round"]) <= {-1}
    places = ["query_id", "round", "branch"]
    found = trace.hits[trace.hits["query_id"].isin(deep)]
    assert len(found.merge(trace.branches, on=places)) == len(found)
    rounds = trace.branches.groupby("query_id")["round"].max() + 1
    told = trace.queries.set_index("query_id")["rounds"]
    assert told[list(deep)].to_dict() == rounds.to_dict()
    assert (told.drop(list(deep)) == 0).all()


def test_errors():
    recollection = {"k": 5, "beam_width": 3, "fanout": 1, "alpha": 0.5}
    retriever = make_retriever("rfmem", "recollection", recollection)
    with pytest.raises(MemreproError, match="doc 'd' has 2 vectors: this retriever needs one a"):
        retriever.search([two_vectors_a_doc()])
    with pytest.raises(MemreproError, match="unknown entropy_form 'max'"):
        make_retriever("rfmem", "gated", {**GATED, **vars(gate()), "entropy_form": "max"})
