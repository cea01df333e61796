"""verify: all tables of a profile computed again from its rankings, against the committed ones."""

import hashlib
import io
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from memrepro.audit.verdicts import JUDGED
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import (
    csv_texts,
    open_table,
    read_table,
    root,
    sha256,
    write_json,
)
from memrepro.files.processes import worker_pool
from memrepro.report.runs import check_order
from memrepro.report.tables import DIGITS
from memrepro.study.causes import causes, maker
from memrepro.study.evaluation import (
    EvaluatedProfile,
    evaluate_profile,
    has_metrics,
    write_metrics,
)
from memrepro.study.params import load_plan
from memrepro.study.result import StageResult

_KEY = ["row", "column", "metric"]
_VALUES = (".csv", ".parquet")


def values_digest(path: Path) -> str:
    """The digest of a table's values, numbers rounded to the digits that tables show.

    It stays the same where only float noise or the file format's bytes differ.
    """
    return _digest(read_table(path, _texts_of(path)))


def _digest(table: pd.DataFrame) -> str:
    digest = hashlib.sha256()
    for name, column in table.items():
        digest.update(f"{name}\0{len(column)}\0".encode())
        if pd.api.types.is_numeric_dtype(column):
            numbers = column.to_numpy(np.float64, na_value=np.nan).round(DIGITS) + 0.0  # no -0
            numbers[np.isnan(numbers)] = np.nan  # one of the many
            digest.update(numbers.astype("<f8").tobytes())
        else:
            places, texts = pd.factorize(column, use_na_sentinel=False)  # in order of appearance
            digest.update("\0".join(map(str, texts.tolist())).encode())
            digest.update(places.astype("<i8").tobytes())
    return digest.hexdigest()


def _texts_of(path: Path) -> list[str]:
    """The columns of a parquet file that hold texts."""
    if path.suffix != ".parquet":
        return []
    try:
        schema = pq.read_schema(path)
    except (OSError, ValueError):
        return []  # who reads it says what is wrong
    kinds = (pa.types.is_string, pa.types.is_large_string)
    return [field.name for field in schema if any(kind(field.type) for kind in kinds)]


def manifest(profile: str, known: Mapping[str, Any] | None = None) -> dict[str, dict[str, str]]:
    """Both digests of every result file of a profile: of its bytes, and of its rounded values.

    Args:
        profile: whose files.
        known: a manifest; a file that has the bytes of there is not read for its values again.
    """
    folder = paths.results(profile)
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p != paths.manifest(profile))
    found = {}
    for path in files:
        if any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue  # such as .ipynb_checkpoints, which JupyterLab leaves
        name, state = path.relative_to(folder).as_posix(), {"bytes": sha256(path)}
        then = (known or {}).get(name, {})
        if then.get("bytes") == state["bytes"]:
            state = then
        elif path.suffix in _VALUES:
            table = read_table(path, _texts_of(path))
            check_order(path, table)
            state["values"] = _digest(table)
        found[name] = state
    return found


def committed(path: Path) -> bytes | None:
    """A file as git's last commit has it, or None where there is none (or no git)."""
    # From this folder on, which may lie within another repository.
    return git("show", f"HEAD:./{path.relative_to(root()).as_posix()}")


