"""The scratch checkout of a rehearsal: a clone whose registries and models lead to a server.

Nothing of it can reach the real results: it is another repository, without a remote, under its own
cache, and its results carry a mark.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from memrepro.data.fetch import MIRROR
from memrepro.encode.models import registry
from memrepro.errors import MemreproError
from memrepro.files import atomic
from memrepro.rehearse.registry import rewritten

MARK = "REHEARSAL.txt"
KEY, SECRET = "MEMREPRO_REHEARSAL_KEY", "rehearsed"  # the variable of the endpoint's key, and it
_STATE = "begun.json"
MODELS = Path(__file__).with_name("models.yaml")
_MARKED = "Numbers of a rehearsal: generated data and random models. Nothing here is a result.\n"


def clone(folder: Path) -> Path:
    """The last commit of this checkout, in `folder/checkout`; an earlier rehearsal's is replaced.

    Raises:
        MemreproError: if the folder holds something else, or git refuses.
    """
    checkout = folder / "checkout"
    if folder.exists() and any(folder.iterdir()):
        if not (folder / MARK).is_file():
            raise MemreproError(
                f"{folder} is not empty and no rehearsal's: name another folder, or empty it"
            )
        shutil.rmtree(folder)
    atomic.write_text(folder / MARK, _MARKED)
    for arguments in (
        ["clone", "--quiet", str(atomic.root()), str(checkout)],
        # So that nothing is pushed back.
        ["-C", str(checkout), "remote", "remove", "origin"],
    ):
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise MemreproError(f"git {arguments[0]} failed: {done.stderr.strip()[:200]}")
    # Tens of gigabytes of vectors need not lie there twice.
    atomic.write_text(checkout / ".dvc/config.local", "[cache]\n    type = hardlink,copy\n")
    # Without a lock no stage is taken for done.
    (checkout / "dvc.lock").unlink(missing_ok=True)
    for name in ("", "open", "full"):
        atomic.write_text(checkout / "results" / name / MARK, _MARKED)
    return checkout


def begun(folder: Path, scale: float, encoders: bool) -> int:
    """The port of a rehearsal in a folder that can go on; 0 where none has its data and models.

    It goes on if it is of this commit, this scale, and with or without encoders as this one.
    """
    kept = folder / _STATE
    if not kept.is_file():
        return 0
    found = atomic.read_json(kept)
    return int(found["port"]) if found | {"port": 0} == _state(scale, encoders) else 0


def begin(folder: Path, scale: float, encoders: bool, port: int) -> None:
    """Note that the data and models are whole, and where the server was that they are led to."""
    atomic.write_json(folder / _STATE, _state(scale, encoders) | {"port": port})


def _state(scale: float, encoders: bool) -> dict[str, Any]:
    shown = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=atomic.root(), capture_output=True, text=True, check=False
    )
    return {"commit": shown.stdout.strip(), "scale": scale, "encoders": encoders, "port": 0}


def uncommitted() -> list[str]:
    """What the last commit does not have, and so a clone neither."""
    shown = subprocess.run(
        ["git", "status", "--porcelain"], cwd=atomic.root(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    return shown.stdout.splitlines()


def rewire(checkout: Path, data: Path, models: Path, address: str, encoders: bool) -> None:
    """Lead the checkout's registries and language models to a server.

    Without encoders their dimensions stay the true ones, and their vectors become random.
    """
    for path, text in rewritten(data, models, address).items():
        atomic.write_text(checkout / "memrepro" / path, text)
    if not encoders:
        _without_encoders(checkout / "memrepro/encode")
    params = atomic.read_yaml(checkout / "params.yaml")
    endpoint = {"url": f"{address}/v1", "key_variable": KEY}
    for entry in params["models"].values():
        if "transformers" not in entry:
            entry |= {"live": True, "endpoint": endpoint}
    _add(params, atomic.read_yaml(MODELS))
    atomic.write_text(checkout / "params.yaml", yaml.safe_dump(params, sort_keys=False))


def led_to(checkout: Path, address: str) -> dict[str, dict[str, int]]:
    """Data set → path → bytes, of those that the checkout downloads from an address."""
    downloads = atomic.read_yaml(checkout / "memrepro/data/downloads.yaml")
    return {
        key: {one["folder"] + file["path"]: file["bytes"] for file in one["files"]}
        for key, one in downloads.items()
        if one.get("address", "").startswith(address)
    }


def _without_encoders(room: Path) -> None:
    cards = atomic.read_yaml(room / "encoders.yaml")
    for name, real in registry().items():
        cards[name] |= {"dimension": real.dimension, "truncate_to": real.truncate_to}
    atomic.write_text(room / "encoders.yaml", yaml.safe_dump(cards, sort_keys=False))
    instead = {
        "load.py": "random_encoder as load_encoder",
        "vectors.py": "drawn as stored, nothing_kept as fill",
    }
    for name, names in instead.items():
        text = (room / name).read_text(encoding="utf-8")
        line = f"from memrepro.rehearse.vectors import {names}"
        atomic.write_text(room / name, f"{text}\n\n{line}\n")


def _add(tree: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(tree.get(key), dict):
            _add(tree[key], value)
        else:
            tree[key] = value


def write_keys(checkout: Path, environment: Mapping[str, str]) -> None:
    """Write keys.yaml, as `memrepro repro` does first.

    Raises:
        MemreproError: with the sentence of a plan that is refused.
    """
    command = [sys.executable, "-m", "memrepro", "keys"]
    done = subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise MemreproError(f"the scratch checkout refuses its plan: {done.stderr.strip()}")


def environment(folder: Path, address: str) -> dict[str, str]:
    """What a stage of the scratch checkout runs under: no mirror, no cache but its own."""
    kept = {k: v for k, v in os.environ.items() if k not in (MIRROR, "PYTHONDONTWRITEBYTECODE")}
    return kept | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(folder / "checkout"),
        "PYTHONHASHSEED": "0",
        "MEMREPRO_CACHE": str(folder / "cache"),
        # The hub's own cache too: else a rehearsed model lay where a real one belongs.
        "HF_HOME": str(folder / "cache/hub"),
        "HF_HUB_CACHE": str(folder / "cache/hub/hub"),
        "HF_ENDPOINT": address,
        "HF_HUB_OFFLINE": "0",
        "NO_PROXY": "127.0.0.1,localhost",
        KEY: SECRET,
    }
