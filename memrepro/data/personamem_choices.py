"""Published choices of two readers on PersonaMem 32k, without memory and with five messages found.

The files hold letters and, once for both readers, the places of the messages that were found:
from 0, in the part of the context that a question may see. A person puts them in place
(`fetch.rows_of`).
"""

from pathlib import Path

import pandas as pd

from memrepro.data import personamem
from memrepro.data.fetch import rows_of
from memrepro.data.reading import damaged
from memrepro.data.registry import registration

DATASET, QUESTIONS = "personamem-choices", "personamem-32k"
NO_MEMORY, RETRIEVED = "no memory", "five messages by BGE-M3"
# File → (reader, what it was shown).
FILES = {
    "personamem-32k-none-gpt-4o.csv": ("gpt-4o", NO_MEMORY),
    "personamem-32k-none-gpt-4o-mini.csv": ("gpt-4o-mini", NO_MEMORY),
    "personamem-32k-rag-gpt-4o.csv": ("gpt-4o", RETRIEVED),
    "personamem-32k-rag-gpt-4o-mini.csv": ("gpt-4o-mini", RETRIEVED),
}
_LETTERS = "abcd"


def missing() -> str:
    """What a reader of 'not run' must know: why there are no choices, and where they are."""
    one = registration(DATASET)
    places = ", ".join(f"{file.url} as {file.path}" for file in one.unhashed)
    return (
        f"the published choices are not here (licence: {one.licence}, so they are not shipped): "
        f"put {places} into data/raw/{DATASET}"
    )


def choices(folder: Path, questions: Path) -> pd.DataFrame | None:
    """Every choice, file by file in the data set's order, or None where a file is not there.

    Columns: reader, memory (what it was shown), query_id, kind, options (how many there are),
    correct and chosen (indices; -1 where no option was chosen), right, and evidence: the rank, from
    1, at which the turn that the question refers to was found, 0 where it was not, and -1 where the
    data do not place it.

    Args:
        folder: the data set's own; `fetch.rows_of` says where else is looked.
        questions: the folder of PersonaMem 32k.

    Raises:
        MemreproError: if a file is not the registered one, or is not of these questions.
    """
    tables = {one.path: rows_of(one, folder) for one in registration(DATASET).unhashed}
    if any(table is None for table in tables.values()):
        return None
    gold = {one.query_id: one for one in personamem.gold(questions, QUESTIONS)}
    turns = {
        query_id: int(found.split(":t")[1])
        for piece in personamem.stream(questions, QUESTIONS)
        for query_id, ((found,),) in piece.qrels["turn"].items()
    }
    found = next(table for table in tables.values() if table is not None and "r" in table)
    ranks = {
        query_id: _rank(places.split(), turns.get(query_id))
        for query_id, places in zip(found["question_id"], found["r"], strict=True)
    }
    rows = []
    for path, (reader, memory) in FILES.items():
        table = tables[path]
        assert table is not None
        for query_id, answer, letter in table[["question_id", "answer", "p"]].itertuples(
            index=False
        ):
            one = gold.get(query_id)
            if one is None or _index(answer) != one.correct:
                raise damaged(f"{path}: {query_id!r} with the answer {answer!r} is no question")
            chosen = _index(letter)
            rows.append((reader, memory, query_id, one.kind, len(one.options), one.correct, chosen,
                         chosen == one.correct, ranks[query_id]))  # fmt: skip
    columns = ["reader", "memory", "query_id", "kind", "options", "correct", "chosen", "right",
               "evidence"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def _index(letter: str) -> int:
    """The option that a letter names, from 0; -1 for anything else."""
    return _LETTERS.index(letter) if len(letter) == 1 and letter in _LETTERS else -1


def _rank(places: list[str], turn: int | None) -> int:
    if turn is None:
        return -1
    return places.index(str(turn)) + 1 if str(turn) in places else 0
