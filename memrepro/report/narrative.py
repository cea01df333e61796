"""What a report says in sentences: text from `narrative.yaml`, numbers from the written tables.

A placeholder stands in braces and names a cell by its table, row and column:

    {table2 | mpnet Recol. | R@5 Overall}              the value
    {table2 | mpnet Recol. | R@5 Overall | printed}    or one of `PARTS`
    {count: table2 | verdict=exact}                    how many lines of a csv have these texts
    {count: claims | column=verdict | reproduced=holds here | row!=not in the paper…}
    {rows: claims | column=verdict | reproduced=…}     the names of their rows
    {outcomes: rfmem}                                  what became of a document's printed numbers
    {claims: rfmem}                                    and of its claims, without questions of ours

`folder/table` is a table of another report of the profile, and a text that ends in '…' matches what
begins so. A placeholder that names no cell is an error that names it.

A sentence that states an order or a shape has what makes it true under `holds`, beside `says`:
formulas over cells as in `printed.yaml` (`audit.rules.formulas`), each of which must hold in all
its cells. A row of a figure's data is named by its first columns, as many as tell rows apart.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import yaml
from IPython.display import Markdown

from memrepro import __version__
from memrepro.audit.claims import claims_in_words, read_claims
from memrepro.audit.counts import counts_in_words
from memrepro.audit.rules.formulas import evaluate
from memrepro.audit.tables import Table
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table, root, sha256
from memrepro.report.tables import Cell, by_place, cell_of
from memrepro.study.params import load_plan

_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_INTERVAL = re.compile(r"(\[[^\[\]]*\d) by (\d[^\[\]]*)\]")
_MINUS = re.compile(r"(?<![\w.])-(?=\d)")
_PACKAGES = {"audit": "memrepro.audit"}  # the one report that is of no document
NOT_SO = "(Not so on these values.)"  # behind a sentence whose conditions do not hold


class Narrative(NamedTuple):
    """What the report on one document says under one profile, its placeholders filled.

    `found` is empty where the profile has not been told of; each text but `question` and `method`
    is a sentence.
    """

    question: str
    method: str
    found: list[str]
    differs: list[str]
    cite: list[str]
    not_cite: list[str]
    not_made: list[str]


class Values:
    """The cells that a profile's reports have written, by table, row and column.

    Args:
        profile: whose results.
        paper: the report whose tables are meant where a placeholder names no folder.
    """

    def __init__(self, profile: str, paper: str) -> None:
        self._results, self._paper = paths.results(profile), paper
        self._tables: dict[str, pd.DataFrame] = {}

    def fill(self, text: str) -> str:
        """A text with its placeholders filled; what was resampled is said where it changes.

        Raises:
            MemreproError: if one names no cell.
        """
        return _each_unit_once(_PLACEHOLDER.sub(lambda found: self._filled(found[1]), text))

    def sentence(self, entry: str | Mapping[str, Any]) -> str:
        """A text, or what an entry `says`, filled; `NOT_SO` follows where its `holds` do not.

        Raises:
            MemreproError: if a placeholder or a condition names no cell.
        """
        if isinstance(entry, str):
            return self.fill(entry)
        text = self.fill(entry["says"])
        held = all(self.holds(condition) for condition in entry.get("holds", ()))
        return text if held else f"{text} {NOT_SO}"

    def holds(self, condition: Sequence[str]) -> bool:
        """Whether a comparison holds in all cells that its references name.

        Raises:
            MemreproError: if it is no formula, or a reference names no cell.
        """
        names = {reference.partition(" | ")[0] for reference in condition[1:]}
        tables = [Table(self._paper, name, by_place(self._table(name))) for name in names]
        where = f"the condition {condition[0]!r}"
        return bool(evaluate(condition, tables, where, {}).at.all())

    def cell(self, table: str, row: str, column: str) -> Cell:
        """A cell of a table.

        Raises:
            MemreproError: if there is no such table, row or column.
        """
        cells = self._table(table)
        place = f"{table} | {row} | {column}"
        if not {"row", "column", "reproduced"} <= set(cells.columns):
            raise MemreproError(f"{{{place}}} names no cell: {table!r} is a list, ask for a count")
        of_row = cells[_matches(cells["row"], row)]
        if of_row.empty:
            raise MemreproError(f"{{{place}}} names no cell: the table has no row {row!r}")
        found = of_row[_matches(of_row["column"], column)]
        if len(found) != 1:
            known = ", ".join(dict.fromkeys(of_row["column"]))
            raise MemreproError(
                f"{{{place}}} names {len(found) or 'no'} cells: the row's columns are {known}"
            )
        return cell_of(found.iloc[0].to_dict())

    def _table(self, name: str) -> pd.DataFrame:
        if name not in self._tables:
            path = self._results / (name if "/" in name else f"{self._paper}/{name}")
            path = path.with_name(f"{path.name}.csv")
            if not path.is_file():
                raise MemreproError(f"{{{name} | …}} names no table: there is no {path}")
            self._tables[name] = read_table(path).astype(str)
        return self._tables[name]

    def _filled(self, place: str) -> str:
        command, _, rest = place.partition(":")
        if command in ("count", "rows"):
            lines = self._lines(place, [part.strip() for part in rest.split("|")])
            if command == "count":
                return f"{len(lines):,}"
            return "; ".join(lines["row"]) or "none"
        if command == "outcomes":
            return counts_in_words(self._table("audit/counts"), rest.strip())
        if command == "claims":
            return claims_in_words(read_claims(self._results), rest.strip())
        parts = [part.strip() for part in place.split("|")]
        if len(parts) not in (3, 4) or (len(parts) == 4 and parts[3] not in PARTS):
            raise MemreproError(
                f"{{{place}}}: a placeholder reads 'table | row | column', then one of "
                f"{', '.join(PARTS)}; or 'count: table | field=text', 'outcomes: document' or "
                "'claims: document'"
            )
        found = PARTS[parts[3] if len(parts) == 4 else "value"](self.cell(*parts[:3]))
        if not found:
            raise MemreproError(f"{{{place}}} names a cell that has nothing there")
        return found

    def _lines(self, place: str, parts: list[str]) -> pd.DataFrame:
        """The lines of a table that have, or with '!=' have not, these texts."""
        lines = self._table(parts[0])
        for part in parts[1:]:
            field, sign, wanted = re.split("(!?=)", part, maxsplit=1)
            if field not in lines:
                known = ", ".join(lines.columns)
                raise MemreproError(f"{{{place}}}: the fields of the table are {known}")
            lines = lines[_matches(lines[field], wanted) == (sign == "=")]
        return lines


def _minus(text: str) -> str:
    return text.replace(" less ", " \u2212 ")


def _matches(texts: pd.Series, wanted: str) -> pd.Series:
    """Which texts are the wanted one; a difference may be written 'X less Y' or 'X − Y'."""
    texts, wanted = texts.map(_minus), _minus(wanted)
    if wanted.endswith("…"):
        return texts.str.startswith(wanted[:-1])
    return texts == wanted


def _typeset(text: str) -> str:
    return _MINUS.sub("\u2212", text)


def _difference(cell: Cell) -> str:
    """A difference with its interval and what was resampled."""
    if (found := cell.comparison) is None:
        return ""
    return _typeset(f"{found.difference:+.4f} {found.ends[:-1]} by {found.unit_text}]")


def _each_unit_once(text: str) -> str:
    """A text in which an interval names what was resampled only where the one before had another.

    'a [-0.1, 0.2 by 10 persons] and b [0.1, 0.3 by 10 persons]' ends in 'and b [0.1, 0.3]'.
    """
    said = ""

    def once(interval: re.Match[str]) -> str:
        nonlocal said
        again, said = interval[2] == said, interval[2]
        return f"{interval[1]}]" if again else interval[0]

    return _INTERVAL.sub(once, text)


def _effect(cell: Cell) -> str:
    """The same before the word for it: 'a gain', 'a loss' or 'no clear change'.

    The p is named where it alone, and not the interval, leaves the change unclear.
    """
    if not (found := cell.comparison):
        return ""
    p = f", p = {found.p:.2g}" if found.sign(p=0) != found.sign() else ""
    return f"{_difference(cell)} ({found.effect}{p})"


# What a placeholder may ask of a cell.
PARTS: Mapping[str, Callable[[Cell], str]] = {
    "value": lambda cell: _difference(cell) or _typeset(cell.reproduced),
    "percent": lambda cell: f"{100 * float(cell.reproduced):.0f} %" if cell.reproduced else "",
    "difference": _difference,
    "effect": _effect,
    "won": lambda cell: str(cell.comparison.won) if cell.comparison else "",
    "lost": lambda cell: str(cell.comparison.lost) if cell.comparison else "",
    "n": lambda cell: f"{int(cell.n):,}",
    "verdict": lambda cell: cell.verdict,
    "term": lambda cell: _typeset(cell.term),
    "printed": lambda cell: _typeset(cell.reported),
}


def read_entries(paper: str) -> dict[str, Any]:
    """A document's `narrative.yaml`, its placeholders unfilled; {} where it has none."""
    package = _PACKAGES.get(paper, f"memrepro.papers.{paper}")
    try:
        path = files(package).joinpath("narrative.yaml")
    except ModuleNotFoundError:
        return {}
    entries: dict[str, Any] = yaml.safe_load(path.read_text("utf-8")) if path.is_file() else {}
    return entries


