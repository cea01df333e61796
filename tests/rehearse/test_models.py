"""Each encoder's tiny model through the loader's own path, by the rewritten registry."""

import numpy as np
import pytest
import yaml
from transformers import AutoConfig, AutoTokenizer

from memrepro.data import registry as downloads
from memrepro.encode import load, models
from memrepro.files import atomic
from memrepro.rehearse.data import write_data
from memrepro.rehearse.models import HIDDEN, architecture, write_models
from memrepro.rehearse.registry import rewritten

ADDRESS = "http://127.0.0.1:8000"
TEXTS = ["I mended the harbour yesterday.", "A kettle is brittle. " * 300, "", "Zürich – 2 × ok"]
# Those that only pool run on OpenVINO by default, which takes five seconds and more to compile one.
COMPILED = "contriever"


@pytest.fixture(scope="module")
def mirror(tmp_path_factory):
    """A folder whose `models` a mirror could have."""
    folder = tmp_path_factory.mktemp("mirror")
    write_models(folder / "models")
    return folder


@pytest.fixture
def cards(mirror, tmp_path, monkeypatch):
    """The rewritten registry in the real one's place, with the mirror around it."""
    text = rewritten(tmp_path, mirror / "models", ADDRESS)["encode/encoders.yaml"]
    found = {name: models.read_card(name, entry) for name, entry in yaml.safe_load(text).items()}
    monkeypatch.setattr(models, "registry", lambda: found)
    monkeypatch.setenv("MEMREPRO_MIRROR", str(mirror))
    return found


def test_every_encoder_of_the_registry_has_a_model(mirror):
    for name, card in models.registry().items():
        folder = mirror / "models" / name
        written = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
        assert written == set(card.files)


@pytest.mark.parametrize("name", models.registry())
def test_the_loader_takes_it_with_its_settings(cards, mirror, name):
    runtime = None if name == COMPILED else "torch"
    encoder = load.load_encoder(name, device="cpu", runtime=runtime)
    card, folder = cards[name], mirror / "models" / name
    vectors = encoder.encode(TEXTS, "document")
    assert vectors.shape == (len(TEXTS), card.dimension)
    distinct = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert (distinct @ distinct.T)[~np.eye(len(TEXTS), dtype=bool)].max() < 0.98
    kind = type(AutoConfig.from_pretrained(folder)).__name__
    assert kind == f"{architecture(name)}Config"
    ids = AutoTokenizer.from_pretrained(folder)(TEXTS[0])["input_ids"]
    assert len(ids) <= load.TokenCounter(name).counts([TEXTS[0]])[0]


def test_only_what_is_generated_is_said_otherwise(cards, mirror, tmp_path):
    real = atomic.read_yaml(models.Path(models.__file__).with_name("encoders.yaml"))
    for name, entry in real.items():
        card = cards[name]
        assert card.revision != entry["revision"]
        assert card.source["kind"] == "hub"
        if entry["source"]["kind"] == "hub":
            assert card.source == entry["source"]
        assert list(card.files) == list(entry["files"])
        models.check_files(card, mirror / "models" / name, "")
        for key in ("pooling", "normalise", "prompts", "maximum_length", "licence", "note"):
            assert getattr(card, key) == entry[key]
        for key in ("head", "layer_norm", "bidirectional", "end_token"):
            assert getattr(card, key) == entry.get(key, getattr(models.ModelCard, key))
        small = HIDDEN // 2 if card.truncate_to else HIDDEN
        assert card.dimension == (entry["dimension"] if card.head else small)
    stella = [cards[f"stella-en-1.5b-v5{ending}"] for ending in ("", "-s2p")]
    assert stella[0].dimension == 1024
    assert stella[0].files == stella[1].files
    assert stella[0].revision == stella[1].revision


def test_encoders_of_a_processor_without_bfloat16_are_rehearsed_in_float32(
    mirror, tmp_path, monkeypatch
):
    def dtypes(able):
        monkeypatch.setattr("memrepro.rehearse.registry.computes_in_bfloat16", lambda: able)
        text = rewritten(tmp_path, mirror / "models", ADDRESS)["encode/encoders.yaml"]
        return {entry.get("dtype", "float32") for entry in yaml.safe_load(text).values()}

    assert dtypes(True) == {"float32", "bfloat16"}
    assert dtypes(False) == {"float32"}


def test_the_downloads_name_the_files_that_were_written(tmp_path):
    write_data(tmp_path / "data", 1 / 1000)
    text = rewritten(tmp_path / "data", tmp_path / "models", ADDRESS)["data/downloads.yaml"]
    (tmp_path / "downloads.yaml").write_text(text)
    real, ours = downloads.registrations(), downloads.registrations(tmp_path / "downloads.yaml")
    assert list(real) == list(ours)
    for key, one in ours.items():
        if not one.files or not (tmp_path / "data" / one.files[0].path).is_file():
            assert one == real[key]
            continue
        assert [f.path for f in one.files] == [f.path for f in real[key].files]
        assert one.identity != real[key].identity
        for file in one.files:
            path = tmp_path / "data" / file.path
            assert file.url == f"{ADDRESS}/data/{file.path}"
            assert (file.sha256, file.bytes) == (atomic.sha256(path), path.stat().st_size)
    changed = {key for key in real if real[key] != ours[key]}
    assert changed >= {"longmemeval-s", "longmemeval-m", "personabench-n07", "personamem-32k"}
    assert "locomo" not in changed
