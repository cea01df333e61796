"""The only reader and writer of the project's files: atomic, and clear when something is wrong.

A file is written beside its place and renamed into it, so that no reader ever meets half a
file and a failed write leaves the old one as it was.
"""

from __future__ import annotations

import csv
import errno
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import pandas as pd
import yaml

from memrepro.errors import MemreproError
from memrepro.files.formulas import has_return, where_formula

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

# Ten times as fast as the other, where PyYAML was built with it; both load plain values alone.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ROWS = 1 << 13
_DEEPEST = 100  # levels of a YAML file
_MOST_VALUES = 1_000_000  # of a YAML file
_LONGEST = 60  # characters of a name that a temporary file keeps


def root() -> Path:
    """The repository's root: the nearest folder upward that holds `params.yaml` and `dvc.yaml`.

    Raises:
        MemreproError: if there is none.
    """
    return _root_above(Path.cwd())


@lru_cache(maxsize=8)
def _root_above(here: Path) -> Path:
    for folder in (here, *here.parents):
        if (folder / "params.yaml").is_file() and (folder / "dvc.yaml").is_file():
            return folder
    raise MemreproError(
        f"no repository: neither {here} nor a folder above it holds params.yaml and dvc.yaml; "
        "run this from the folder that you cloned"
    )


def remedy(path: Path) -> str:
    """What to do about a file that is missing or damaged: the command that makes it, if one does.

    Anything else may be the user's only copy, and nothing is said against it.
    """
    try:
        parts = path.resolve().relative_to(root()).parts
        if parts[:2] in (("data", "raw"), ("data", "prepared")):
            known = yaml.load((root() / "params.yaml").read_bytes(), _Loader)["datasets"]
            profile = known[parts[2]]["profile"]
        elif parts[0] == "results" and parts[2] == "latency":
            return f"`git restore {'/'.join(parts)}` brings back what was measured"
        elif parts[0] == "results":
            profile = parts[1]
        elif parts[:2] in (("data", "vectors"), ("data", "metrics")):
            profile = parts[2].removesuffix(".parquet")
        else:
            raise KeyError
    except (MemreproError, ValueError, KeyError, IndexError, TypeError, OSError, RuntimeError):
        there = os.path.exists(path)  # noqa: PTH110 — of a name that no system takes too
        return "repair it, or name another file" if there else "name a file that is there"
    return f"`make repro PROFILE={profile}` makes it anew"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that becomes `path` if the block ends well.

    Who may read it is as it was, or, of a new file, as the process's umask has it.

    Raises:
        MemreproError: if the folder is read-only or the disk is full, or if the path is a device, a
            pipe or an open file's (/dev/stdout); `path` is as it was.
    """
    temporary = None
    try:
        if not path.name or _is_systems(path):
            raise MemreproError(f"{path} is no place for a file: name one in a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name[:_LONGEST]}.{secrets.token_hex(4)}.part")
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        temporary = part
        with suppress(FileNotFoundError):
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise MemreproError(why_not_written(path, error)) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _is_systems(path: Path) -> bool:
    """Whether a file that took this place would be in the place of a device or a pipe."""
    folder = path.parent.resolve()
    if folder == Path("/dev") or folder.is_relative_to("/proc"):
        return True
    return path.exists() and not (path.is_file() or path.is_dir())


def why_not_written(path: Path, error: OSError) -> str:
    """One sentence for a failed write: which file, what the system said, what to do."""
    remedy = {
        errno.ENOSPC: "the disk is full; free some space and run the same command again",
        errno.EDQUOT: "the disk quota is used up; free some space and run the same command again",
        errno.EACCES: "the folder is read-only for this user; make it writable",
        errno.EPERM: "the folder is read-only for this user; make it writable",
        errno.EROFS: "the file system is read-only; work in a folder that can be written",
    }.get(error.errno or 0, "see the system's message")
    return (
        f"{path} was not written ({error.strerror or error}): {remedy}; what was there is unchanged"
    )


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text with Unix line ends."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any) -> None:
    """Write JSON, indented, with a final line end."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def keep_others(path: Path, beginning: str) -> None:
    """Refuse to write over a file that does not begin as what is written there: it is a user's.

    Raises:
        MemreproError: for such a file.
    """
    if path.is_file():
        with path.open("rb") as file:
            if file.read(len(beginning.encode())) not in (b"", beginning.encode()):
                raise MemreproError(f"{path} holds something else: name a new file")


