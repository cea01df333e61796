"""params.yaml: the real one holds together, and every slip of the pen is an error."""

from pathlib import Path

import pytest
import yaml

from memrepro.data.registry import registrations
from memrepro.errors import MemreproError
from memrepro.files.atomic import read_yaml
from memrepro.study.params import load_plan

ROOT = Path(__file__).parents[2]


def test_the_real_plan():
    plan = load_plan()
    assert {e.profile for e in plan.experiments.values()} == {"sample", "open", "full"}
    assert set(plan.datasets) <= set(registrations())
    assert {f"personabench-n0{level}" for level in (0, 3, 5, 7)} <= set(plan.datasets)


def test_the_modules_that_dvc_depends_on_are_the_registrys():
    for key, entry in load_plan().datasets.items():
        assert entry.module == registrations()[key].module


def test_traced_experiments_are_experiments_like_any_other():
    plan = load_plan()
    assert plan.traced < set(plan.experiments)
    assert {"sample-rfmem-gated", "rfmem-mpnet-gated-printed-k10"} <= plan.traced
    assert not plan.traced & set(plan.sweeps)


def test_printed_experiments_differ_from_the_released_ones_in_variant_and_threshold_alone():
    plan = load_plan()
    pairs = [(key, key.replace("-printed", "")) for key in plan.traced if "-printed" in key]
    assert len(pairs) == 10
    for key, released in pairs:
        mine, theirs = plan.experiments[key], plan.experiments[released]
        assert mine.retriever == f"{theirs.retriever}_printed"
        expected = dict(theirs.parameters)
        if "entropy_threshold" in expected:
            expected["entropy_threshold"] *= expected["k"]
        assert mine.parameters == expected
        assert (mine.dataset, mine.encoder, mine.key_scheme) == (
            theirs.dataset, theirs.encoder, theirs.key_scheme,
        )  # fmt: skip


def test_what_is_timed_together_stands_on_the_same_vectors():
    plan = load_plan()
    assert plan.timed("sample-minilm").repeats >= 3
    for entry in plan.latency.values():
        for name in entry.experiments:
            one = plan.experiments[name]
            assert (one.dataset, one.encoder) == (entry.dataset, entry.encoder)


def test_the_samples_size():
    parameters = load_plan().datasets["sample"].parameters
    assert parameters["questions"] >= 120
    assert parameters["sessions"] >= 40


def test_a_sweep_has_one_run_a_value():
    sweep = load_plan().experiment("rfmem-mpnet-recollection-k5-by-alpha")
    variants = sweep.variants()
    assert len(variants) == len(sweep.values)
    assert variants["0.9"].parameters["alpha"] == 0.9
    assert variants["0.9"].parameters["k"] == 5
    keys = load_plan().experiment("sample-session-keys")
    assert {e.key_scheme for e in keys.variants().values()} == set(keys.values)


@pytest.fixture
def edited(tmp_path, monkeypatch):
    """The real params.yaml with one thing changed, in a folder of its own."""
    tree = read_yaml(ROOT / "params.yaml")

    def change(path, value):
        *above, last = path.split(".")
        node = tree
        for key in above:
            node = node[key]
        node[last] = value
        (tmp_path / "params.yaml").write_text(yaml.dump(tree, Dumper=yaml.CSafeDumper))
        (tmp_path / "dvc.yaml").touch()
        monkeypatch.chdir(tmp_path)

    return change


DENSE = "experiments.dense.sample-dense-user"
TRACED = "experiments.traced.sample-rfmem-gated"
GRAPH = "experiments.graph.sample-associa"
GRAPHS = "graph_embeddings.sample--all-minilm-l6-v2--graph"
TIERS = "experiments.tiered.sample-tiered"
TIERED = f"{TIERS}.experiments.sample-tiered"
TIMED = "latency.sample-minilm"
GROUP = "experiments.sweep.personabench-n00-mpnet-rfmem"
SWEEP = f"{GROUP}.sweeps.rfmem-mpnet-recollection-k5-by-alpha"


