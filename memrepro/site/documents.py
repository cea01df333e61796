"""One page a document: its notebook's thread, with each number beside the printed one."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from memrepro.audit.verdicts import JUDGED, NOT_COMPARABLE, NOT_RUN
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.site import alt, made
from memrepro.site.grid import grid
from memrepro.site.items import Item, folder, items, numbers
from memrepro.site.marks import MARKS, OUTCOMES, Share, mark, shares
from memrepro.site.narrative import Step, footer, steps
from memrepro.site.pages import Link, Site, relative

_DIFFER = JUDGED[1:]


class Printed(NamedTuple):
    """The numbers that a document prints, by the audit's ledger; none where there is no ledger.

    Attributes:
        total: how many.
        shares: what became of them.
        unrun: the reasons of those that are not run, with how many have each.
    """

    total: int
    shares: list[Share]
    unrun: list[tuple[str, int]]


class Document(NamedTuple):
    """What the start page says of a document: its page, tables and figures, its printed numbers."""

    path: str
    title: str
    tables: int
    figures: int
    printed: Printed


def page_of(profile: str, paper: str) -> str:
    """The path of a document's page."""
    return f"{profile}/{paper}.html"


def provenance_of(profile: str, paper: str, table: str) -> str:
    """The address that shows the provenance of a table's numbers, but for the number's anchor."""
    return f"provenance.html#{profile}/{paper}/{table}"


def ledger(profile: str) -> Path:
    """Where the audit has written what became of each printed number."""
    return paths.results(profile) / "audit" / "numbers.csv"


def printed_numbers(profile: str, paper: str) -> Printed:
    """What became of the numbers that a document prints."""
    if not ledger(profile).is_file():
        return Printed(0, [], [])
    numbers = read_table(ledger(profile))
    own = numbers[numbers["document"] == paper]
    unrun = own.loc[own["outcome"] == NOT_RUN, "reason"]
    return Printed(len(own), shares(Counter(own["outcome"])), Counter(unrun).most_common())


def write(
    site: Site,
    profile: str,
    paper: str,
    about: Mapping[str, str],
    sources: Mapping[str, str],
    datasets: frozenset[str],
    facts: list[tuple[str, str]],
) -> Document:
    """Write the page of a document, with the files that it offers beside it.

    Args:
        site: to write into.
        profile: whose results.
        paper: the document's name.
        about: its `title`, `question` and `method`, for a page without a report.
        sources: where each of its printed tables stands, by name.
        datasets: the beginnings of the data sets' names.
        facts: of the making, for the footer.
    """
    here = page_of(profile, paper)
    found = items(folder(profile, paper), datasets)
    executed = folder(profile, paper) / "report.ipynb"
    shown = {
        name: view(site, here, profile, paper, item, sources.get(name, ""))
        for name, item in found.items()
    }
    pieces = steps(executed, shown) if found else []
    opening = _opening(pieces)
    cells, counted = numbers(found.values()), printed_numbers(profile, paper)
    page = paths.build(profile) / f"{paper}.html"
    site.page(
        here,
        "document.html",
        about["title"],
        profile=profile,
        about=about,
        sample=profile == "sample",
        opening=pieces[:opening],
        pieces=pieces[opening:],
        headings=[
            *(Link(f"s-{p.identity}", p.heading) for p in pieces[opening:] if p.heading),
            *([Link("differ", "Numbers that differ or are missing")] if found else []),
            Link("provenance", "Provenance"),
        ],
        counted=counted,
        cells=len(cells),
        tables=cells["table"].nunique(),
        marks=(OUTCOMES | MARKS if counted.total else MARKS).values(),
        differences=_differences(cells, found, profile, paper, here),
        reasons=_reasons(cells),
        provenance=[f"{name}: {value}" for name, value in facts],
        digests=made.digests(profile, paper),
        printed=footer(executed),
        executed=_executed(site, page, profile, paper, here),
    )
    figures = sum(item.kind == "figure" for item in found.values())
    return Document(here, about["title"], cells["table"].nunique(), figures, counted)


def _opening(pieces: list[Step]) -> int:
    """How many pieces stand before the second heading: the question and what was found."""
    heads = [place for place, piece in enumerate(pieces) if piece.heading]
    return heads[1] if len(heads) > 1 else 0


def _executed(site: Site, page: Path, profile: str, paper: str, here: str) -> str:
    """The link to the executed notebook as a page; '' where it has not been rendered."""
    if not page.is_file():
        return ""
    return relative(site.copy(page, f"{profile}/notebooks/{paper}.html"), here)


def view(
    site: Site, here: str, profile: str, paper: str, item: Item, source: str
) -> dict[str, Any]:
    """What the templates need of an item."""
    copied = {
        suffix: relative(site.copy(path, f"{profile}/files/{paper}/{path.name}"), here)
        for suffix, path in item.files.items()
        # What the page shows itself, or as large again; it is in results/.
        if suffix != "md" and not (suffix == "png" and "svg" in item.files)
    }
    view: dict[str, Any] = {
        "name": item.name,
        "kind": item.kind,
        "title": item.title,
        "exports": [Link(path, suffix) for suffix, path in copied.items()],
    }
    if item.kind == "table":
        view["grid"] = grid(item.frame)
        view["source"] = source
        view["provenance"] = relative(provenance_of(profile, paper, item.name), here)
    elif item.kind == "figure":
        view["picture"] = copied.get("svg") or copied["png"]
        view["alt"] = alt.described(item.title, item.frame)
        view["size"] = alt.size(item.files["png"]) if "png" in item.files else ("", "")
    else:
        view["columns"] = list(item.frame.columns)
        view["rows"] = item.frame.to_numpy().tolist()
    return view


def _differences(
    cells: pd.DataFrame, found: Mapping[str, Item], profile: str, paper: str, here: str
) -> list[dict[str, Any]]:
    """The computed numbers whose verdict is not 'exact', the furthest off first."""
    listed = []
    for verdict in reversed(_DIFFER):
        for row in cells[cells["verdict"] == verdict].to_dict("records"):
            place = grid_anchor(found[row["table"]].frame, row["row"], row["column"])
            address = relative(provenance_of(profile, paper, row["table"]), here)
            link = f"{address}/{place}" if row["reproduced"] else f"#{row['table']}"
            listed.append(
                {**row, "title": found[row["table"]].title, "mark": mark(verdict),
                 "provenance": link}
            )  # fmt: skip
    return listed


def grid_anchor(cells: pd.DataFrame, row: str, column: str) -> str:
    """The anchor of a number, as `grid` gives it."""
    rows, columns = list(dict.fromkeys(cells["row"])), list(dict.fromkeys(cells["column"]))
    return f"r{rows.index(row)}c{columns.index(column)}"


def _reasons(cells: pd.DataFrame) -> list[tuple[str, str, str, str]]:
    """How many cells of tables were not run or cannot be compared, by reason."""
    missing = cells[cells["verdict"].isin([NOT_RUN, NOT_COMPARABLE]) & (cells["note"] != "")]
    found = []
    for (verdict, note), part in missing.groupby(["verdict", "note"], sort=False):
        tables = ", ".join(dict.fromkeys(part["table"]))
        found.append((str(len(part)), str(verdict), str(note), tables))
    return sorted(found, key=lambda row: (row[1], -int(row[0])))
