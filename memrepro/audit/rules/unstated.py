"""The number of questions behind shares where a table states none: the one that explains most."""

import re
from collections.abc import Iterator, Sequence

from scipy.stats import binom

from memrepro.audit.finding import CERTAIN, FAILS, LIKELY, TELLS, WEAK, Finding
from memrepro.audit.rules.granularity import (
    ANY,
    LARGEST,
    SOLUTIONS,
    Fit,
    best,
    density,
    digits_of,
    fits,
    near_misses,
    possible,
    sizes_of_parts,
)
from memrepro.audit.rules.shares import TELLING, Share, impossible, nearest, place, shares_of
from memrepro.audit.tables import Table

_LARGEST_TOTAL = 10_000
_CHANCE = 0.01  # that so many columns look slipped
_MOST, _HALF = 0.95, 0.6  # of the shares: to name those that are none; to believe an n


def unstated(tables: Sequence[Table]) -> Iterator[Finding]:
    """The number of questions behind shares whose table states none.

    All shares of a metric and a data set are tried together, then table by table, then column by
    column; what chance explains as well is told for the first of these alone.
    """
    open_ = [
        share
        for table in tables
        if not any(table.reading.get(key) for key in ("partial", "total", "set"))
        for share in shares_of(table)
        if not share.steps and share.entry.metric
    ]
    groups: dict[str, list[Share]] = {}
    for share in open_:
        stem = re.sub(r"-(S|M)$", "", share.entry.dataset)
        name = f"{share.entry.metric}, {stem or 'no data set named'}"
        groups.setdefault(name, []).append(share)
    for name, group in groups.items():
        yield from _searched(name, group)


def _searched(name: str, group: Sequence[Share]) -> Iterator[Finding]:
    by_table: dict[str, list[Share]] = {}
    by_column: dict[tuple[str, str], list[Share]] = {}
    for share in group:
        entry = share.entry
        by_table.setdefault(entry.table, []).append(share)
        head = re.sub(r"[ ,]*(?:Top-|recall@|R@)\d+$", "", entry.column, flags=re.I)
        by_column.setdefault((entry.table, head), []).append(share)
    told: list[tuple[Sequence[Share], Fit]] = []
    if found := _believed(group):
        told.append((group, found))
    else:
        for part in (*by_table.values(), *by_column.values()):
            covered = any({*part} <= {*other} for other, _ in told)
            if not covered and (found := _believed(part)):
                told.append((part, found))
    if not told:
        yield _no_evidence(name, group)
    for some, fit in told:
        yield from _explained(name, some, fit)


def _believed(group: Sequence[Share]) -> Fit | None:
    """The n that explains most of a group, and more than chance."""
    found = best([share.bare for share in group])
    return found if found and found.possible >= _HALF * found.of else None


def _names(group: Sequence[Share]) -> str:
    return ", ".join(dict.fromkeys(share.entry.table for share in group))


def _no_evidence(name: str, group: Sequence[Share]) -> Finding:
    tried = fits([share.bare for share in group])
    whole = sum(fit.possible == fit.of for fit in tried if fit.way == ANY)
    most = tried[0].of if tried else 0
    return Finding(
        group[0].entry.document, _names(group), "number of questions", name, "", "",
        f"nothing: {whole} numbers up to {LARGEST} explain all {most} distinct shares, and none "
        "stands out", TELLS, WEAK, "too few shares or digits, several n's, or no 0-or-1 metric",
        most,
    )  # fmt: skip


def _explained(name: str, group: Sequence[Share], fit: Fit) -> Iterator[Finding]:
    columns = sorted({share.entry.column for share in group})
    where = f"{name}: {', '.join(columns) if len(columns) <= 4 else f'{len(columns)} columns'}"
    why = (
        f"by chance {fit.expected:.1f} of {fit.of} would be, p = {fit.chance:.1e} over {LARGEST} "
        f"n's; {fit.rivals} of them explain as many"
    )
    (tried,) = fits([share.bare for share in group], [fit.n], [ANY])
    strange = [share for share in group if not possible(share.bare, fit.n)]
    others = sorted({share.entry.column for share in strange})
    none = f"; those that are none stand in {', '.join(others)}" if others else ""
    yield Finding(
        group[0].entry.document, _names(group), "number of questions", where, "", "",
        f"{fit.possible} of {fit.of} distinct shares are of {fit.n} questions, {fit.way}; "
        f"{tried.possible} if rounded or cut off{none}", TELLS, LIKELY, why, fit.of,
    )  # fmt: skip
    for share in strange if tried.possible >= _MOST * fit.of else []:
        hints = [f"{o} is ({k} of {fit.n})" for o, k in near_misses(share.bare, fit.n)]
        near = nearest(share._replace(steps=fit.n))
        found = f"with two digits exchanged {hints[0]}" if hints else f"nearest: {near}"
        entry, expected = share.entry, f"a share of {fit.n}, as {tried.possible} of {fit.of}"
        yield Finding(
            entry.document, entry.table, "impossible share", place(share), entry.printed,
            expected, f"no such share; {found}", FAILS,
            LIKELY if fit.expected < TELLING * fit.of else WEAK, why, 1,
        )  # fmt: skip


