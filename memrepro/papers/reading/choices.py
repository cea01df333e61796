"""Published choices on PersonaMem: the floor without memory, what retrieval adds, and to what."""

from collections.abc import Iterator

import pandas as pd

from memrepro.evaluate.comparison import Comparison
from memrepro.evaluate.multiple import holm
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.reading.shares import (
    ALL,
    IN_BRACKETS,
    ByUnit,
    against,
    by_kind,
    not_run,
    share_cells,
)
from memrepro.report.tables import Cell, number

_PATH = paths.choices("")
DATASET = "personamem-32k"
# What the readers were shown, as `personamem_choices` names it.
NO_MEMORY, RETRIEVED = "no memory", "five messages by BGE-M3"
_MISSING = (
    "the published choices are not here and, without a licence, not shipped; where they come from "
    "and where to put them: personamem-choices in memrepro/data/downloads.yaml"
)
_NOTE = (
    f"choices of two readers that PersonaMem's authors published, no licence stated; {IN_BRACKETS}"
)
_HOLM = (
    "p: sign flips of persons, corrected by Holm over all kinds and both readers; 'helps' and "
    "'harms' by it and the interval, of all kinds together by p uncorrected"
)
_EVIDENCE = (
    "found: the turn that the question refers to is among the five messages; other questions are "
    "compared than where it is not, so the same gap without memory is given too"
)


def read_choices(profile: str) -> pd.DataFrame | None:
    """The published choices, or None where they are not there."""
    path = paths.choices(profile)
    return read_table(path) if path.is_file() else None


def _paired(choices: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Reader, kind, and its questions with a column of verdicts for each memory."""
    for reader, rows in choices.groupby("reader", sort=False):
        wide = rows.pivot(index="query_id", columns="memory", values="right").astype(float)
        facts = rows.drop_duplicates("query_id").set_index("query_id")
        for kind, part in by_kind(facts[["kind", "options", "evidence"]].join(wide)):
            yield str(reader), kind, part


def accuracy_cells(choices: pd.DataFrame, by: ByUnit) -> Iterator[Cell]:
    """Accuracy by reader and kind, the floor without memory, chance, and the gain by retrieval."""
    parts = list(_paired(choices))
    gains = {(reader, kind): by.gain(one[NO_MEMORY], one[RETRIEVED]) for reader, kind, one in parts}
    of_kinds = [part for part in gains if part[1] != ALL]
    p = holm([gains[part].p for part in of_kinds])
    corrected = dict(zip(of_kinds, p, strict=True))
    for reader, kind, one in parts:
        first, second, found = one[NO_MEMORY], one[RETRIEVED], gains[reader, kind]
        sign = found.sign(corrected.get((reader, kind)))
        chance = float((1 / one["options"]).mean())
        texts: dict[str, str | Comparison] = {
            NO_MEMORY: by.mean(first),
            RETRIEVED: by.mean(second),
            "gain by retrieval": found,
            "p after Holm": number(corrected[reader, kind]) if kind != ALL else "",
            "chance": number(chance),
            "without memory": f"{against(by.interval(first), chance)} chance",
            "retrieval": ("harms", "no clear gain", "helps")[sign + 1],
        }  # fmt: skip
        note = f"{_NOTE}; {_HOLM}"
        yield from share_cells(f"{reader}; {kind}", "accuracy", texts, len(one), note, _PATH,
                               by.groups(one))  # fmt: skip


def evidence_cells(choices: pd.DataFrame, by: ByUnit) -> Iterator[Cell]:
    """Does a reader answer better where the evidence was found? By reader and kind."""
    for reader, kind, one in _paired(choices):
        one = one[one["evidence"] >= 0]
        found, lost = one[one["evidence"] > 0], one[one["evidence"] == 0]
        if found.empty or lost.empty:
            continue
        gains = [part[RETRIEVED] - part[NO_MEMORY] for part in (lost, found)]
        texts = {
            "evidence found": by.mean(one["evidence"] > 0),
            "right and wrong where found": _counted(found[RETRIEVED]),
            "right and wrong where not": _counted(lost[RETRIEVED]),
            "right where found": by.mean(found[RETRIEVED]),
            "right where not": by.mean(lost[RETRIEVED]),
            "gap": by.gap(lost[RETRIEVED], found[RETRIEVED]),
            "gap without memory": by.gap(lost[NO_MEMORY], found[NO_MEMORY]),
            "gain where found \u2212 gain where not": by.gap(*gains),
        }
        note = f"{_NOTE}; {_EVIDENCE}"
        yield from share_cells(f"{reader}; {kind}", "accuracy", texts, len(one), note, _PATH,
                               by.groups(one))  # fmt: skip


def _counted(right: pd.Series) -> str:
    return f"{int(right.sum())} and {int((1 - right).sum())}"


def place_rows(choices: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Of each reader and memory the places chosen and right; options were shown in order."""
    for (reader, memory), rows in choices.groupby(["reader", "memory"], sort=False):
        places = rows.set_index("query_id")[["chosen", "correct"]]
        yield f"{reader}; {memory}", DATASET, places.set_axis(["chosen", "right"], axis=1)


def tables(choices: pd.DataFrame | None, by: ByUnit) -> dict[str, Iterator[Cell]]:
    """The tables by name; where there are no choices, with the reason."""
    if choices is None:
        return {
            name: not_run("PersonaMem's published choices", "accuracy", "accuracy", _MISSING)
            for name in ("choices", "choices_evidence")
        }
    return {"choices": accuracy_cells(choices, by), "choices_evidence": evidence_cells(choices, by)}
