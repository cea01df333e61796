"""How many questions PersonaMem's larger sizes have, by type and topic: counts, and no text.

Another benchmark ships these questions in a form of its own; the contexts are not there, so that
nothing can be searched.
"""

import gzip
import json
from collections import Counter
from pathlib import Path

import pandas as pd

from memrepro.data.reading import damaged
from memrepro.data.registry import registration
from memrepro.errors import MemreproError

DATASET = "personamem-questions"
_COUNTED = {"question_type": "type", "topic": "topic"}
COLUMNS = ["size", "of", "name", "questions"]


def counts(folder: Path) -> pd.DataFrame:
    """`size, of, name, questions` (`COLUMNS`): of each size, the questions by `type` and `topic`.

    Args:
        folder: with the registered files.

    Raises:
        MemreproError: if a file is missing, or is no list of questions with type and topic.
    """
    rows = []
    for file in registration(DATASET).files:
        path = folder / file.path
        try:
            with gzip.open(path, "rt", encoding="utf-8") as text:
                metas = [one["meta"] for one in json.load(text)]
            for key, of in _COUNTED.items():
                found = Counter(str(meta[key]) for meta in metas)
                rows += [(path.parent.name, of, name, n) for name, n in sorted(found.items())]
        except FileNotFoundError as error:
            raise MemreproError(f"{path} is not there: see {DATASET} in downloads.yaml") from error
        except (OSError, EOFError, ValueError, TypeError, KeyError) as error:
            raise damaged(f"{path} is no list of questions with type and topic: {error}") from error
    return pd.DataFrame(rows, columns=COLUMNS)
