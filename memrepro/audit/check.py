"""The audit as a library: tables in, findings out, the surest of what does not hold first."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from memrepro.audit.consistency import findings, of_texts
from memrepro.audit.finding import FAILS, HOLDS, SURE, TELLS, Finding
from memrepro.audit.rates import Rate, rate
from memrepro.audit.read.files import Read, tables_of
from memrepro.audit.read.grid import Unread
from memrepro.audit.tables import Table, table_of


class Report(NamedTuple):
    """What the printed numbers of tables say of each other.

    Attributes:
        findings: what does not hold first, then what is told, then what holds; the surest first.
        tables: that were checked.
        unread: tables that could not be read, and why.
    """

    findings: tuple[Finding, ...]
    tables: tuple[Table, ...]
    unread: tuple[Unread, ...] = ()

    def failing(self, level: str = SURE[-1]) -> tuple[Finding, ...]:
        """What does not hold and is at least as sure as a level: 'certain', 'likely' or 'weak'."""
        kept = SURE[: SURE.index(level) + 1]
        return tuple(f for f in self.findings if f.words == FAILS and f.sure in kept)

    def rate(self, finding: Finding) -> Rate | None:
        """How often clean tables give such a finding, over all tables of the report."""
        return rate(finding, len(self.tables))

    def frame(self) -> pd.DataFrame:
        """The findings as a table, columns as in `Finding`."""
        return pd.DataFrame(self.findings, columns=list(Finding._fields))


def audit_tables(
    tables: Iterable[Table] | Mapping[str, Mapping[str, Any]], document: str = "tables"
) -> Report:
    """Check tables against themselves and each other.

    Args:
        tables: as `Table`s, or name → mapping with `columns`, `rows` and what else `tables.KEYS`
            has; cells are strings as printed.
        document: what mappings are of, for people.

    Raises:
        MemreproError: naming the table, the row and the rule, if a mapping is no table.
    """
    if isinstance(tables, Mapping):
        tables = [table_of(document, name, entry) for name, entry in tables.items()]
    return _report(tuple(tables))


def audit_file(path: Path) -> Report:
    """The same of a file, or of all files of a folder, see `read.files.READERS`.

    Raises:
        MemreproError: if it is missing or has no reader.
    """
    return report_of(tables_of(path))


def report_of(read: Read) -> Report:
    """The same of what a reader gave."""
    document = read.tables[0].document if read.tables else ""
    return _report(read.tables, read.unread, of_texts(document, read.texts))


def _report(
    tables: tuple[Table, ...], unread: tuple[Unread, ...] = (), said: Sequence[Finding] = ()
) -> Report:
    words = (FAILS, TELLS, HOLDS)
    made = [*findings(tables), *said]
    found = sorted(made, key=lambda f: (words.index(f.words), SURE.index(f.sure)))
    return Report(tuple(found), tables, unread)
