"""The study: what its data name, and how a row is chosen and compared."""

import re
from types import MappingProxyType

import numpy as np
import pytest

from memrepro.evaluate.clustered import Clusters
from memrepro.papers.findings import study
from memrepro.papers.findings.arenas import BM25, DENSE, HYBRID, Arena, Candidate, read_study
from memrepro.study.params import load_plan

GROUPS = tuple("abcdef" * 10)
ENTRY = {
    "arena": "toy", "level": "round", "dataset": "toy", "tokens": 100, "plain": "toy-hybrid",
    "methods": {"A: idea": {"printed": ["none", "toy-{encoder}[x]"], "tuned": ["toy-{encoder}"]},
                "B: idea": {"printed": ["not-planned"]}},
}  # fmt: skip


class Toy(Arena):
    """An arena whose values are drawn: settings y and z of the idea are better than all else."""

    clusters = Clusters(GROUPS, resamples=200)
    query_ids = tuple(map(str, range(60)))
    _GOOD = MappingProxyType({"1.0": 0.3, "0.0": 0.2, "0.5": 0.4, "x": 0.3, "y": 0.9, "z": 0.8})

    def candidates(self, patterns):
        names = {"toy-hybrid": ["0.0", "0.5", "1.0"], "toy-mini": ["x", "y", "z"]}
        found = []
        for pattern in map(self.fill, patterns):
            run, _, setting = pattern.partition("[")
            wanted = setting.removesuffix("]")
            found += [Candidate(run, s) for s in names.get(run, ()) if wanted in ("", s)]
        return found

    def values(self, candidates):
        rates = np.array([self._GOOD[one.setting] for one in candidates])
        drawn = np.random.default_rng(1).random((60, 1)) < rates
        return {name: drawn.astype(float) for name in self.budgets}

    def ties(self, one):
        return None

    def too_short(self, one):
        return 0

    def files(self, candidates):
        return ()

    def source(self, one, budget):
        return ()


@pytest.fixture
def found(monkeypatch):
    toy = Toy("sample", ENTRY, "mini", "MiniLM", 10, load_plan())
    monkeypatch.setattr(study, "arenas", lambda profile, plan: [toy])
    study.run_study.cache_clear()
    yield study.run_study("toy")
    study.run_study.cache_clear()


def test_each_method_stands_as_printed_and_as_tuned_beside_the_plain_ones(found):
    rows = {one.row: one for one in found.outcomes}
    assert list(rows) == [
        "dense; toy, MiniLM", "BM25; toy, MiniLM", "plain hybrid, at α = 0.5; toy, MiniLM",
        "plain hybrid, as tuned; toy, MiniLM", "A: idea, as printed; toy, MiniLM",
        "A: idea, as tuned; toy, MiniLM",
    ]  # fmt: skip
    assert [one.row for one in found.missing] == ["B: idea, as printed; toy, MiniLM"]
    tuned = rows["A: idea, as tuned; toy, MiniLM"]
    assert tuned.chosen["recall_all@10"] == {Candidate("toy-mini", "y"): 6}
    assert tuned.verdict(DENSE) == tuned.verdict(HYBRID) == study.HELPS
    assert rows["A: idea, as printed; toy, MiniLM"].verdict(DENSE) == study.OPEN
    # The choice is the best on these questions too, so that there is no optimism.
    assert tuned.best == (Candidate("toy-mini", "y"), tuned.mean("recall_all@10"))


def test_the_family_is_all_comparisons_with_dense_and_the_hybrid(found):
    pairs = [(one.method, name) for one, name in study.tested(found.outcomes)]
    # Dense is compared with the hybrid alone, and the hybrid as tuned with dense alone.
    assert len(pairs) == 10
    assert (DENSE, DENSE) not in pairs
    assert not [name for _, name in pairs if name == BM25]
    for one, name in study.tested(found.outcomes):
        compared = one.against[name][one.arena.main]
        assert compared.corrected >= compared.p


@pytest.mark.parametrize("profile", ["sample", "open"])
def test_what_the_study_names_is_planned(profile):
    """Each plain sweep is, and each method that needs something is one of the study's."""
    data, plan = read_study(), load_plan()
    for entry in data[profile]:
        for short in entry["encoders"]:
            sweep = plan.sweeps[entry["plain"].replace("{encoder}", short)]
            assert {0.0, 0.5, 1.0} <= set(sweep.values)
            assert (sweep.dataset, sweep.granularity) == (entry["dataset"], entry["level"])
        assert set(entry["methods"]) <= set(data["methods"])
        for method in entry["methods"].values():
            assert all(re.fullmatch(r"[^\[\]]+(\[[^\[\]]+\])?", one) for one in method["printed"])
