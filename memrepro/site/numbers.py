"""The provenance of a report's numbers as data, which one page shows (`provenance.js`).

What many numbers share (runs, stages and their hashes, models, this machine) stands in one script
a report; a script a table has what is each number's own. A number that is compared with a printed
one has its most influential questions too; of the others, ten times as many, `memrepro why` tells
them, so that a site takes minutes.
"""

from collections.abc import Mapping
from typing import Any

from memrepro.provenance import environment, lineage, questions
from memrepro.provenance.links import Link, link
from memrepro.provenance.places import Place, variant
from memrepro.provenance.tables import cells, tables
from memrepro.provenance.why import command, of_questions, run, stages_of
from memrepro.report.tables import Cell
from memrepro.site.documents import page_of, titled
from memrepro.site.pages import Site

PAGE = "provenance.html"


def write(
    site: Site,
    profile: str,
    paper: str,
    document: str,
    browsed: Mapping[tuple[str, str, str], str],
) -> dict[tuple[str, str, str], str]:
    """Write the provenance of all computed numbers of a report's tables.

    Args:
        site: to write into.
        profile: whose results.
        paper: the document's name.
        document: its title.
        browsed: experiment, setting and level → the address at which its questions are browsed.

    Returns:
        Experiment, setting and level → the address of the first number that comes of them alone.
    """
    shared = _Shared(profile, paper, browsed)
    first: dict[tuple[str, str, str], str] = {}
    folder = f"data/{profile}/provenance/{paper}"
    for table in tables(profile, paper):
        known = cells(profile, paper, table)
        own: list[dict[str, Any]] = []
        for one in known.values():
            if not one.reproduced:
                continue
            found = link(one)
            if len(found.places) == 1:
                experiment, setting, level, *_ = found.places[0]
                address = f"{PAGE}#{profile}/{paper}/{table}/{len(own)}"
                first.setdefault((experiment, setting, level), address)
            own.append(shared.number_entry(table, one, found, known))
        told = {
            "title": titled(table), "document": document, "as_recorded": shared.table(table),
            "back": page_of(profile, paper), "name": f"{paper}:{table}",
            "profile": profile, "cells": own,
        }  # fmt: skip
        site.data(f"{folder}/{table}", told)
    site.data(folder, shared.listed())
    return first


class _Shared:
    """What numbers of a report have in common, each once under a name."""

    def __init__(
        self, profile: str, paper: str, browsed: Mapping[tuple[str, str, str], str]
    ) -> None:
        self._profile = profile
        self._paper = paper
        self._browsed = browsed
        self._runs: dict[str, dict[str, Any]] = {}
        self._parts: dict[str, dict[str, Any]] = {
            "stages": {}, "models": {}, "exclusions": {}, "files": {},
        }  # fmt: skip
        self._behind: dict[tuple[Any, ...], list[str]] = {}

    def number_entry(
        self, table: str, one: Cell, found: Link, known: Mapping[Any, Cell]
    ) -> dict[str, Any]:
        """What is a number's own; names of what it shares with others stand for that."""
        said: dict[str, Any] = {**one.as_dict(), "from": found.text}
        del said["sources"]
        said["places"] = [self._place(place) for place in found.places]
        said["files"] = list(found.files)
        for path in found.files:
            if path not in self._parts["files"]:
                self._parts["files"][path] = lineage.recorded_file(self._profile, path)
        said["stages"] = self._stages(table, found)
        said["command"] = command(self._profile, self._paper, table, found.places)
        if one.reported:
            of = of_questions(known.values(), one, found)
            said |= {"most_influential": of["most_influential"], "rival": of["rival"]}
        return {key: value for key, value in said.items() if value not in ("", None, [], {})}

    def table(self, table: str) -> str:
        """How a table stands to dvc.lock."""
        return lineage.state(f"results/{self._profile}/{self._paper}/{table}.csv")

    def listed(self) -> dict[str, Any]:
        """All that the numbers share."""
        recorded = environment.recorded(
            self._profile, self._paper, {name.partition("[")[0] for name in self._runs}
        )
        here = {"recorded": recorded, "here": environment.here()}
        return {"runs": self._runs, "environment": here, **self._parts}

    def _place(self, place: Place) -> dict[str, Any]:
        one = variant(place)
        name = f"{place.experiment}[{place.setting}]"
        if name not in self._runs:
            self._runs[name] = run(place)
        if one.encoder not in self._parts["models"]:
            self._parts["models"][one.encoder] = lineage.model(one.encoder)
        counted = f"{one.dataset}, {place.level}"
        if counted not in self._parts["exclusions"]:
            self._parts["exclusions"][counted] = questions.exclusions(place)
        said = {
            "run": name, "level": place.level, "metric": f"{place.metric}@{place.k}",
            "kind": place.kind, "protocol": place.protocol, "exclusions": counted,
            "questions": self._browsed.get((place.experiment, place.setting, place.level), ""),
        }  # fmt: skip
        return {key: value for key, value in said.items() if value}

    def _stages(self, table: str, found: Link) -> list[str]:
        key = (table, found.files, *dict.fromkeys(place.experiment for place in found.places))
        if key not in self._behind:
            self._behind[key] = stages_of(self._profile, self._paper, table, found)
        for name in self._behind[key]:
            if name not in self._parts["stages"]:
                (told,) = lineage.commands([name])
                self._parts["stages"][name] = told | {"hashes": lineage.hashes([name])}
        return self._behind[key]
