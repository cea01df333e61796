"""A method's path to each answer, from the traces that lie beside the runs."""

from dataclasses import dataclass
from typing import Any

from memrepro.files import paths
from memrepro.files.atomic import read_table


@dataclass(frozen=True)
class Trail:
    """How an experiment answered its questions.

    Attributes:
        gates: query id → path, mean score, entropy, rounds.
        searches: query id → for each search its round, its drift and how many docs it found.
        rounds: query id → in which round each doc of the ranking was found, in order of rank.
    """

    gates: dict[str, list[Any]]
    searches: dict[str, list[list[Any]]]
    rounds: dict[str, list[int]]

    def of(self, query_id: str) -> list[Any]:
        """The path of a question: gate, searches, rounds of the first docs; [] if none is kept."""
        if query_id not in self.gates:
            return []
        return [
            self.gates[query_id],
            self.searches.get(query_id, []),
            self.rounds.get(query_id, [])[:10],
        ]


def read(profile: str, experiment: str) -> Trail | None:
    """The trail of an experiment; None where it leaves no trace."""
    folder = paths.trace(profile, experiment)
    if not (folder / "queries.parquet").is_file():
        return None
    asked = read_table(folder / "queries.parquet")
    gates = {
        query_id: [path, round(mean, 4), round(entropy, 4), rounds]
        for query_id, path, mean, entropy, rounds in asked[
            ["query_id", "path", "mean", "entropy", "rounds"]
        ].itertuples(index=False)
    }
    searches: dict[str, list[list[Any]]] = {}
    branches = read_table(folder / "branches.parquet")
    for query_id, round_, drift, found in branches[
        ["query_id", "round", "drift", "n_candidates"]
    ].itertuples(index=False):
        searches.setdefault(query_id, []).append([round_, round(float(drift), 4), found])
    rounds: dict[str, list[int]] = {}
    hits = read_table(folder / "hits.parquet")
    for query_id, round_ in zip(hits["query_id"].tolist(), hits["round"].tolist(), strict=True):
        rounds.setdefault(query_id, []).append(round_)
    return Trail(gates, searches, rounds)
