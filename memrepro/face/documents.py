"""What a document prints, what was computed beside it, and whether the two agree."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from memrepro.audit.documents import documents, printed_notes, printed_rows
from memrepro.audit.verdicts import Verdict, judge
from memrepro.errors import MemreproError
from memrepro.face.committed import check_repository
from memrepro.face.defaults import nearest
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report.tables import wide
from memrepro.study.plan import PROFILES


@dataclass(frozen=True)
class Drawing:
    """A committed figure, which a notebook shows where it is a cell's last value.

    Attributes:
        data: what is drawn.
        file: the svg; a png has the same name.
    """

    data: pd.DataFrame
    file: Path

    def _repr_svg_(self) -> str:
        return self.file.read_text(encoding="utf-8")


def table(document: str, name: str, profile: str = "open", *, tidy: bool = False) -> pd.DataFrame:
    """A table of a document as computed here, beside what is printed.

    Args:
        document: 'rfmem', 'maxsim', 'longmemeval', 'associa', 'tiered', 'findings', 'reading' or
            'audit'.
        name: such as 'table2': the file's name in `results/<profile>/<document>/`.
        profile: 'sample', 'open' or 'full'.
        tidy: the file as it is, all texts: one row a cell, with the columns of
            `report.tables.Cell`, or a list such as the audit's findings; else rows by columns, a
            cell reading `computed (printed …, verdict)`.

    Raises:
        MemreproError: for an unknown name, which lists the nearest, or outside a repository.

    Example:
        >>> import memrepro as mr
        >>> table = mr.table("rfmem", "table2", tidy=True)
        >>> recollection = table[table["row"] == "mpnet Recol."]
        >>> recollection[["column", "reported", "reproduced", "verdict"]].tail(1)
                  column reported reproduced verdict
        59  R@10 Overall   0.5527     0.5527  picked
    """
    cells = read_table(_committed(document, name, profile, "csv", "table"))
    if tidy:
        return cells
    if missing := {"row", "column", "reproduced"} - set(cells):
        raise MemreproError(
            f"{document}'s {name} is no table but a list or the data of a figure, as it has no "
            f"column {min(missing)!r}: call table({document!r}, {name!r}, tidy=True)"
        )
    return wide(cells)


def figure(document: str, name: str, profile: str = "open") -> Drawing:
    """A committed figure of a document, with the data that it draws.

    Args:
        document: as of `table`.
        name: such as 'alpha_sweep'.
        profile: 'sample', 'open' or 'full'.

    Raises:
        MemreproError: for an unknown name, which lists the nearest, or outside a repository.

    Example:
        >>> import memrepro as mr
        >>> sweep = mr.figure("rfmem", "alpha_sweep")
        >>> sweep.file.name
        'alpha_sweep.svg'
        >>> sweep.data.groupby("k")["overall recall"].max().round(4).to_dict()
        {5: 0.3986, 10: 0.5527}
    """
    file = _committed(document, name, profile, "svg", "figure")
    return Drawing(pd.read_csv(file.with_suffix(".csv")), file)


def printed(document: str, table: str) -> pd.DataFrame:
    """A table as the document prints it: rows by columns, each cell the string that is printed.

    What a reader must know besides is in `.attrs["notes"]`. The installed package holds it.

    Args:
        document: one of the five documents, such as 'rfmem'.
        table: such as 'table2'.

    Raises:
        MemreproError: for a document or table that is not known; the sentence lists those that are.

    Example:
        >>> import memrepro as mr
        >>> mr.printed("rfmem", "table2").loc["mpnet Recol.", "R@10 Overall"]
        '0.5527'
    """
    if document not in (known := documents()):
        raise MemreproError(f"unknown document {document!r}: known are {', '.join(known)}")
    rows = pd.DataFrame.from_dict(printed_rows(document, table), orient="index")
    rows.attrs["notes"] = printed_notes(document, table)
    return rows


def verdict(shown: str, value: float) -> Verdict:
    """Whether a computed value stands for a printed number, and by what rule.

    Args:
        shown: the number as printed, whose digits count: '0.55' is not '0.550'.
        value: as computed, in the same unit.

    Returns:
        `label` and `term`: 'exact' where the value rounds to the printed digits, 'within
        tolerance' where it is less than one unit of the last digit away, else 'not reproduced'.

    Raises:
        MemreproError: if what is shown is no decimal number.

    Example:
        >>> import memrepro as mr
        >>> mr.verdict("0.5527", 0.55268)
        Verdict(label='exact', term='rounded to 4 digits')
        >>> mr.verdict("0.55", 0.5612).label
        'not reproduced'
    """
    wrong = MemreproError(
        f"{shown!r} is no decimal number as printed: write the digits as text, such as '0.550'"
    )
    if not isinstance(shown, str):  # a float has digits that nobody printed
        raise wrong
    try:
        return judge(shown, value)
    except (TypeError, ValueError) as error:
        raise wrong from error


def _committed(document: str, name: str, profile: str, suffix: str, what: str) -> Path:
    """The file of a result.

    Raises:
        MemreproError: if there is none, naming those that are nearest.
    """
    check_repository(f"{what}({document!r}, {name!r})")
    file = paths.results(profile) / document / f"{name}.{suffix}"
    if file.is_file():
        return file
    for other in PROFILES:
        if (paths.results(other) / document / file.name).is_file():
            raise MemreproError(
                f"{document} has the {what} {name!r} in the profile {other!r}, not in "
                f"{profile!r}: call {what}({document!r}, {name!r}, {other!r})"
            )
    if not file.parent.is_dir():
        there = sorted(path.name for path in paths.results(profile).glob("*/") if path.is_dir())
        raise MemreproError(
            f"no results of {document!r} in the profile {profile!r}: there are "
            f"{', '.join(there) or 'none'}"
        )
    known = sorted(path.stem for path in file.parent.glob(f"*.{suffix}"))
    raise MemreproError(
        f"{document} has no {what} {name!r} in the profile {profile!r}: {nearest(name, known)}"
    )
