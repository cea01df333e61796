"""The stage behind the notebook, end to end: CoQA's form by hand, a tiny base model, a CPU."""

import json

import pytest
import yaml

pytest.importorskip("peft")

from memrepro.encode.encoder import HashEncoder
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


def test_from_coqa_to_a_model_that_can_be_asked(project):
    counts = dict(stage.build_examples("tiny").itertuples(index=False))
    assert (counts["in CoQA"], counts["used"]) == (7, 3)
    folder = project / "data" / "tuning" / "tiny"
    summary = dict(stage.tune("tiny").itertuples(index=False))
    record = json.loads((folder / "adapter" / "tuning.json").read_text())
    digest = sha256(folder / "examples.jsonl")
    assert record["data"] == {"sha256": digest, "examples": 6, "left out": 0}
    assert record["settings"]["rank"] == 2
    assert summary["steps"] == record["steps"] == 6
    revision = summary["revision of the whole model"]
    merged = project / "cache" / "tuned" / "tiny"
    assert InProcess(merged, "tiny", revision=revision, device="cpu").identity.revision == revision
