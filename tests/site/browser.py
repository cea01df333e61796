"""A headless Chromium by its own protocol: opens pages, runs scripts, tells what went wrong."""

import base64
import json
import shutil
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from websocket import create_connection

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)  # fmt: skip


class Browser:
    """One tab; `problems` are its errors and warnings, `asked` the addresses that it loaded.

    What a page's own policy kept it from loading is not among them.
    """

    def __init__(self) -> None:
        self._home = TemporaryDirectory(ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [CHROMIUM, *_FLAGS, f"--user-data-dir={self._home.name}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        port = Path(self._home.name) / "DevToolsActivePort"
        for _ in range(300):
            if port.is_file() and len(lines := port.read_text().splitlines()) == 2:
                break
            time.sleep(0.1)
        self._socket = create_connection(f"ws://127.0.0.1:{lines[0]}{lines[1]}", timeout=300)
        self._number = 0
        self._session = ""
        self.problems: list[str] = []
        self.asked: list[str] = []
        self._requests: dict[str, str] = {}
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        found = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(timeout=120)
        self._home.cleanup()

    def _call(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        name, values = event.get("method", ""), event.get("params", {})
        if name == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(values["exceptionDetails"])[:600])
        elif name == "Runtime.consoleAPICalled" and values["type"] in (
            "error",
            "warning",
            "assert",
        ):
            self.problems.append(json.dumps(values["args"])[:600])
        elif name == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            self.problems.append(values["entry"]["text"] + " " + values["entry"].get("url", ""))
        elif name == "Network.requestWillBeSent":
            self.asked.append(values["request"]["url"])
            self._requests[values["requestId"]] = self.asked[-1]
        elif name == "Network.loadingFailed" and values.get("blockedReason") == "csp":
            self.asked.remove(self._requests[values["requestId"]])

    def open(self, address: str, width: int = 1300, height: int = 900, dark: bool = False) -> None:
        """Open an address and wait until it has loaded."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Page.navigate", url="about:blank")  # a new hash alone would load nothing
        self._call("Page.navigate", url=address)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, script: str) -> Any:
        """The value of an expression on the page; an exception of it is an error here."""
        found = self._call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, script: str, seconds: float = 300) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(script):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.05)

    def press(self, key: str) -> None:
        """Press and let go of a key, such as 'Tab' or 'Enter'."""
        codes = {"Tab": 9, "Enter": 13, " ": 32}
        text = {"Enter": "\r", " ": " "}.get(key, "")
        for kind in ("keyDown", "keyUp"):
            self._call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key,
                windowsVirtualKeyCode=codes[key], text=text if kind == "keyDown" else "",
            )  # fmt: skip

    def picture(self, path: Path, whole: bool = False) -> None:
        """Write what is seen, or the whole page, as a png."""
        found = self._call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def printed(self, path: Path) -> None:
        """Write the page as it is printed, as a pdf."""
        found = self._call("Page.printToPDF", preferCSSPageSize=True)
        path.write_bytes(base64.b64decode(found["data"]))
