"""Rows with one whole and other parts: as many right answers, and to other questions.

A printed share is a whole number of right answers where its number of questions is stated. Two rows
that agree in the whole but not in every part have won questions and lost others, however even the
whole looks.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from memrepro.audit.finding import CERTAIN, TELLS, Finding
from memrepro.audit.rules.granularity import ways
from memrepro.audit.rules.shares import shares_of
from memrepro.audit.rules.wholes import columns_of
from memrepro.audit.tables import Table

Counts = Mapping[str, Mapping[str, tuple[int, int]]]


def counts_of(table: Table) -> Counts:
    """Row → column → right answers and questions, of the shares that one count alone gives."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    if table.reading.get("partial"):
        return found
    for share in shares_of(table):
        right = set(ways(share.bare, share.steps).values()) if share.steps else set()
        if len(right) == 1:
            entry = share.entry
            found.setdefault(entry.row, {})[entry.column] = (right.pop(), share.steps)
    return found


def least_moved(
    before: Mapping[str, tuple[int, int]],
    now: Mapping[str, tuple[int, int]],
    whole: str,
    parts: Sequence[str],
) -> tuple[int, int]:
    """How many questions of a whole were won and lost at least.

    By the parts that both rows have; the rest of what the whole changed was won or lost besides.
    """
    changes = [now[part][0] - before[part][0] for part in parts if part in now and part in before]
    won, lost = (sum(max(sign * change, 0) for change in changes) for sign in (1, -1))
    rest = now[whole][0] - before[whole][0] - (won - lost)
    return won + max(rest, 0), lost + max(-rest, 0)


def same_whole(table: Table) -> Iterator[Finding]:
    """Pairs of rows whose wholes are the same count, and whose parts are not."""
    counts = counts_of(table)
    for whole, parts in columns_of(table).items():
        have = [row for row in table.rows if whole in counts.get(row, {})]
        for one, other in itertools.combinations(have, 2):
            before, now = counts[one], counts[other]
            known = [part for part in parts if part in before and part in now]
            moved = [part for part in known if before[part] != now[part]]
            if before[whole] != now[whole] or not moved:
                continue
            won, lost = least_moved(before, now, whole, parts)
            told = ", ".join(f"{part} {before[part][0]} → {now[part][0]}" for part in moved)
            right, n = now[whole]
            yield Finding(
                table.document, table.name, "same whole", f"{other} against {one}, {whole}",
                table.rows[other][whole], "the same questions, if none was lost",
                f"{right} of {n} both, and {told}: at least {won} won and {lost} lost", TELLS,
                CERTAIN, "counts by the stated numbers of questions", len(known) + 1,
            )  # fmt: skip
