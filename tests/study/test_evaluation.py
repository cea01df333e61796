"""Evaluation by protocol, level and setting, on a data set small enough to do by hand."""

from dataclasses import replace

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.core.memory import Memory, Piece, Query, Round
from memrepro.core.prepared import save_places, save_qrels
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table, write_table
from memrepro.study import evaluation
from memrepro.study.evaluation import (
    evaluate_run,
    metrics_file,
    read_gold,
)
from memrepro.study.params import DatasetEntry, Evaluation, Experiment, Plan, Protocol
from tests.measured import long

MEMORY = Memory.from_rounds(
    "m",
    ("answer_a", Round.from_texts("answer_a_1", user="u1")),
    ("answer_a", Round.from_texts("answer_a_3", user="u2")),
    ("ultra_b", Round.from_texts("ultra_b_1", user="u3")),
    ("ultra_c", Round.from_texts("ultra_c_1", user="u4")),
)
KINDS = {"q1": "fact", "q2": "fact", "abs": "abstention", "sub": "Subjective", "bad": "fact"}
A, B, C = (("answer_a",),), (("ultra_b",),), (("ultra_c",),)
LABELS = {
    "session": {"q1": A, "q2": B, "abs": A, "sub": B},
    "round": {"q1": (("answer_a_3",),), "q2": (("ultra_b_1",),), "sub": (("ultra_b_1",),)},
    "session_official": {"q1": A},
    "round_official": {"q1": (("answer_a_3",),)},
}
EXCLUDED = {"Subjective": "not evaluated", "abstention": "was never said"}
PROTOCOLS = {
    "stated": Protocol("stated", EXCLUDED),
    "with-abstention": Protocol("stated", {"Subjective": "not evaluated"}),
    "official-roll-up": Protocol("official", EXCLUDED, "official"),
    "official": Protocol("official", EXCLUDED),
    "lenient": Protocol("lenient", EXCLUDED),
}
EVALUATION = Evaluation(
    ks=(1, 2, 3, 50),
    metrics=("recall_all", "recall", "ndcg_longmemeval"),
    protocol_ks=(1, 3),
    protocol_metrics=("recall_all", "ndcg", "ndcg_longmemeval"),
    protocols=PROTOCOLS,
)
# The same ranking for every question.
ROUNDS = ("answer_a_1", "ultra_b_1", "answer_a_3", "ultra_c_1")


def experiment(granularity="round", k=4, **swept):
    return Experiment(
        "sample", "all", "toy", granularity, "concat", "bm25", "bm25", {"k": k}, **swept
    )


def plan(sweeps=None, **experiments):
    entry = DatasetEntry("sample", "toy", "question", {})
    return Plan({"toy": entry}, experiments, sweeps or {}, {}, EVALUATION)


def run_of(docs, **more):
    rows = [(q, doc, rank) for q in KINDS for rank, doc in enumerate(docs, start=1)]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "rank"]).assign(**more)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    queries = tuple(Query(q, "m", "?", "", kind) for q, kind in KINDS.items())
    piece = Piece(MEMORY, queries, LABELS, {"bad": "its evidence cannot be read"})
    chain = save_qrels([piece], paths.qrels("sample", "toy"))
    list(save_places(chain, paths.places("sample", "toy")))
    return tmp_path


def evaluated(chosen, run, name="x"):
    """(setting, level, protocol) → {(metric, k): value by question}."""
    gold = read_gold("sample", "toy", PROTOCOLS)
    found = {}
    for setting, level, key, values in evaluate_run(name, chosen, run, plan(x=chosen), gold):
        assert (setting, level, key) not in found
        found[setting, level, key] = {
            place: dict(zip(values.query_ids, column.tolist(), strict=True))
            for place, column in values.by.items()
        }
    return found


def test_extractions_are_evaluated_as_rounds_and_sessions_and_those_of_sessions_as_these_alone():
    docs = ("answer_a_3#gold-fact-2", "answer_a_3#gold-fact-1", "ultra_b_1#gold-fact-1")
    found = evaluated(experiment("gold-fact", k=3), run_of(docs))
    assert found["", "round", "stated"]["recall_all", 2] == {"q1": 1, "q2": 1}
    assert found["", "session", "stated"]["recall_all", 2] == {"q1": 1, "q2": 1}
    # The released script knows no extractions as docs.
    assert not [key for key in found if key[2] == "official-roll-up"]
    assert ("", "session", "official") in found
    docs = ("ultra_b#nlp-summary-1", "answer_a#nlp-summary-1")
    found = evaluated(experiment("nlp-summary"), run_of(docs))
    assert {level for _, level, _ in found} == {"session"}
    assert found["", "session", "stated"]["recall_all", 1] == {"q1": 0, "q2": 1}


