"""One page a document: its paper, its executed notebook, and its tables and figures as files."""

import re
from pathlib import Path
from typing import Any, NamedTuple

from memrepro.files import paths
from memrepro.provenance.cite import references
from memrepro.provenance.tables import tables
from memrepro.site.notebook import Notebook, read_notebook
from memrepro.site.pages import Link, Site, relative

_EXPORTS = ("csv", "md", "svg", "png")


class Paper(NamedTuple):
    """What a document's page says of the paper it reproduces; '' where its reference has none."""

    title: str
    authors: str
    venue: str
    url: str
    note: str


class Item(NamedTuple):
    """A table or figure: its name in words, its files, and the address of its provenance or ''."""

    title: str
    files: list[Link]
    provenance: str


def page_of(profile: str, paper: str) -> str:
    """The path of a document's page."""
    return f"{profile}/{paper}.html"


def titled(name: str) -> str:
    """A table's or figure's name in words: 'table15_minilm' is 'Table 15 minilm'."""
    words = re.sub(r"^(table|figure)(\d)", r"\1 \2", name).replace("_", " ")
    return words[:1].upper() + words[1:]


def paper_of(document: str) -> Paper | None:
    """The paper of a document, from `provenance/references.yaml`; None where it has none."""
    key = references()["documents"].get(document)
    if not key:
        return None
    entry = references()["entries"][key]
    names = [name.strip("{}").split(", ") for name in entry["author"].split(" and ")]
    venue = entry.get("booktitle", entry.get("howpublished", ""))
    year = entry.get("year", "")
    return Paper(
        entry["title"],
        ", ".join(" ".join(reversed(name)) for name in names),
        f"{venue}, {year}" if year and year not in venue else venue,
        entry.get("url", ""),
        entry.get("note", ""),
    )


def write(site: Site, profile: str, paper: str, about: dict[str, Any]) -> None:
    """Write the page of a document, with the files that it offers beside it.

    Args:
        site: to write into.
        profile: whose results.
        paper: the document's name.
        about: its `title`, `question` and `method`, for a page without an executed notebook.
    """
    here, folder = page_of(profile, paper), paths.results(profile) / paper
    executed = folder / "report.ipynb"
    there = Path(profile) / "files" / paper

    def keep(name: str, content: bytes) -> str:
        return relative(site.keep((there / name).as_posix(), content), here)

    notebook = Notebook(about["title"], "", [])
    if executed.is_file():
        notebook = read_notebook(executed, lambda name, content: keep(f"notebook-{name}", content))
        keep(f"{paper}.ipynb", executed.read_bytes())
    judged = set(tables(profile, paper))
    items = [
        Item(
            titled(path.stem),
            [
                Link(keep(file.name, file.read_bytes()), suffix)
                for suffix in _EXPORTS
                if (file := path.with_suffix(f".{suffix}")).is_file()
            ],
            relative(f"provenance.html#{profile}/{paper}/{path.stem}", here)
            if path.stem in judged
            else "",
        )
        for path in sorted(folder.glob("*.csv"))
    ]
    site.page(
        here, "document.html", notebook.title, profile=profile, name=paper, about=about,
        paper=paper_of(paper), notebook=notebook, items=items,
    )  # fmt: skip
