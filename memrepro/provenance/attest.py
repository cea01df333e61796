"""One JSON of a machine, its versions, its verdicts and its digests; and two of them compared."""

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_json, read_table
from memrepro.provenance import environment, tables, verify
from memrepro.provenance.places import is_evaluated
from memrepro.study.plan import PROFILES


class _Environment(BaseModel):
    packages: dict[str, str]


class _Digests(BaseModel):
    model_config = ConfigDict(strict=True)
    bytes: str
    values: str = ""
    unmeasured: str = ""


class _Attestation(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    environment: _Environment
    git: dict[str, Any]
    verdicts: dict[str, dict[str, dict[str, int]]]
    digests: dict[str, dict[str, _Digests]]


_ATTESTATION = TypeAdapter(_Attestation)
_PARTS = tuple(_Attestation.model_fields)
# Verdict-like states of a file, and whether two attestations with one disagree.
SAME_BYTES, SAME_VALUES, DIFFERS, BYTES, MEASURED, ONLY_FIRST, ONLY_SECOND = (
    "same bytes", "same values", "values differ", "other bytes, no values to compare",
    "a measurement of its machine", "only in the first", "only in the second",
)  # fmt: skip
_TIMES = ("time", "ratio")  # metrics of cells that depend on the machine
DISAGREE = (DIFFERS, ONLY_FIRST, ONLY_SECOND)


def attest() -> dict[str, Any]:
    """What this machine holds: `environment, git, verdicts, digests`; no time and no host."""
    profiles = list(filter(is_evaluated, PROFILES))
    return {
        "environment": environment.here(),
        "git": environment.git(),
        "verdicts": {p: verdicts(p) for p in profiles},
        "digests": {p: digests(p) for p in profiles},
    }


def verdicts(profile: str) -> dict[str, dict[str, int]]:
    """Paper → verdict → how many cells of its tables have it; '' is a cell that none is due to."""
    return {
        paper: dict(sorted(Counter(
            cell.verdict
            for table in tables.tables(profile, paper)
            for cell in tables.cells(profile, paper, table).values()
        ).items()))
        for paper in tables.papers(profile)
    }  # fmt: skip


def digests(profile: str) -> dict[str, dict[str, str]]:
    """`verify.manifest` of a profile: file → digest of its bytes, and of its rounded values.

    A file that is byte for byte as in the written manifest has the values that stand there, so
    that they are not computed again.
    """
    written, folder = paths.manifest(profile), paths.results(profile)
    known = verify.manifest_of(written.read_bytes()) if written.is_file() else None
    found = verify.manifest(profile, known)
    return {name: one | _unmeasured(folder / name) for name, one in found.items()}


def _unmeasured(path: Path) -> dict[str, str]:
    """The digest of a table's cells that are no measured time, where it has such a cell."""
    if not tables.is_tidy(path):
        return {}
    frame = read_table(path)
    timed = frame["metric"].isin(_TIMES)
    if not timed.any():
        return {}
    text = frame[~timed].to_csv(index=False)
    return {"unmeasured": hashlib.sha256(text.encode()).hexdigest()}


def read(path: Path) -> dict[str, Any]:
    """An attestation.

    Raises:
        MemreproError: if the file is missing, or is none.
    """
    found = read_json(path)
    try:
        _ATTESTATION.validate_python(found)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "it"
        raise MemreproError(
            f"{path} is no attestation: {place}: {first['msg'].lower()}; it must have exactly "
            f"{', '.join(_PARTS)}, as `memrepro attest --output` writes them"
        ) from error
    return dict(found)


def files(first: dict[str, Any], second: dict[str, Any]) -> pd.DataFrame:
    """`profile, file, state` of every file of either attestation.

    Latency, and cells made of it, belong to a machine and are not compared with another's.
    """
    rows = []
    for profile in _either(first["digests"], second["digests"]):
        here, there = (one["digests"].get(profile, {}) for one in (first, second))
        rows += [
            (profile, name, state(name, here.get(name), there.get(name)))
            for name in _either(here, there)
        ]
    return pd.DataFrame(rows, columns=["profile", "file", "state"])


def state(name: str, here: dict[str, str] | None, there: dict[str, str] | None) -> str:
    """How a file of two attestations stands."""
    if here is None or there is None:
        return ONLY_SECOND if here is None else ONLY_FIRST
    if here["bytes"] == there["bytes"]:
        return SAME_BYTES
    if name.startswith("latency/"):
        return MEASURED
    if "unmeasured" in here and here["unmeasured"] == there.get("unmeasured"):
        return MEASURED
    if "values" not in here or "values" not in there:
        return BYTES
    return SAME_VALUES if here["values"] == there["values"] else DIFFERS


def verdict_changes(first: dict[str, Any], second: dict[str, Any]) -> pd.DataFrame:
    """`profile, paper, verdict, first, second` where the counts of verdicts differ."""
    rows = []
    for profile in _either(first["verdicts"], second["verdicts"]):
        here, there = (one["verdicts"].get(profile, {}) for one in (first, second))
        for paper in _either(here, there):
            old, new = here.get(paper, {}), there.get(paper, {})
            rows += [
                (profile, paper, verdict, old.get(verdict, 0), new.get(verdict, 0))
                for verdict in _either(old, new)
                if old.get(verdict, 0) != new.get(verdict, 0)
            ]
    return pd.DataFrame(rows, columns=["profile", "paper", "verdict", "first", "second"])


def machines(first: dict[str, Any], second: dict[str, Any]) -> pd.DataFrame:
    """`what, first, second` of the environment and the commit, where they differ."""
    flat = [
        {**{k: v for k, v in one["environment"].items() if k != "packages"},
         **one["environment"]["packages"], **one["git"]}
        for one in (first, second)
    ]  # fmt: skip
    rows = [
        (name, str(flat[0].get(name, "-")), str(flat[1].get(name, "-")))
        for name in dict.fromkeys([*flat[0], *flat[1]])
        if flat[0].get(name) != flat[1].get(name)
    ]
    return pd.DataFrame(rows, columns=["what", "first", "second"])


def agree(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether no file's values differ, none is missing, and the verdicts are as many of each."""
    states = files(first, second)["state"]
    return not states.isin(DISAGREE).any() and verdict_changes(first, second).empty


def _either(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    return sorted({*first, *second})
