"""One exchange with an endpoint: a body is sent, and a reply read within bounds.

Whatever a server or a proxy sends has an end: its bytes, packed and unpacked, and the time of the
whole exchange, its headers included.
"""

import ipaddress
import re
import socket
import threading
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.request import getproxies, proxy_bypass

import httpx

from memrepro.errors import MemreproError

MOST_BYTES = 1 << 24
_BEARER = "Bearer "
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")


class Unbounded(Exception):
    """A reply that is not taken; the text says why."""


class Reply(NamedTuple):
    """What came back, unpacked."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def open_client(url: str, key: str, connections: int, timeout: float) -> httpx.Client:
    """A client of an endpoint, by the environment's proxy unless the endpoint is this machine.

    Args:
        url: of the endpoint.
        key: to be sent; '' for none.
        connections: at once. Each request has its own, so that it can be ended (`post`).
        timeout: seconds without a byte after which an exchange has failed.

    Raises:
        MemreproError: if the environment names a proxy or certificates that cannot be used.
    """
    try:
        return httpx.Client(
            headers={
                "Accept-Encoding": "gzip",
                **({"Authorization": _BEARER + key} if key else {}),
            },
            timeout=timeout,
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=0),
            mounts={f"all://{_host(url)}": None} if _is_here(url) else None,
        )
    except (ValueError, ImportError, OSError, httpx.InvalidURL) as error:
        said = type(error).__name__  # its text may hold a proxy's password
        raise MemreproError(
            f"endpoint {url}: no client can be made ({said}) with the proxy {proxy_of(url) or '-'} "
            "and the certificates of the environment: check HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE"
        ) from None


def proxy_of(url: str) -> str:
    """The environment's proxy on the way to a url, without user and password; '' for none."""
    parts = httpx.URL(url)
    found = getproxies()
    proxy = found.get(parts.scheme) or found.get("all") or ""
    if not proxy or _is_here(url) or proxy_bypass(parts.host):
        return ""
    return proxy.rpartition("@")[2].rpartition("://")[2].strip("/")


def _host(url: str) -> str:
    host = httpx.URL(url).host
    return f"[{host}]" if ":" in host else host


def _is_here(url: str) -> bool:
    host = httpx.URL(url).host.rstrip(".")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def post(client: httpx.Client, url: str, body: Any, longest: float) -> Reply:
    """Send a body as JSON and read the reply, whatever its status.

    Raises:
        httpx.RequestError: if the connection fails.
        Unbounded: if the reply has more than `MOST_BYTES` or an unknown packing, or takes more than
            `longest` seconds.
    """
    sockets: list[socket.socket] = []

    def note(event: str, info: Mapping[str, Any]) -> None:
        stream = info.get("return_value")  # a connection is made, as it is or under TLS
        if hasattr(stream, "get_extra_info"):
            sockets.append(stream.get_extra_info("socket"))

    late = threading.Event()

    def end() -> None:
        late.set()
        for one in sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:  # closed, or wrapped in another one
                continue

    timer = threading.Timer(longest, end)
    timer.daemon = True
    timer.start()
    try:
        with client.stream("POST", url, json=body, extensions={"trace": note}) as response:
            blocks, size = [], 0
            for block in response.iter_raw():
                blocks.append(block)
                size += len(block)
                if size > MOST_BYTES:
                    raise Unbounded(f"a reply of more than {MOST_BYTES:,} bytes")
        if late.is_set():  # the end of the connection may look like the end of the reply
            raise Unbounded("")
        packing = response.headers.get("Content-Encoding", "").strip().lower()
        return Reply(response.status_code, response.headers, _unpacked(packing, b"".join(blocks)))
    except (httpx.RequestError, Unbounded):
        if late.is_set():
            raise Unbounded(f"a reply that did not end in {longest:g} s") from None
        raise
    finally:
        timer.cancel()


def _unpacked(packing: str, body: bytes) -> bytes:
    if packing in ("", "identity"):
        return body
    if packing not in ("gzip", "x-gzip", "deflate"):
        raise Unbounded("a reply packed in a way that was not asked for")
    try:
        unpacked = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(body, MOST_BYTES + 1)
    except zlib.error as error:
        raise Unbounded(f"a reply that cannot be unpacked ({error})") from None
    if len(unpacked) > MOST_BYTES:
        raise Unbounded(f"a reply of more than {MOST_BYTES:,} bytes, unpacked")
    return unpacked


def key_of(client: httpx.Client) -> str:
    """The key that a client sends; '' for none."""
    return str(client.headers.get("Authorization", "")).removeprefix(_BEARER)


def without_key(text: str, key: str, name: str | None) -> str:
    """A foreign text with the key, escaped as in JSON or not, replaced by its variable's name."""
    if not key:
        return text
    plain = _ESCAPED.sub(lambda escape: chr(int(escape[1], 16)), text)
    return (plain if key in plain else text).replace(key, f"<{name}>")
