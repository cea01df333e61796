"""The passport of a number: all that is known of one cell, as one dictionary."""

from typing import Any, Literal

from memrepro.errors import MemreproError
from memrepro.provenance import environment, lineage, questions, tables
from memrepro.provenance.diff import compare, paired
from memrepro.provenance.links import DIFFERENCE, READ, VALUE, Link, link
from memrepro.provenance.places import Place, entry, variant
from memrepro.report.tables import Cell

# What a passport tells of questions: each of them, those that weigh most, or nothing.
Questions = Literal["all", "most_influential", "none"]


def cell(
    profile: str, paper: str, table: str, row: str, column: str, tell: Questions = "all"
) -> dict[str, Any]:
    """The passport of a cell; plain types alone, so that it is JSON as it stands.

    The keys are those that `docs/passport.md` describes. No text of a data set is in it.

    Args:
        profile: whose results.
        paper: the folder of the table.
        table: its name.
        row: as the table has it.
        column: the same.
        tell: of which questions; 'all' is a list of thousands in some, 'none' is fast.

    Raises:
        MemreproError: if there is no such cell; it names the nearest.
    """
    known = tables.cells(profile, paper, table)
    if (row, column) not in known:
        tables.parse(f"{paper}:{table}:{row}:{column}", profile)
        raise MemreproError(f"no cell {row!r}, {column!r} in {paper}:{table}")
    one = known[row, column]
    found = link(profile, paper, table, one)
    passport: dict[str, Any] = {
        "name": str(tables.Name(profile, paper, table, row, column)),
        "profile": profile, "paper": paper, "table": table, **one._asdict(),
        "link": {"way": found.way, "text": found.text, "tried": found.tried},
        "places": [_described(place) for place in found.places],
    }  # fmt: skip
    passport |= _provenance(profile, paper, table, found)
    if tell == "none":
        return passport | _NO_QUESTIONS
    passport |= _questions(profile, paper, table, one, found)
    return passport if tell == "all" else passport | {"questions": []}


_NO_QUESTIONS: dict[str, Any] = {"questions": [], "most_influential": [], "rival": None}


def _described(place: Place) -> dict[str, Any]:
    """A place, what it searched, and how its run stands to dvc.lock."""
    one = variant(place)
    return place.as_dict() | {
        "dataset": one.dataset, "encoder": one.encoder, "method": one.method,
        "retriever": one.retriever, "searched": lineage.parameters(place),
        "parameters_as_recorded": lineage.parameters_hold(place),
        "run": lineage.run_path(place),
        "run_as_recorded": lineage.state(lineage.run_path(place)),
    }  # fmt: skip


def _provenance(profile: str, paper: str, table: str, found: Link) -> dict[str, Any]:
    """The stages, their hashes, the models and the environment of a cell."""
    path = f"results/{profile}/{paper}/{table}.csv"
    report = lineage.maker(path)
    runs = list({place.experiment: place for place in found.places}.values())
    behind = dict.fromkeys(name for place in runs for name in lineage.made_by(place))
    evaluations = dict.fromkeys(lineage.evaluated_by(place) for place in runs)
    after = [name for name in [*evaluations, report] if name]
    stages = [*behind, *after]
    encoders = sorted({variant(place).encoder for place in runs} - {""})
    unknown = [p.experiment for p in runs if not lineage.maker(lineage.run_path(p))]
    return {
        "exclusions": questions.exclusions(found.places[0]) if found.places else {},
        "command": _command(_retrieving(runs), after),
        "stages": lineage.commands(stages),
        "without_stage": unknown,
        "hashes": lineage.hashes(stages),
        "models": [lineage.model(encoder) for encoder in encoders],
        "table_as_recorded": lineage.state(path),
        "environment": {
            "recorded": environment.recorded(profile, paper, {p.experiment for p in runs}),
            "here": environment.here(),
        },
    }


def _command(runs: list[str], after: list[str]) -> str:
    """What makes a cell again: its runs and all before them, then the last stages by themselves.

    The evaluation and the report depend on every run of a profile, which need not be made again.
    """
    parts = [f"dvc repro {' '.join(runs)}"] if runs else []
    parts += [f"dvc repro --single-item {' '.join(after)}"] if after else []
    return " && ".join(parts)


def _retrieving(runs: list[Place]) -> list[str]:
    """The stages that made the runs."""
    made = [lineage.maker(lineage.run_path(place)) for place in runs]
    return [name for name in dict.fromkeys(made) if name]


def _questions(profile: str, paper: str, table: str, one: Cell, found: Link) -> dict[str, Any]:
    """Per-question results, the most influential questions, and the same against the rival."""
    if found.way == DIFFERENCE:
        before, after = found.places
        return _NO_QUESTIONS | _against(before, after, "the run that it is held against")
    if found.way not in (READ, VALUE):
        return _NO_QUESTIONS
    place = found.places[0]
    rows = questions.table(place)
    answer = _NO_QUESTIONS | {
        "questions": rows,
        "most_influential": questions.most_influential(rows, place.k),
    }
    if rival := _rival(profile, paper, table, one, place):
        name, other = rival
        answer["rival"] = _against(other, place, name)["rival"]
    return answer


def _against(other: Place, place: Place, name: str) -> dict[str, Any]:
    """A place held against another: the difference, and the questions that move it most."""
    difference = compare(other, place)
    both = paired(other, place)
    gain = ((both["second"] - both["first"]) / len(both)).round(6)
    columns = (both[c].tolist() for c in ("query_id", "kind", "first", "second"))
    rows = [
        {"query_id": query_id, "kind": kind, "rival": old, "value": new, "share": share}
        for query_id, kind, old, new, share in zip(*columns, gain.tolist(), strict=True)
    ]
    return {
        "questions": rows,
        "rival": {
            "row": name, "place": other.as_dict(), "difference": difference.as_dict(),
            "most_influential": questions.most_influential(rows, place.k, "share"),
        },
    }  # fmt: skip


def _rival(
    profile: str, paper: str, table: str, one: Cell, place: Place
) -> tuple[str, Place] | None:
    """The best other row of the column on the same questions: its name, and its place.

    One under the same encoder goes before others.
    """
    found = []
    for (row, column), other in tables.cells(profile, paper, table).items():
        if column != one.column or row == one.row or not other.reproduced or other.n != one.n:
            continue
        linked = link(profile, paper, table, other)
        if linked.way not in (READ, VALUE):
            continue
        rival = linked.places[0]
        if entry(rival.experiment).dataset == entry(place.experiment).dataset:
            same = variant(rival).encoder == variant(place).encoder
            found.append((same, float(other.reproduced), row, rival))
    if not found:
        return None
    _, _, row, rival = max(found, key=lambda each: each[:2])
    return row, rival
