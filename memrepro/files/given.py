"""Files that people give: runs, qrels, answers, chats and tables, whatever program wrote them.

A mark at the start (BOM), Windows' line ends, UTF-16 with its mark and gzip change nothing; only a
line feed ends a line, as a JSON string or an id may hold each other separator that Unicode knows.
Text in another encoding is refused, since a guess would change ids in silence.
"""

import csv
import gzip
import json
import re
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import IO, Any

from memrepro.errors import MemreproError, cut
from memrepro.files.atomic import remedy

_GZIP = b"\x1f\x8b"
_MOST = 1 << 30  # bytes of a file, unpacked
_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}|\\u[dD][c-fC-F][0-9a-fA-F]{2}")


def form_of(path: Path) -> str:
    """The suffix that says a file's form, such as '.jsonl', before that of gzip."""
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def read_text(path: Path, *, guess: bool = False) -> str:
    """The text of a file, its lines ended by line feeds alone.

    Args:
        path: of the file.
        guess: whether what is not in UTF-8 is taken for Windows' Latin-1.

    Raises:
        MemreproError: if it is no file, cannot be read, or is no text in UTF-8.
    """
    try:
        if not path.is_file():
            what = "is no file" if path.exists() else "is missing"
            raise MemreproError(f"{path} {what}: {remedy(path)}")
        with path.open("rb") as file:
            packed = file.read(len(_GZIP)) == _GZIP
            file.seek(0)
            data = at_most(gzip.GzipFile(fileobj=file) if packed else file, path)
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise MemreproError(f"{path} cannot be read ({why}): {remedy(path)}") from error
    wide = data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if wide else "utf-8")
    except UnicodeDecodeError as error:
        if guess:
            return _lines_of(data.decode("cp1252", errors="replace"))
        number = data.count(b"\n", 0, error.start) + 1
        raise MemreproError(
            f"{path} is not in UTF-8 from byte {error.start} on, in line {number}: save it as "
            "UTF-8, such as by `iconv -f latin1 -t utf-8`"
        ) from error
    return _lines_of(text)


def _lines_of(text: str) -> str:
    """With Unix's line ends, and no mark before a line, as where marked files were joined."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\n\ufeff", "\n").lstrip("\ufeff")


def at_most(file: IO[bytes] | gzip.GzipFile, path: Path) -> bytes:
    """The bytes of an open file, or of a part that unpacks.

    Raises:
        MemreproError: if there are more than one reads at once.
    """
    data = file.read(_MOST + 1)
    if len(data) > _MOST:
        raise MemreproError(f"{path} has more than {_MOST >> 30} GB unpacked: split it")
    return data


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Each line that is not blank, with its number from 1."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield number, line


def read_json(path: Path) -> Any:
    """The one JSON value of a file; half a surrogate pair, which UTF-8 cannot hold, is '?'.

    Raises:
        MemreproError: as `read_text`, or if it is no JSON, with the line.
    """
    return _value(read_text(path), str(path), path)


def numbered_json_lines(path: Path) -> list[tuple[int, Any]]:
    """The values of a file with one JSON value a line, each with its line's number, from 1.

    Of a file that is one JSON list, its members with their places.

    Raises:
        MemreproError: as `read_text`, or if a line is no JSON.
    """
    text = read_text(path)
    if text[:1000].lstrip()[:1] == "[":
        return list(enumerate(_value(text, str(path), path), start=1))
    return [
        (number, _value(line, f"{path}, line {number}", path))
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    ]


def table_rows(path: Path) -> list[tuple[int, list[str]]]:
    """The cells of each row of a csv or tsv file, with the number of its line.

    A tab, a semicolon or a comma parts cells: the one of which the first row has most.

    Raises:
        MemreproError: as `read_text`, or if a quote is not closed.
    """
    text = read_text(path).lstrip("\n")
    comma = max("\t;,", key=text.partition("\n")[0].count)
    rows = csv.reader(StringIO(text, newline=""), delimiter=comma, strict=True)
    try:
        return [
            (rows.line_num, [cell.strip() for cell in cells])
            for cells in rows
            if any(cell.strip() for cell in cells)
        ]
    except csv.Error as error:
        raise MemreproError(
            f"{path}, line {rows.line_num}: no table ({error}): {remedy(path)}"
        ) from error


def named_rows(path: Path, names: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """The rows of a csv or tsv file by its headings, with the numbers of their lines.

    Raises:
        MemreproError: as `table_rows`, if a heading is missing, or a row is of another length.
    """
    rows = table_rows(path)
    heads = rows[0][1] if rows else []
    if lacking := [name for name in names if name not in heads]:
        raise MemreproError(f"{path} has no column {lacking[0]!r} but {cut(', '.join(heads))}")
    for number, cells in rows[1:]:
        if len(cells) != len(heads):
            raise MemreproError(
                f"{path}, line {number}: {len(cells)} cells under {len(heads)} headings: quote a "
                "cell that holds what parts them"
            )
    return [(number, dict(zip(heads, cells, strict=True))) for number, cells in rows[1:]]


def without_halves(value: Any) -> Any:
    """A JSON value with '?' for half a surrogate pair (as yajl has it)."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="replace").decode()
    if isinstance(value, list):
        return [without_halves(one) for one in value]
    if isinstance(value, dict):
        return {without_halves(key): without_halves(one) for key, one in value.items()}
    return value


def _value(text: str, where: str, path: Path) -> Any:
    try:
        value = json.loads(text)
        return without_halves(value) if _HALF.search(text) else value
    except (ValueError, RecursionError) as error:
        raise MemreproError(f"{where}: no JSON ({cut(str(error))}): {remedy(path)}") from error
