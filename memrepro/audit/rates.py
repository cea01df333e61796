"""How often tables without slips give a finding: counted on made ones (`benchmarks/audit.py`).

`rates.csv` has a row a rule, how sure it is, and family of made tables: those of shares with and
without stated sizes, and one family for each kind of rule that is not of shares. A rule has a row
for each family in which it told anything, of a clean table or of one with a slip.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from scipy import stats

from memrepro.audit.finding import CERTAIN, LIKELY, WEAK, Finding
from memrepro.files.atomic import read_table

STATED, NOT_STATED = "shares, sizes stated", "shares, sizes not stated"
ANY_RULE = "any rule"
COLUMNS = ["rule", "sure", "family", "clean", "clean flagged", "slipped", "slipped flagged"]
# What the words mean: at most this part of clean tables gives a finding of a rule that is so sure.
MEANS = {CERTAIN: 0.001, LIKELY: 0.01, WEAK: 0.05}


class Rate(NamedTuple):
    """How many of how many clean tables gave such a finding.

    Attributes:
        flagged, of: counts of tables.
        tables: of the document that is audited.
    """

    flagged: int
    of: int
    tables: int = 1

    @property
    def bound(self) -> float:
        """The largest rate that fits the counts (Clopper and Pearson, 95 %, one-sided)."""
        return float(stats.beta.ppf(0.95, self.flagged + 1, self.of - self.flagged))

    @property
    def least(self) -> float:
        """The least rate that fits them."""
        if not self.flagged:
            return 0.0
        return float(stats.beta.ppf(0.05, self.flagged, self.of - self.flagged + 1))

    @property
    def chance(self) -> float:
        """At most so often a document of so many clean tables has such a finding in one of them."""
        return float(1 - (1 - self.bound) ** self.tables)

    def __str__(self) -> str:
        over = f", {self.chance:.1%} of papers with {self.tables} tables" if self.tables > 1 else ""
        return (
            f"{self.flagged} of {self.of} made tables without a slip gave such a finding: "
            f"at most {self.bound:.2%} of tables{over}"
        )


@cache
def rates() -> dict[tuple[str, str], dict[str, Rate]]:
    """Rule and how sure → family → clean tables flagged."""
    found: dict[tuple[str, str], dict[str, Rate]] = {}
    for row in read_table(Path(__file__).with_name("rates.csv")).to_dict("records"):
        counted = Rate(int(row["clean flagged"]), int(row["clean"]))
        found.setdefault((row["rule"], row["sure"]), {})[row["family"]] = counted
    return found


def rate(finding: Finding, tables: int = 1) -> Rate | None:
    """The rate of a finding's rule at its sureness, or None where none was counted.

    Over all families of made tables in which the rule told anything.

    Args:
        finding: that does not hold.
        tables: of the document.
    """
    counted = rates().get((finding.rule, finding.sure), {}).values()
    if not counted:
        return None
    return Rate(sum(one.flagged for one in counted), sum(one.of for one in counted), tables)
