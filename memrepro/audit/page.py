"""An audit as a page to hand to authors, and as JSON: each finding is a question."""

from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from memrepro.audit.check import Report
from memrepro.audit.consistency import cell_of
from memrepro.audit.finding import FAILS, HOLDS, TELLS
from memrepro.files.atomic import read_yaml

_HERE = Path(__file__).parent


@cache
def rules() -> dict[str, dict[str, str]]:
    """Rule → its source and assumptions, how to check it, and the simplest explanation."""
    return dict(read_yaml(_HERE / "rules.yaml"))


def page(report: Report, name: str) -> str:
    """The HTML of a report."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    failing = []
    for one in report.failing():
        at = cell_of(one, report.tables)
        table = at[0] if at else next((t for t in report.tables if t.name == one.table), None)
        cell = at[1:] if at else None
        failing.append(
            {
                "finding": one,
                "table": table,
                "cell": cell,
                "rule": rules().get(one.rule),
                "rate": report.rate(one),
            }
        )
    template = environment.from_string((_HERE / "page.html").read_text(encoding="utf-8"))
    return template.render(
        name=name, failing=failing, tables=report.tables, unread=report.unread,
        told=[f for f in report.findings if f.words == TELLS],
        holds=sum(f.words == HOLDS for f in report.findings),
    ) + "\n"  # fmt: skip


def as_json(report: Report) -> dict[str, Any]:
    """The same as values for `json.dump`."""
    found = []
    for one in report.findings:
        rate = report.rate(one) if one.words == FAILS else None
        told = {**rate._asdict(), "bound": rate.bound, "chance": rate.chance} if rate else None
        found.append({**one._asdict(), **rules().get(one.rule, {}), "without a slip": told})
    return {
        "findings": found,
        "tables": [{"name": t.name, "source": t.source} for t in report.tables],
        "unread": [one._asdict() for one in report.unread],
    }
