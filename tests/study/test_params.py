"""params.yaml: the real one holds together, and every slip of the pen is an error."""

import copy
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from memrepro.errors import MemreproError
from memrepro.files.atomic import read_yaml
from memrepro.study import embedding, grids
from memrepro.study.embedding import keys_file, keys_to_embed, write_keys
from memrepro.study.params import load_plan
from memrepro.study.plan import StudyEntry

ROOT = Path(__file__).parents[2]


STUDIES = ("sample-keys", "sample-rfmem", "sample-associa", "sample-tiered", "personabench-rfmem")


@pytest.fixture(scope="module")
def few():
    """The real params.yaml with some of its studies."""
    tree = read_yaml(ROOT / "params.yaml")
    tree["studies"] = {name: tree["studies"][name] for name in STUDIES}
    tree["latency"] = {"sample-minilm": tree["latency"]["sample-minilm"]}
    tree["reading"] = {"longmemeval": tree["reading"]["longmemeval"]}
    return tree


@pytest.fixture
def edited(few, tmp_path, monkeypatch):
    """With one thing changed, in a folder of its own."""
    tree = copy.deepcopy(few)

    def change(*path_and_value):
        *above, last, value = path_and_value
        node = tree
        for key in above:
            node = node[key]
        node[last] = value
        (tmp_path / "params.yaml").write_text(yaml.dump(tree, Dumper=yaml.CSafeDumper))
        (tmp_path / "dvc.yaml").touch()
        monkeypatch.chdir(tmp_path)

    return change


STUDY = ("studies", "sample-keys")
DENSE = (*STUDY, "runs", "sample-dense-user")
GRAPH = ("studies", "sample-associa", "runs", "sample-associa")
TIERED = ("studies", "sample-tiered", "runs", "{stem}-tiered")
TIMED = ("latency", "sample-minilm")


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("extra",), {}, "exactly the keys"),
        ((*STUDY, "profile"), "big", "is 'big': input should be 'sample', 'open' or 'full'"),
        (DENSE, {"use": ["quick"]}, "uses 'quick', which is none of the study's sets"),
        (DENSE, {"retreiver": "dense.dense"}, "unknown parameter 'retreiver' of dense.dense"),
        (DENSE, {"dataset": "personabench"}, "unknown data set 'personabench'"),
        (DENSE, {"key_scheme": "user_only+merge:facts"}, "write mode:source-kind"),
        (DENSE, {"ranges": "nlp"}, "a time filter needs both"),
        (DENSE, {"k": "ten"}, "k is 'ten', and must be of type int"),
        (DENSE, {"traced": True}, "is traced, and dense.dense leaves no trace"),
        ((*STUDY, "runs", "x-{size}"), {}, "has the axis 'size': known are"),
        ((*STUDY, "runs", "x"), {"vary": "key_scheme"}, "x varies key_scheme and gives no values"),
        ((*STUDY, "runs", "sample-associa"), {}, "two experiments are called 'sample-associa'"),
        ((*TIMED, "experiments"), ["x"], "latency.sample-minilm names the unknown experiment 'x'"),
        (GRAPH, {"key_scheme": "user_only+graph:fact"}, "unknown extraction 'fact'"),
        (TIERED, {"cold": True}, "cold needs warm_days"),
        (("cluster",), 6379, "cluster is 6379: write host:port"),
        (("evaluation", "metrics"), ["recall", "map"], "unknown metric 'map'"),
    ],
)
def test_slips(edited, path, value, sentence):
    edited(*path, value)
    with pytest.raises(MemreproError, match=re.escape(sentence)):
        load_plan()


@pytest.mark.parametrize("kind", ["dataset", "study", "experiment", "timed"])
def test_unknown_names_list_the_nearest(kind):
    with pytest.raises(MemreproError, match=r"unknown .*'sample-bm25-usr': the nearest of"):
        getattr(load_plan(), kind)("sample-bm25-usr")


def test_a_grid_is_a_run_for_each_entry_of_its_axes():
    study = StudyEntry(
        "sample",
        base={"k": 10, "alpha": 0.1, "key_scheme": "concat"},
        sets={"deep": {"beam": 3, "alpha": 0.2}, "few": {"beam": 1}},
        axes={
            "size": {"small": {"dataset": "a"}, "large": {"dataset": "b"}},
            "k": {"k5": {"k": 5, "alpha": 0.9}, "k1": {"k": 1, "alpha": 0.4}},
        },
        runs={
            "{size}-{k}": {"use": ["few", "deep"]},
            "{size}-own": {"use": ["deep"], "alpha": 0.3},
            "by-alpha-{k}": {"vary": "alpha", "values": [0.0, 1]},
            "keys": {"vary": "key_scheme", "values": ["concat", "+merge:x"]},
        },
    )
    found = dict(grids.runs(study, "here"))
    assert list(found) == [
        "small-k5", "small-k1", "large-k5", "large-k1", "small-own", "large-own", "by-alpha-k5",
        "by-alpha-k1", "keys",
    ]  # fmt: skip
    # Later sets stand over earlier ones, axes over sets, the run's own settings over all.
    assert found["large-k5"] == {
        "k": 5, "alpha": 0.9, "key_scheme": "concat", "beam": 3, "dataset": "b"
    }  # fmt: skip
    assert found["small-own"]["alpha"] == 0.3
    assert found["small-own"]["k"] == 10
    # What a sweep varies is not the axis' to set; that of `base` stays.
    assert found["by-alpha-k1"] == {
        "k": 1, "alpha": 0.1, "key_scheme": "concat", "vary": "alpha", "values": [0.0, 1]
    }  # fmt: skip
    assert found["keys"]["values"] == ["concat", "concat+merge:x"]


def test_keys_follow_from_the_runs_and_the_file_says_so():
    plan = load_plan()
    assert read_yaml(keys_file()) == keys_to_embed(plan), "run `python -m memrepro keys`"
    keys_of = cache(plan.keys)
    for one in plan.runs.values():
        for e in one.variants().values():
            if e.encoder:
                assert e.key_scheme in keys_of(e.profile, e.dataset)[e.encoder][e.granularity]


def test_a_stale_file_of_keys_is_refused_and_written_anew(edited, tmp_path, monkeypatch):
    edited(*DENSE, {"key_scheme": "assistant_only"})
    (tmp_path / "keys.yaml").write_bytes((ROOT / "keys.yaml").read_bytes())
    plan = load_plan()
    # The data set need not be there: the file is looked at first.
    with pytest.raises(MemreproError, match=r"keys.yaml is older than the runs of params.yaml"):
        embedding.run("sample", "sample")
    assert write_keys(plan)
    assert not write_keys(plan)
    written = read_yaml(tmp_path / "keys.yaml")["sample"]["sample"]["all-minilm-l6-v2"]
    assert "assistant_only" in written["session"].split()
