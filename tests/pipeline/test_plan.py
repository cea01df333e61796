"""What `memrepro plan` says: arithmetic, what is done, what is cached, what cannot be had."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dvc.repo import Repo

from memrepro.data import registry
from memrepro.encode.load import TokenCounter, load_encoder
from memrepro.encode.models import model_card, model_folder
from memrepro.encode.vectors import VectorStore, vector_key
from memrepro.errors import MemreproError
from memrepro.files.atomic import read_json
from memrepro.pipeline import cli
from memrepro.pipeline.plan import answers, downloads, embedding, machine, stages
from memrepro.pipeline.plan.machine import Rates
from memrepro.pipeline.plan.stages import DONE, MAY_RUN, RUNS, Stage
from memrepro.study.params import load_plan

MINILM = "all-minilm-l6-v2"
# 500 tokens by an encoder of 10 weights took 2 s: 5 of every operation that products reached.
MEASURED = {
    "sample": {
        "matrix": 1000.0, "python": 20.0, "encoded": {MINILM: 2.0},
        "embedded": [
            {"profile": "p", "dataset": "d", "encoder": MINILM, "texts": 9, "tokens": 500}
        ],
        "asked": [{"study": "s", "model": "m", "calls": 3, "left": 3, "prompt_tokens": 90,
                   "answer_tokens": 10, "seconds": 36.0}],
        "stages": {"prepare@a": {"seconds": 12.0, "memory": 300}},
    }
}  # fmt: skip
FACTS = {
    "encoders": {MINILM: {"weights": 10}, "stella-en-1.5b-v5": {"weights": 30}},
    "share": {"torch": 0.5, "cuda": 0.25},
    "like": {"prepare@b": {"stage": "prepare@a", "times": 3}},
    "base": "user_only",
    "expected": {"far": {"queries": [10, 5], "session": {"user_only": [100, 20]}}},
}


@pytest.fixture
def known(monkeypatch):
    """Facts and measurements that a person can compute with."""
    for module in (stages, embedding, answers):
        monkeypatch.setattr(module, "measured", lambda: MEASURED)
    for module in (stages, embedding):
        monkeypatch.setattr(module, "facts", lambda: FACTS)


def work(encoder=MINILM, tokens=1000):
    return embedding.Work("p", "d", encoder, 40, 10, tokens, embedding.COUNTED)


@pytest.mark.parametrize(
    ("one", "here", "device", "expected"),
    [
        (work(), Rates(500.0, 1.0), "cpu", 8.0),  # twice the tokens at half the rate
        (work(), None, "cpu", 4.0),
        # Not measured, and run by torch: half of MiniLM's share, three times its weights.
        (work("stella-en-1.5b-v5"), Rates(1000.0, 1.0), "cpu", 24.0),
        (work(), None, "cuda", 2 * 10 * 1000 / (400 * 0.25)),
    ],
)
def test_an_encoders_seconds(known, one, here, device, expected):
    assert embedding.seconds(one, here, device, gpu=400.0) == pytest.approx(expected)


def test_a_stages_seconds_scale_with_python(known):
    assert stages.took("prepare@a", Rates(1.0, 40.0)) == (6.0, 300e6)
    assert stages.took("prepare@a", None) == (12.0, 300e6)
    assert stages.took("prepare@b", Rates(1.0, 10.0)) == (72.0, 300e6)
    assert stages.took("prepare@c", None) == (None, 0.0)
    line = [Stage("prepare@a", RUNS, "", ()), Stage("prepare@b", DONE, "", ()),
            Stage("verify@c", MAY_RUN, "", ())]  # fmt: skip
    rows = stages.by_group(line, None).to_dict("records")
    assert [(r["stages"], r["all"], r["done"], r["run"], r["may run"]) for r in rows] == [
        ("prepare", 2, 1, 1, 0), ("verify", 1, 0, 0, 1)
    ]  # fmt: skip
    assert [(r["minutes"], r["not measured"]) for r in rows] == [(0.2, 0), (0.0, 1)]


def test_answers_take_as_long_as_measured(known):
    calls = pd.DataFrame(
        [("s", "m", 40, 10), ("s", "other", 900, 0)],
        columns=["study", "model", "prompt_tokens", "answer_tokens"],
    )
    assert answers.hours(calls, Rates(500.0, 1.0)) == pytest.approx(36 * 0.5 * 2 / 3600)


def test_a_measured_file_covers_what_it_says():
    """Every stage in it is one of the line, and every encoder that took time embedded texts."""
    with Repo(str(Path(__file__).parents[2])) as repo:
        names = {stage.name for stage in repo.index.stages}
    assert set(stages.facts()["like"]) <= names
    for profile, entry in stages.measured().items():
        assert set(entry["stages"]) <= names, profile
        assert set(entry["encoded"]) <= {row["encoder"] for row in entry["embedded"]}, profile


def test_every_encoder_of_a_run_is_described_and_minilms_weights_are_its_own():
    encoders = {one.encoder for one in load_plan().runs.values() if one.encoder}
    assert encoders == set(stages.facts()["encoders"])
    config = read_json(model_folder(MINILM) / "config.json")
    d, inner = config["hidden_size"], config["intermediate_size"]
    biases = 4 * d + inner + d + 2 * 2 * d  # of products, and the two norms' weights and biases
    layer = 4 * d * d + 2 * d * inner + biases
    assert stages.facts()["encoders"][MINILM]["weights"] == config["num_hidden_layers"] * layer


@pytest.mark.parametrize(
    ("scheme", "base", "change"),
    [
        ("user_only", "user_only", ""),
        ("user_only+merge:nlp-fact", "user_only", "+merge:fact"),
        ("concat+split-separate:recorded-fact", "concat", "+split-separate:fact"),
        ("user_only+graph:nlp-fact&nlp-event", "user_only", "+graph:fact&event"),
        ("tiers:dated-segment&store-fact", "", "tiers:segment&fact"),
        ("concat+merge:recorded-fact+windows:160", "concat", "+merge:fact+windows:160"),
    ],
)
def test_key_schemes_alike_whatever_made_the_extraction(scheme, base, change):
    assert embedding._parts(scheme) == (base, change)


def test_growth_is_that_of_the_committed_key_sizes():
    """LoCoMo's rounds, by locomo-keys/key_sizes.csv: 3,010 texts, 198,827 tokens."""
    growth = embedding._growth()
    assert growth["round", "+replace:keyphrase"] == pytest.approx((2999 / 3010, 42514 / 198827))
    assert growth["round", "+separate:fact"] == pytest.approx(
        (4890 / 3010 - 1, 246888 / 198827 - 1)
    )