UNTRACED = {
    "profile": "sample", "dataset": "sample", "encoder": "all-minilm-l6-v2",
    "granularity": "session", "key_scheme": "user_only", "method": "dense", "retriever": "dense",
    "parameters": {"k": 10},
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("extra", {}, "exactly the keys"),
        ("experiments.quantum", {}, "unknown kind 'quantum'"),
        (f"{DENSE}.retreiver", "dense", "has the unknown key 'retreiver'"),
        (f"{DENSE}.profile", "big", "unknown profile 'big'"),
        (f"{DENSE}.dataset", "personabench", "unknown data set 'personabench'"),
        (f"{DENSE}.encoder", "all-minilm", "unknown encoder 'all-minilm'"),
        (f"{DENSE}.granularity", "word", "unknown granularity 'word'"),
        (f"{DENSE}.granularity", "turn", "add the key scheme there"),
        (f"{DENSE}.key_scheme", "user_only+merge:facts", "write mode:source-kind"),
        (f"{DENSE}.ranges", "nlp", "a time filter needs both"),
        (f"{DENSE}.encoder", "", "the lexical kinds have none, the others need one"),
        (f"{DENSE}.key_scheme", "summary", "unknown key scheme 'summary'"),
        (f"{DENSE}.method", "sparse", "unknown method 'sparse'"),
        (f"{DENSE}.retriever", "denser", "unknown retriever 'denser' of dense"),
        (f"{DENSE}.parameters", {"k": 5, "beta": 1}, "unknown parameter 'beta' of dense.dense"),
        (f"{DENSE}.parameters", {}, "missing 1 required positional argument"),
        (f"{DENSE}.parameters", {"k": "ten"}, "k is 'ten', and must be of type int"),
        (f"{DENSE}.parameters", {"k": 5.5}, "k is 5.5, and must be of type int"),
        (f"{DENSE}.parameters", {"k": 0}, "k is 0, and must be at least 1"),
        (f"{DENSE}.parameters", {"k": True}, "k is True"),
        (f"{DENSE}.parameters", 7, "parameters is 7: it must be a mapping"),
        (f"{DENSE}.vary", "k", "varies a parameter: move it to sweep"),
        (f"{DENSE}.values", [1, 2], "varies a parameter: move it to sweep"),
        (f"{TRACED}.retriever", "familiarity", "unknown parameter 'alpha'"),
        (TRACED, UNTRACED, "is traced, and dense.dense leaves no trace: move it to dense"),
        (f"{TRACED}.vary", "alpha", "varies a parameter: move it to sweep"),
        (f"{TRACED}.encoder", "", "the lexical kinds have none, the others need one"),
        (f"{TIMED}.repeats", 0, "has repeats 0 and 3 experiments: it needs at least one of each"),
        (f"{TIMED}.repeats", "5", "has repeats '5'"),
        (f"{TIMED}.experiments", [], "and 0 experiments"),
        (f"{TIMED}.experiments", ["x"], "latency.sample-minilm names the unknown experiment 'x'"),
        (f"{TIMED}.experiments", ["sample-bm25-user"], "searches sample under no encoder"),
        (f"{TIMED}.experiments", ["rfmem-mpnet-familiarity"], "searches personabench-n00 under"),
        (f"{TIMED}.profile", "open", "for the profile sample: experiments timed together share"),
        (f"{TIMED}.profile", "big", "unknown profile 'big'"),
        (f"{TIMED}.repeat", 5, "has the unknown key 'repeat'"),
        (f"{SWEEP}.values", [], "and 0 values"),
        (f"{SWEEP}.vary", "k", "a parameter other than k"),
        (f"{SWEEP}.values", [0.5, "x"], "alpha is 'x', and must be of type float"),
        (f"{SWEEP}.method", "rfmem", "has 'method', which its group gives"),
        (SWEEP, ["rfmem"], "it must be a mapping"),
        (f"{GROUP}.sweeps", [], "is no group of sweeps"),
        (GROUP, "rfmem", "is no group of sweeps"),
        (f"{DENSE}.group", "some", "varies a parameter: move it to sweep"),
        ("experiments.dense", ["x"], "it must be a mapping"),
        (f"{DENSE}.key_scheme", "concat+graph:nlp-fact", "all others elsewhere"),
        (f"{GRAPH}.key_scheme", "concat", "all others elsewhere"),
        (f"{GRAPH}.key_scheme", "user_only+graph:fact", "unknown extraction 'fact'"),
        (f"{GRAPH}.granularity", "turn", "are of 'round' or 'session'"),
        (f"{GRAPH}.granularity", "session", "add the key scheme there"),
        (f"{GRAPHS}.keys", {"round": ["user_only"]}, "stand in graph_embeddings, those with"),
        (f"{DENSE}.key_scheme", "tiers:segment", "those with tiers: in tiered"),
        (f"{TIERED}.key_scheme", "user_only", "those with tiers: in tiered"),
        (f"{TIERED}.key_scheme", "tiers:paragraph", "with a unit of turn, context, segment, whole"),
        (f"{TIERED}.key_scheme", "tiers:segment&fact", "write tiers:unit or"),
        (f"{TIERED}.granularity", "turn", "by round or session"),
        (f"{TIERED}.key_scheme", "tiers:dated-segment", "add the key scheme there"),
        (f"{TIERED}.method", "tiered", "has 'method', which its group gives"),
        (f"{TIERED}.parameters", {"k": 5, "recency": "some"}, "unknown recency 'some'"),
        (f"{TIERED}.parameters", {"k": 5, "alpha": 2}, "alpha is 2, and must lie in 0..1"),
        (f"{TIERED}.parameters", {"k": 5, "cold": True}, "cold needs warm_days"),
        (f"{TIERED}.parameters", {"k": 5, "adapted": True}, "adapted and diversity need `units`"),
        (f"{TIERED}.parameters", {"k": 5, "cold": 1}, "cold is 1, and must be of type bool"),
        (f"{TIERS}.experiments", [], "is no group of experiments"),
        ("embeddings.sample--all-minilm-l6-v2.keys", {"round": ["concat+graph:nlp-fact"]}, "stand"),
        ("evaluation.ks", [1, "five"], "evaluation.ks has 'five'"),
        (DENSE, ["dense"], "it must be a mapping"),
        (DENSE, {"profile": "sample"}, "lacks the key 'dataset'"),
        (
            "embeddings.sample--all-minilm-l6-v2.keys",
            {"round": ["concat"]},
            "add the key scheme there",
        ),
        ("embeddings.sample--all-minilm-l6-v2.encoder", "bert", "unknown encoder 'bert'"),
        ("evaluation.metrics", ["recall", "map"], "unknown metric 'map'"),
        ("evaluation.protocols", {}, "it needs at least one"),
        ("evaluation.protocols.stated.roll_up", "last", "unknown roll_up 'last'"),
        ("evaluation.protocols.stated.label", "x", "has the unknown key 'label'"),
    ],
)
def test_slips(edited, path, value, sentence):
    edited(path, value)
    with pytest.raises(MemreproError, match=sentence):
        load_plan()