def write_table(path: Path, frame: pd.DataFrame) -> None:
    """Write a data frame as parquet or csv, by the path's suffix; byte-stable for one version.

    A csv's text that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    with replacing(path) as temporary:
        if path.suffix == ".parquet":
            frame.to_parquet(temporary, index=False, compression="zstd")
        else:
            safe = where_formula(frame, lambda text: f"'{text}")
            # A return by itself ends a row, but the library quotes a line feed alone.
            odd = any("\r" in str(one) for one in safe.columns) or has_return(safe)
            quoting: Literal[0, 1] = csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL
            safe.to_csv(temporary, index=False, lineterminator="\n", quoting=quoting)


class TableWriter:
    """A parquet file written part by part, so that a table larger than memory can be made."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq  # large, and of no use to who reads and writes text alone

        self._schema, self._name = schema, path.name
        # Columns and not rows: each row would be one more object to the garbage collector.
        self._columns: list[list[Any]] = [[] for _ in schema]
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")

    def add(self, *row: Any) -> None:
        """Add one row, its values in the order of the schema."""
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
        if len(self._columns[0]) >= _ROWS:
            self._flush()

    def extend(self, *columns: Iterable[Any]) -> None:
        """Add rows, given as columns of one length, in the order of the schema.

        A column of texts may be given as their UTF-8 bytes, which are not checked again.
        """
        for held, new in zip(self._columns, columns, strict=True):
            held += new
        while len(self._columns[0]) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        arrays = []
        try:
            for column, field in zip(self._columns, self._schema, strict=True):
                as_bytes = bool(column) and isinstance(column[0], bytes)
                array = pa.array(column[:_ROWS], pa.binary() if as_bytes else field.type)
                arrays.append(array.view(field.type) if as_bytes else array)
                del column[:_ROWS]
        except UnicodeEncodeError as error:
            raise MemreproError(
                f"{self._name}: {error.object[:40]!a} is not valid Unicode ({error.reason}), so "
                "that it cannot be kept: repair the file that it comes from"
            ) from error
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))

    def close(self) -> None:
        """Write what is left."""
        self._flush()
        self._writer.close()


