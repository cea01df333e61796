"""A language model's files as a pinned folder: by the digest of what is loaded, or from the hub."""

import hashlib
import json
import re
from pathlib import Path

from memrepro.data.fetch import mirror_folder
from memrepro.errors import MemreproError
from memrepro.files import atomic

# All that transformers loads; no pickle and no code.
_LOADED = (".json", ".safetensors", ".jinja", ".txt", ".model")
_FROM_HUB = ["*.json", "*.safetensors", "*.jinja", "merges.txt", "vocab.txt", "*.model"]


def folder_digest(folder: Path) -> str:
    """The hex SHA-256 of the names and SHA-256s of all files that can be loaded from a folder.

    Files of other kinds (a README, pickled weights, code) are never loaded, and do not count.

    Raises:
        MemreproError: if the folder has no safetensors weights or no config.json.
    """
    names = sorted(
        path.relative_to(folder).as_posix()
        for path in (folder.rglob("*") if folder.is_dir() else [])
        if path.is_file() and path.suffix in _LOADED and not path.name.startswith(".")
    )
    if "config.json" not in names or not any(n.endswith(".safetensors") for n in names):
        raise MemreproError(
            f"{folder} holds no language model: it must be a folder with a config.json and weights "
            "as safetensors (pickled ones are never loaded)"
        )
    parts = [[name, atomic.sha256(folder / name)] for name in names]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


def hub_folder(repository: str, commit: str) -> Path:
    """The folder of a hub model at a pinned commit: from the mirror, the hub's cache, or the hub.

    Args:
        repository: such as `Qwen/Qwen2.5-3B-Instruct`; in the mirror it is
            `models/<what follows the slash>`.
        commit: 40 hex digits.

    Raises:
        MemreproError: if the commit is not one, or the files cannot be had.
    """
    import huggingface_hub

    if not re.fullmatch("[0-9a-f]{40}", commit):
        raise MemreproError(
            f"the hub model {repository} was asked for at {commit!r}: it must be a commit of 40 "
            "hex digits, since a branch or a tag may move"
        )
    mirror = mirror_folder()
    inside = Path("models") / repository.rpartition("/")[2]
    if mirror and (mirror / inside).is_dir():
        return mirror / inside
    try:
        return Path(
            huggingface_hub.snapshot_download(repository, revision=commit, allow_patterns=_FROM_HUB)
        )
    # The hub's client raises errors of many families, its transport's own among them.
    except Exception as error:
        place = mirror / inside if mirror else Path("<MEMREPRO_MIRROR>") / inside
        raise MemreproError(
            f"the hub model {repository} at {commit} is neither in {place} nor could it be fetched "
            f"({type(error).__name__}): run once with access to the hub, or put its files there"
        ) from error
