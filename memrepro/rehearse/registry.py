"""The registries of data sets and encoders, rewritten to name rehearsed files."""

import hashlib
import json
from pathlib import Path
from typing import Any

import yaml

from memrepro.data.registry import DOWNLOADS
from memrepro.encode import models
from memrepro.files import atomic
from memrepro.files.machine import computes_in_bfloat16

ENCODERS = Path(models.__file__).with_name("encoders.yaml")


def rewritten(data: Path, models: Path, address: str) -> dict[str, str]:
    """The registries' texts by their path in the package, such as `data/downloads.yaml`.

    A data set whose files all lie below `data` has their sha256 and sizes, and the address
    `<address>/data/<folder>`. An encoder with a folder below `models` has its files' sha256, a
    revision made of them (so that no vector of it is ever taken for a real one), the dimension of
    its weights where a real head does not decide it, and the hub as its source: HF_ENDPOINT says
    where that is, and repositories keep their names. On a processor without
    bfloat16 it computes in float32. Every other entry is as it was.

    Args:
        data: where `data.write_data` wrote.
        models: where `models.write_models` wrote.
        address: of the server, such as `http://127.0.0.1:8000`, without a slash at its end.
    """
    downloads = atomic.read_yaml(DOWNLOADS)
    for entry in downloads.values():
        paths = [data / (entry["folder"] + file["path"]) for file in entry.get("files", ())]
        if paths and all(path.is_file() for path in paths):
            entry["address"] = f"{address}/data/{entry['folder']}"
            entry["files"] = [
                {"path": file["path"], "sha256": atomic.sha256(path), "bytes": path.stat().st_size}
                for file, path in zip(entry["files"], paths, strict=True)
            ]
    encoders = atomic.read_yaml(ENCODERS)
    for name, entry in encoders.items():
        if (models / name).is_dir():
            entry |= _encoder(name, entry, models / name)
            if entry.get("dtype") == "bfloat16" and not computes_in_bfloat16():
                entry["dtype"] = "float32"
    texts = {"data/downloads.yaml": downloads, "encode/encoders.yaml": encoders}
    return {path: yaml.safe_dump(text, sort_keys=False) for path, text in texts.items()}


def _encoder(name: str, entry: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What an encoder's entry says otherwise."""
    files = {path: atomic.sha256(folder / path) for path in entry["files"]}
    revision = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:40]
    repository = entry["source"].get("repository", f"sentence-transformers/{name}")
    changed = {
        "source": {"kind": "hub", "repository": repository},
        "revision": revision,
        "files": files,
    }
    if "head" in entry:
        return changed
    dimension = atomic.read_json(folder / "config.json")["hidden_size"]
    if "truncate_to" in entry:
        return changed | {"dimension": dimension // 2, "truncate_to": dimension // 2}
    return changed | {"dimension": dimension}
