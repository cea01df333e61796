"""How often tables without slips give a finding: counted on made ones (`benchmarks/audit.py`).

`rates.csv` has a row a rule, how sure it is, and family of made tables: those of shares with and
without stated sizes, and one family for each rule that is not of shares.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from scipy import stats

from memrepro.audit.finding import Finding
from memrepro.audit.tables import Table
from memrepro.files.atomic import read_table

STATED, NOT_STATED = "shares, sizes stated", "shares, sizes not stated"
COLUMNS = ["rule", "sure", "family", "clean", "clean flagged", "slipped", "slipped flagged"]
# The share of clean tables that a finding may flag and still be called so.
MEANS = {"certain": 0.001, "likely": 0.01, "weak": 0.05}


class Rate(NamedTuple):
    """How many of how many clean tables gave such a finding.

    Attributes:
        flagged, of: counts of tables.
        bound: the largest rate that fits them (Clopper and Pearson, 95 %, one-sided).
        tables: of the document that is audited.
    """

    flagged: int
    of: int
    bound: float
    tables: int

    @property
    def chance(self) -> float:
        """At most so often a document of so many clean tables has such a finding in one of them."""
        return float(1 - (1 - self.bound) ** self.tables)

    def __str__(self) -> str:
        over = f", {self.chance:.1%} of papers with {self.tables} tables" if self.tables > 1 else ""
        return (
            f"{self.flagged} of {self.of} tables without a slip gave such a finding: "
            f"at most {self.bound:.1%} of tables{over}"
        )


@cache
def rates() -> dict[tuple[str, str], dict[str, tuple[int, int]]]:
    """Rule and how sure → family → clean tables flagged, and clean tables."""
    found: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
    for row in read_table(Path(__file__).with_name("rates.csv")).to_dict("records"):
        counted = int(row["clean flagged"]), int(row["clean"])
        found.setdefault((row["rule"], row["sure"]), {})[row["family"]] = counted
    return found


def bound(flagged: int, of: int) -> float:
    """The upper end of a share, 95 %, one-sided."""
    return float(stats.beta.ppf(0.95, flagged + 1, of - flagged)) if flagged < of else 1.0


def rate(finding: Finding, table: Table | None, tables: int) -> Rate | None:
    """The rate of a finding's rule at its sureness, or None where none was counted.

    Args:
        finding: that does not hold.
        table: where it stands; which sizes it states tells its family.
        tables: of the document.
    """
    counted = rates().get((finding.rule, finding.sure), {})
    own = STATED if table is not None and "n" in table.reading else NOT_STATED
    of_shares = {STATED, NOT_STATED} & counted.keys()
    family = own if of_shares else next(iter(counted), "")
    if family not in counted:
        return None
    return Rate(*counted[family], bound(*counted[family]), tables)
