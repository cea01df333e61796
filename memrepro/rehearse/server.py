"""A server on the loopback address: a data host, a model hub and a chat endpoint, with faults.

It speaks what this project's own download code and clients speak: ranges and ETags, the hub's tree
and its two-step `resolve`, chat completions. What goes wrong is planned by address or by prompt.
"""

import hashlib
import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from memrepro.errors import MemreproError

CHAT, DATA, ELSEWHERE = "/v1/chat/completions", "/data/", "/elsewhere"
_LARGE = ".safetensors"  # what a hub keeps on another host, as it does all that git LFS holds
_BLOCK = 1 << 18

# Messages and the most tokens of an answer → the answer.
Reply = Callable[[list[dict[str, str]]], str]


class Fault(NamedTuple):
    """What goes wrong with one request.

    Attributes:
        status: of the answer, in place of the right one; 0 for none.
        body: in place of the right one.
        headers: further ones.
        seconds: of silence first.
        rate: bytes a second, or 0 for as fast as it goes.
        half: the connection closes in the middle of the body.
        drop: it closes before the answer.
    """

    status: int = 0
    body: bytes | None = None
    headers: Mapping[str, str] = {}
    seconds: float = 0.0
    rate: int = 0
    half: bool = False
    drop: bool = False


def moved(path: str) -> Fault:
    """A redirect to where the same bytes lie."""
    return Fault(302, b"", {"Location": ELSEWHERE + path})


class Sent(NamedTuple):
    """A status, a body (bytes, or a file from some byte on) and headers."""

    status: int
    body: bytes | tuple[Path, int] = b""
    headers: Mapping[str, str] = {}

    @property
    def size(self) -> int:
        """The bytes of the body."""
        if isinstance(self.body, bytes):
            return len(self.body)
        return self.body[0].stat().st_size - self.body[1]

    def blocks(self, most: int) -> Iterator[bytes]:
        """The body, at most so many bytes of it."""
        if isinstance(self.body, bytes):
            yield self.body[:most]
            return
        path, start = self.body
        with path.open("rb") as file:
            file.seek(start)
            while most > 0 and (block := file.read(min(_BLOCK, most))):
                yield block
                most -= len(block)


class Hosted(NamedTuple):
    """A commit of a repository of the hub, and the folder that holds its files."""

    repository: str
    commit: str
    folder: Path


@dataclass
class Content:
    """What a server holds.

    Attributes:
        data: the folder behind `/data/`.
        hub: what the model hub has.
        reply: what the endpoint says.
        key: that the endpoint asks for; '' for none.
        token: that the hub asks for; '' for none.
    """

    data: Path | None = None
    hub: tuple[Hosted, ...] = ()
    reply: Reply = field(default=lambda messages: messages[-1]["content"])
    key: str = ""
    token: str = ""


