"""What to cite for a table: its document, its data sets, encoders and methods, and this project."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from memrepro.data.registry import registrations
from memrepro.errors import MemreproError
from memrepro.files.atomic import read_yaml
from memrepro.provenance import tables
from memrepro.provenance.places import plan
from memrepro.report.sources import FileSource, Source, read_sources

PROJECT = "memrepro"  # whose numbers they are
REFERENCES = Path(__file__).with_name("references.yaml")


@cache
def references() -> Mapping[str, Mapping[str, Any]]:
    """`entries`, and the keys of `documents`, `encoders` and `methods`."""
    found: Mapping[str, Mapping[str, Any]] = read_yaml(REFERENCES)
    return found


@cache
def key_of_dataset(dataset: str) -> str:
    """The key of a data set's reference, as the registry of downloads has it."""
    return registrations()[dataset].citation.partition(":")[0]


def used_by(profile: str, paper: str, table: str, row: str = "", column: str = "") -> list[str]:
    """The keys of what a table used, each once: document, then data sets, encoders and methods.

    This project stands last, unless a table is of its own data.

    Args:
        profile: whose results.
        paper: the report.
        table: of it; a table that another one is made of counts with what it used.
        row: only its cells; '' for all.
        column: likewise.

    Raises:
        MemreproError: if there is no such table.
    """
    known = references()
    own = known["documents"].get(paper)
    found = list(_used(profile, paper, table, row, column, set()))
    order = ("document", "dataset", "encoders", "methods")
    keys = [key for kind in order for one, key in found if one == kind]
    return list(dict.fromkeys([*([own] if own else []), *keys, PROJECT]))


def _used(
    profile: str, paper: str, table: str, row: str, column: str, seen: set[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """`kind, key` of what a table's cells name as sources, through the tables that they name."""
    seen.add((paper, table))
    cells = tables.cells(profile, paper, table)
    texts = {c.sources for (r, name), c in cells.items() if row in ("", r) and column in ("", name)}
    sources = dict.fromkeys(one for text in sorted(texts) for one in read_sources(text))
    for source in sources:
        yield from _of_source(profile, source, seen)


def _of_source(
    profile: str, source: Source, seen: set[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    if not isinstance(source, FileSource):
        yield from _of_run(source.run)
        return
    folder, *inner = re.sub(r"^\.\./\w+/", "", source.path).split("/")  # of another profile
    stems = [part.partition(".")[0] for part in inner]
    if folder == "data" and inner:
        yield "dataset", key_of_dataset(inner[0])
    elif folder == "runs":
        yield from (one for stem in stems if stem in plan().runs for one in _of_run(stem))
    elif stems and (folder, stems[-1]) not in seen:
        if folder in references()["documents"]:
            yield "document", references()["documents"][folder]
        if tables.is_tidy(tables.path_of(profile, folder, stems[-1])):
            yield from _used(profile, folder, stems[-1], "", "", seen)


def _of_run(run: str) -> Iterator[tuple[str, str]]:
    one = plan().experiment(run)
    yield "dataset", key_of_dataset(one.dataset)
    for kind, name in (("encoders", one.encoder), ("methods", one.method)):
        if key := references()[kind].get(name):
            yield kind, key


def bibtex(keys: Iterable[str]) -> str:
    """BibTeX entries, one after the other.

    Raises:
        MemreproError: for a key without an entry.
    """
    return "\n".join(map(_entry, keys))


def _entry(key: str) -> str:
    known = references()["entries"]
    if key not in known:
        raise MemreproError(f"{REFERENCES.name} has no entry {key!r}")
    fields = dict(known[key])
    kind = fields.pop("type")
    rows = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@{kind}{{{key},\n{rows}}}\n"