def git(*arguments: str) -> bytes | None:
    """What git prints, or None where it refuses (or is not there)."""
    try:
        shown = subprocess.run(["git", *arguments], cwd=root(), capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return shown.stdout if shown.returncode == 0 else None


def check_recomputed(profile: str) -> int:
    """Compute metrics and tables again from the rankings; every table must come out the same.

    A figure is checked through the csv of what it draws: its pixels depend on the machine.

    Returns:
        How many tables were compared, metrics and exclusions among them.

    Raises:
        MemreproError: naming the first file that does not come out the same.
    """
    plan = load_plan()
    planned = {paths.run(profile, name, e.study) for name, e in plan.runs.items()}
    planned |= {
        paths.trace(profile, name, e.study) / f"{table}.parquet"
        for name, e in plan.runs.items()
        for table in paths.TRACE_TABLES
    }
    if strays := sorted({*(paths.results(profile) / "runs").rglob("*.parquet")} - planned):
        raise MemreproError(
            f"{strays[0]} is of no experiment in params.yaml: move it out of results/"
        )
    # Each part is computed from files alone, so that they can run side by side, the longest first.
    papers = sorted(
        plan.reports.get(profile, ()),
        key=lambda paper: (
            -sum(table.stat().st_size for table in (paths.results(profile) / paper).glob("*.csv"))
        ),
    )
    parts, compared = [partial(_check_report, profile, paper) for paper in papers], 0
    if has_metrics(profile):
        parts.insert(1, partial(_check_metrics, profile))
    else:
        # A fresh clone lacks the metrics, which all reports read: they are made first, and once.
        found = evaluate_profile(profile, plan)
        write_metrics(profile, plan, found.metrics)
        compared = _compare_metrics(profile, found)
    if (workers := min(os.cpu_count() or 1, len(parts))) == 1:
        return compared + sum(part() for part in parts)
    with worker_pool(workers, preload=[__name__, "memrepro.report.build"]) as pool:
        return compared + sum(done.result() for done in [pool.submit(part) for part in parts])


def _check_metrics(profile: str) -> int:
    """Evaluate the rankings again; how many tables were compared."""
    return _compare_metrics(profile, evaluate_profile(profile, load_plan()))


def _compare_metrics(profile: str, found: EvaluatedProfile) -> int:
    """Compare evaluated rankings with what is kept of them; how many tables were compared."""
    path = paths.metrics(profile)
    with open_table(path) as file:
        kept = file.read().replace_schema_metadata()
    # Read as pandas's only where they differ, as that is slower by far.
    pairs = []
    if not found.metrics.equals(kept):
        pairs.append((found.metrics.to_pandas(), kept.to_pandas(), path))
    for again, path in (
        (found.protocols, paths.protocols(profile)),
        (found.exclusions, paths.exclusions(profile)),
    ):
        pairs.append((again, read_table(path), path))
    for again, before, path in pairs:
        try:
            # It bears float noise, and says what differs.
            pd.testing.assert_frame_equal(again, before, check_dtype=False)
        except AssertionError as error:
            raise MemreproError(
                f"{path} does not follow from the rankings ({str(error).splitlines()[0]}): "
                "it was edited, or is older than them; run `dvc repro` again"
            ) from error
    return len(paths.evaluated(profile))


def _check_report(profile: str, paper: str) -> int:
    """Make a paper's tables and figures again; how many files were compared."""
    # What draws takes seconds to import, and only the processes that make reports need it.
    from memrepro.report.figures import data_only
    from memrepro.report.modules import write_report

    with tempfile.TemporaryDirectory() as name:
        with data_only():
            written = write_report(paper, profile, Path(name))
        folder = paths.results(profile) / paper
        known = {"report", *(again.stem for again in written)}
        shown = [path for path in folder.iterdir() if not path.name.startswith(".")]
        if strays := sorted(path for path in shown if path.stem not in known):
            raise MemreproError(f"{strays[0]} is written by no report: move it elsewhere")
        for again in written:
            kept = folder / again.name
            if not kept.is_file() or again.read_bytes() != kept.read_bytes():
                raise MemreproError(
                    f"{kept} does not follow from the rankings: it was edited, or is older "
                    "than them; run `dvc repro` again"
                )
        return len(written)


def changes(table: pd.DataFrame, before: pd.DataFrame) -> pd.DataFrame:
    """Cells of a tidy table whose value or verdict differs from before, and whether it is worse.

    Worse is: a judged verdict that fell, a number that vanished, or one that moved by more than
    two questions would move it (2/n, or 2 of a count), which is more than a machine's last bits do.
    """
    both = before.merge(table, on=_KEY, how="outer", suffixes=(" before", " now")).fillna("")
    differs = (both["reproduced before"] != both["reproduced now"]) | (
        both["verdict before"] != both["verdict now"]
    )
    columns = [f"{c} {when}" for c in ("reproduced", "verdict") for when in ("before", "now")]
    changed = both.loc[differs, [*_KEY, *columns, "n before"]].copy()
    changed["worse"] = [_is_worse(*row) for row in changed[[*columns, "n before"]].values]
    return changed.drop(columns="n before")


def _is_worse(then: str, now: str, verdict_then: str, verdict_now: str, n: str) -> bool:
    if then and not now:
        return True
    if verdict_then in JUDGED and verdict_now in JUDGED:
        return JUDGED.index(verdict_now) > JUDGED.index(verdict_then) or _moved(then, now, n)
    return verdict_then in JUDGED or _moved(then, now, n)


def _moved(then: str, now: str, n: str) -> bool:
    whole = then.isdecimal() and now.isdecimal()  # a count of questions
    try:
        allowed = 2 if whole else 2 / max(int(n), 1) + 10.0**-DIGITS
        return abs(float(now) - float(then)) > allowed
    except ValueError:  # not a number: a count of wins, an interval
        return False


def compare_with_committed(profile: str) -> pd.DataFrame:
    """All changed cells of a profile's tables against the last commit, with the table's name.

    `why` says what its stages had otherwise then, by the two states of dvc.lock.
    """
    found = []
    # All at once: to ask git for each of hundreds of files takes seconds.
    folder = str(paths.results(profile))
    edited = git("diff", "--name-only", "--relative", "-z", "HEAD", "--", folder)
    names = [] if edited is None else os.fsdecode(edited).split("\0")
    for path in sorted(root() / name for name in names if name.count("/") == 3):
        if path.suffix != ".csv" or not path.is_file():
            continue
        table, then = read_table(path), committed(path)
        if then is None or "verdict" not in table:
            continue
        before = csv_texts(io.BytesIO(then))
        if "verdict" not in before:
            continue  # the data of a figure, whose name is a table's now
        changed = changes(table, before)
        changed.insert(0, "table", f"{path.parent.name}/{path.name}")
        changed["why"] = _why(path) if len(changed) else ""
        found.append(changed)
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def _why(path: Path) -> str:
    """What the stages behind a file had otherwise at the last commit, such as 'code: …'."""
    lock = root() / "dvc.lock"
    then = committed(lock)
    if then is None or not lock.is_file():
        return "not known: there is no dvc.lock to compare"
    try:
        now, before = (
            yaml.load(raw, yaml.CSafeLoader)["stages"] for raw in (lock.read_bytes(), then)
        )
        stage = maker(now, path.relative_to(root()).as_posix())
        found = causes(now, before, stage) if stage else {}
    except (yaml.YAMLError, AttributeError, KeyError, TypeError):  # both states are named as such
        return "not known: dvc.lock cannot be read"
    said = [f"{kind}: {', '.join(names)}" for kind, names in found.items()]
    return "; ".join(said) or "nothing that dvc.lock knows of: it was edited, or made without DVC"


def file_states(now: Mapping[str, Any], before: Mapping[str, Any] | None) -> pd.DataFrame:
    """How many files are the same in bytes, the same in values, changed, new or gone."""
    title = "no commit to compare with" if before is None else "against the last commit"
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
    return frame.value_counts("state").rename_axis(title).reset_index(name="files")


def check(profile: str) -> pd.DataFrame:
    """Check a profile and write nothing: recompute, and compare with the last commit.

    Returns:
        The cells that differ from the last commit, or, where none does, how the files stand.

    Raises:
        MemreproError: if a table does not follow from the rankings, or a number got worse.
    """
    return _checked(profile, _committed_manifest(profile))[0]


def _committed_manifest(profile: str) -> dict[str, Any] | None:
    then = committed(paths.manifest(profile))
    return None if then is None else manifest_of(then)


def manifest_of(raw: bytes) -> dict[str, dict[str, str]] | None:
    """What `manifest` returned, of the file in which it was written; None if that is damaged."""
    try:
        found = {str(name): dict(state) for name, state in json.loads(raw).items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return found if all(isinstance(one.get("bytes"), str) for one in found.values()) else None


def check_files(profile: str) -> None:
    """Refuse a result that cannot be read or named: a link to nothing, a name that is no UTF-8.

    Raises:
        MemreproError: naming the first.
    """
    for path in sorted(paths.results(profile).rglob("*")):
        try:
            str(path).encode()
        except UnicodeEncodeError as error:
            raise MemreproError(f"{path} has a name that is no UTF-8: give it another") from error
        if path.is_symlink() and not path.exists():
            raise MemreproError(
                f"{path} is a link to nothing: put the file in its place, or move the link out of "
                "results/"
            )


def run(profile: str) -> StageResult:
    """Check a profile and write its manifest: both digests of every result file."""
    summary, now = _checked(profile, None)
    path = paths.manifest(profile)
    if not path.is_file() or manifest_of(path.read_bytes()) != now:
        write_json(path, now)
    inputs = sorted((paths.results(profile) / "runs").rglob("*.parquet"))
    return StageResult(f"verify {profile}", summary, inputs, [path])


def _checked(
    profile: str, known: Mapping[str, Any] | None
) -> tuple[pd.DataFrame, dict[str, dict[str, str]]]:
    """What `check` returns, and the manifest, made with the help of a known one."""
    load_plan().check_profile(profile)  # before all that lies below results is read
    check_files(profile)
    # Beside the processes that compute, which this one waits for.
    with ThreadPoolExecutor(1) as beside:
        made = beside.submit(manifest, profile, known)
        moved = beside.submit(compare_with_committed, profile)
        try:
            check_recomputed(profile)
        finally:  # a ranking out of order says more than a table that does not follow from it
            now = made.result()
    changed = moved.result()
    if len(changed) and changed["worse"].any():
        first = changed[changed["worse"].astype(bool)].iloc[0]
        raise MemreproError(
            f"{int(changed['worse'].sum())} numbers are worse than committed; the first is "
            f"{first['table']}, row {first['row']!r}, column {first['column']!r}: "
            f"{first['reproduced before']} ({first['verdict before']}) became "
            f"{first['reproduced now'] or 'missing'} ({first['verdict now'] or 'no verdict'}). "
            f"Since then changed: {first['why']}. If that is meant, commit the new results and "
            "run again"
        )
    if len(changed):
        return changed, now
    return file_states(now, known or _committed_manifest(profile)), now
