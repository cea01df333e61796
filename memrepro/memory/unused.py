"""The unused bytes of an SQLite file, overwritten in place.

`secure_delete` overwrites what is deleted, but not the copies that stay in the unused middle of a
page when its rows move to another one (SQLite's `rebuildPage`). VACUUM leaves none, and writes the
whole file anew. https://www.sqlite.org/fileformat2.html, "B-tree Pages".
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

# The first byte of a page of a tree → the bytes before the places of its cells.
_HEADS = {0x02: 12, 0x05: 12, 0x0A: 8, 0x0D: 8}
_FILE_HEAD = 100
_AT_ONCE = 1024


def blank(path: Path, page: int) -> bool:
    """Overwrite with zeros what no cell of a tree's page uses, in a file that nobody else writes.

    Its connection must be open, its log empty, and its cache dropped afterwards.

    Args:
        path: the file.
        page: bytes of a page.

    Returns:
        Whether it could be done.
    """
    if (file := _opened_by_sqlite(path)) is None:
        return False
    zeros = bytes(page)
    for start in range(0, os.fstat(file).st_size, _AT_ONCE * page):
        some = os.pread(file, _AT_ONCE * page, start)
        for at in range(0, len(some), page):
            head = at + (_FILE_HEAD if start + at == 0 else 0)
            # Any other page starts with the number of one, whose first byte is 0 below 2²⁴ pages.
            if not (size := _HEADS.get(some[head])):
                continue
            first = head + size + 2 * int.from_bytes(some[head + 3 : head + 5])
            # Of a page of 65,536 bytes a 0 stands for that.
            end = at + (int.from_bytes(some[head + 5 : head + 7]) or page)
            if first < end and some[first:end] != zeros[: end - first]:
                os.pwrite(file, zeros[: end - first], start + first)
    os.fsync(file)
    return True


def _opened_by_sqlite(path: Path) -> int | None:
    """SQLite's own descriptor: to close another one of the file would drop this process's locks."""
    with suppress(OSError):
        sought = path.stat()
        for number in [int(entry.name) for entry in Path("/dev/fd").iterdir()]:
            with suppress(OSError):
                writes = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR
                if writes and os.path.samestat(os.fstat(number), sought):
                    return number
    return None
