"""Published answers to LongMemEval's 500 questions, each labelled by a model: counts, and no text.

A reader answered the same questions under several conditions. What is kept of a reader is how many
questions of a type have which of its answers right, from which every accuracy and every difference
of two conditions follows; one of the two sources states no licence.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.data.fetch import fetch, mirror_folder
from memrepro.data.reading import damaged, value_of
from memrepro.data.registry import registration
from memrepro.errors import MemreproError
from memrepro.files.given import numbered_json_lines, read_json

# The conditions of each reader, in the order of its columns: what it was shown, and the file.
LLAMA, GPT = "Llama 3.1 8B (labels: gpt-4o-mini)", "gpt-4o-mini (labels: gpt-4o)"
CONDITIONS = {
    LLAMA: {
        "oracle sessions, Chain-of-Note": "llama31-8b-oracle-con.jsonl",
        "evidence turns alone": "llama31-8b-evidence-turns.jsonl",
        "S, Stella rounds with facts, top 50": "llama31-8b-s-stella-facts-con.jsonl",
        "S, the same behind a time filter": "llama31-8b-s-stella-facts-time-con.jsonl",
    },
    GPT: {
        "S, plain retrieval": "gpt-4o-mini-s-naive_rag_results.json",
        "S, cognitive memory": "gpt-4o-mini-s-cm_full_run.json",
        "S, cognitive memory v6": "gpt-4o-mini-s-v6_primary.json",
    },
}
DATASETS = {LLAMA: "longmemeval-answers-llama", GPT: "longmemeval-answers-gpt"}
QUESTIONS = "longmemeval-oracle"  # the data set that has the questions and their types
COLUMNS = ["reader", "type", "abstention", "right", "questions"]


def counts(folder: Path, types: Mapping[str, str]) -> pd.DataFrame | None:
    """`COLUMNS`, or None where a file cannot be had.

    `right` has a letter for each of the reader's conditions, 1 where the answer is right, such as
    '1011'.

    Args:
        folder: where each data set's files are put, in a folder of its name; the mirror's folder
            `outside` is looked in too.
        types: the type of each question, of an abstention too.

    Raises:
        MemreproError: if a file is malformed, or is not of these questions.
    """
    rows = []
    for reader, conditions in CONDITIONS.items():
        dataset, found = DATASETS[reader], {}
        for shown, name in conditions.items():
            if (path := _fetched(dataset, name, folder / dataset)) is None:
                return None
            found[shown] = verdicts(path)
            if found[shown].keys() != types.keys():
                raise damaged(f"{path} has not the 500 questions of LongMemEval")
        counted = Counter(
            (types[q], "_abs" in q, "".join(str(int(one[q])) for one in found.values()))
            for q in types
        )
        rows += [(reader, *key, n) for key, n in sorted(counted.items())]
    return pd.DataFrame(rows, columns=COLUMNS)


def verdicts(path: Path) -> dict[str, bool]:
    """Question id → whether the model called its answer right.

    Raises:
        MemreproError: if a label is missing or none.
    """
    return {
        value_of(one, "question_id", str, str(path)): value_of(label, key, bool, str(path))
        for one, label, key in _labelled(path)
    }


def _labelled(path: Path) -> Iterator[tuple[Any, Any, str]]:
    """Each answer, where its label stands, and its key there."""
    if path.suffix == ".json":
        for one in value_of(read_json(path), "per_question", list, str(path)):
            yield one, one, "correct"
    else:
        for _, one in numbered_json_lines(path):
            yield one, value_of(one, "autoeval_label", dict, str(path)), "label"


def _fetched(dataset: str, name: str, folder: Path) -> Path | None:
    """A file in its place, or None where it cannot be had."""
    one, mirror = registration(dataset), mirror_folder()
    file = next(file for file in one.files if Path(file.path).name == name)
    try:
        fetch(
            file, folder, licence=one.licence, mirror=mirror.parent / "outside" if mirror else None
        )
    except MemreproError:
        return None
    return folder / file.path
