"""Printed numbers checked against each other, and the ledger; it does not know retrieval."""

from memrepro.audit.check import Report, audit_file, audit_tables
from memrepro.audit.finding import Finding
from memrepro.audit.tables import Table

__all__ = ["Finding", "Report", "Table", "audit_file", "audit_tables"]
