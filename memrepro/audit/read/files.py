"""Any file of tables: which reader it wants, and the ledger's mappings that a person can correct.

A YAML file holds tables as a document's `printed.yaml` does (`tables.KEYS`); a csv file holds a
table as printed, or tidy cells (`tidy`). A LaTeX file is read with all that it includes. What
cannot be read is listed, and the rest is read.
"""

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from memrepro.audit.read.child import SMALL, Made, missing, read_apart
from memrepro.audit.read.grid import Grid, NoNumbers, Place, Sentences, Unread, unread
from memrepro.audit.read.meaning import entries_of_grid
from memrepro.audit.read.text import text_of_file
from memrepro.audit.read.tidy import is_tidy, tables_of_cells
from memrepro.audit.tables import Table, read_tables, table_of
from memrepro.errors import MemreproError, cut
from memrepro.files.atomic import read_yaml, write_text

Found = Grid | Unread | Sentences
_YAML = (".yaml", ".yml")
_HTML = (".html", ".htm", ".xhtml")
_MOST_FILES = 5_000
_CLASS = re.compile(r"^[^%\n]*\\documentclass", re.M)
_BEGUN = re.compile(r"^[^%\n]*\\begin\s*\{document\}", re.M)
_ENDED = re.compile(r"\\end\{document\}")


def _reader(module: str) -> Any:
    """A reader's module, loaded when a file wants it, since its library may be large.

    Raises:
        MemreproError: naming the library that is missing.
    """
    try:
        return import_module(f"memrepro.audit.read.{module}")
    except ModuleNotFoundError as error:
        raise MemreproError(missing(module, error)) from error


# Suffix → the module and function that gives the grids; LaTeX, which is several files, is apart.
READERS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(_HTML, ("html", "of_file")),
    **dict.fromkeys((".md", ".markdown"), ("markdown", "of_file")),
    **dict.fromkeys((".csv", ".tsv"), ("sheets", "of_csv")),
    ".xlsx": ("sheets", "of_xlsx"),
    ".docx": ("word", "grids"),
    ".pdf": ("pdf", "grids"),
}
SUFFIXES = (*_YAML, ".tex", *READERS)
_TEXTS = (*_YAML, *_HTML, ".md", ".markdown", ".csv", ".tsv")


def _all_of(path: Path, read: Callable[[Path], Iterable[Found]]) -> list[Found]:
    return list(read(path))


def _bounded(read: Callable[..., Made], path: Path, *more: Any) -> Made:
    """What a reader of a file gives, read apart unless it is a small text."""
    small = path.suffix.lower() in _TEXTS and path.is_file() and path.stat().st_size < SMALL
    return (read if small else partial(read_apart, read))(path, *more)


class Read(NamedTuple):
    """The tables of files.

    Attributes:
        tables: in their order.
        unread: what could not be read, and why.
        entries: name → mapping as it was read, of files that no person has typed.
        texts: file → what stands in it, of files whose sentences can be read.
    """

    tables: tuple[Table, ...]
    unread: tuple[Unread, ...]
    entries: Mapping[str, Mapping[str, Any]]
    texts: Mapping[str, str]

    @property
    def summary(self) -> str:
        """How many tables were read, and how many not."""
        missed = sum(one.counts for one in self.unread)
        read = len(self.tables)
        return f"{read} table{'s' * (read != 1)} read, {missed} not, of {read + missed}"


def tables_of(path: Path, exclude: Sequence[str] = ()) -> Read:
    """The tables of a file, or of all files of a folder that have a reader.

    In a folder, hidden files and folders are passed over; of LaTeX, what a main file includes is
    read with it, and a file that none of them includes is listed.

    Args:
        path: of the file or folder.
        exclude: patterns such as 'drafts/*' or '*.csv', of files that are passed over.

    Raises:
        MemreproError: if it is missing, has no reader, is damaged (in a folder such a file is
            listed among what could not be read), or is a typed file that breaks its format.
    """
    if path.is_dir():
        paths = list(_files(path, exclude))
        if not paths:
            raise MemreproError(f"{path} holds no file that can be read: {', '.join(SUFFIXES)}")
        return _Reading(path.resolve().name, path.resolve(), alone=False).read_all(paths)
    if not path.is_file():
        raise MemreproError(
            f"{path} is missing: the audit needs a file of tables or a folder, see docs/audit.md"
        )
    if path.suffix.lower() not in SUFFIXES:
        raise MemreproError(f"{path} is none of {', '.join(SUFFIXES)}: see docs/audit.md")
    return _Reading(path.stem, path.resolve().parent, alone=True).read_all([path])


