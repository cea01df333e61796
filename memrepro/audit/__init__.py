"""Printed numbers checked against each other, and the ledger; it does not know retrieval."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memrepro.audit.check import Report, audit_file, audit_tables
    from memrepro.audit.finding import Finding
    from memrepro.audit.tables import Table

__all__ = ["Finding", "Report", "Table", "audit_file", "audit_tables"]


def __getattr__(name: str) -> Any:
    # The rules import much of SciPy, and most of the package needs the verdicts' names alone.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from memrepro.audit import check

    return getattr(check, name)
