"""Which questions of a data set belong together: what every interval and test resamples."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from memrepro.errors import MemreproError
from memrepro.evaluate.clustered import group_of
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
    if not path.is_file():
        raise MemreproError(
            f"which {entry.unit} a question of {dataset} belongs to is not known here: {path} is "
            f"missing; run `make repro PROFILE={entry.profile}` first"
        )
    persons = paths.persons(entry.profile, dataset)
    changed = [one.stat().st_mtime_ns if one.is_file() else 0 for one in (path, persons)]
    known = _groups(path, persons, *changed)
    if bare := [query for query in query_ids if not known.get(query)]:
        raise MemreproError(f"question {bare[0]!r} has no memory in the data set's lengths")
    return Groups(entry.unit, tuple(known[query] for query in query_ids))


@lru_cache(maxsize=8)
def _groups(lengths: Path, persons: Path, *changed: int) -> dict[str, str]:
    """Query id → its conversation, or the person whose shared context that is."""
    table = read_table(lengths, ["level", "doc_id"])
    asked = table[table["level"] == "query"]
    groups = asked["memory_id"].astype(str).map(group_of)
    if persons.is_file():
        known = read_table(persons).set_index("context")["person"]
        groups = groups.map(known).fillna(groups)
    return dict(zip(asked["doc_id"].astype(str).tolist(), groups.tolist(), strict=True))
