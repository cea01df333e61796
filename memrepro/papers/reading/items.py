"""The documents' tables and figures of answers: each with its state, why, and what was run here."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from memrepro.audit.coverage import Place, cells
from memrepro.files.atomic import read_yaml
from memrepro.report.tables import Cell

FILE = Path(__file__).with_name("items.yaml")
NO_NUMBER = "drawn without numbers"
_LACKING = "the document's report is not here: run `make repro` (or `dvc repro`), which makes it"


def item_cells(profile: str) -> Iterator[Cell]:
    """A row an item: how many numbers are printed, what became of them, why, and what is here.

    They are read from the reports that the documents have on this profile.
    """
    of = cache(lambda document: cells(profile, document))
    for item, entry in read_yaml(FILE).items():
        document, _, table = entry["table"].partition("/")
        places = [one for one in of(document) if one.table == table]
        if "of" in entry:
            places = [one for one in places if one.metric == entry["of"]]
        # Where a figure has no number, or a table has words, a dash or a word is printed.
        numbers = [one for one in places if any(sign.isdigit() for sign in one.reported)]
        texts = {
            "printed numbers": str(len(numbers)),
            "state": _counted(numbers) if numbers else NO_NUMBER if places else _LACKING,
            "why": "; ".join(dict.fromkeys(one.note.split("; ")[0] for one in places if one.note)),
            "here": entry["here"],
        }
        for column, text in texts.items():
            yield Cell(
                item, column, "answers", "", text, len(numbers), "", sources=f"file {table}.csv"
            )


def _counted(places: list[Place]) -> str:
    counts = Counter(one.verdict for one in places)
    return ", ".join(f"{verdict}: {count}" for verdict, count in counts.items())