def _files(folder: Path, exclude: Sequence[str]) -> Iterator[Path]:
    """The files of a folder that have a reader, by name.

    Raises:
        MemreproError: if there are more than any paper has.
    """
    count = 0
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(at, name)
            within = str(path.relative_to(folder))
            if name.startswith((".", "~$")) or path.suffix.lower() not in SUFFIXES:
                continue
            if any(fnmatch.fnmatch(within, one) or fnmatch.fnmatch(name, one)
                   or within.startswith(f"{one.rstrip('/')}/") for one in exclude):  # fmt: skip
                continue
            if not path.is_file():
                continue
            count += 1
            if count > _MOST_FILES:
                raise MemreproError(
                    f"{folder} holds more than {_MOST_FILES:,} files that can be read: give the "
                    "paper's own folder, or leave files out with --exclude"
                )
            yield path.resolve() if path.suffix == ".tex" else path


def _where(one: Grid | Unread) -> str:
    """The file and line of a table, whichever it is in its document."""
    whole = str(one.place) if isinstance(one, Grid) else one.source
    return whole.rpartition(", table ")[0] or whole


class _Reading:
    """What is read so far of a file, or of a folder's files."""

    def __init__(self, document: str, top: Path, *, alone: bool) -> None:
        self.document, self.top, self.alone = document, top, alone
        self.tables: list[Table] = []
        self.unread: list[Unread] = []
        self.entries: dict[str, Mapping[str, Any]] = {}
        self.texts: dict[str, str] = {}
        self.read_before: set[str] = set()  # places of other main files, which may include the same

    def read_all(self, paths: Sequence[Path]) -> Read:
        """All files, the LaTeX ones first."""
        sources = [path for path in paths if path.suffix.lower() == ".tex"]
        mains = self._latex(sources)
        made_from = {path.stem for path in mains}
        for path in paths:
            if path in sources:
                continue
            if path.suffix.lower() == ".pdf" and path.stem in made_from:
                why = f"{path.stem}.tex, which it is made from, is read instead"
                self.unread.append(unread(self._place(path), why, counts=False))
            elif path.suffix.lower() in _YAML:
                self._guarded(path, self._yaml)
            else:
                self._guarded(path, self._file)
        return Read(tuple(self.tables), tuple(self.unread), self.entries, self.texts)

    def _place(self, path: Path) -> Place:
        path = path.resolve()
        within = path.is_relative_to(self.top)
        return Place(str(path.relative_to(self.top)) if within else path.name)

    def _guarded(self, path: Path, read: Callable[[Path], None]) -> None:
        """Read a file; one that fails ends no other."""
        try:
            read(path)
        except MemreproError as error:
            if self.alone:
                raise
            self.unread.append(unread(self._place(path), error))
        # Each library has errors of its own for a file that is broken, and lets others' through.
        except Exception as error:
            why = f"it is damaged, or not what its name says ({type(error).__name__}: {cut(error)})"
            if self.alone:
                raise MemreproError(f"{path} cannot be read: {why}") from error
            self.unread.append(unread(self._place(path), why))

    def _latex(self, paths: Sequence[Path]) -> list[Path]:
        """Main files, each with what it includes; those that none includes are listed."""
        if not paths:
            return []
        if self.alone:
            self._document(paths[0], self.document)
            return list(paths)
        # A class may stand in a preamble of its own, which the file that begins includes.
        begun = [path for path in paths if _BEGUN.search(text_of_file(path))]
        classes = [path for path in paths if _CLASS.search(text_of_file(path))]
        # Or what begins is a title page without a class, which a file with one includes.
        pages = classes and not any(map(_ENDED.search, map(text_of_file, begun)))
        mains = classes if pages else begun or classes
        read: set[Path] = set()
        for path in mains:
            # Two papers in a folder, or a paper and its appendix, print things of their own.
            name = self.document if len(mains) == 1 else self._place(path).file
            self._guarded(path, partial(self._read_into, read, name))
        left = [path for path in paths if path not in read and path not in mains]
        if mains:
            for path in left:
                if "\\begin" in text_of_file(path):
                    why = "no main file of this folder includes it: audit it by its own name"
                    self.unread.append(unread(self._place(path), why, counts=False))
            return mains
        for path in sorted(left, key=lambda one: len(one.parts)):
            if path not in read:
                self._guarded(path, lambda one: read.update(self._document(one, self.document)))
        return list(paths)

    def _read_into(self, read: set[Path], name: str, path: Path) -> None:
        """Read a document, and add its files to those that were read."""
        read |= self._document(path, name)

    def _document(self, path: Path, name: str) -> set[Path]:
        """A LaTeX file and what it includes; all files that were read."""
        found, source = read_apart(_reader("latex").of_file, path.resolve(), self.top)
        self.texts |= source.texts
        self._grids([one for one in found if _where(one) not in self.read_before], path, name)
        self.read_before.update(map(_where, found))
        return set(source.files)

    def _file(self, path: Path) -> None:
        if path.suffix.lower() == ".csv" and is_tidy(path):
            self.tables += _bounded(tables_of_cells, path)
            return
        if path.suffix.lower() in (*_HTML, ".md", ".markdown"):
            self.texts[self._place(path).file] = text_of_file(path)
        module, function = READERS[path.suffix.lower()]
        grids = _bounded(_all_of, path, getattr(_reader(module), function))
        self._grids(grids, path, self.document)

    def _yaml(self, path: Path) -> None:
        """Tables that a person typed; in a folder, a file of other things is passed over."""
        if self.alone:
            self.tables += _bounded(read_tables, path, self.document)
            return
        try:
            entries = _bounded(read_yaml, path)
        except MemreproError:
            return  # a file of something else, in a form that this reader does not know
        entries = entries if isinstance(entries, Mapping) else {}
        for name, entry in entries.items():
            if isinstance(entry, Mapping) and {"columns", "rows"} <= set(map(str, entry)):
                try:
                    self.tables.append(table_of(self.document, str(name), entry, path.name))
                except MemreproError as error:
                    place = self._place(path)._replace(part=f"table {str(name)[:60]!r}")
                    self.unread.append(unread(place, error))

    def _grids(self, grids: Iterable[Found], path: Path, document: str) -> None:
        file = self._place(path).file
        for grid in grids:
            if isinstance(grid, Unread):
                self.unread.append(grid)
                continue
            if isinstance(grid, Sentences):
                self.texts[grid.source.replace(path.name, file, 1)] = grid.text
                continue
            place = grid.place
            if place.file == path.name:
                place = place._replace(file=file)
            try:
                for entry in entries_of_grid(grid._replace(place=place)):
                    name = f"table{len(self.entries) + 1}"
                    self.tables.append(table_of(document, name, entry, str(path)))
                    self.entries[name] = entry
            except NoNumbers as error:
                self.unread.append(unread(place, error, counts=False))
            except MemreproError as error:
                self.unread.append(unread(place, error))


def write_entries(path: Path, read: Read) -> None:
    """Write what was understood as YAML in the ledger's format, what was not as comments.

    Raises:
        MemreproError: if the file is there and says something else: a person may have corrected it.
    """
    lines = [f"# not read: {one.source}: {one.why}\n" for one in read.unread]
    said = yaml.safe_dump(dict(read.entries), sort_keys=False, allow_unicode=True, width=100)
    text = "".join(lines) + said
    if path.is_file() and path.read_bytes() != text.encode():
        raise MemreproError(f"{path} is there, and says something else: name a new file")
    write_text(path, text)
