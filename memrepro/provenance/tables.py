"""The written tables of a profile, and a name `paper:table:row:column` of a cell."""

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.cached import until_changed
from memrepro.report.tables import Cell, has_cells, read_cells
from memrepro.study.plan import PROFILES


class Name(NamedTuple):
    """What a name picks out; `row` and `column` are '' where it stops before them."""

    profile: str
    paper: str
    table: str
    row: str = ""
    column: str = ""

    def __str__(self) -> str:
        """The name as a person types it."""
        return ":".join(part for part in self[1:] if part)


def papers(profile: str) -> list[str]:
    """The papers of which a profile has tables."""
    return sorted({path.parent.name for path in _files(profile)})


def tables(profile: str, paper: str) -> list[str]:
    """The tables of a paper: its csv files that have a verdict for each cell."""
    return sorted(path.stem for path in _files(profile) if path.parent.name == paper)


def path_of(profile: str, paper: str, table: str) -> Path:
    """Where a table is, or would be."""
    return paths.results(profile) / paper / f"{table}.csv"


def cells(profile: str, paper: str, table: str) -> dict[tuple[str, str], Cell]:
    """(row, column) → cell of a written table, in its order.

    Raises:
        MemreproError: if there is no such table; it names the nearest.
    """
    path = path_of(profile, paper, table)
    if not is_tidy(path):
        raise _unknown("table", table, tables(profile, paper), f"of {paper} in {profile}")
    return dict(_read(path))


def parse(text: str, profile: str = "") -> Name:
    """A name from `paper[:table[:row[:column]]]`; a row or column may itself hold a colon.

    Args:
        text: the name.
        profile: where to look; '' for the first that has it, those with a number before the others.

    Raises:
        MemreproError: if nothing has that name; it lists the nearest.
    """
    if profile and profile not in PROFILES:
        raise MemreproError(f"unknown profile {profile!r}: known are {', '.join(PROFILES)}")
    searched = [profile] if profile else ["full", "open", "sample"]
    paper, _, rest = text.partition(":")
    known = {p: papers(p) for p in searched}
    having = [p for p, names in known.items() if paper in names]
    if not having:
        every = {name for names in known.values() for name in names}
        raise _unknown("paper", paper, every, f"in {', '.join(searched)}")
    table, _, rest = rest.partition(":")
    if not table:
        return Name(having[0], paper, "")
    named = [p for p in having if table in tables(p, paper)]
    if not named:
        if elsewhere := [p for p in PROFILES if table in tables(p, paper)]:
            raise MemreproError(
                f"{paper} has the table {table!r} in the profile {elsewhere[0]!r}, not in "
                f"{' and '.join(map(repr, having))}: name that profile, or leave it out"
            )
        every = {name for p in having for name in tables(p, paper)}
        raise _unknown("table", table, every, f"of {paper} in {', '.join(having)}")
    found: list[Name] = []
    failures: list[MemreproError] = []
    for one in named:
        try:
            found.append(_within(Name(one, paper, table), rest))
        except MemreproError as error:
            failures.append(error)
    if not found:
        raise failures[0]
    return next((name for name in found if _has_number(name)), found[0])


def _within(name: Name, rest: str) -> Name:
    """The row and the column that the rest of a name gives."""
    if not rest:
        return name
    known = cells(name.profile, name.paper, name.table)
    rows = dict.fromkeys(row for row, _ in known)
    # The longest row that fits, since one row's name may begin another's.
    fitting = [row for row in rows if rest == row or rest.startswith(f"{row}:")]
    if not fitting:
        raise _unknown("row", rest.partition(":")[0], rows, f"of {name}")
    row = max(fitting, key=len)
    column = rest[len(row) + 1 :]
    name = name._replace(row=row)
    if column and (row, column) not in known:
        raise _unknown("column", column, [c for r, c in known if r == row], f"of {name}")
    return name._replace(column=column)


def _has_number(name: Name) -> bool:
    known = cells(name.profile, name.paper, name.table)
    chosen = [c for (r, k), c in known.items() if name.row in ("", r) and name.column in ("", k)]
    return any(c.reproduced for c in chosen)


def _unknown(what: str, found: str, known: Iterable[str], where: str) -> MemreproError:
    names = sorted(known)
    near = difflib.get_close_matches(found, names, n=5, cutoff=0.3) or names[:5]
    return MemreproError(
        f"unknown {what} {found!r}: the nearest of the {len(names)} {where} are "
        f"{', '.join(map(repr, near)) or 'none'}"
    )


def _files(profile: str) -> list[Path]:
    return [path for path in paths.results(profile).glob("*/*.csv") if is_tidy(path)]


def is_tidy(path: Path) -> bool:
    """Whether a file is a table of cells, each with a verdict."""
    if path.suffix != ".csv" or not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:  # a table may be damaged below
        return has_cells(file.readline().rstrip("\n").split(","))


@until_changed(64)
def _read(path: Path) -> dict[tuple[str, str], Cell]:
    return {(cell.row, cell.column): cell for cell in read_cells(path)}
