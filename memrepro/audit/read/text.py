"""The text of a file, whatever its encoding."""

import codecs
import zipfile
from pathlib import Path

from memrepro.errors import MemreproError

_MOST = 50_000_000  # bytes
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def text_of_file(path: Path) -> str:
    """What stands in a text file: UTF-8, UTF-16 by its mark, else Latin-1; its line ends Unix's.

    Raises:
        MemreproError: if it is larger than any paper, or no text.
    """
    _check_size(path, path.stat().st_size)
    data = path.read_bytes()
    coded = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "utf-8")
    if coded != "utf-16" and b"\0" in data:
        raise MemreproError(
            f"{path} cannot be read: it is damaged, or not what its name says (it holds bytes that "
            "no text has)"
        )
    try:
        text = data.decode(coded)
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


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
