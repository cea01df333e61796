"""The tiered document's tables, parameters and numbers as printed, and where each is set here.

The document is a design: most of what it prints is a parameter, which is implemented, or a fact
about other systems, which cannot be checked here. What arithmetic can check is in `tiered_decay`
and `tiered_consistency`, what data can check in `tiered_claims`.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN
from memrepro.files.atomic import read_yaml
from memrepro.report.tables import Cell, write_cells

REPORTED = Path(__file__).with_name("printed.yaml")
_HUB = "the model comes from a model hub, which cannot be reached where this was made"
_SURVEY = "cannot be checked here: a survey of systems of others"
# Table → why no number of this project stands beside it.
SURVEYS: Mapping[str, str] = {
    "systems": _SURVEY,
    "databases": f"{_SURVEY}; the recommended one, LanceDB, is what the store here is built on",
    "works": "cannot be checked here: bibliography; the papers are not among the shared documents",
    "interfaces": "the fields of the design's listings",
}
_SEGMENTS, _SCORING, _SELECTION = (
    f"memrepro.retrieve.tiered.{name}" for name in ("segments", "scoring", "selection")
)
# Parameter → where it is set here: a module and a name in it, and what it holds; or words.
NAMED: Mapping[str, tuple[str, str, Any]] = {
    "preceding turns of a short utterance": (_SEGMENTS, "in_context(before)", 3),
    "least size of a chunk": (_SEGMENTS, "Segmentation.least", 3),
    "most size of a chunk": (_SEGMENTS, "Segmentation.most", 5),
    "most tokens of a chunk": (_SEGMENTS, "Segmentation.max_tokens", 500),
    "overlap of chunks": (_SEGMENTS, "Segmentation.overlap", 1),
    "gap that ends a chunk": (_SEGMENTS, "Segmentation.gap_hours", 1.0),
    "importance, weight": (_SCORING, "IMPORTANCE_WEIGHT", 0.2),
    "access reinforcement, each": (_SCORING, "PER_ACCESS", 0.02),
    "access reinforcement, most": (_SCORING, "MOST_OF_ACCESSES", 0.1),
    "channel weight, telegram": (_SCORING, "CHANNEL_WEIGHTS[telegram]", 1.0),
    "channel weight, ide": (_SCORING, "CHANNEL_WEIGHTS[ide]", 0.9),
    "channel weight, cli": (_SCORING, "CHANNEL_WEIGHTS[cli]", 0.9),
    "channel weight, others": (_SCORING, "OTHER_CHANNEL", 0.8),
    "adaptive, a sure top result": (_SELECTION, "SURE", 0.85),
    "adaptive, kept then": (_SELECTION, "FEW", 2),
    "adaptive, clustered scores": (_SELECTION, "CLUSTER", (0.7, 0.8)),
    "adaptive, kept where clustered": (_SELECTION, "MOST", 5),
}
_STORE = "memrepro.memory.settings"
_RUNS = "in the runs, the experiments' parameter"
NAMED_IN_STORE: Mapping[str, tuple[str, Any, str]] = {
    "decay rate of the listing": ("decay_rate", 0.01, "rate"),
    "similarity threshold": ("threshold", 0.65, "floor"),
    "MMR lambda": ("mmr_weight", 0.7, "diversity"),
    "hybrid alpha, semantic": ("alpha", 0.7, "alpha"),
    "HOT, messages": ("hot", 20, "hot"),
    "WARM, window": ("warm_days", 7.0, "warm_days"),
    "WARM, hybrid": ("alpha", 0.7, "alpha"),
    "WARM, decay": ("decay_rate", 0.01, "rate"),
    "COLD, age": ("warm_days", 7.0, "warm_days"),
    "fallback, time of the vector search": ("dense_ms", 250.0, ""),
    "fallback, recent context": ("recent", 10, ""),
}
_IN_WORDS: Mapping[str, str] = {
    "additive score": f"{_SCORING}: additive_recency, added by combined",
    "time of the decay": f"{_SCORING}: the hours that are given to additive_recency",
    "milliseconds of an hour": "times are seconds here, and hours in the formulas",
    "combined score": f"{_SCORING}: combined",
    "conflict score": f"{_SCORING}: memory_bank",
    "top-K": f"{_SELECTION}: USUAL to MOST; {_RUNS} units",
    "hybrid alpha, keyword": "1 less alpha",
    "WARM, dimensions": "the encoder's own: 384 of all-MiniLM-L6-v2, nothing is cut off",
    "WARM, chunk": f"{_SEGMENTS}: Segmentation",
    "WARM, given": f"{_SELECTION}: USUAL to MOST; {_RUNS} units",
    "WARM, storage": "memrepro.memory: LanceDB beside SQLite, one folder a user",
    "COLD, storage": "memrepro.memory: SQLite, the facts' vectors in LanceDB",
    "COLD, categories": "memrepro.memory.fact: CATEGORIES",
    "COLD, asked when": f"{_RUNS} sure: where no similarity in WARM reaches it",
}
SETTINGS: Mapping[str, str] = {
    **{row: f"{module}: {name} = {value}" for row, (module, name, value) in NAMED.items()},
    **{
        row: f"{_STORE}: Settings.{name} = {value}" + (f"; {_RUNS} {own}" if own else "")
        for row, (name, value, own) in NAMED_IN_STORE.items()
    },
    **_IN_WORDS,
}


@cache
def _reported() -> dict[str, Any]:
    return dict(read_yaml(REPORTED))


def printed(table: str) -> dict[str, dict[str, str]]:
    """A table as printed: row → column → string."""
    entry = _reported()[table]
    columns = [str(c) for c in entry["columns"]]
    return {str(r): dict(zip(columns, c, strict=True)) for r, c in entry["rows"].items()}


def said(table: str, row: str) -> str:
    """What is printed in a row of `parameters`, `numbers` or `claims`."""
    return printed(table)[row]["printed"]


def notes(table: str) -> list[str]:
    """What a reader must know of what a table prints."""
    return list(_reported()[table].get("notes", ()))


def survey(table: str) -> Iterator[Cell]:
    """The cells of one of the `SURVEYS`."""
    note = "; ".join([SURVEYS[table], *notes(table)])
    for row, cells in printed(table).items():
        for column, shown in cells.items():
            yield Cell(row, column, "as printed", shown, "", 0, NOT_COMPARABLE, note=note)


def models() -> Iterator[Cell]:
    """The table of embedding models; no share of it can be run here."""
    for row, cells in printed("models").items():
        for column, shown in cells.items():
            here = "here: the table of models" if row.startswith("all-MiniLM") else _HUB
            verdict = NOT_RUN if column.startswith("Short Text") else NOT_COMPARABLE
            note = "; ".join([f"{row}: {here}", *notes("models")])
            yield Cell(row, column, "as printed", shown, "", 0, verdict, note=note)


def parameters() -> Iterator[Cell]:
    """Each parameter: as printed, its unit and section, and where it is set here."""
    note = "; ".join(["is a parameter of the design, which is implemented", *notes("parameters")])
    for row, cells in printed("parameters").items():
        for column in ("printed", "unit", "section"):
            if cells[column]:
                shown = cells[column]
                yield Cell(row, column, "as printed", shown, "", 0, NOT_COMPARABLE, note=note)
        yield Cell(row, "set here", "setting", "", SETTINGS[row], 0, "", note=note)


def stack() -> Iterator[Cell]:
    """The technical stack, and what stands in each place here."""
    here = {
        "Embedding model": "all-MiniLM-L6-v2 and all-mpnet-base-v2, which wheels carry",
        "Vector database": "LanceDB",
        "Embedding dimensions": "384 of all-MiniLM-L6-v2, 768 of all-mpnet-base-v2",
        "Chunking": "3-5 turns, 1-turn overlap, topic shifts by rule",
        "Retrieval": "hybrid; pure semantic beside it",
        "Time decay": "exponential; time buckets beside it",
        "Top-K": "as the document's; adaptive beside it",
        "COLD storage": "SQLite, the facts' vectors in LanceDB",
        "LLM for extraction": "rules, or a recorded model",
    }
    note = "choices of the design; the models come from a hub or a service"
    for row, cells in printed("stack").items():
        for column, shown in cells.items():
            yield Cell(row, column, "as printed", shown, "", 0, NOT_COMPARABLE, note=note)
        yield Cell(row, "here", "setting", "", here[row], 0, "", note=note)


def build(folder: Path) -> list[Path]:
    """Write the printed tables; return the paths."""
    return [
        *(path for table in SURVEYS for path in write_cells(survey(table), folder, table)),
        *write_cells(models(), folder, "models"),
        *write_cells(parameters(), folder, "parameters"),
        *write_cells(stack(), folder, "stack"),
    ]
