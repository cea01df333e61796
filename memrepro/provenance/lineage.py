"""What dvc.lock says of how a file was made: stages, their commands, and hashes of all they read.

DVC's hashes are MD5; of a folder it is that of the list of its files. They are what `dvc status`
compares, so that a reader can check them with DVC alone.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from memrepro.encode.models import registry
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_json, read_yaml, root, sha256
from memrepro.files.cached import until_changed
from memrepro.provenance.places import Place, entry, profiles_of, run_file, variant
from memrepro.study import causes
from memrepro.study.params import params_tree
from memrepro.study.plan import PROFILES

Stage = Mapping[str, Any]
# Where a dependency lies → what it is.
_GROUPS = {
    "data/raw": "data", "data/prepared": "data", "data/extracted": "data", "results": "data",
    "data/vectors": "vectors", "memrepro": "code", "notebooks": "code",
}  # fmt: skip


def stages() -> Mapping[str, Stage]:
    """dvc.lock: stage → `cmd, deps, params, outs`; empty where there is none.

    Raises:
        MemreproError: if the file says no stages.
    """
    path = root() / "dvc.lock"
    return _stages(path) if path.is_file() else {}


@until_changed(2)
def _stages(lock: Path) -> Mapping[str, Stage]:
    found = read_yaml(lock)
    of = found.get("stages") if isinstance(found, Mapping) else None
    if not isinstance(of, Mapping) or not all(isinstance(one, Mapping) for one in of.values()):
        raise MemreproError(f"{lock} names no stages: run `git checkout -- {lock.name}`")
    return of


def maker(path: str) -> str:
    """The stage that made a file, or the folder that holds it; '' if dvc.lock has none."""
    lock = root() / "dvc.lock"
    return _maker(lock, path) if lock.is_file() else ""


@until_changed(2048)
def _maker(lock: Path, path: str) -> str:
    return causes.maker(_stages(lock), path)


def upstream(stage: str) -> list[str]:
    """A stage and all before it, each after those that it depends on; none of no stage."""
    return list(_upstream(root() / "dvc.lock", stage)) if stage else []


@until_changed(512)
def _upstream(lock: Path, stage: str) -> tuple[str, ...]:
    return tuple(causes.upstream(_stages(lock), stage))


def run_path(place: Place) -> str:
    """The file of a place's run, relative to the repository."""
    return run_file(place.experiment).relative_to(root()).as_posix()


def path_of(profile: str, path: str) -> str:
    """The path in the repository of a table below a profile's results, or those it stands on."""
    found = [paths.results(one) / path for one in (profile, *profiles_of(profile))]
    file = next((one for one in found if one.is_file()), found[0])
    return file.relative_to(root()).as_posix()


def recorded_file(profile: str, path: str) -> dict[str, str]:
    """`path, stage, as_recorded` of such a table."""
    name = path_of(profile, path)
    return {"path": name, "stage": maker(name), "as_recorded": state(name)}


def made_by(place: Place) -> list[str]:
    """The stages behind a place's run, from the download on; none if dvc.lock has no such run."""
    return upstream(maker(run_path(place)))


def evaluated_by(place: Place) -> str:
    """The stage that evaluated a place; '' if dvc.lock has none.

    It reads every run of its profile, whose stages are not this number's.
    """
    return maker(paths.protocols(entry(place.experiment).profile).relative_to(root()).as_posix())


def commands(names: list[str]) -> list[dict[str, str]]:
    """`stage, command, through_dvc` of stages."""
    return [
        {"stage": name, "command": _command(stages()[name]["cmd"]),
         "through_dvc": f"dvc repro --single-item {name}"}
        for name in names
    ]  # fmt: skip


def _command(written: str | list[str]) -> str:
    """A stage's command as one line; a stage may have several."""
    several = [written] if isinstance(written, str) else written
    return " && ".join(" ".join(one.split()) for one in several)


def hashes(names: list[str]) -> dict[str, dict[str, str]]:
    """'data', 'vectors', 'code', 'parameters' and 'outputs' of stages: path → MD5.

    They are dvc.lock's; of parameters, which it has in full, that of their JSON with sorted keys.
    """
    groups = ("data", "vectors", "code", "parameters", "outputs")
    found: dict[str, dict[str, str]] = {group: {} for group in groups}
    for name in names:
        for group, path, digest in _files(name):
            found[group][path] = digest
    return {group: dict(sorted(files.items())) for group, files in found.items()}


def _files(stage: str) -> Iterator[tuple[str, str, str]]:
    for dependency in stages()[stage].get("deps", ()):
        path = dependency["path"]
        group = next((g for start, g in _GROUPS.items() if path.startswith(start)), "data")
        yield group, path, dependency["md5"]
    for file, asked in stages()[stage].get("params", {}).items():
        for name, value in asked.items():
            text = json.dumps(value, sort_keys=True, ensure_ascii=False)
            digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
            yield "parameters", f"{file}:{name}", digest
    for out in stages()[stage].get("outs", ()):
        if not out["path"].startswith("build/"):  # executed notebooks
            yield "outputs", out["path"], out["md5"]


