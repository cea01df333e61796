"""The text of a file, whatever its encoding."""

import zipfile
from pathlib import Path

from memrepro.errors import MemreproError
from memrepro.files.given import read_text

_MOST = 50_000_000  # bytes


def text_of_file(path: Path) -> str:
    """What stands in a text file: UTF-8, UTF-16 by its mark, else Latin-1 (`files.given`).

    Raises:
        MemreproError: if it is larger than any paper, or no text.
    """
    _check_size(path, path.stat().st_size)
    text = read_text(path, guess=True)
    _check_size(path, len(text), " of text, unpacked")
    if "\0" in text:
        raise MemreproError(
            f"{path} cannot be read: it is damaged, or not what its name says (it holds bytes that "
            "no text has)"
        )
    return text


def check_unpacked(path: Path) -> None:
    """Refuse an Office file whose texts are larger, unpacked, than any paper.

    Raises:
        MemreproError: saying how large; no more leaves the archive than it says itself.
        zipfile.BadZipFile: if it is no archive.
    """
    with zipfile.ZipFile(path) as parts:
        sizes = [part.file_size for part in parts.infolist() if part.filename.endswith(".xml")]
    _check_size(path, sum(sizes), " of text, unpacked")


def _check_size(path: Path, size: int, what: str = "") -> None:
    if size > _MOST:
        raise MemreproError(f"{path} has {size:,} bytes{what}; at most {_MOST:,} are read")
