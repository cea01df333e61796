"""Printed numbers checked against each other, and the ledger; it does not know retrieval.

The package can be called: `mr.audit("paper.tex")` is `audit_file`.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memrepro.audit.check import Report, audit_file, audit_tables
    from memrepro.audit.finding import Finding
    from memrepro.audit.tables import Table

__all__ = ["Finding", "Report", "Table", "audit_file", "audit_tables"]


class _CallableAudit(ModuleType):
    """The package, whose name is that of what it does."""

    def __call__(self, file: str | Path, form: str = "") -> "Report":
        r"""Check the printed numbers of a paper's tables against each other; no run is needed.

        Args:
            file: LaTeX, HTML, Markdown, csv, xlsx, docx, pdf or YAML, or a folder of these; with
                `form` the text itself.
            form: of a text: 'tex', 'html', 'md', 'csv' or 'yaml'.

        Returns:
            `Report`: its `frame()` has a row a finding, what does not hold first; `failing()` the
            findings that do not hold; `unread` the tables that could not be read, and why.

        Raises:
            MemreproError: if the file is missing or of no known kind.

        Example:
            >>> import memrepro as mr
            >>> table = "| Model | Acc (n=40) |\n| --- | --- |\n| Ours | 0.4521 |"
            >>> [finding] = mr.audit(table, form="md").failing()
            >>> finding.where, finding.printed
            ('Ours, Acc (n=40)', '0.4521')
            >>> print(finding.found)
            no number of right ones gives 0.4521; nearest: 0.4500 (18) and 0.4750 (19)
        """
        from memrepro.audit.check import audit_file

        if not form:
            return audit_file(Path(file).expanduser())
        with TemporaryDirectory() as folder:
            path = Path(folder, f"text.{form}")
            path.write_text(str(file), encoding="utf-8")
            return audit_file(path)


sys.modules[__name__].__class__ = _CallableAudit


def __getattr__(name: str) -> Any:
    # The rules import much of SciPy, and most of the package needs the verdicts' names alone.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from memrepro.audit import check

    return getattr(check, name)
