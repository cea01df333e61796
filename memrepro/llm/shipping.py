"""Records by file: JSON Lines in a fixed order, checked by sha256, between one machine and another.

The file holds prompts, so it holds a data set's texts: it is data, and stays out of git.
"""

from pathlib import Path
from typing import NamedTuple

from memrepro.errors import MemreproError
from memrepro.files.atomic import replacing, sha256
from memrepro.files.given import numbered_json_lines
from memrepro.llm.records import AnswerStore, read_record


class Exported(NamedTuple):
    """How many records a file holds, and its sha256."""

    records: int
    sha256: str


class Imported(NamedTuple):
    """How many records of a file were new, here, or here with another answer (which stays)."""

    new: int
    same: int
    different: int


def export_records(store: AnswerStore, path: Path) -> Exported:
    """Write all records to a file, one JSON object a line, by key; equal records, equal bytes.

    A file that is there is replaced when all is written.

    Raises:
        MemreproError: if a record is damaged, or the file cannot be written.
    """
    written = 0
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for record in store.records():
            file.write(record.as_json() + "\n")
            written += 1
    return Exported(written, sha256(path))


def import_records(store: AnswerStore, path: Path, digest: str) -> Imported:
    """Add the records of an exported file, all or none; an answer that is here stays as it is.

    The digest is the file's sha256, as `export_records` gave it.

    Raises:
        MemreproError: if the file is missing or is another one, or naming its first line that is
            not a record.
    """
    if (found := sha256(path)) != digest:
        raise MemreproError(
            f"{path} has the sha256 {found}, and {digest} is expected: it is another file, or "
            "damaged; fetch it anew"
        )
    records = []
    for number, line in numbered_json_lines(path):
        try:
            records.append(read_record(line))
        except (ValueError, MemreproError) as error:
            raise MemreproError(
                f"{path}, line {number}: {error}; nothing was imported: export it again"
            ) from error
    keys = [record.key for record in records]
    lacking = set(store.missing(keys))
    here = [record for record in records if record.key not in lacking]
    kept = store.read([record.key for record in here])
    same = sum(record.answer == answer for record, answer in zip(here, kept, strict=True))
    return Imported(store.add(records), same, len(here) - same)