def test_what_is_not_here_is_estimated(known, monkeypatch):
    growth = {("session", "+merge:fact"): (1.0, 2.0), ("session", "tiers:turn"): (3.0, 1.5)}
    monkeypatch.setattr(embedding, "_growth", lambda: growth)
    schemes = {"session": "user_only user_only+merge:nlp-fact tiers:turn fielded"}
    # 10 queries, 100 docs, the same with facts, and 300 turns; of 5, 20, 40 (cut at 32), 10 tokens.
    assert embedding._estimated("far", schemes, 32) == (510, 50 + 2000 + 3200 + 3000)


def test_identities_are_those_of_encoders():
    assert embedding.identity(MINILM, "cpu") == load_encoder(MINILM, device="cpu").identity


def test_cached_and_repeated_texts_are_counted_once(tmp_path):
    """The tokens that are left are those of the texts without vectors, special ones included."""
    own, card = embedding.identity(MINILM, "cpu"), model_card(MINILM)
    texts = {"document": ["a cat", "a dog sat"], "query": ["a cat"]}
    counter, seen = TokenCounter(MINILM), set()
    with VectorStore(tmp_path / "v.sqlite") as store:
        key = vector_key(own, "document", card.prompts["document"], "a cat")
        store.add([key], np.ones((1, card.dimension), np.float32))
    first = embedding._counted(texts, MINILM, "cpu", counter, seen, tmp_path / "v.sqlite")
    # [CLS] a dog sat [SEP], [CLS] a cat [SEP]: nine.
    assert first == (3, 1, 9)
    again = embedding._counted(texts, MINILM, "cpu", counter, seen, tmp_path / "v.sqlite")
    assert again == (3, 3, 0)
    assert embedding._counted(texts, MINILM, "cpu", counter, set(), tmp_path / "none") == (3, 0, 13)
    assert work().left == 30


