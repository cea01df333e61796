"""Associa's numbers as printed: its tables, hyper-parameters, schema, and the numbers of its prose.

Tables 1 and 3 stand here with the reason why each row is not run; what is run in their place is in
`associa`.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN
from memrepro.files.atomic import read_yaml
from memrepro.report.tables import Cell, write_cells

REPORTED = Path(__file__).with_name("printed.yaml")
_NO_FILES = "LongMemEval's files are not in the mirror"
_NO_CODE = (
    "no code of the paper is public; its graphs are a language model's, which it does not name, "
    "over Contriever, which comes from a model hub"
)
_TUNED = "the deliberating model is a fine-tuned Qwen2.5-3B: no GPU and no such model here"
_HUB = "the encoder comes from a model hub"
_FACTS = f"{_HUB}, the facts and time ranges from language models"
# Row → why no number of this project stands beside it, besides the files.
WHY: Mapping[str, Mapping[str, str]] = {
    "table1": {
        "BM25": "",
        "Contriever": _HUB,
        "Stella": _HUB,
        "BGE": _HUB,
        "Longmemeval (w UF)": _FACTS,
        "Longmemeval (w UF and TF)": _FACTS,
        "Associa max_iter=1": _NO_CODE,
        "Associa max_iter=2": f"{_NO_CODE}; {_TUNED}",
    },
    "table3": {
        "w/o AM": _HUB,
        "w/o DM": _NO_CODE,
        "w/o SFT": f"{_NO_CODE}; no GPU and no Qwen2.5-3B here",
        "w/o EIR": f"{_NO_CODE}; {_TUNED}",
        "Associa": f"{_NO_CODE}; {_TUNED}",
    },
}
_READER = "no reader has been recorded: needs GPT-4o's answers and GPT-4o-mini's judgements"
# Table → the verdict on its cells, and why no number of this project stands beside them.
STATIC = {
    "table2": (NOT_RUN, f"{_NO_FILES}; {_READER}"),
    "hyperparameters": (NOT_COMPARABLE, "describes the runs"),
    "schema": (NOT_COMPARABLE, "describes the memory graph, which is built so here"),
    "categories": (NOT_COMPARABLE, "describes the memory graph, which is built so here"),
    "text": (NOT_COMPARABLE, "describes data and method"),
}
METRICS = {"recall": "recall_all", "ndcg": "ndcg"}


@cache
def _reported(path: Path) -> dict[str, Any]:
    return dict(read_yaml(path))


def printed(table: str, path: Path = REPORTED) -> dict[str, dict[str, str]]:
    """A table as printed: row → column → string."""
    entry = _reported(path)[table]
    columns = [str(c) for c in entry["columns"]]
    return {str(r): dict(zip(columns, c, strict=True)) for r, c in entry["rows"].items()}


def notes(table: str) -> list[str]:
    """What a reader must know of a table's printed numbers."""
    return list(_reported(REPORTED)[table].get("notes", ()))


def text(row: str, table: str = "text") -> str:
    """What the prose says, by where it stands."""
    return printed(table)[row]["printed"]


def as_printed(table: str) -> Iterator[Cell]:
    """The cells of one of the `STATIC` tables."""
    verdict, why = STATIC[table]
    note = "; ".join([why, *notes(table)])
    for row, cells in printed(table).items():
        for column, shown in cells.items():
            yield Cell(row, column, "as printed", shown, "", 0, verdict, note=note)


def not_run(table: str) -> Iterator[Cell]:
    """The cells of Table 1 or 3, none of which can be run here, with the reason of each row."""
    for row, cells in printed(table).items():
        why = "; ".join(filter(None, [_NO_FILES, WHY[table][row]]))
        note = "; ".join([why, *notes(table)])
        for column, shown in cells.items():
            name, _, k = column.rsplit(", ", 1)[-1].partition("@")
            yield Cell(row, column, f"{METRICS[name]}@{k}", shown, "", 0, NOT_RUN, note=note)


def build(folder: Path) -> list[Path]:
    """Write the printed tables; return the paths."""
    return [
        *(path for table in STATIC for path in write_cells(as_printed(table), folder, table)),
        *(path for table in WHY for path in write_cells(not_run(table), folder, table)),
    ]
