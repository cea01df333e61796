"""Which module builds a report: a document's own, or the audit's, which is about all of them."""

import importlib
from pathlib import Path
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
