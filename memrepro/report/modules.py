"""What documents add to other rooms, found by name at run time: reports, and further parts."""

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from memrepro.report.build import build_report
from memrepro.report.document import Document


class DocumentReport(NamedTuple):
    """The report of a document that is data."""

    document: Document

    def write_report(self, profile: str, folder: Path) -> list[Path]:
        """Write the report's tables and figures into a folder; return their paths."""
        return build_report(self.document, profile, folder)


def report_module(paper: str) -> ModuleType | DocumentReport:
    """The module whose `write_report` makes it: the audit's, a document's own, or its data."""
    name = "memrepro.report.audit" if paper == "audit" else f"memrepro.papers.{paper}.report"
    if importlib.util.find_spec(name):
        return importlib.import_module(name)
    return DocumentReport(Document.load(paper))


def document_parts(part: str) -> Iterator[ModuleType]:
    """The documents' own modules of a name, such as `explain`, of those folders that have one."""
    papers = importlib.import_module("memrepro.papers")
    for folder in pkgutil.iter_modules(papers.__path__):
        name = f"memrepro.papers.{folder.name}.{part}"
        if folder.ispkg and importlib.util.find_spec(name):
            yield importlib.import_module(name)