def slipped(tables: Sequence[Table]) -> Iterator[Finding]:
    """Recall and NDCG in each other's columns: what should be a share is none, and the other is.

    Of tables whose recalls are of one n for the most part.
    """
    for table in tables:
        recalls = [s for s in shares_of(table, ["recall"]) if not s.steps]
        ndcgs = {
            (s.entry.row, s.entry.column.lower().replace("ndcg", "recall")): s
            for s in shares_of(table, ["ndcg"])
        }
        fit = best([share.bare for share in recalls])
        if fit is None:
            continue
        crossed, p = [], density(fit.n, digits_of(recalls[0].bare)[1], ANY)
        for recall in recalls:
            other = ndcgs.get((recall.entry.row, recall.entry.column.lower()))
            if other and not possible(recall.bare, fit.n) and possible(other.bare, fit.n):
                crossed.append((recall, other))
        if crossed:
            shown = "; ".join(f"{place(r)} {r.bare} ({o.bare})" for r, o in crossed)
            missing = sum(not possible(share.bare, fit.n) for share in recalls)
            chance = float(binom.sf(len(crossed) - 1, missing, p))
            yield Finding(
                table.document, table.name, "slipped columns", "Recall and NDCG", "",
                f"recalls are shares of {fit.n} questions, as {fit.possible} of {fit.of} are",
                f"{len(crossed)} are none, and the NDCG beside them is one: {shown}", FAILS,
                LIKELY if chance <= _CHANCE else WEAK,
                f"of the {missing} recalls that are no share, {p * missing:.1f} would have a share "
                "beside them by chance", len(crossed),
            )  # fmt: skip


def sizes(table: Table) -> Iterator[Finding]:
    """The numbers of questions behind columns that add up to a stated total.

    Where no numbers give all rows, a row is left out in turn, and its cells are held against what
    the others give.
    """
    if not (total := table.reading.get("total")):
        return
    if total > _LARGEST_TOTAL:
        yield Finding(
            table.document, table.name, "sizes of parts", "all columns", "", "", "not searched",
            TELLS, WEAK, f"a total above {_LARGEST_TOTAL:,} fits every share", 0,
        )  # fmt: skip
        return
    columns: dict[str, list[Share]] = {}
    for share in shares_of(table):
        if not share.steps and table.runs(share.entry.row) == 1:
            columns.setdefault(share.entry.column, []).append(share)
    left_out, found = "", _sizes_without("", columns, int(total))
    if not found:
        tried = {row: _sizes_without(row, columns, int(total)) for row in table.rows}
        left_out, found = next(((r, f) for r, f in tried.items() if len(f) == 1), ("", []))
    shown = "; ".join(
        ", ".join(f"{name} {n}" for name, n in zip(columns, one, strict=True)) for one in found[:3]
    )
    without = f", without the row {left_out}, with which there are none" if left_out else ""
    yield Finding(
        table.document, table.name, "sizes of parts", f"columns {', '.join(columns)}", "",
        f"numbers that give every share and add up to {total}",
        f"{len(found)}{' or more' if len(found) == SOLUTIONS else ''}: {shown}{without}" if found
        else "none, with all rows or all but one", TELLS if found else FAILS,
        CERTAIN if len(found) == 1 and not left_out else LIKELY,
        "all were tried, each share rounded", sum(map(len, columns.values())),
    )  # fmt: skip
    if left_out:
        for own, n in zip(columns.values(), found[0], strict=True):
            for share in own:
                if share.entry.row == left_out and not possible(share.bare, n):
                    yield impossible(table, share._replace(steps=n))._replace(
                        sure=LIKELY, why="n is what the other rows give"
                    )


def _sizes_without(row: str, columns: dict[str, list[Share]], total: int) -> list[tuple[int, ...]]:
    kept = [[s.bare for s in own if s.entry.row != row] for own in columns.values()]
    return sizes_of_parts(kept, total)
