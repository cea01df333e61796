"""The mean of all orders of what 'w/o EIR' leaves unranked, against every order written out."""

from itertools import permutations
from types import SimpleNamespace

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.errors import MemreproError
from memrepro.evaluate.metrics import evaluate, lay_out, ranks_of
from memrepro.files.atomic import write_table
from memrepro.papers.associa import ties
from memrepro.papers.associa.ties import MEANS, all_orders
from memrepro.study.params import load_plan


def ranked(docs):
    rows = [("q", doc, rank) for rank, doc in enumerate(docs, start=1)]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "rank"])


@given(st.integers(0, 5), st.sets(st.integers(0, 8), min_size=1), st.integers(1, 7))
@settings(max_examples=20, deadline=None)
def test_the_formulas_are_the_mean_over_every_order(first, gold, k):
    """Docs 0 to 6 are listed, the first of them in any order; 7 and 8 are not found."""
    judged = lay_out({"q": tuple((f"d{one}",) for one in gold)})
    listed = [f"d{one}" for one in range(7)]
    found = [
        evaluate(ranks_of(ranked([*order, *listed[first:]])), judged, MEANS, [k]).by
        for order in permutations(listed[:first])
    ]
    others = [one + 1 for one in gold if first <= one < 7]
    others += [first + k + 1] * len(gold & {7, 8})
    for name, mean in MEANS.items():
        expected = sum(float(one[name, k][0]) for one in found) / len(found)
        inside = sum(one < first for one in gold)
        assert mean(first, inside, others, k) == pytest.approx(expected, abs=1e-12)


class Given(SimpleNamespace):
    """A run and its gold in the place of files."""

    def wanted(self, level, protocol):
        return self.gold


@pytest.fixture
def given_run(monkeypatch, tmp_path):
    run = ranked(["d0", "d1", "d2", "d3"]).assign(score=[1.0, 1.0, 0.0, 0.0])
    gold = Given(gold={"q": (("d1",), ("d2",)), "lost": (("d9",),)}, kinds={"q": "a", "lost": "b"})
    write_table(tmp_path / "run.parquet", run)
    monkeypatch.setattr(ties.paths, "run", lambda *_: tmp_path / "run.parquet")
    monkeypatch.setattr(ties, "read_gold", lambda *_: gold)
    return gold


RUN = "locomo-minilm-associa-without-importance"


def asked(metric="recall_all", k=3):
    place = {"run": RUN, "metric": metric, "k": k, "level": "round"}
    return all_orders(SimpleNamespace(planned=load_plan().runs), place)


def test_each_question_counts_and_what_was_not_found_is_0(given_run):
    assert asked().to_numpy().tolist() == [["q", "a", 1.0], ["lost", "b", 0.0]]
    assert asked(k=2)["value"].tolist() == [0, 0]  # d2 stands at 3 in each order
    both = asked("ndcg")["value"].tolist()
    plain = evaluate(ranks_of(ranked(["d0", "d1", "d2"])), lay_out(given_run.gold), ["ndcg"], [3])
    turned = evaluate(ranks_of(ranked(["d1", "d0", "d2"])), lay_out(given_run.gold), ["ndcg"], [3])
    mean = (plain.by["ndcg", 3] + turned.by["ndcg", 3]) / 2
    assert both == pytest.approx(mean.tolist())


def test_what_has_no_formula_is_refused(given_run):
    with pytest.raises(MemreproError, match="recall_any by round has no mean over orders"):
        asked("recall_any")
    given_run.gold["q"] = (("d1", "d2"),)
    with pytest.raises(MemreproError, match="the evidence of q has alternatives"):
        asked()
