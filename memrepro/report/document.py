"""A document's folder: its tables and claims as data, its studies, and its own analyses."""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from memrepro.audit.documents import PAPERS, printed_notes, printed_rows
from memrepro.errors import MemreproError
from memrepro.files.atomic import read_yaml
from memrepro.report.specs import Spec

_NAMED = ("tables", "runs", "figures")  # what must map names to entries


class Document:
    """One folder below `papers`: `printed.yaml`, `tables.yaml`, `claims.yaml`, `analysis.py`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.name = folder, folder.name
        self._data: Mapping[str, Any] = _read(folder / "tables.yaml")
        self.tables: Mapping[str, Spec] = self._data.get("tables", {})
        self.named: Mapping[str, Spec] = self._data.get("runs", {})
        self.spell: list[list[str]] = self._data.get("spell", [])
        self.figures: Mapping[str, Spec] = self._data.get("figures", {})
        self.claims: Mapping[str, Any] = _read(folder / "claims.yaml")

    @classmethod
    def load(cls, paper: str) -> "Document":
        """A document of this package by its stem."""
        return cls(PAPERS / paper)

    def studies(self, profile: str) -> list[Spec]:
        """What the tables are repeated over on a profile; one without names where none is named."""
        return list(self._data.get("studies", {}).get(profile, [{}]))

    def profiles(self, profile: str) -> list[str]:
        """Whose runs a profile's report stands on."""
        return list(self._data.get("profiles", {}).get(profile, [profile]))

    def printed(self, table: str) -> dict[str, dict[str, str]]:
        """A table as printed: row → column → string."""
        return printed_rows(self.name, table, self.folder.parent)

    def printed_notes(self, table: str) -> list[str]:
        """What a reader must know of a table's printed numbers."""
        return printed_notes(self.name, table, self.folder.parent)

    @property
    def is_packaged(self) -> bool:
        """Whether it is one of this package, whose printed numbers the audit checks too."""
        return self.folder.parent == PAPERS

    @cached_property
    def analysis(self) -> ModuleType | None:
        """The document's `analysis.py`, if it has one."""
        path = self.folder / "analysis.py"
        if not path.is_file():
            return None
        if self.is_packaged:
            return importlib.import_module(f"memrepro.papers.{self.name}.analysis")
        spec = importlib.util.spec_from_file_location(f"_analysis_of_{self.name}", path)
        assert spec is not None  # the file is there
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    def call(self, name: str) -> Callable[..., Any]:
        """A function of the document's analysis, or of another `module.function` of its package.

        Raises:
            MemreproError: if there is none of that name.
        """
        module, _, function = name.rpartition(".")
        place = self.analysis
        if module:
            if not self.folder.joinpath(*module.split(".")).with_suffix(".py").is_file():
                raise MemreproError(
                    f"{self.name} has no module {module}.py, whose {name!r} is asked"
                )
            place = importlib.import_module(f"memrepro.papers.{self.name}.{module}")
        found = getattr(place, function, None)
        if found is None:
            raise MemreproError(f"{self.name}: {module or 'analysis'}.py has no function {name!r}")
        called: Callable[..., Any] = found
        return called


def _read(path: Path) -> Mapping[str, Any]:
    found = read_yaml(path) if path.is_file() else {}
    if not isinstance(found, Mapping):
        raise MemreproError(f"{path} maps no names: it is a {type(found).__name__}")
    for name, entries in found.items():
        if name in _NAMED and not isinstance(entries, Mapping):
            raise MemreproError(f"{path}: {name!r} must map names to entries, found {entries!r}")
    return found


@contextmanager
def in_entry(path: Path, entry: str, *, is_data: bool = True) -> Iterator[None]:
    """Errors of what an entry of a document's file says begin with the file and the entry.

    Args:
        path: of the file.
        entry: such as 'table table1'.
        is_data: whether nothing but the file's words is read, so that a key that is missing or a
            value of another kind is its fault; of a document's own code it is the code's.
    """
    faults = (KeyError, TypeError, ValueError, AttributeError) if is_data else ()
    try:
        yield
    except MemreproError as error:
        said = str(error)
        raise MemreproError(said if str(path) in said else f"{path}, {entry}: {said}") from error
    except faults as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else f"cannot be read: {error}"
        module = "claims" if path.stem == "claims" else "engine"
        raise MemreproError(
            f"{path}, {entry}: it {what}; memrepro/report/{module}.py says what an entry may have"
        ) from error
