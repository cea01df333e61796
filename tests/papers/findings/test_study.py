"""The study: what its data name, and how a row is chosen and compared."""

import re
from types import MappingProxyType

import numpy as np
import pytest

from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import Groups
from memrepro.evaluate.multiple import holm
from memrepro.papers.findings import confirmatory, study, study_tables
from memrepro.papers.findings.arenas import BM25, DENSE, HYBRID, Arena, Candidate, read_study
from memrepro.study.params import load_plan

GROUPS = Groups("person", tuple("abcdefghij" * 6))
ENTRY = {
    "arena": "toy", "level": "round", "dataset": "toy", "tokens": 100, "plain": "toy-hybrid",
    "methods": {"A: idea": {"printed": ["none", "toy-{encoder}[x]"], "tuned": ["toy-{encoder}"]},
                "B: idea": {"printed": ["not-planned"]}},
}  # fmt: skip


class Toy(Arena):
    """An arena whose values are drawn: settings y and z of the idea are better than all else."""

    groups = GROUPS
    counts_tokens = True
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


def test_a_difference_is_by_person_and_its_interval_has_the_choice(found):
    tuned = found.outcomes[-1]
    budget = tuned.arena.main
    compared = tuned.against[HYBRID][budget]
    assert (compared.n, compared.groups, compared.unit) == (60, 10, "person")
    resampled = (
        tuned.resampled["recall_all@10"] - tuned.references[HYBRID].resampled["recall_all@10"]
    )
    assert (compared.low, compared.high) == pytest.approx(np.percentile(resampled, [2.5, 97.5]))
    assert compared.p >= confirmatory.least_p(GROUPS) == 2 / 2**10


def named(monkeypatch, *entries):
    keys = ("method", "arena", "reference")
    family = [dict(zip(keys, one, strict=True)) for one in entries]
    data = {**read_study(), "confirmatory": family, "documents": ["A"]}
    for module in (confirmatory, study_tables):
        monkeypatch.setattr(module, "read_study", lambda: data)


def test_only_the_family_is_corrected_and_tested(found, monkeypatch):
    named(monkeypatch, ("A: idea", "toy, MiniLM", DENSE), ("A: idea", "toy, MiniLM", HYBRID),
          (BM25, "toy, MiniLM", DENSE), ("A: idea", "another, MiniLM", DENSE))  # fmt: skip
    tested = confirmatory.run_family(found)
    assert [(one.outcome.row, one.reference) for one in tested] == [
        ("A: idea, as tuned; toy, MiniLM", DENSE), ("A: idea, as tuned; toy, MiniLM", HYBRID),
        ("BM25; toy, MiniLM", DENSE),
    ]  # fmt: skip
    assert [one.p for one in tested] == holm([one.comparison.p for one in tested])
    assert tested[0].verdict == confirmatory.HELPS
    cells = {(c.row, c.column): c.reproduced for c in confirmatory.family_cells(tested)}
    assert cells["A: idea, as tuned; toy, MiniLM", "against dense"] == confirmatory.HELPS
    assert cells["BM25; toy, MiniLM", "against dense"] != confirmatory.HELPS


def test_a_comparison_that_is_named_and_not_made_is_refused(found, monkeypatch):
    named(monkeypatch, ("B: idea", "toy, MiniLM", DENSE))
    with pytest.raises(MemreproError, match="'B: idea' with 'dense' on 'toy, MiniLM'"):
        confirmatory.run_family(found)


def test_what_could_be_found_depends_on_the_persons(found, monkeypatch):
    named(monkeypatch, *[("A: idea", "toy, MiniLM", DENSE)] * 12)

    def shown():
        return {cell.column: cell.reproduced for cell in confirmatory.detectable_cells(found)}

    ten = shown()
    assert (ten["resampled"], ten["least p"], ten["least p after Holm"]) == (
        "10 persons", "0.0020", "0.0234",
    )  # fmt: skip
    assert float(ten["detectable alone"]) < float(ten["detectable after Holm"])
    monkeypatch.setattr(Toy, "groups", Groups("person", tuple("abcdef" * 10)))
    six = shown()
    assert (six["least p after Holm"], six["detectable after Holm"]) == ("0.3750", "none")
    assert float(six["detectable alone"]) > 0


def test_the_family_is_a_dozen_at_most_and_of_what_the_study_compares():
    data = read_study()
    family = confirmatory.named()
    assert 0 < len(family) == len(set(family)) <= 12
    known = {
        (method, f"{entry['arena']}, {encoder}")
        for entry in data["open"]
        for encoder in entry["encoders"].values()
        for method in entry["methods"]
    }
    assert {one[:2] for one in family} <= known
    assert {reference for *_, reference in family} <= set(study.BASELINES)
    owners = {method.partition(":")[0] for method in data["methods"]}
    assert owners - {"No document's", "Outside"} == set(data["documents"])


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
