"""The stage behind the notebook, end to end: CoQA's form by hand, a tiny base model, a CPU."""

import json

import pytest
import yaml

pytest.importorskip("peft")

from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError
from memrepro.files.atomic import sha256
from memrepro.llm.in_process import InProcess
from memrepro.papers.associa.tuning import stage
from tests.llm.tiny import make_model
from tests.papers.associa.tuning.made import content, write

SETTINGS = {"rank": 2, "epochs": 2, "batch_size": 2, "device_batch_size": 1, "dtype": "float32"}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder that counts as a repository, with a mirror that holds the base model."""
    (tmp_path / "dvc.yaml").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMREPRO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MEMREPRO_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setattr(
        "memrepro.papers.associa.tuning.stage.load_encoder", lambda name: HashEncoder(128)
    )
    make_model(tmp_path / "mirror" / "models" / "tiny")
    _, digest = write(tmp_path / "coqa.json", content())
    entry = {
        "paper": "associa", "file": "coqa.json", "sha256": digest, "encoder": "hash",
        "teacher": {}, "recipe": {"nodes": 6, "questions": 3}, "repository": "made/tiny",
        "commit": "0" * 40, "settings": SETTINGS, "device": "cpu",
    }  # fmt: skip
    (tmp_path / "params.yaml").write_text(yaml.safe_dump({"tuning": {"tiny": entry}}))
    return tmp_path


def change(project, **changes):
    entry = yaml.safe_load((project / "params.yaml").read_text())["tuning"]["tiny"]
    (project / "params.yaml").write_text(yaml.safe_dump({"tuning": {"tiny": entry | changes}}))


def test_from_coqa_to_a_model_that_can_be_asked(project, capsys):
    built = stage.build_examples("tiny")
    counts = dict(built.summary.itertuples(index=False))
    assert (counts["in CoQA"], counts["used"]) == (7, 3)
    assert list(built.pair["role"]) == ["system", "user", "assistant"] * 2
    assert built.sha256 == sha256(project / "data" / "tuning" / "tiny" / "examples.jsonl")
    done = stage.tune("tiny")
    adapter = project / "data" / "tuning" / "tiny" / "adapter"
    record = json.loads((adapter / "tuning.json").read_text())
    assert record["data"] == {"sha256": built.sha256, "examples": 6, "left out": 0}
    assert record["settings"]["rank"] == 2
    assert len(done.losses) == record["steps"] == 6
    summary = dict(done.summary.itertuples(index=False))
    merged = project / "cache" / "tuned" / "tiny"
    revision = summary["revision of the whole model"]
    assert InProcess(merged, "tiny", revision=revision, device="cpu").identity.revision == revision
    done.footer()
    said = capsys.readouterr().out
    assert "read" in said
    assert "data/tuning/tiny/adapter/adapter_model.safetensors" in said


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"sha256": "0" * 64}, "coqa.json has the sha256 .* is expected"),
        ({"file": "none.json"}, "none.json is not there: fetch coqa-train-v1.0.json from https"),
        ({"typo": 1}, "tuning.tiny has the unknown key 'typo'"),
        ({"recipe": {"typo": 1}}, "tuning.tiny.recipe has the unknown key 'typo'"),
        (
            {"teacher": {"model": "m", "revision": "r"}},
            "6 of 6 answers of 'm' .* that experiment 'tiny' needs are not recorded",
        ),
    ],
)
def test_what_is_wrong_with_an_entry_is_one_sentence(project, changes, rule):
    change(project, **changes)
    if "teacher" in changes:
        change(project, **changes, recipe={"questions": 6})
    with pytest.raises(MemreproError, match=rule):
        stage.build_examples("tiny")


def test_an_unknown_name_and_a_missing_gpu_are_one_sentence(project, monkeypatch):
    with pytest.raises(MemreproError, match="unknown tuning 'tinny': the nearest .* tiny"):
        stage.build_examples("tinny")
    stage.build_examples("tiny")
    change(project, device="")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(MemreproError, match="tuning made/tiny needs a GPU"):
        stage.tune("tiny")
