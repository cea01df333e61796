"""The provenance of a number: all that is known of one cell, as one dictionary."""

from collections.abc import Iterable, Sequence
from typing import Any

from memrepro.audit.verdicts import NOT_RUN
from memrepro.errors import MemreproError
from memrepro.evaluate.metrics import METRICS
from memrepro.provenance import environment, lineage, questions, tables
from memrepro.provenance.diff import compare, paired
from memrepro.provenance.links import DIFFERENCE, MEAN, Link, link
from memrepro.provenance.places import Place, entry, metrics_of, plan, stated, variant
from memrepro.provenance.unrun import would_run
from memrepro.report.tables import Cell

_NO_QUESTIONS: dict[str, Any] = {
    "questions": [], "most_influential": [], "rival": None, "similarity": None,
}  # fmt: skip
# Of `METRICS`: those that score a combination of alternatives and keep the best.
_BEST = "; where docs are alternatives to each other, that of the best combination of them"
_SAME = ("profile", "dataset", "encoder", "granularity", "key_scheme", "method")
_SIMILARITY = ("dense", "familiarity")  # retrievers that rank by plain similarity


def cell(profile: str, paper: str, table: str, row: str, column: str) -> dict[str, Any]:
    """The provenance of a cell; plain types alone, so that it is JSON as it stands.

    The keys are those that `docs/provenance.md` describes. No text of a data set is in it.

    Raises:
        MemreproError: if there is no such cell; it names the nearest.
    """
    known = tables.cells(profile, paper, table)
    if (row, column) not in known:
        tables.parse(f"{paper}:{table}:{row}:{column}", profile)
        raise MemreproError(f"no cell {row!r}, {column!r} in {paper}:{table}")
    one = known[row, column]
    found, name = link(one), tables.Name(profile, paper, table, row, column)
    return {
        "name": str(name),
        "profile": profile, "paper": paper, "table": table, **one.as_dict(),
        "link": {"relation": found.relation, "text": found.text},
        "definition": definition(found), "would_run": _would_run(name, one),
        "places": [place._asdict() | run(place) for place in found.places],
        "files": [lineage.recorded_file(profile, path) for path in found.files],
        **_lineage(profile, paper, table, found), **of_questions(known.values(), one, found),
    }  # fmt: skip


def definition(found: Link) -> str:
    """What the metric of a cell's runs counts, in words; '' without a run."""
    if not found.places:
        return ""
    name = found.places[0].metric
    return f"{name}: {(METRICS[name].__doc__ or '').splitlines()[0].rstrip('.')}{_BEST}"


def _would_run(name: tables.Name, one: Cell) -> str:
    """Of a cell that was not run, what would run it; '' of any other."""
    return would_run(name, one.note) if one.verdict == NOT_RUN and not one.reproduced else ""


def run(place: Place) -> dict[str, Any]:
    """What the run of a place searched, and how its file stands to dvc.lock."""
    one = variant(place)
    return {
        "dataset": one.dataset, "encoder": one.encoder, "method": one.method,
        "retriever": one.retriever, "searched": lineage.parameters(place),
        "parameters_as_recorded": lineage.parameters_hold(place),
        "run": lineage.run_path(place),
        "run_as_recorded": lineage.state(lineage.run_path(place)),
    }  # fmt: skip


def stages_of(profile: str, paper: str, table: str, found: Link) -> list[str]:
    """The stages behind a cell: of its runs all before them, of its files the one that made each.

    The evaluation and the report stand last.
    """
    behind = [name for place in found.places for name in lineage.made_by(place)]
    behind += [lineage.maker(lineage.path_of(profile, path)) for path in found.files]
    evaluations = [lineage.evaluated_by(place) for place in found.places]
    report = lineage.maker(f"results/{profile}/{paper}/{table}.csv")
    last = [name for name in dict.fromkeys([*evaluations, report]) if name]
    return [*dict.fromkeys(name for name in behind if name and name not in last), *last]