@pytest.mark.parametrize("kind", ["dataset", "embedding", "experiment", "timed"])
def test_unknown_names_list_the_nearest(kind):
    with pytest.raises(MemreproError, match=r"unknown .*'sample-bm25-usr': the nearest of"):
        getattr(load_plan(), kind)("sample-bm25-usr")


def test_a_name_with_a_dot_is_refused(edited):
    """DVC would look for the parameter `embeddings.a.b`, not for the entry 'a.b'."""
    entry = {"profile": "sample", "dataset": "sample", "encoder": "all-minilm-l6-v2", "keys": {}}
    edited("embeddings", {"minilm-1.5b": entry})
    with pytest.raises(MemreproError, match=r"'minilm-1.5b' has a dot"):
        load_plan()


def test_a_group_shares_its_data_and_method(edited):
    entry = read_yaml(ROOT / "params.yaml")["experiments"]["sweep"]
    lexical = {**entry["sample-minilm-dense"], "method": "bm25"}
    del lexical["encoder"]
    lexical["sweeps"] = {"twice": {**lexical["sweeps"]["sample-fields"], "retriever": "bm25"}}
    edited("experiments.lexical_sweep.sample-minilm-dense", lexical)
    with pytest.raises(MemreproError, match="twice of the group 'sample-minilm-dense' differs"):
        load_plan()


def test_one_name_in_two_groups(edited):
    tree = read_yaml(ROOT / "params.yaml")
    entry = tree["experiments"]["lexical"]["sample-bm25-user"]
    edited("experiments.dense.sample-bm25-user", entry)
    with pytest.raises(MemreproError, match="two experiments are called 'sample-bm25-user'"):
        load_plan()
