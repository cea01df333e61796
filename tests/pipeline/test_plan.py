"""What `memrepro plan` says: arithmetic, what is done, what is cached, what cannot be had."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dvc.repo import Repo

from memrepro.data import registry
from memrepro.encode.load import TokenCounter, load_encoder
from memrepro.encode.models import model_card, model_folder
from memrepro.encode.vectors import VectorStore, vector_key
from memrepro.errors import MemreproError
from memrepro.files.atomic import read_json
from memrepro.llm.prices import Price
from memrepro.pipeline import cli
from memrepro.pipeline.plan import answers, downloads, embedding, stages
from memrepro.pipeline.plan.stages import DONE, MAY_RUN, RUNS, Stage
from memrepro.study.embedding import keys_to_embed
from memrepro.study.params import load_plan

MINILM = "all-minilm-l6-v2"


def work(encoder=MINILM, tokens=1000):
    return embedding.Work("p", "d", encoder, 40, 10, tokens, embedding.COUNTED)


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


def test_identities_are_those_of_encoders():
    assert embedding.identity(MINILM, "cpu") == load_encoder(MINILM, device="cpu").identity


def test_cached_and_repeated_texts_are_counted_once(tmp_path, monkeypatch, capsys):
    """The tokens that are left are those of the texts without vectors, special ones included."""
    own, card = embedding.identity(MINILM, "cpu"), model_card(MINILM)
    texts = {"document": ["a cat", "a dog sat"], "query": ["a cat"]}
    counter, seen = TokenCounter(MINILM), set()
    with VectorStore(tmp_path / "v.sqlite") as store:
        key = vector_key(own, "document", card.prompts["document"], "a cat")
        store.add([key], np.ones((1, card.dimension), np.float32))
    # As after the first 15 seconds, of which nothing is said.
    monkeypatch.setattr("memrepro.files.progress.SECONDS", 0.0)
    first = embedding._counted(texts, MINILM, "cpu", counter, seen, tmp_path / "v.sqlite")
    # [CLS] a dog sat [SEP], [CLS] a cat [SEP]: nine.
    assert first == (3, 1, 9)
    assert f"texts for {MINILM}: 100%" in capsys.readouterr().err
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


def test_encoders_that_cannot_be_had_are_named(monkeypatch):
    monkeypatch.setattr(downloads, "computes_in_bfloat16", lambda: False)
    names = (MINILM, "contriever", f"{MINILM}-bf16")
    row, half = downloads.unavailable(downloads.of_encoder(name, "cpu") for name in names)
    assert row["item"] == "contriever"
    assert "sha256 of model.safetensors" in row["why"]
    assert (half["item"], half["why"]) == (names[2], "this processor does not compute in bfloat16")
    assert not downloads.unavailable([downloads.of_encoder(names[2], "cuda")])


def test_the_command_names_what_full_lacks(capsys, monkeypatch):
    """One stage of the full profile, on data that are not here; nothing is prepared."""
    line = [Stage(
        "embed-editions@longmemeval", RUNS,
        "python -m memrepro stage embed full longmemeval-m --notebook o", (),
    )]  # fmt: skip
    monkeypatch.setattr(stages, "stages_of", lambda folder, last: line)
    monkeypatch.setattr(embedding.paths, "prepared", lambda dataset: Path("nowhere"))
    assert cli.main(["plan", "full", "--device", "cuda", "--json"]) == 1
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
    assert cli.main(["plan", "full"]) == 1
    assert "full: 1 stages to run (0 done, " in capsys.readouterr().out


@pytest.mark.parametrize("profile", ["open", "full"])
def test_a_fresh_clone_can_plan_all_that_is_embedded(profile, monkeypatch):
    monkeypatch.setattr(embedding.paths, "prepared", lambda dataset: Path("nowhere"))
    plan = load_plan()
    wanted = keys_to_embed(plan)[profile]
    works = embedding.works_of([(profile, one) for one in wanted], plan, "cpu", [], Path("no"))
    assert len(works) == sum(map(len, wanted.values()))
    assert all(work.texts and work.tokens for work in works)


def test_calls_are_those_of_the_last_measurement_where_nothing_is_prepared(monkeypatch):
    def nothing(*_):
        raise MemreproError("not prepared")

    monkeypatch.setattr(answers, "counted", nothing)
    calls = answers.calls_of(load_plan(), "open", {})
    asked = stages.measured()["open"]["asked"]
    assert set(calls["source"]) == {embedding.BEFORE}
    assert set(calls["recorded"]) == {0}
    assert calls["calls"].tolist() == [row["calls"] for row in asked]
    with pytest.raises(MemreproError, match="no price is of a model of open: it asks .*SmolLM2"):
        answers.calls_of(load_plan(), "open", {"gpt-4o": Price("USD", 1.0, 2.0)})
