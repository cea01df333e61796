"""What documents add to other rooms, found by name at run time: reports, and further parts."""

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Protocol, cast

from memrepro.report.build import build_report
from memrepro.report.document import Document

_AUDIT = "audit"


class ReportModule(Protocol):
    """What builds one report."""

    def build(self, profile: str, folder: Path) -> list[Path]:
        """Write the report's tables and figures into a folder; return their paths."""


class DocumentReport:
    """The report of a document that is data."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def build(self, profile: str, folder: Path) -> list[Path]:
        """Write the report's tables and figures into a folder; return their paths."""
        return build_report(self.document, profile, folder)


def report_module(paper: str) -> ReportModule:
    """What writes a report: the audit's module, `memrepro.papers.<paper>.report`, or data alone."""
    if paper == _AUDIT:
        return cast(ReportModule, importlib.import_module("memrepro.report.audit"))
    name = f"memrepro.papers.{paper}.report"
    if importlib.util.find_spec(name):
        return cast(ReportModule, importlib.import_module(name))
    return DocumentReport(Document.of(paper))


def document_parts(part: str) -> Iterator[ModuleType]:
    """The documents' own modules of a name, such as `explain`, of those folders that have one."""
    papers = importlib.import_module("memrepro.papers")
    for folder in pkgutil.iter_modules(papers.__path__):
        name = f"memrepro.papers.{folder.name}.{part}"
        if folder.ispkg and importlib.util.find_spec(name):
            yield importlib.import_module(name)
