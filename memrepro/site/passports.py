"""The passports of a table's numbers on one page; what many have in common stands on it once.

A number that is held against a printed one has its whole passport; the others, ten times as many,
have all but the questions that weigh most, so that a site takes minutes.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from memrepro.provenance import Questions
from memrepro.provenance import cell as passport
from memrepro.report.tables import Cell
from memrepro.site.documents import grid_anchor, page_of, passports_of
from memrepro.site.items import Item
from memrepro.site.marks import Mark, mark
from memrepro.site.pages import Site, relative

_IN_CSV = frozenset(Cell._fields)
_ON_THE_PAGE = frozenset({"name", "profile", "paper", "table"})
_LEAST = 120  # characters of what is worth saying once; a link would be as long


class Passport(NamedTuple):
    """A number with all that is known of it.

    Attributes:
        anchor: names it within its table.
        cell: its row in the table's csv.
        mark: of its verdict.
        command: what prints the whole passport.
        own: what is said of it alone, by name.
        shared: the places on the page of what it has in common with others, by name.
    """

    anchor: str
    cell: dict[str, str]
    mark: Mark
    command: str
    own: dict[str, Any]
    shared: dict[str, str]


def write(
    site: Site,
    profile: str,
    paper: str,
    document: str,
    item: Item,
    browsed: Mapping[tuple[str, str, str], str],
) -> None:
    """Write the page with the passports of the computed numbers of a table.

    Args:
        site: to write into.
        profile: whose results.
        paper: the document's name.
        document: its title.
        item: the table.
        browsed: experiment, setting and level → the address at which its questions are browsed.
    """
    cells = item.frame[item.frame["reproduced"] != ""]
    if cells.empty:
        return
    path = passports_of(profile, paper, item.name)
    found = [
        (row, _said(profile, paper, item.name, row, path, browsed))
        for row in cells.to_dict("records")
    ]
    once = _in_common([said for _, said in found])
    passports = []
    for row, said in found:
        texts = {key: _text(value) for key, value in said.items()}
        common = {key: once[key, text] for key, text in texts.items() if (key, text) in once}
        shown = {str(key): str(value) for key, value in row.items()}
        name = f"{paper}:{item.name}:'{row['row']}':'{row['column']}'"
        passports.append(
            Passport(
                grid_anchor(item.frame, row["row"], row["column"]),
                shown,
                mark(row["verdict"]),
                f"python -m memrepro why {name}",
                {key: value for key, value in said.items() if key not in common},
                common,
            )
        )
    site.page(
        path,
        "passports.html",
        f"Passports: {item.title}, {document}",
        document=document,
        back=relative(page_of(profile, paper), path),
        item=item.name,
        passports=passports,
        commons=[(place, key, json.loads(text)) for (key, text), place in once.items()],
        profile=profile,
    )


def _said(
    profile: str,
    paper: str,
    table: str,
    row: Mapping[Any, str],
    page: str,
    browsed: Mapping[tuple[str, str, str], str],
) -> dict[str, Any]:
    """What a number's passport says beyond its row of the table.

    The list of all questions gives way to a link to the browser, where they are.
    """
    tell: Questions = "most_influential" if row["reported"] else "none"
    said = passport(profile, paper, table, row["row"], row["column"], tell)
    kept = {
        key: value
        for key, value in said.items()
        if key not in _IN_CSV | _ON_THE_PAGE and value not in ("", None, [], {})
    }
    places = [(p["experiment"], p["setting"], p["level"]) for p in said.get("places", ())]
    links = [browsed[place] for place in dict.fromkeys(places) if place in browsed]
    if links:
        kept["each question"] = [{"link": relative(link, page)} for link in links]
    return kept


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)


def _in_common(found: list[dict[str, Any]]) -> dict[tuple[str, str], str]:
    """What two or more passports say alike, as JSON → its place on the page."""
    counts = Counter((key, _text(value)) for said in found for key, value in said.items())
    often = [entry for entry, count in counts.items() if count > 1 and len(entry[1]) > _LEAST]
    return {entry: f"common-{number}" for number, entry in enumerate(often)}