def documents() -> list[str]:
    """The folders under `papers/` that have a narrative, in the order that they name."""
    folders = [folder.name for folder in files("memrepro.papers").iterdir() if folder.is_dir()]
    entries = {name: read_entries(name) for name in sorted(folders) if "." not in name}
    return sorted((n for n, e in entries.items() if e), key=lambda n: entries[n]["order"])


class Headlines(NamedTuple):
    """The results that matter: sentences that begin with a verdict in bold, and what shows them.

    Attributes:
        sentences: as Markdown.
        counts: what became of the printed numbers.
        figure: the svg of the figure beside them; None where it is not there.
    """

    sentences: list[str]
    counts: str
    figure: Path | None

    @property
    def markdown(self) -> str:
        """The sentences as a list, and the counts."""
        return f"{_listed(self.sentences)}\n\n{self.counts}"


def headlines(profiles: Sequence[str]) -> Headlines | None:
    """The results that matter and what became of the printed numbers; None where none are told.

    Args:
        profiles: the first of them that has headlines and results of them counts.
    """
    for profile in profiles:
        for paper in documents():
            told = read_entries(paper).get("profiles", {}).get(profile, {})
            folder = paths.results(profile) / paper
            if "headlines" in told and folder.is_dir():
                values = Values(profile, paper)
                sentences = [values.fill(text) for text in told["headlines"]]
                figure = folder / f"{told['figure']}.svg"
                return Headlines(
                    sentences, values.fill(told["counts"]), figure if figure.is_file() else None
                )
    return None


