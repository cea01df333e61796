"""What a data host and a hub do to real download code: one sentence each, and what came is kept."""

import errno
import hashlib
import os

import pytest
from huggingface_hub import constants

from memrepro.data import fetch as fetching
from memrepro.data.registry import RemoteFile
from memrepro.encode import models
from memrepro.errors import MemreproError
from memrepro.rehearse.server import Content, Fault, Hosted, moved, serving

BODY = bytes(range(256)) * 5000
COMMIT, NAME = "a" * 40, "tiny"
PAGE = Fault(200, b"<html>Please log in</html>", {"Content-Type": "text/html; charset=utf-8"})
FILES = {"config.json": b'{"a": 1}', "sub/model.safetensors": BODY}


def digest(data):
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def server(tmp_path, monkeypatch):
    data, repository = tmp_path / "data", tmp_path / "hub"
    (data / "set").mkdir(parents=True)
    (data / "set/a.bin").write_bytes(BODY)
    for name, body in FILES.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_bytes(body)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.delenv("MEMREPRO_MIRROR", raising=False)
    monkeypatch.setattr(fetching, "PAUSE", 0.001)
    content = Content(data, (Hosted("somebody/tiny", COMMIT, repository),))
    with serving(content) as server:
        yield server
    assert not server.mistakes


@pytest.fixture
def fetch(server, tmp_path):
    file = RemoteFile("set/a.bin", f"{server.address}/data/set/a.bin", digest(BODY), len(BODY))

    def fetch():
        fetching.fetch(file, tmp_path / "raw", licence="MIT", mirror=None)
        return (tmp_path / "raw/set/a.bin").read_bytes()

    return fetch


@pytest.fixture
def folder(server, tmp_path, monkeypatch):
    """The folder of a model that the hub has, by the code that a run has it by."""
    card = models.read_card(
        NAME,
        {
            "source": {"kind": "hub", "repository": "somebody/tiny"}, "revision": COMMIT,
            "dimension": 8, "maximum_length": 16, "pooling": "mean", "normalise": True,
            "prompts": {"query": "", "document": ""}, "licence": "none", "note": "for a test",
            "files": {name: digest(body) for name, body in FILES.items()},
        },
    )  # fmt: skip
    monkeypatch.setattr(models, "registry", lambda: {NAME: card})
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "ENDPOINT", server.address)
    template = server.address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    return lambda: models.model_folder(NAME)


def refusal(get):
    with pytest.raises(MemreproError) as caught:
        get()
    said = str(caught.value)
    assert "\n" not in said
    return said


def test_what_a_data_host_does_on_a_bad_day_is_survived(server, fetch):
    path = "/data/set/a.bin"
    server.faults[path] = [
        moved(path), Fault(half=True), Fault(429), Fault(half=True), Fault(drop=True),
    ]  # fmt: skip
    server.faults["/elsewhere" + path] = [Fault(500)]
    assert fetch() == BODY
    # What had arrived when the connection closed was not asked for again.
    assert [asked for _, _, asked in server.fetched[-2:]] != ["", ""]


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (PAGE, "sent a web page in its place, as a proxy or a login does"),
        (Fault(401, b""), "answered 401 Unauthorized"),
        (Fault(404, b""), "answered 404 Not Found"),
    ],
)
def test_a_data_host_that_refuses_leaves_what_came(server, fetch, tmp_path, fault, why):
    server.faults["/data/set/a.bin"] = [Fault(half=True), *[fault] * 9]
    said = refusal(fetch)
    assert why in said
    assert digest(BODY) in said
    came = (tmp_path / "raw/set/a.bin.part").read_bytes()
    assert 0 < len(came) < len(BODY)
    server.faults.clear()
    assert fetch() == BODY
    assert server.fetched[-1] == ("GET", "/data/set/a.bin", f"bytes={len(came)}-")


def test_a_hub_gives_what_the_registry_names(server, folder):
    large = f"/somebody/tiny/resolve/{COMMIT}/sub/model.safetensors"
    server.faults["/elsewhere" + large] = [Fault(half=True)]
    found = folder()
    assert {name: (found / name).read_bytes() for name in FILES} == FILES
    assert [path for _, path, _ in server.fetched].count("/elsewhere" + large) == 2
    before = len(server.fetched)
    folder()
    assert len(server.fetched) == before


def test_a_hub_that_refuses_is_one_sentence(server, folder, tmp_path, monkeypatch):
    tree = f"/api/models/somebody/tiny/tree/{COMMIT}"
    server.always = PAGE
    assert "as a proxy does: run once with access to the hub" in refusal(folder)
    server.always = Fault()
    server.content.token = "secret"
    assert "set HF_TOKEN" in refusal(folder)
    monkeypatch.setenv("HF_TOKEN", "secret")
    server.faults[tree] = [Fault(404, b"", {"X-Error-Code": "RevisionNotFound"})]
    assert f"{COMMIT}, licence: none) is neither in" in (said := refusal(folder))
    assert "has no such revision any more" in said
    assert {name: (folder() / name).read_bytes() for name in FILES} == FILES


def test_a_cache_without_space_is_one_sentence(server, folder, monkeypatch):
    from huggingface_hub import file_download

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(file_download, "http_get", full)
        assert "No space left on device" in (said := refusal(folder))
        assert "HF_HOME" in said
    assert (folder() / "config.json").read_bytes() == FILES["config.json"]