def test_dvc_says_what_is_done(tmp_path, monkeypatch):
    """Two stages, one on the other: before, after, with the first one's input changed, unlocked."""
    (tmp_path / "in.txt").write_text("1")
    (tmp_path / "dvc.yaml").write_text(
        "stages:\n"
        "  embed: {cmd: cp in.txt mid.txt, deps: [in.txt], outs: [mid.txt]}\n"
        "  verify: {cmd: cp mid.txt out.txt, deps: [mid.txt], outs: [out.txt]}\n"
    )
    monkeypatch.chdir(tmp_path)

    def states():
        return {one.name: one.state for one in stages.stages_of(tmp_path, "verify")}

    with Repo.init(str(tmp_path), no_scm=True) as repo:
        assert list(states().items()) == [("embed", RUNS), ("verify", RUNS)]
        repo.reproduce()
    (tmp_path / ".dvc/config").write_text("")  # as of an archive, which has no git either
    assert set(states().values()) == {DONE}
    (tmp_path / "in.txt").write_text("2")
    assert states() == {"embed": RUNS, "verify": MAY_RUN}
    (tmp_path / "in.txt").write_text("1")
    (tmp_path / "dvc.lock").unlink()
    assert set(states().values()) == {RUNS}


def test_files_come_from_where_they_are(tmp_path, monkeypatch):
    """One file is fetched already, one is in the mirror; a host that is silent is named."""
    real = registry.registration("personabench-n05")
    near = [replace(f, url="https://127.0.0.1:1/" + f.path) for f in real.files]
    monkeypatch.setattr(downloads, "registration", lambda key: replace(real, files=tuple(near)))
    monkeypatch.setattr(downloads.paths, "raw", lambda key: tmp_path / "raw")
    monkeypatch.setenv("MEMREPRO_MIRROR", str(tmp_path / "mirror"))
    for folder, file in (("raw", near[0]), ("mirror", near[1])):
        path = tmp_path / folder / file.path
        path.parent.mkdir(parents=True)
        path.write_bytes(b"0" * file.bytes)
    found = {one.source: one for one in downloads.of_dataset("personabench-n05")}
    rest = sum(file.bytes for file in near[2:])
    assert {name: one.bytes for name, one in found.items()} == {
        "here": near[0].bytes, "the mirror": near[1].bytes, "127.0.0.1:1": rest
    }  # fmt: skip
    assert found["here"].disk == 0
    assert found["127.0.0.1:1"].disk == round(rest * 1.4)
    (row,) = downloads.unavailable(found.values())
    assert (row["item"], row["host"]) == ("personabench-n05", "127.0.0.1:1")
    assert row["why"] == "it did not answer (ConnectError)"
    assert "MEMREPRO_MIRROR" in row["remedy"]


def test_encoders_that_cannot_be_had_are_named():
    (row,) = downloads.unavailable(
        [downloads.of_encoder(MINILM), downloads.of_encoder("contriever")]
    )
    assert row["item"] == "contriever"
    assert "sha256 of model.safetensors" in row["why"]


def test_the_command_names_what_full_lacks(capsys, monkeypatch):
    """One stage of the full profile, on data that are not here; nothing is prepared."""
    line = [Stage(
        "embed-editions@longmemeval", RUNS,
        "python -m memrepro stage embed full longmemeval-m --notebook o", (),
    )]  # fmt: skip
    monkeypatch.setattr(stages, "stages_of", lambda folder, last: line)
    monkeypatch.setattr(embedding.paths, "prepared", lambda dataset: Path("nowhere"))
    assert cli.main(["plan", "full", "--quick", "--device", "cuda", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert {row["item"] for row in found["unavailable"]} >= {
        "contriever",
        "stella-en-1.5b-v5",
        "gpt-4o",
    }
    (stella,) = (row for row in found["embedding"] if row["encoder"] == "stella-en-1.5b-v5")
    assert stella["source"] == "estimated"
    assert stella["texts"] > 1e6
    prompts = sum(row["prompt_tokens"] for row in found["language models"])
    assert found["total"]["disk"] > 8 * prompts > 1e9  # whose records hold them
    assert found["total"]["hours"] > found["total"]["hours by"]["encoders"] > 0
    assert found["total"]["stages to run"] == 1
    assert cli.main(["plan", "full", "--quick"]) == 1
    assert "full: 1 stages to run (0 done, " in capsys.readouterr().out


def test_a_machine_is_measured():
    rates = machine.calibrate(0.2)
    assert rates.matrix > 1e8
    assert rates.python > 0.1


def test_calls_are_those_of_the_last_measurement_where_nothing_is_prepared(monkeypatch):
    def nothing(*_):
        raise MemreproError("not prepared")

    monkeypatch.setattr(answers, "counted", nothing)
    calls = answers.calls_of(load_plan(), "open", {})
    asked = stages.measured()["open"]["asked"]
    assert set(calls["source"]) == {embedding.BEFORE}
    assert set(calls["recorded"]) == {0}
    assert calls["calls"].tolist() == [row["calls"] for row in asked]
