"""Which questions of a data set belong together: what every interval and test resamples."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from memrepro.evaluate.clustered import groups_of
from memrepro.evaluate.comparison import QUESTION, Groups
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.study.plan import Plan


def groups_of_questions(dataset: str, query_ids: Sequence[str], plan: Plan) -> Groups:
    """The conversation or person of each question, by the data set's unit in `params.yaml`.

    Raises:
        MemreproError: for an unknown data set, or a question that it does not have.
    """
    entry = plan.dataset(dataset)
    if entry.unit == QUESTION:
        return Groups(QUESTION, ("",) * len(query_ids))
    path = paths.lengths(entry.profile, dataset)
    memories = _memories(path, path.stat().st_mtime_ns)
    return Groups(entry.unit, groups_of(query_ids, [memories.get(q, "") for q in query_ids]))


@lru_cache(maxsize=8)
def _memories(path: Path, changed: int) -> dict[str, str]:
    """Query id → its memory, of a data set's lengths."""
    table = read_table(path, ["level", "doc_id"])
    asked = table[table["level"] == "query"]
    return dict(zip(asked["doc_id"].astype(str), asked["memory_id"].astype(str), strict=True))
