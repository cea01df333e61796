"""What the printed shares say once they are counts: right answers, and how sure a change can be.

Two rows' counts fix how many more questions one of them answers, not which. Of the ways in which
questions can have been won and lost, the fewest moved make a change most significant, the most make
it least; between the two the printed numbers decide nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from scipy.stats import binomtest

from memrepro.audit.documents import tables
from memrepro.audit.rules.moved import counts_of, least_moved
from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.evaluate.comparison import LEVEL
from memrepro.report.runs import Runs
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell

_BASELINE = {"table1": "User-Only", "table2": "User-Only (α=1.0)"}
_NOTE = (
    "arithmetic on printed numbers: counts are the only ones that give the shares; p: exact sign "
    "test of the questions won and lost, two-sided, at the fewest and at the most that the counts "
    "allow; not corrected for the number of comparisons"
)


class Change(NamedTuple):
    """What a row's count changed against another's, and how many questions moved.

    Attributes:
        before: right answers.
        now: right answers.
        n: questions.
        fewest: won and lost, at least.
        most: won and lost, at most.
    """

    before: int
    now: int
    n: int
    fewest: tuple[int, int]
    most: tuple[int, int]

    @property
    def p(self) -> tuple[float, float]:
        """The p-values at the fewest and at the most moved questions."""
        return sign_test(*self.fewest), sign_test(*self.most)

    @property
    def words(self) -> str:
        """Whether the change is significant, however the questions moved."""
        least, most = self.p
        if most < LEVEL:
            return "significant"
        return "not significant" if least >= LEVEL else "depends on which questions moved"


def sign_test(won: int, lost: int) -> float:
    """Exact two-sided p-value of questions won and lost; 1 where none moved."""
    return float(binomtest(won, won + lost).pvalue) if won + lost else 1.0


def change(
    before: Mapping[str, tuple[int, int]],
    now: Mapping[str, tuple[int, int]],
    column: str,
    parts: Sequence[str] = (),
) -> Change:
    """A column's change between two rows' counts; parts bound it where they make up all of it."""
    (old, n), (new, _) = before[column], now[column]
    known = [part for part in parts if part in before and part in now]
    whole = sum(before[part][1] for part in known) == n
    most = sum(min(now[c][0], before[c][1] - before[c][0]) for c in (known if whole else [column]))
    return Change(old, new, n, least_moved(before, now, column, known if whole else ()),
                  (most, most - (new - old)))  # fmt: skip


def printed_changes() -> Iterator[tuple[str, Change]]:
    """Every change of a recall against the user's words alone that the document prints, once."""
    known = set[str]()
    for table in tables("maxsim"):
        counts = counts_of(table)
        if table.name not in _BASELINE:
            continue
        baseline = _BASELINE[table.name]
        for row, found in counts.items():
            if row == baseline or row in known:  # Table 2 prints Table 1's row of max-sim again
                continue
            known.add(row)
            for column in found:
                parts = [c for c in found if c.endswith("R@10") and c != column]
                name = f"{table.name.replace('table', 'Table ')}: {row}, {column}"
                own = parts if column.startswith("Overall") else ()
                yield name, change(counts[baseline], found, column, own)


def decoded_cells(runs: Runs, table: Spec) -> Iterator[Cell]:
    """The document's changes as counts, with the p-values that they leave open."""
    for row, one in printed_changes():
        fewest, most = ("{} won, {} lost".format(*moved) for moved in (one.fewest, one.most))
        texts = {
            "right answers": f"{one.before} → {one.now} of {one.n}",
            "fewest moved": fewest,
            "p, fewest moved": f"{one.p[0]:.4f}",
            "most moved": most,
            "p, most moved": f"{one.p[1]:.4f}",
            "change": one.words,
        }
        for column, text in texts.items():
            yield Cell(row, column, "questions", "", text, one.n, NOT_COMPARABLE, note=_NOTE)
