"""A ranking that others published, in place of a search: see `published.yaml`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from memrepro.core.keys import Request
from memrepro.core.ranking import Ranking
from memrepro.errors import MemreproError

FOLDER = Path(__file__).parent
PUBLISHED: dict[str, dict[str, Any]] = yaml.safe_load(
    (FOLDER / "published.yaml").read_text(encoding="utf-8")
)


def read_published(name: str) -> dict[str, tuple[str, ...]]:
    """Query id → its docs' ids, best first.

    Raises:
        MemreproError: if nothing of that name was published.
    """
    if name not in PUBLISHED:
        raise MemreproError(f"no published ranking {name!r}: known are {', '.join(PUBLISHED)}")
    lines = (FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("\t") for line in lines)
    return {query_id: tuple(docs.split()) for query_id, docs in pairs}


@dataclass(frozen=True)
class Published:
    """The first k docs of a published ranking; keys are not looked at.

    Attributes:
        k: length of a ranking, at most what was published.
        ranking: its name in `published.yaml`.
    """

    k: int
    ranking: str

    def __post_init__(self) -> None:
        """Refuse a name that is not there."""
        read_published(self.ranking)

    def search(self, requests: Sequence[Request]) -> Sequence[Ranking]:
        """One ranking a query, in the order of the requests; the score is 1/rank, no similarity.

        Raises:
            MemreproError: for a question or a doc that the other side does not know.
        """
        published = read_published(self.ranking)
        found = []
        for request in requests:
            held = set(request.keys.doc_ids)
            for query_id in request.query_ids:
                docs = published.get(query_id, ())[: self.k]
                if not docs or not held.issuperset(docs):
                    raise MemreproError(
                        f"the published ranking {self.ranking!r} of question {query_id!r} is "
                        f"{list(docs)}: it is of another edition of the data set"
                    )
                scores = tuple(1 / rank for rank in range(1, len(docs) + 1))
                found.append(Ranking(query_id, docs, scores))
        return found


RETRIEVERS = {"published": Published}
