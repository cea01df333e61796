"""A question asked some days after its last evidence: when, and of which memory."""

import pytest

from memrepro.core.memory import Dataset, Memory, Piece, Query, Round
from memrepro.core.prepared import save_asked, save_extracted
from memrepro.files import paths
from memrepro.retrieve import make_retriever
from memrepro.retrieve.tiered.keys.key_builder import TieredKeyBuilder
from memrepro.study.params import Experiment
from memrepro.study.search.requests import make_requests, read_vectors
from tests.study.toy import plan, write_vectors

DAYS = {"s0": 1, "s1": 3, "s2": 11, "s3": 31}
ALL = {f"{name}r" for name in DAYS}


def experiment(asked, **parameters):
    return Experiment(
        "sample", "all", "toy", "round", "tiers:turn", "tiered", "tiered", {"k": 9, **parameters},
        encoder="hash-64", asked=asked,
    )  # fmt: skip


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    monkeypatch.setattr("memrepro.study.search.requests.load_plan", lambda: plan({}))
    rounds = [(name, Round.from_texts(f"{name}r", user=f"tea {name}")) for name in DAYS]
    times = {name: f"2023-05-{day:02d}T23:50" for name, day in DAYS.items()}
    memory = Memory.from_rounds("m", *rounds, times=times)
    queries = tuple(Query(f"q{i}", "m", "tea", "2023-06-09T10:00", "kind") for i in range(3))
    gold = {"session": {"q0": (("s0",),), "q1": (("s0",), ("s1",))}}
    list(save_asked([Piece(memory, queries, gold)], paths.asked("sample", "toy")))
    save_extracted([], paths.extracted("toy"))
    found = Dataset("toy", {"m": memory}, queries)
    write_vectors(found, TieredKeyBuilder("round", "tiers:turn"))
    return found


def found(dataset, one):
    requests = make_requests(dataset, one, read_vectors(one))
    rankings = make_retriever("tiered", "tiered", dict(one.parameters)).search(requests)
    return {ranking.query_id: set(ranking.doc_ids) for ranking in rankings}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (1, {"q0": {"s0r"}, "q1": {"s0r", "s1r"}}),
        (2, {"q0": {"s0r", "s1r"}, "q1": {"s0r", "s1r"}}),
        (8, {"q0": {"s0r", "s1r"}, "q1": {"s0r", "s1r", "s2r"}}),
        (99, {"q0": ALL, "q1": ALL}),
        (0, {"q0": ALL, "q1": ALL, "q2": ALL}),
    ],
)
def test_it_sees_what_was_said_until_then_and_asks_what_has_evidence(dataset, asked, expected):
    # What is said in the very minute of asking is seen.
    assert found(dataset, experiment(asked)) == expected


def test_a_window_goes_back_from_the_time_of_asking(dataset):
    assert found(dataset, experiment(8, warm_days=8.0)) == {
        "q0": {"s0r", "s1r"},
        "q1": {"s1r", "s2r"},
    }
