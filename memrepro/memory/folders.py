"""Where a user's memory is, who may write it, and what may come in."""

import fcntl
import hashlib
import os
import shutil
from contextlib import suppress
from pathlib import Path

from memrepro.errors import MemreproError
from memrepro.memory.times import check_time
from memrepro.retrieve.tiered.keys.segments import Message

# Folders of users that are being deleted.
DELETED = ".deleted-"
# Characters of a message or query: extracting the facts of ten times as many takes seconds.
LONGEST = 100_000


def user_folder(root: Path, user_id: str) -> Path:
    """Where all of a user's memory is: a name that no user id can lead out of `root`."""
    return root / hashlib.sha256(user_id.encode("utf-8", "surrogatepass")).hexdigest()


def lock(root: Path, user_id: str) -> int:
    """An open file that says who writes; closing it lets others.

    Raises:
        MemreproError: if another process holds it, or it cannot be made.
    """
    folder = user_folder(root, user_id)
    while True:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                held = os.open(folder / "writer.lock", os.O_RDWR | os.O_CREAT, 0o600)
            except FileNotFoundError:
                continue  # the folder went to be deleted between the two
        except OSError as error:
            raise MemreproError(
                f"the memory {folder} cannot be opened ({error.strerror}): name a folder that can "
                "be written"
            ) from error
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The folder may have been deleted between opening and locking.
            if os.fstat(held).st_ino == (folder / "writer.lock").stat().st_ino:
                return held
        except BlockingIOError as error:
            os.close(held)
            raise MemreproError(
                f"another process is writing the memory {folder}: end that one, or open it with "
                "mode 'read'"
            ) from error
        except FileNotFoundError:
            pass
        os.close(held)


def discard(folder: Path) -> None:
    """Delete a user's folder, whose lock is held.

    In one step nothing is found any more; a kill leaves bytes that the next opening removes.
    """
    away = folder.with_name(f"{DELETED}{folder.name}")
    remove(away)
    folder.rename(away)
    remove(away)


def remove(folder: Path) -> None:
    """Leave nothing of a folder, whoever else is removing it too."""
    while folder.exists():
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)


def check_message(message: Message) -> None:
    """Refuse a message that cannot be kept."""
    who = f"the message {str(message.message_id)[:40]!a}"
    for name in ("message_id", "speaker", "text", "channel"):
        value = getattr(message, name)
        if not isinstance(value, str) or not is_unicode(value):
            raise MemreproError(f"{who}: its {name} is not valid Unicode text")
        if len(value) > LONGEST:
            raise MemreproError(
                f"{who}: its {name} has {len(value):,} characters; at most {LONGEST:,} are taken"
            )
    if not message.message_id or not message.text.strip():
        raise MemreproError(f"{who}: its id or text is empty; it must have both")
    check_time(message.at, who)


def sqlite_mode(path: Path, write: bool) -> str:
    """How SQLite opens a file; where nothing can be written, as one that nobody changes."""
    try:
        read_only = not write and os.statvfs(path).f_flag & os.ST_RDONLY
    except FileNotFoundError:  # deleted since it was looked for
        read_only = False
    if not read_only:
        return f"mode={'rwc' if write else 'rw'}"
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise MemreproError(
            f"{path} was not closed, and its file system is read-only: open it once where it can "
            "be written, or copy its folder there"
        )
    return "mode=ro&immutable=1"


class BeingMade(MemreproError):
    """A memory has nothing to read yet."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"the memory in {folder} is only being made: read it a moment later")


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8: it has no lone surrogate."""
    return text.isascii() or text == text.encode("utf-8", "replace").decode()
