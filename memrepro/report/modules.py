"""What documents add to other rooms, found by name at run time: reports, and further parts."""

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from threadpoolctl import threadpool_limits

from memrepro.report.build import build_report
from memrepro.report.document import Document


def write_report(paper: str, profile: str, folder: Path) -> list[Path]:
    """Write a paper's tables and figures into a folder; return their paths.

    The audit and some documents have a report of their own; the others are data alone.
    """
    # Its many small products wait longer for other threads than they take.
    with threadpool_limits(1, "blas"):
        return _write_report(paper, profile, folder)


def _write_report(paper: str, profile: str, folder: Path) -> list[Path]:
    name = "memrepro.report.audit" if paper == "audit" else f"memrepro.papers.{paper}.report"
    if importlib.util.find_spec(name):
        written: list[Path] = importlib.import_module(name).write_report(profile, folder)
        return written
    return build_report(Document.load(paper), profile, folder)


def document_parts(part: str) -> Iterator[ModuleType]:
    """The documents' own modules of a name, such as `explain`, of those folders that have one."""
    papers = importlib.import_module("memrepro.papers")
    for folder in pkgutil.iter_modules(papers.__path__):
        name = f"memrepro.papers.{folder.name}.{part}"
        if folder.ispkg and importlib.util.find_spec(name):
            yield importlib.import_module(name)
