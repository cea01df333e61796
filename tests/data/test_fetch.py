"""Fetching, against a server on this machine that behaves well, badly, or not at all."""

import errno
import gzip
import hashlib
import http.server
import lzma
import os
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from memrepro.data import fetch as fetching
from memrepro.data.fetch import check_before_use, fetch
from memrepro.data.registry import Registration, RemoteFile
from memrepro.errors import MemreproError
from memrepro.files import atomic

BODY = bytes(range(256)) * 1000
OTHER = b"not what was asked for"


@dataclass
class Site:
    """A web server's behaviour, and what was asked of it."""

    body: bytes = BODY
    ranges: bool = True
    statuses: list[int] = field(default_factory=list)  # answered first, one a request
    cut_at: int = 0  # the first transfer stops after so many bytes
    asked: list[str] = field(default_factory=list)  # each request's Range header
    url: str = ""

    def answer(self, request):
        asked = request.headers.get("Range", "")
        self.asked.append(asked)
        if self.statuses:
            request.send_error(self.statuses.pop(0))
            return
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.ranges else 0
        if asked and self.ranges and start >= len(self.body):
            request.send_error(416)
            return
        rest = self.body[start:]
        request.send_response(206 if start else 200)
        if start:
            end, size = len(self.body) - 1, len(self.body)
            request.send_header("Content-Range", f"bytes {start}-{end}/{size}")
        request.send_header("Content-Length", str(len(rest)))
        request.end_headers()
        if self.cut_at:
            rest, self.cut_at = rest[: self.cut_at], 0
        request.wfile.write(rest)


@pytest.fixture
def site(monkeypatch):
    site = Site()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            site.answer(self)

        def log_message(self, format, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}/a.bin"
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(fetching, "PAUSE", 0.001)
    yield site
    server.shutdown()
    server.server_close()
    thread.join()


def remote(url, body=BODY):
    return RemoteFile("set/a.bin", url, hashlib.sha256(body).hexdigest(), len(body))


def get(file, folder, mirror=None):
    fetch(file, folder, licence="CC BY 4.0", mirror=mirror)
    return folder / file.path


def put(folder, body=BODY):
    path = folder / "set" / "a.bin"
    path.parent.mkdir(parents=True)
    path.write_bytes(body)
    return path


def refusal(file, folder, mirror=None):
    with pytest.raises(MemreproError) as error:
        get(file, folder, mirror)
    assert "\n" not in str(error.value)
    return str(error.value)


def left(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_file_is_downloaded_and_then_kept(site, tmp_path):
    assert get(remote(site.url), tmp_path) == tmp_path / "set" / "a.bin"
    assert (tmp_path / "set" / "a.bin").read_bytes() == BODY
    assert left(tmp_path) == ["a.bin"]
    get(remote(site.url), tmp_path)
    assert site.asked == [""]


@pytest.mark.parametrize(("ranges", "size"), [(True, 1234), (False, 1234), (True, len(BODY))])
def test_the_part_of_an_earlier_run_is_resumed(site, tmp_path, ranges, size):
    site.ranges = ranges
    put(tmp_path, BODY[:size]).rename(tmp_path / "set" / "a.bin.part")
    assert get(remote(site.url), tmp_path).read_bytes() == BODY
    assert site.asked == [f"bytes={size}-"]
    assert left(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("part", [OTHER, BODY + b"more"])
def test_a_part_that_is_wrong_is_started_over(site, tmp_path, part):
    put(tmp_path, part).rename(tmp_path / "set" / "a.bin.part")
    assert get(remote(site.url), tmp_path).read_bytes() == BODY
    assert site.asked == [f"bytes={len(part)}-", ""]


def test_a_wrong_sha256_is_refused_and_nothing_stays(site, tmp_path):
    site.body = OTHER
    said = refusal(remote(site.url), tmp_path)
    expected, found = (hashlib.sha256(body).hexdigest() for body in (BODY, OTHER))
    for part in ("set/a.bin", site.url, expected, found, f"{expected[:8]}…", f"{found[:8]}…"):
        assert part in said
    assert "run the same command again" in said
    assert left(tmp_path) == []
    site.body = BODY
    assert get(remote(site.url), tmp_path).read_bytes() == BODY
    assert site.asked == ["", ""]


def test_a_file_whose_sha256_nobody_confirms_is_shown_and_refused(site, tmp_path):
    file = replace(remote(site.url), sha256=None)
    said = refusal(file, tmp_path, put(tmp_path / "mirror").parents[1])
    assert said.count(f"sha256 {hashlib.sha256(BODY).hexdigest()}, which nobody confirms") == 2
    assert "None" not in said
    assert left(tmp_path) == left(tmp_path / "mirror")


def test_a_damaged_mirror_is_named_and_the_network_tried(site, tmp_path, caplog):
    copy = put(tmp_path / "mirror", OTHER)
    assert get(remote(site.url), tmp_path / "data", tmp_path / "mirror").read_bytes() == BODY
    assert str(copy) in caplog.text
    assert copy.read_bytes() == OTHER
    assert left(tmp_path / "data") == ["a.bin"]


PACKERS = {".xz": lzma.compress, ".gz": gzip.compress}


def put_packed(folder, suffix, packed, name="a.bin"):
    path = folder / "set" / f"{name}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed)
    return path


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_packed_copy_of_the_mirror_is_unpacked_once(site, tmp_path, suffix):
    mirror, file = tmp_path / "mirror", remote(site.url)
    packed = put_packed(mirror, suffix, PACKERS[suffix](BODY))
    assert get(file, tmp_path / "data", mirror).read_bytes() == BODY
    assert not site.asked
    packed.unlink()
    assert fetch(file, tmp_path / "data", licence="MIT", mirror=mirror) == "kept"
    assert left(tmp_path / "data") == ["a.bin"]


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda pack: pack(BODY)[:-20], "cannot be read"),
        (lambda pack: BODY, "cannot be read"),
        (lambda pack: pack(BODY[:-1] + b"!"), "has sha256"),
        (lambda pack: pack(BODY * 2), f"unpacks to more than {len(BODY)} bytes"),
    ],
)
def test_a_damaged_packed_copy_is_named_and_the_network_tried(
    site, tmp_path, caplog, suffix, spoil, said
):
    copy = put_packed(tmp_path / "mirror", suffix, spoil(PACKERS[suffix]))
    assert get(remote(site.url), tmp_path / "data", tmp_path / "mirror").read_bytes() == BODY
    assert f"the mirror's {copy} {said}" in caplog.text
    assert left(tmp_path / "data") == ["a.bin"]


