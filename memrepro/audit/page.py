"""An audit as a page to hand to authors, as text, and as JSON: each finding is a question."""

import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from memrepro.audit.check import Report
from memrepro.audit.consistency import cells_by_place
from memrepro.audit.finding import FAILS, HOLDS, TELLS, WEAK, Finding
from memrepro.audit.rates import Rate
from memrepro.audit.tables import Table
from memrepro.errors import cut, printable
from memrepro.files.atomic import read_yaml

_HERE = Path(__file__).parent
BEGINS = (_HERE / "page.html").read_text(encoding="utf-8").partition("{{")[0]  # every page
_LINE = re.compile(r"line (\d+): ")
_MOST_CELLS = 2_000  # of a table that the page shows
_SHOWN = 300  # characters


class Question(NamedTuple):
    """A finding that does not hold, with its table, its cells there, rule and rate."""

    number: int
    finding: Finding
    cells: tuple[tuple[str, str], ...]
    rule: dict[str, str]
    rate: Rate | None


class Asked(NamedTuple):
    """A table, or a text, and the questions to it; a cell → the numbers of its questions."""

    place: str
    table: Table | None
    questions: tuple[Question, ...]
    marked: dict[tuple[str, str], list[int]]


@cache
def rules() -> dict[str, dict[str, str]]:
    """Rule → its source and assumptions, how to check it, and the simplest explanation."""
    return dict(read_yaml(_HERE / "rules.yaml"))


def asked(report: Report) -> list[Asked]:
    """The questions by table, in the order of their surest."""
    known = {(table.document, table.name): table for table in report.tables}
    cells = cells_by_place(report.tables)
    groups: dict[tuple[str, str], list[Question]] = {}
    for number, one in enumerate(report.failing(), 1):
        own = tuple(
            at[1:] for where in (one.where, *one.where.split("; "))
            if (at := cells.get((one.document, one.table, where)))
        )  # fmt: skip
        rule = rules().get(one.rule, {})
        question = Question(number, one, tuple(dict.fromkeys(own)), rule, report.rate(one))
        groups.setdefault((one.document, one.table), []).append(question)
    made = []
    for key, questions in groups.items():
        marked: dict[tuple[str, str], list[int]] = {}
        for question in questions:
            for cell in question.cells:
                marked.setdefault(cell, []).append(question.number)
        table = known.get(key)
        place = place_of(questions[0].finding, report)["place"]
        made.append(Asked(place, table, tuple(questions), marked))
    return made


def place_of(finding: Finding, report: Report) -> dict[str, Any]:
    """Where a finding is: `file, line, label, caption`, as far as they are known, and `place`."""
    for table in report.tables:
        if (table.document, table.name) == (finding.document, finding.table):
            told = {key: table.reading.get(key) for key in ("file", "line", "label", "caption")}
            return {**told, "place": table.place}
    line = _LINE.match(finding.where)
    number = int(line[1]) if line else None
    place = f"{finding.table}:{number}" if number else finding.table
    return {"file": finding.table, "line": number, "label": None, "caption": None, "place": place}


def page(report: Report, name: str) -> str:
    """The HTML of a report: each table once, with all its marked cells."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string((_HERE / "page.html").read_text(encoding="utf-8"))
    return template.render(
        name=name, asked=asked(report), tables=report.tables, unread=report.unread,
        questions=len(report.failing()), most=_MOST_CELLS,
        told=[f for f in report.findings if f.words == TELLS and f.sure != WEAK],
        holds=sum(f.words == HOLDS for f in report.findings),
    ) + "\n"  # fmt: skip


def as_text(report: Report) -> str:
    """The questions for a console: each with file, line, label, caption, cell and what to check."""
    lines = []
    for group in asked(report):
        lines.append(cut(group.place, _SHOWN))
        for question in group.questions:
            one, rule = question.finding, question.rule
            shown = f": {one.printed}" if one.printed and one.printed not in one.where else ""
            lines.append(f"  {question.number}. {one.sure}: {one.rule}, {one.where}{shown}")
            lines.append(f"     expected {one.expected}; found {one.found}")
            lines.append(f"     {one.why}" + (f". To check: {rule['check']}" if rule else ""))
    kept = [f for f in report.findings if f.words == TELLS and f.where == "not checked"]
    lines += [f"not checked: {f.table}, {f.rule}: {f.found}" for f in kept]
    if not report.failing():
        lines.append(f"no question: {_held(report)}")
    return "\n".join(cut(printable(line), 2 * _SHOWN) for line in lines)


def _held(report: Report) -> str:
    if hold := sum(f.words == HOLDS for f in report.findings):
        return f"{hold} checks hold"
    if report.tables:
        return "no check applies; say in heads or caption of how many, such as n = 200"
    return "no table was found, and no sentence computes wrongly"


def as_json(report: Report) -> dict[str, Any]:
    """The same as values for `json.dump`."""
    found = []
    for one in report.findings:
        rate = report.rate(one) if one.words == FAILS else None
        told = {**rate._asdict(), "bound": rate.bound, "chance": rate.chance} if rate else None
        found.append({**one._asdict(), **place_of(one, report), **rules().get(one.rule, {}),
                      "without a slip": told})  # fmt: skip
    return {
        "findings": found,
        "tables": [{"name": t.name, "source": t.source, "place": t.place} for t in report.tables],
        "unread": [one._asdict() for one in report.unread],
    }