def _lineage(profile: str, paper: str, table: str, found: Link) -> dict[str, Any]:
    """The stages, their hashes, the models and the environment of a cell."""
    path = f"results/{profile}/{paper}/{table}.csv"
    runs = list({place.experiment: place for place in found.places}.values())
    stages = stages_of(profile, paper, table, found)
    encoders = sorted({variant(place).encoder for place in runs} - {""})
    return {
        "exclusions": questions.exclusions(found.places[0]) if found.places else {},
        "command": command(profile, paper, table, runs),
        "stages": lineage.commands(stages),
        "without_stage": [p.experiment for p in runs if not lineage.maker(lineage.run_path(p))],
        "hashes": lineage.hashes(stages),
        "models": [lineage.model(encoder) for encoder in encoders],
        "table_as_recorded": lineage.state(path),
        "environment": {
            "recorded": environment.recorded(profile, paper, {p.experiment for p in runs}),
            "here": environment.here(),
        },
    }


def command(profile: str, paper: str, table: str, places: Sequence[Place]) -> str:
    """What makes a cell again: its runs and all before them, then the last stages by themselves.

    The evaluation and the report depend on every run of a profile, which need not be made again.
    """
    runs = [lineage.maker(lineage.run_path(place)) for place in places]
    last = [lineage.evaluated_by(place) for place in places]
    last.append(lineage.maker(f"results/{profile}/{paper}/{table}.csv"))
    runs, last = ([name for name in dict.fromkeys(names) if name] for names in (runs, last))
    parts = [f"dvc repro {' '.join(runs)}"] if runs else []
    parts += [f"dvc repro --single-item {' '.join(last)}"] if last else []
    return " && ".join(parts)


def of_questions(known: Iterable[Cell], one: Cell, found: Link) -> dict[str, Any]:
    """Per-question results, the most influential questions, and the same against the rival.

    Args:
        known: the cells of the table.
        one: the cell.
        found: its link.
    """
    if found.relation == DIFFERENCE:
        before, after = found.places
        return _NO_QUESTIONS | _against(before, after, "the run that it is compared with")
    if found.relation != MEAN:
        return _NO_QUESTIONS
    place = found.places[0]
    rows = questions.table(place)
    most = questions.most_influential(rows, place.k)
    answer = _NO_QUESTIONS | {"questions": rows, "most_influential": most}
    if rival := _rival(known, one, place):
        answer["rival"] = _against(rival[1], place, rival[0])["rival"]
    if plain := similarity(place):
        answer["similarity"] = _against(plain, place, plain.experiment)["rival"]
    return answer


def similarity(place: Place) -> Place | None:
    """The same place of the run by plain similarity over the same keys; None where there is none.

    Keys, encoder and docs are the run's own. It is not compared with itself.
    """
    own = variant(place)
    if own.retriever in _SIMILARITY or place.protocol != stated():
        return None
    for name, one in plan().experiments.items():
        same = all(getattr(one, field) == getattr(own, field) for field in _SAME)
        if not same or one.retriever not in _SIMILARITY or one.ranges or one.dates:
            continue
        found = place._replace(experiment=name, setting="")
        metrics = metrics_of(one.profile)
        if ("", place.level, place.metric, place.k) in metrics.evaluated(name):
            return found
    return None


def _against(other: Place, place: Place, name: str) -> dict[str, Any]:
    """A place compared with another: the difference, and the questions that move it most."""
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
            "row": name, "place": other._asdict(), "difference": difference.as_dict(),
            "most_influential": questions.most_influential(rows, place.k, "share"),
        },
    }  # fmt: skip


def _rival(known: Iterable[Cell], one: Cell, place: Place) -> tuple[str, Place] | None:
    """The best other row of the column on the same questions: its name, and its place.

    One under the same encoder goes before others.
    """
    found = []
    for other in known:
        if other.column != one.column or other.row == one.row or other.n != one.n:
            continue
        linked = link(other)
        if linked.relation != MEAN:
            continue
        rival = linked.places[0]
        if entry(rival.experiment).dataset == entry(place.experiment).dataset:
            same = variant(rival).encoder == variant(place).encoder
            found.append((same, float(other.reproduced.split()[0]), other.row, rival))
    if not found:
        return None
    _, _, row, rival = max(found, key=lambda each: each[:2])
    return row, rival
