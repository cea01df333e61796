"""latency: which queries are timed, that each is timed by itself, and what the table says."""

from itertools import count

import pytest

from memrepro.encode.encoder import HashEncoder
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.study import latency
from tests.study.toy import DEEP, GATE, experiment, plan, prepare

EXPERIMENTS = {
    "near": experiment("familiarity", k=4),
    "deep": experiment("recollection", **DEEP),
    "either": experiment("gated", **DEEP, **GATE),
}


class Watched(HashEncoder):
    """An encoder that remembers what it was asked for."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def encode(self, texts, role):
        self.calls.append((tuple(texts), role))
        return super().encode(texts, role)


@pytest.fixture
def toy(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    monkeypatch.setattr("memrepro.study.latency.load_plan", lambda: plan(EXPERIMENTS))
    return prepare()


def test_a_querys_time_is_the_median_of_its_repeats(monkeypatch):
    class Still:
        def search(self, requests):
            return []

    # Six searches of one and two ticks: of each query's three the middle counts.
    ticks = iter([0, 1, 10, 12, 20, 25, 30, 33, 40, 41, 50, 59])
    monkeypatch.setattr(latency, "perf_counter", lambda: next(ticks))
    assert latency.time_search(Still(), ["first", "second"], 3).tolist() == [1, 3]


def test_the_stage_times_each_experiment_in_both_parts(toy, monkeypatch):
    encoder = Watched()
    monkeypatch.setattr("memrepro.study.latency.load_encoder", lambda name: encoder)
    clock = count()
    monkeypatch.setattr("memrepro.study.latency.perf_counter", lambda: next(clock) / 1000)
    done = latency.run("timed")
    table = read_table(paths.measured("sample") / "timed.csv")
    assert list(table.columns) == latency.COLUMNS
    assert table[["experiment", "part"]].values.tolist() == [
        [name, part] for name in EXPERIMENTS for part in ("encode", "search")
    ]
    assert set(table["n"]) == {str(len(toy.queries))}
    assert set(table["mean_ms"]) == set(table["p95_ms"]) == {"1.000"}
    assert table["versions"].str.startswith("hashlib, ").sum() == len(EXPERIMENTS)
    # Once for all experiments.
    assert len(encoder.calls) == len(toy.queries) + 3
    assert list(done.outputs) == [paths.measured("sample") / "timed.csv"]