def test_a_file_of_the_mirror_may_stand_in_anothers_place(site, tmp_path):
    """Its bytes take the place, under its own hash, and are right before each use."""
    stand_in = RemoteFile("set/b.bin", "", hashlib.sha256(OTHER).hexdigest(), len(OTHER))
    file = replace(remote(site.url), instead=(stand_in,))
    mirror, data = tmp_path / "mirror", tmp_path / "data"
    put_packed(mirror, ".xz", lzma.compress(OTHER), "b.bin")
    assert get(file, data, mirror).read_bytes() == OTHER
    assert (left(data), site.asked) == (["a.bin"], [])
    check_before_use(a_set(file), data)
    put(mirror / "whole")
    (data / "set" / "a.bin").unlink()
    assert get(file, data, mirror / "whole").read_bytes() == BODY
    check_before_use(a_set(file), data)


def closed_port():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as s:
        return f"http://127.0.0.1:{s.server_port}/a.bin"


def test_neither_mirror_nor_network(site, tmp_path):
    url = closed_port()
    said = refusal(remote(url), tmp_path)
    for part in ("set/a.bin", url, "MEMREPRO_MIRROR is not set", "CC BY 4.0"):
        assert part in said
    said = refusal(remote(url), tmp_path, tmp_path)
    assert f"the mirror {tmp_path} does not hold it" in said
    assert "it has no public address" in refusal(remote(""), tmp_path)
    assert left(tmp_path) == []


def test_a_changed_file_is_replaced_only_by_the_right_one(site, tmp_path, caplog):
    path = put(tmp_path, OTHER)
    site.statuses = [404]
    refusal(remote(site.url), tmp_path)
    assert path.read_bytes() == OTHER
    assert get(remote(site.url), tmp_path).read_bytes() == BODY
    assert "fetching it anew" in caplog.text


@pytest.mark.parametrize(
    ("number", "remedy"),
    [(errno.EROFS, "read-only"), (errno.EACCES, "read-only"), (errno.ENOSPC, "disk is full")],
)
def test_a_folder_that_cannot_be_written(site, tmp_path, monkeypatch, number, remedy):
    # Raised by hand, because root writes into a read-only folder.
    def refuse(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    put(tmp_path / "mirror")
    monkeypatch.setattr(Path, "replace", refuse)
    for mirror in (None, tmp_path / "mirror"):
        said = refusal(remote(site.url), tmp_path / "data", mirror)
        assert remedy in said
        assert str(tmp_path / "data" / "set" / "a.bin") in said
        assert "a.bin" not in left(tmp_path / "data")


def a_set(*files):
    return Registration("s", "s", "1", "s", "MIT", "s", "", files, compiled=False)


def test_a_tampered_or_missing_file_is_found_before_use(tmp_path):
    path = put(tmp_path)
    one = a_set(remote("http://127.0.0.1/a.bin"))
    check_before_use(one, tmp_path)
    path.write_bytes(BODY[:-1] + b"!")
    with pytest.raises(MemreproError, match="was changed after it was fetched") as error:
        check_before_use(one, tmp_path)
    assert atomic.sha256(path) in str(error.value)
    path.unlink()
    with pytest.raises(MemreproError, match="missing"):
        check_before_use(one, tmp_path)