def parameters(place: Place) -> dict[str, Any]:
    """What a place's run was asked for: the entry of params.yaml at its setting, in full."""
    one = variant(place)
    keys = ("dataset", "granularity", "key_scheme", "encoder", "method", "retriever", "ranges")
    shown: dict[str, Any] = {key: value for key in keys if (value := getattr(one, key))}
    if one.dates:
        shown["dates"] = list(one.dates)
    return {**shown, "parameters": dict(one.parameters)}


def parameters_hold(place: Place) -> bool | None:
    """Whether params.yaml still has what dvc.lock recorded for the run; None where it has none."""
    stage = maker(run_path(place))
    if not stage:
        return None
    for name, recorded in stages()[stage].get("params", {}).get("params.yaml", {}).items():
        now = params_tree()
        for key in name.split("."):
            now = now.get(key, {}) if isinstance(now, dict) else {}
        if now != _read_by_dvc(recorded):
            return False
    return True


def _read_by_dvc(value: Any) -> Any:
    """A value of dvc.lock as DVC has written it: 1e-05, which PyYAML takes for a text."""
    if isinstance(value, dict):
        return {name: _read_by_dvc(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_read_by_dvc(one) for one in value]
    is_number = isinstance(value, str) and re.fullmatch(r"-?\d+e[-+]?\d+", value)
    return float(value) if is_number else value


def model(encoder: str) -> dict[str, Any]:
    """An encoder's model: name, revision, and SHA-256 of each file; empty without an encoder."""
    if not encoder:
        return {}
    card = registry()[encoder]
    return {
        "encoder": encoder, "revision": card.revision, "licence": card.licence,
        "sha256": dict(card.files),
    }  # fmt: skip


def state(path: str) -> str:
    """How a file stands to dvc.lock: 'as recorded', 'changed since', 'missing' or 'not recorded'.

    DVC records a folder as a whole. Where it has changed, the digest of the file alone decides, as
    the manifest of `verify` has it.
    """
    stage = maker(path)
    if not stage:
        return "not recorded"
    out = next(o for o in stages()[stage]["outs"] if causes.holds([o], path))
    found = root() / out["path"]
    if not (root() / path).is_file():
        return "missing"
    same = is_as_recorded(out) or (found.is_dir() and _is_in_manifest(root() / path))
    return "as recorded" if same else "changed since"


def is_as_recorded(out: Mapping[str, Any]) -> bool:
    """Whether a stage's output, a file or a whole folder, has the hash that dvc.lock has for it."""
    path = root() / out["path"]
    return path.exists() and dvc_hash(path) == str(out["md5"])


def dvc_hash(path: Path) -> str:
    """DVC's hash of a file, or of a folder: that of the JSON list of its files' hashes."""
    files = [path] if path.is_file() else sorted(filter(_counts, path.rglob("*")))
    return _digest(path, tuple((file, file.stat().st_mtime_ns) for file in files))


def _is_in_manifest(path: Path) -> bool:
    """Whether a result file has the bytes that its profile's manifest lists."""
    for profile in PROFILES:
        folder, listed = paths.results(profile), paths.manifest(profile)
        if path.is_relative_to(folder) and listed.is_file():
            entry = _manifest(listed).get(path.relative_to(folder).as_posix(), {})
            return bool(entry) and entry["bytes"] == sha256(path)
    return False


_manifest = until_changed(4)(read_json)


def _counts(path: Path) -> bool:
    """Whether DVC counts a file of a folder: not what `.dvcignore` names."""
    return path.is_file() and not is_left_over(path)


def is_left_over(path: Path) -> bool:
    """Whether a file is what JupyterLab leaves where it opens a notebook, or a killed writer."""
    half = path.name.startswith(".") and path.name.endswith(".part")
    return half or ".ipynb_checkpoints" in path.parts


@lru_cache(maxsize=256)
def _digest(path: Path, files: tuple[tuple[Path, int], ...]) -> str:
    md5 = {file: hashlib.md5(file.read_bytes(), usedforsecurity=False) for file, _ in files}
    if path.is_file():
        return md5[path].hexdigest()
    # As text, where "a-b/c" stands before "a/c".
    listed = sorted((f.relative_to(path).as_posix(), one.hexdigest()) for f, one in md5.items())
    entries = [{"md5": digest, "relpath": name} for name, digest in listed]
    whole = hashlib.md5(json.dumps(entries, sort_keys=True).encode(), usedforsecurity=False)
    return f"{whole.hexdigest()}.dir"