@contextmanager
def table_writer(path: Path, schema: pa.Schema) -> Iterator[TableWriter]:
    """A writer of a parquet file, which takes its place only when all of it was written."""
    with replacing(path) as temporary:
        writer = TableWriter(temporary, schema)
        yield writer
        writer.close()


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        MemreproError: if it is missing or is not whole JSON (with the line and column).
    """
    try:
        return json.loads(_existing(path).read_bytes())
    except json.JSONDecodeError as error:
        raise MemreproError(
            f"{path} is not valid JSON: {error.msg} at line {error.lineno} column {error.colno} "
            f"of {path.stat().st_size} bytes; it is truncated or damaged: {remedy(path)}"
        ) from error
    except UnicodeDecodeError as error:
        raise MemreproError(f"{path} is not UTF-8 text: {error.reason}; {remedy(path)}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, deep brackets
        raise MemreproError(
            f"{path} holds no JSON that can be read ({error}): {remedy(path)}"
        ) from error


def read_yaml(path: Path) -> Any:
    """Read a YAML file.

    Raises:
        MemreproError: if it is missing or malformed.
    """
    data = _existing(path).read_bytes()
    try:
        _check_yaml(data, path)
        return yaml.load(data, _Loader)
    except (yaml.YAMLError, ValueError) as error:  # such as a date of a 13th month
        raise MemreproError(
            f"{path} is not valid YAML: {' '.join(str(error).split())}; repair it"
        ) from error


def _check_yaml(data: bytes, path: Path) -> None:
    """Refuse what nests too deep, or what aliases make more of than is read.

    What loads the tree calls itself in C for each level, where no limit stops it, and a merge
    (`<<`) copies all that its aliases stand for.
    """
    sizes: dict[str | None, int] = {}  # anchor → how many values, or hundreds of characters
    anchors: list[str | None] = [None]
    counts = [0]
    for event in yaml.parse(data, _Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            counts.append(1)
            anchors.append(event.anchor)
        elif isinstance(event, yaml.CollectionEndEvent):
            sizes[anchors.pop()] = size = counts.pop()
            counts[-1] += size
        elif isinstance(event, yaml.ScalarEvent):
            sizes[event.anchor] = size = 1 + len(event.value) // 100
            counts[-1] += size
        elif isinstance(event, yaml.AliasEvent):
            counts[-1] += sizes.get(event.anchor, 1)
        if len(counts) > _DEEPEST + 1:
            raise MemreproError(f"{path} nests more than {_DEEPEST} levels deep; repair it")
        if counts[-1] > _MOST_VALUES:
            raise MemreproError(
                f"{path} holds more than {_MOST_VALUES:,} values, those that its aliases repeat "
                "among them; write fewer"
            )


def read_table(
    path: Path, categories: Sequence[str] = (), columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """Read a parquet or csv file (csv: every column as text, as written, an empty cell as '').

    Args:
        path: of the file.
        categories: columns of texts of a parquet file to be read as categories, which is fast.
        columns: those of a parquet file that are wanted; all where None.

    Raises:
        MemreproError: if it is missing or damaged.
    """
    _existing(path)
    try:
        if path.suffix != ".parquet":
            return csv_texts(path)
        import pyarrow.parquet as pq

        # pandas' own reader takes twice as long for a file as small as a run.
        known = pq.read_metadata(path)
        there = known.schema.to_arrow_schema().names
        if missing := [name for name in columns or () if name not in there]:
            raise ValueError(f"it has no column {missing[0]!r}")
        coded = [name for name in categories if name in there]
        with pq.ParquetFile(path, metadata=known, read_dictionary=coded) as file:
            frame: pd.DataFrame = file.read(columns, use_threads=False).to_pandas(use_threads=False)
        # A file without rows has no texts to tell its columns by.
        others = [name for name in coded if name in frame and frame[name].dtype != "category"]
        return frame.astype(dict.fromkeys(others, "category")) if others else frame
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def csv_texts(file: Path | IO[bytes] | IO[str], comma: str = ",") -> pd.DataFrame:
    """The texts of a csv that `write_table` wrote, as they were before it."""
    found = pd.read_csv(file, sep=comma, dtype=str, keep_default_na=False)
    return where_formula(found, lambda text: text.removeprefix("'"))


@contextmanager
def open_table(path: Path, coded: Sequence[str] = ()) -> Iterator[pq.ParquetFile]:
    """A parquet file to be read part by part, for a table that memory holds once at most.

    Args:
        path: of the file.
        coded: the columns of texts that come as dictionaries, by the path of their values.

    Raises:
        MemreproError: if it is missing or damaged.
    """
    import pyarrow.parquet as pq

    _existing(path)
    try:
        with pq.ParquetFile(path, buffer_size=1 << 20, read_dictionary=list(coded)) as file:
            yield file
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> MemreproError:
    return MemreproError(f"{path} cannot be read as a table ({error}): {remedy(path)}")


def sha256(path: Path) -> str:
    """The hex SHA-256 of a file's bytes.

    Raises:
        MemreproError: if it is missing.
    """
    with _existing(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _existing(path: Path) -> Path:
    try:
        there = path.is_file()
    except OSError as error:
        raise MemreproError(
            f"{path} cannot be read ({error.strerror}): check its folder"
        ) from error
    if not there:
        raise MemreproError(f"{path} is missing: {remedy(path)}")
    return path
