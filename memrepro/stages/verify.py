"""verify: all tables of a profile computed again from its rankings, against the committed ones."""

import hashlib
import importlib
import io
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro import paths
from memrepro.audit.verdicts import ORDER
from memrepro.errors import MemreproError
from memrepro.experiment import load_plan
from memrepro.report.tables import DIGITS
from memrepro.stages.done import Done
from memrepro.stages.evaluate import evaluate_profile
from memrepro.store import read_json, read_table, root, sha256, write_json

_KEY = ["row", "column", "metric"]
_VALUES = [".csv", ".parquet"]


def values_digest(path: Path) -> str:
    """The digest of a table's values, numbers rounded to the digits that tables show.

    It stays the same where only float noise or the file format's bytes differ.
    """
    table = read_table(path)
    numbers = table.select_dtypes("number").columns
    table[numbers] = table[numbers].astype(float).round(DIGITS) + 0.0  # no negative zero
    return hashlib.sha256(table.to_csv(index=False).encode()).hexdigest()


def manifest(profile: str) -> dict[str, dict[str, str]]:
    """Both digests of every result file of a profile: of its bytes, and of its rounded values."""
    folder = paths.results(profile)
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p != paths.manifest(profile))
    return {
        path.relative_to(folder).as_posix(): {"bytes": sha256(path)}
        | ({"values": values_digest(path)} if path.suffix in _VALUES else {})
        for path in files
        if not path.name.startswith(".")
    }


def committed(path: Path) -> bytes | None:
    """A file as git's last commit has it, or None where there is none (or no git)."""
    name = path.relative_to(root()).as_posix()
    try:
        shown = subprocess.run(
            ["git", "show", f"HEAD:{name}"], cwd=root(), capture_output=True, check=False
        )
    except FileNotFoundError:
        return None
    return shown.stdout if shown.returncode == 0 else None


def check_recomputed(profile: str) -> int:
    """Compute metrics and tables again from the rankings; every file must come out the same.

    Returns:
        How many tables and figures were compared.

    Raises:
        MemreproError: naming the first file that does not come out the same.
    """
    plan = load_plan()
    metrics, ledger = evaluate_profile(profile, plan)
    pairs = [(metrics, paths.metrics(profile)), (ledger.astype(str), paths.exclusions(profile))]
    for again, path in pairs:
        try:
            pd.testing.assert_frame_equal(again, read_table(path), check_dtype=False)
        except AssertionError as error:
            raise MemreproError(
                f"{path} does not follow from the rankings ({str(error).splitlines()[0]}): "
                "it was edited, or is older than them; run `dvc repro` again"
            ) from error
    compared = 0
    for report in plan.reports.values():
        if report.profile != profile:
            continue
        with tempfile.TemporaryDirectory() as name:
            module = importlib.import_module(f"memrepro.report.{report.paper}")
            for again in module.build(profile, Path(name)):
                kept = paths.results(profile) / report.paper / again.name
                if again.suffix == ".csv" and values_digest(again) != values_digest(kept):
                    raise MemreproError(
                        f"{kept} does not follow from the rankings: it was edited, or is older "
                        "than them; run `dvc repro` again"
                    )
                compared += 1
    return compared


def changes(table: pd.DataFrame, before: pd.DataFrame) -> pd.DataFrame:
    """Cells of a tidy table whose value or verdict differs from before, and whether it is worse."""
    both = before.merge(table, on=_KEY, how="outer", suffixes=(" before", " now")).fillna("")
    differs = (both["reproduced before"] != both["reproduced now"]) | (
        both["verdict before"] != both["verdict now"]
    )
    changed = both.loc[
        differs, [*_KEY, "reproduced before", "reproduced now", "verdict before", "verdict now"]
    ].copy()
    place = {label: index for index, label in enumerate(ORDER)} | {"": len(ORDER)}
    changed["worse"] = [
        place[now] > place[then]
        for then, now in zip(changed["verdict before"], changed["verdict now"], strict=True)
    ]
    return changed


def compare_with_committed(profile: str) -> pd.DataFrame:
    """All changed cells of a profile's tables against the last commit, with the table's name."""
    found = []
    for path in sorted(paths.results(profile).glob("*/*.csv")):
        table, then = read_table(path), committed(path)
        if then is None or "verdict" not in table:
            continue
        before = pd.read_csv(io.BytesIO(then), dtype=str, keep_default_na=False)
        changed = changes(table, before)
        changed.insert(0, "table", f"{path.parent.name}/{path.name}")
        found.append(changed)
    columns = ["table", *_KEY, "reproduced before", "reproduced now", "worse"]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=columns)


def file_states(now: dict[str, Any], before: dict[str, Any] | None) -> pd.DataFrame:
    """How many files are the same in bytes, the same in values, changed, new or gone."""
    states = []
    for name in sorted({*now, *(before or {})}):
        here, there = now.get(name), (before or {}).get(name)
        if here is None or there is None:
            states.append("gone" if here is None else "new")
        elif here["bytes"] == there["bytes"]:
            states.append("same bytes")
        elif here.get("values") and here["values"] == there.get("values"):
            states.append("same values")
        else:
            states.append("changed")
    frame = pd.DataFrame({"state": states})
    return (
        frame.value_counts("state").rename_axis("against the last commit").reset_index(name="files")
    )


def run(profile: str) -> Done:
    """Check a profile, write its manifest, and compare both with the last commit.

    Raises:
        MemreproError: if a table does not follow from the rankings, or a verdict got worse.
    """
    check_recomputed(profile)
    changed = compare_with_committed(profile)
    if len(changed) and changed["worse"].any():
        first = changed[changed["worse"]].iloc[0]
        raise MemreproError(
            f"{int(changed['worse'].sum())} verdicts are worse than committed; the first is "
            f"{first['table']}, row {first['row']!r}, column {first['column']!r}: "
            f"{first['verdict before']} ({first['reproduced before']}) became "
            f"{first['verdict now'] or 'missing'} ({first['reproduced now'] or 'no value'}); see "
            "which data, code, parameter or version changed, with `dvc status` and `git diff`"
        )
    now = manifest(profile)
    then = committed(paths.manifest(profile))
    summary = file_states(now, None if then is None else json.loads(then))
    path = paths.manifest(profile)
    if not path.is_file() or read_json(path) != now:
        write_json(path, now)
    inputs = sorted((paths.results(profile) / "runs").rglob("*.parquet"))
    return Done(f"verify {profile}", summary, inputs, [path])
