"""Which module builds a report: a document's own, or the audit's, which is about all of them."""

import importlib
import pkgutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Protocol, cast

_AUDIT = "audit"


class ReportModule(Protocol):
    """A module that builds one report."""

    def build(self, profile: str, folder: Path) -> list[Path]:
        """Write the report's tables and figures into a folder; return their paths."""


def report_module(paper: str) -> ReportModule:
    """The module whose `build` writes a report: `memrepro.papers.<paper>.report`."""
    name = "memrepro.report.audit" if paper == _AUDIT else f"memrepro.papers.{paper}.report"
    return cast(ReportModule, importlib.import_module(name))


def document_parts(part: str) -> Iterator[ModuleType]:
    """The documents' own modules of a name, such as `explain`, of those folders that have one."""
    papers = importlib.import_module("memrepro.papers")
    for folder in pkgutil.iter_modules(papers.__path__):
        name = f"memrepro.papers.{folder.name}.{part}"
        if folder.ispkg and find_spec(name):
            yield importlib.import_module(name)