def two_settings(first, second):
    runs = [run_of(ROUNDS, setting=first), run_of(ROUNDS[::-1], setting=second)]
    return pd.concat(runs, ignore_index=True)


def test_a_setting_that_lacks_questions_is_refused_by_name():
    chosen = experiment(vary="key_scheme", values=("concat", "fielded"))
    run = two_settings("concat", "fielded")
    short = run[(run["setting"] == "concat") | (run["query_id"] != "q2")]
    with pytest.raises(MemreproError, match=r"the run x \[fielded\] ranks docs for 4 .* is 'q2'"):
        evaluated(chosen, short)
    with pytest.raises(MemreproError, match=r"the run x \[fielded\] ranks docs for 0 questions"):
        evaluated(chosen, run[run["setting"] == "concat"])


def test_a_setting_that_was_not_asked_for_is_refused_by_name():
    chosen = experiment(vary="key_scheme", values=("concat", "fielded"))
    run = pd.concat([two_settings("concat", "fielded"), run_of(ROUNDS, setting="other")])
    with pytest.raises(MemreproError, match="^the run has the setting 'other', which is none of"):
        evaluated(chosen, run)


@settings(max_examples=25, deadline=None)
@given(
    lists=st.lists(st.permutations(ROUNDS), min_size=3, max_size=3),
    lengths=st.lists(st.integers(1, 4), min_size=3, max_size=3),
)
def test_settings_evaluated_together_have_the_values_of_each_alone(lists, lengths):
    floors = (0.1, 0.2, 0.3)
    runs = [run_of(docs[:n]) for docs, n in zip(lists, lengths, strict=True)]
    named = [run.assign(setting=str(floor)) for run, floor in zip(runs, floors, strict=True)]
    together = evaluated(experiment(vary="floor", values=floors), pd.concat(named))
    for run, floor in zip(runs, floors, strict=True):
        alone = evaluated(experiment(), run)
        assert {key[1:]: v for key, v in together.items() if key[0] == str(floor)} == {
            key[1:]: v for key, v in alone.items()
        }


@pytest.mark.parametrize("limit", [{"floor": 0.3}, {"warm_days": 7}])
def test_under_a_limit_a_question_may_find_nothing_but_none_may_be_strange(limit):
    run = run_of(ROUNDS)
    short = run[run["query_id"] != "q2"]
    with pytest.raises(MemreproError, match="ranks docs for 4 .* is 'q2'"):
        evaluated(experiment(), short)
    limited = replace(experiment(), parameters={"k": 4, **limit})
    found = evaluated(limited, short)
    assert found["", "round", "stated"]["recall_all", 3] == {"q1": 1, "q2": 0}
    strange = pd.concat([short, short[:1].assign(query_id="who")])
    with pytest.raises(MemreproError, match="is 'who'"):
        evaluated(limited, strange)


def test_a_question_without_evidence_is_not_asked_after_it_and_any_other_is():
    whole = run_of(ROUNDS)
    gold = read_gold("sample", "toy", PROTOCOLS)
    with_gold = set().union(*gold.by_level.values())
    assert with_gold < set(KINDS)
    later = experiment(asked=7)
    run = whole[whole["query_id"].isin(with_gold)]
    assert evaluated(later, run) == evaluated(experiment(), whole)
    with pytest.raises(MemreproError, match="cut short"):
        evaluated(experiment(), run)
    with pytest.raises(MemreproError, match="cut short"):
        evaluated(later, run[run["query_id"] != min(with_gold)])


def test_metrics_are_made_where_they_are_absent_or_older_than_the_runs(monkeypatch):
    monkeypatch.setattr(evaluation, "load_plan", lambda: plan(plain=experiment()))
    path, run = paths.metrics("sample"), paths.run("sample", "plain", "all")
    with pytest.raises(MemreproError, match=r"plain\.parquet is missing"):
        metrics_file("sample")
    write_table(run, run_of(ROUNDS))

    def first():
        """q1's recall at 1 by session."""
        found = long(pq.read_table(metrics_file("sample")))
        one = (found["level"] == "session") & (found["query_id"] == "q1") & (found["k"] == 1)
        return found.loc[one & (found["metric"] == "recall"), "value"].item()

    assert first() == 1
    made = path.read_bytes()
    for _ in range(2):  # also where the same process made it once
        path.unlink()
        assert first() == 1
        assert path.read_bytes() == made
    at = path.stat().st_mtime_ns
    evaluation._is_current.cache_clear()  # as in another process
    assert first() == 1
    assert path.stat().st_mtime_ns == at  # it is current, and is let be
    write_table(run, run_of(ROUNDS[::-1]))
    evaluation._is_current.cache_clear()
    assert first() == 0
    write_table(path, read_table(path).assign(value=0.5))  # it says no more what it was made from
    assert first() == 0