class Loopback(ThreadingHTTPServer):
    """The server, what it was asked, and what is to go wrong.

    Attributes:
        faults: path of a file, or text of a prompt's last message → what its requests meet, one
            after the other; then all is well.
        always: what every request meets that has no fault of its own.
        seconds: that each prompt takes.
        fetched: method, path and Range header of each request for a file.
        keeps: whether prompts are kept, which are gigabytes where whole histories are asked about.
        asked: the body of each prompt; `heads` its headers, `times` when it came.
        most: how many prompts ran at once.
        mistakes: errors of its own.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, content: Content, seconds: float = 0.0, port: int = 0) -> None:
        """Bind to a port of 127.0.0.1; 0: a free one.

        Raises:
            MemreproError: if the port is taken.
        """
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise MemreproError(
                f"port {port} of 127.0.0.1 cannot be had ({error.strerror}): end what listens there"
            ) from error
        self.content, self.seconds = content, seconds
        self.faults: defaultdict[str, list[Fault]] = defaultdict(list)
        self.always = Fault()
        self.fetched: list[tuple[str, str, str]] = []
        self.keeps = True
        self.asked: list[dict[str, Any]] = []
        self.heads: list[dict[str, str]] = []
        self.times: list[float] = []
        self.mistakes: list[BaseException | None] = []
        self.most = self.running = 0
        self.lock = threading.Lock()

    @property
    def address(self) -> str:
        """Such as `http://127.0.0.1:40001`: the hub's, below which the others lie."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def url(self) -> str:
        """The chat endpoint's base."""
        return f"{self.address}/v1"

    def fault(self, where: str) -> Fault:
        """What the next request for this meets."""
        with self.lock:
            return self.faults[where].pop(0) if self.faults[where] else self.always

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that are killed, or time out, are part of it; all else is a mistake."""
        if not isinstance(sys.exception(), ConnectionError):
            self.mistakes.append(sys.exception())


@contextmanager
def serving(content: Content, seconds: float = 0.0, port: int = 0) -> Iterator[Loopback]:
    """A server in a thread of its own, until the block ends."""
    with Loopback(content, seconds, port) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def completion(text: str, prompt_tokens: int, answer_tokens: int, finish: str = "stop") -> Any:
    """The body of a chat completion."""
    message = {"role": "assistant", "content": text}
    return {
        "model": "served-model",
        "system_fingerprint": "fp_1",
        "choices": [{"message": message, "finish_reason": finish, "index": 0}],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": answer_tokens},
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Loopback

    def log_message(self, *args: Any) -> None:
        """Nothing on stderr."""

    def do_POST(self) -> None:
        server, size = self.server, int(self.headers["Content-Length"])
        data = self.rfile.read(size)
        if len(data) < size:
            raise ConnectionError("the client went away")
        body = json.loads(data)
        with server.lock:
            if server.keeps:
                server.asked.append(body)
                server.times.append(time.monotonic())
                server.heads.append(dict(self.headers))
            server.running += 1
            server.most = max(server.most, server.running)
        fault = server.fault(body["messages"][-1]["content"])
        try:
            time.sleep(server.seconds)
            said = self._completion(body)
        finally:
            # Before the answer leaves: who has it may ask again at once.
            with server.lock:
                server.running -= 1
        self._send(said, fault)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path, asked = unquote(urlsplit(self.path).path), self.headers.get("Range", "")
        with self.server.lock:
            self.server.fetched.append((self.command, path, asked))
        fault, data = self.server.fault(path), self.server.content.data
        place = path.removeprefix(ELSEWHERE)
        if place.startswith(DATA) and data is not None:
            sent = _of_file(data / place.removeprefix(DATA), asked)
        else:
            sent = self._of_hub(place, asked, resolved=path != place)
        self._send(sent, fault)

    def _completion(self, body: Mapping[str, Any]) -> Sent:
        """What the endpoint says; its tokens are words."""
        content, got = self.server.content, self.headers.get("Authorization", "")
        if self.path != CHAT:
            return Sent(404, b'{"error": {"message": "no such path"}}')
        if content.key and got != f"Bearer {content.key}":
            refusal = {"error": {"message": f"Incorrect API key provided: {got}"}}
            return Sent(401, json.dumps(refusal).encode())
        words = content.reply(body["messages"]).split(" ")
        kept = words[: body.get("max_tokens", len(words))]
        prompt = sum(len(message["content"].split()) for message in body["messages"])
        finish = "stop" if len(kept) == len(words) else "length"
        return Sent(200, json.dumps(completion(" ".join(kept), prompt, len(kept), finish)).encode())

    def _of_hub(self, path: str, asked: str, *, resolved: bool) -> Sent:
        """A commit's tree, or a file: a large one by way of a redirect to where it lies."""
        content = self.server.content
        if path == "/":
            return Sent(200)
        bearer = self.headers.get("Authorization", "")
        if content.token and bearer != f"Bearer {content.token}" and not resolved:
            return Sent(401, headers={"X-Error-Code": "GatedRepo"})
        why = "RepoNotFound"
        for one in content.hub:
            if path == f"/api/models/{one.repository}/tree/{one.commit}":
                return Sent(200, json.dumps(_tree(one.folder)).encode())
            name = path.removeprefix(f"/{one.repository}/resolve/{one.commit}/")
            file, commit = one.folder / name, {"X-Repo-Commit": one.commit}
            if name != path and name.endswith(_LARGE) and file.is_file() and not resolved:
                linked = {"X-Linked-ETag": _etag(file), "X-Linked-Size": str(file.stat().st_size)}
                # Another name, so that the client takes it for another host.
                there = self.server.address.replace("127.0.0.1", "localhost") + ELSEWHERE + path
                return Sent(302, b"", {**commit, **linked, "Location": there})
            if name != path:
                return _of_file(file, asked, commit)
            if f"/{one.repository}/" in path:
                why = "RevisionNotFound"
        return Sent(404, headers={"X-Error-Code": why})

    def _send(self, right: Sent, fault: Fault) -> None:
        """The right answer, but for the fault."""
        time.sleep(fault.seconds)
        if fault.drop:
            self.close_connection = True
            return
        sent = Sent(
            fault.status or right.status,
            right.body if fault.body is None else fault.body,
            {**right.headers, **fault.headers},
        )
        self.send_response(sent.status)
        for name, value in sent.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(sent.size))
        self.end_headers()
        if self.command == "HEAD":
            return
        for block in sent.blocks(sent.size // 2 if fault.half else sent.size):
            self.wfile.write(block)
            if fault.rate:
                time.sleep(len(block) / fault.rate)
        self.close_connection = self.close_connection or fault.half


def _of_file(file: Path, asked: str, headers: Mapping[str, str] = {}) -> Sent:
    """A file, or what of it a Range of the form `bytes=N-` asks for."""
    if not file.is_file():
        return Sent(404, headers={"X-Error-Code": "EntryNotFound"})
    size, start = file.stat().st_size, int(asked.removeprefix("bytes=").rstrip("-") or 0)
    if asked and start >= size:
        return Sent(416)
    headers = {**headers, "ETag": _etag(file)}
    if asked:
        headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
    return Sent(206 if asked else 200, (file, start), headers)


@lru_cache(maxsize=4096)
def _etag(file: Path) -> str:
    with file.open("rb") as opened:
        return f'"{hashlib.file_digest(opened, "sha256").hexdigest()}"'


def _tree(folder: Path) -> list[dict[str, Any]]:
    """A folder as the hub's API lists a commit."""
    return [
        {
            "type": "file",
            "path": path.relative_to(folder).as_posix(),
            "size": path.stat().st_size,
            "oid": _etag(path)[1:41],
        }
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]
