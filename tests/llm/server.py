"""A real HTTP endpoint in a thread that speaks chat completions, and fails where it is told to."""

import json
import sys
import threading
import time
from collections import defaultdict
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def said(text):
    """What the endpoint answers to a text, so that every answer can be told from every other."""
    return f"{len(text)} letters: {text[::-1]}"


def completion(text, prompt_tokens, answer_tokens, finish="stop"):
    return {
        "model": "served-model",
        "system_fingerprint": "fp_1",
        "choices": [
            {"message": {"role": "assistant", "content": text}, "finish_reason": finish, "index": 0}
        ],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": answer_tokens},
    }


class Server(ThreadingHTTPServer):
    """What was asked, and what is to go wrong.

    `faults[text]` is a list that the tries of a prompt take one by one: a dict with `status`,
    `body` (bytes), `headers`, or one of `half`, `drop` and `hang` (seconds).
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, seconds=0.0, key=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.seconds, self.key = seconds, key
        self.faults = defaultdict(list)
        self.always = None
        self.mistakes = []
        self.asked, self.times, self.heads = [], [], []
        self.most = self.running = 0
        self.lock = threading.Lock()

    def handle_error(self, request, client_address):
        """Clients that are killed, or time out, are part of the tests; all else is a mistake."""
        if not isinstance(sys.exception(), ConnectionError):
            self.mistakes.append(sys.exception())

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        """Nothing on stderr."""

    def do_POST(self):
        server = self.server
        size = int(self.headers["Content-Length"])
        data = self.rfile.read(size)
        if len(data) < size:
            raise ConnectionError("the client went away")
        body = json.loads(data)
        text = body["messages"][-1]["content"]
        with server.lock:
            server.asked.append(body)
            server.times.append(time.monotonic())
            server.heads.append(dict(self.headers))
            server.running += 1
            server.most = max(server.most, server.running)
            fault = server.faults[text].pop(0) if server.faults[text] else server.always
        try:
            time.sleep(server.seconds)
            self.respond(body, text, fault or {})
        finally:
            with server.lock:
                server.running -= 1

    def respond(self, body, text, fault):
        if self.path != "/v1/chat/completions":
            return self.send(404, b'{"error": {"message": "no such path"}}')
        if self.server.key and self.headers.get("Authorization") != f"Bearer {self.server.key}":
            got = self.headers.get("Authorization", "")
            refusal = {"error": {"message": f"Incorrect API key provided: {got}"}}
            return self.send(401, json.dumps(refusal).encode())
        if "hang" in fault:
            time.sleep(fault["hang"])
        if "drop" in fault:
            self.close_connection = True
            return None
        words = sum(len(m["content"].split()) for m in body["messages"])
        answer = json.dumps(completion(said(text), words, 7)).encode()
        answer = fault.get("body", answer)
        if "half" in fault:
            self.send(200, answer[: len(answer) // 2], length=len(answer))
            self.close_connection = True
            return None
        return self.send(fault.get("status", 200), answer, fault.get("headers", {}))

    def send(self, status, body, headers=(), length=None):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(length or len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving(**settings):
    with Server(**settings) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
        assert not server.mistakes