def read_narrative(paper: str, profile: str) -> Narrative:
    """What the report on a document says under a profile.

    Raises:
        MemreproError: if the document has no narrative, or a placeholder names no cell.
    """
    entries = read_entries(paper)
    if not entries:
        raise MemreproError(f"{paper!r} has no narrative.yaml beside its report")
    here: dict[str, Any] = entries.get("profiles", {}).get(profile, {})
    values = Values(profile, paper)

    def sentences(name: str) -> list[str]:
        return [values.sentence(one) for one in (*entries.get(name, ()), *here.get(name, ()))]

    return Narrative(
        entries["question"], entries["method"], sentences("found"),
        sentences("differs"), sentences("cite"), sentences("not_cite"),
        not_made(entries.get("figures", {})),
    )  # fmt: skip


def not_made(figures: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """The document's figures that have no counterpart here, those of one reason together."""
    numbers: dict[str, list[str]] = {}
    for number, entry in figures.items():
        if "why" in entry:
            numbers.setdefault(entry["why"], []).append(str(number))
    return [f"Figure{'s' * (len(n) > 1)} {', '.join(n)}: {why}." for why, n in numbers.items()]


def opening(paper: str, profile: str) -> Markdown:
    """The question and the method.

    Raises:
        MemreproError: if there is no such report on the profile.
    """
    load_plan().check_report(profile, paper)
    told = read_narrative(paper, profile)
    return _markdown(f"**Question.** {told.question}\n\n**Method.** {told.method}")


def found(paper: str, profile: str) -> Markdown:
    """What was found, a sentence each; where there are headlines, the others fold behind them."""
    told = read_entries(paper)["profiles"].get(profile, {})
    values = Values(profile, paper)
    headlines = [values.fill(text) for text in told.get("headlines", ())]
    others = read_narrative(paper, profile).found
    if headlines and others:
        opened = f"{_listed(headlines)}\n\n<details><summary>{len(others)} more</summary>"
        text = f"{opened}\n\n{_listed(others)}\n\n</details>"
    else:
        text = _listed(headlines + others) or f"- Nothing was found under `{profile}` yet."
    return _markdown(f"## What was found\n\n{text}")


def closing(paper: str, profile: str) -> Markdown:
    """Where this project differs and why, what may be cited and what may not."""
    told = read_narrative(paper, profile)
    parts = {
        "Where we differ and why": told.differs,
        "What may be cited": told.cite,
        "What may not": told.not_cite,
        "Figures of the document that are not made here": told.not_made,
    }
    return _markdown("\n\n".join(f"## {k}\n\n{_listed(v)}" for k, v in parts.items() if v))


def provenance(paper: str, profile: str) -> None:
    """Print what a report is made of, with the first digits of SHA-256; of all its tables at once.

    The tables' digest is that of their names and digests, in order.
    """
    print(f"memrepro {__version__}: report {paper} {profile}")
    for path in (paths.protocols(profile), paths.exclusions(profile)):
        print(f" read  {sha256(path)[:16]}  {path.relative_to(root()).as_posix()}")
    tables = sorted((paths.results(profile) / paper).glob("*.csv"))
    listed = "".join(f"{path.name} {sha256(path)}\n" for path in tables)
    digest = hashlib.sha256(listed.encode()).hexdigest()[:16]
    print(f"wrote  {digest}  results/{profile}/{paper}/*.csv ({len(tables)} files)")


def _listed(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _markdown(text: str) -> Markdown:
    return Markdown(text)  # type: ignore[no-untyped-call]
