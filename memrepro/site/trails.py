"""A method's path to each answer, from the traces that lie beside the runs."""

from typing import Any

from memrepro.files import paths
from memrepro.files.atomic import read_table

_DOCS = 10  # whose rounds are told


def read(profile: str, experiment: str) -> dict[str, list[Any]] | None:
    """Query id → how it was answered; None where the experiment leaves no trace.

    A path is the gate (path, mean score, entropy, rounds), for each search its round, its drift and
    how many docs it found, and in which round each of the first docs of the ranking was found.
    """
    folder = paths.trace(profile, experiment)
    if not (folder / "queries.parquet").is_file():
        return None
    asked = read_table(folder / "queries.parquet")
    asked = asked[["query_id", "path", "mean", "entropy", "rounds"]]
    trails: dict[str, list[Any]] = {
        query_id: [[path, round(mean, 4), round(entropy, 4), rounds], [], []]
        for query_id, path, mean, entropy, rounds in asked.itertuples(index=False)
    }
    searches = read_table(folder / "branches.parquet")
    searches = searches[["query_id", "round", "drift", "n_candidates"]]
    for query_id, round_, drift, found in searches.itertuples(index=False):
        trails[query_id][1].append([round_, round(float(drift), 4), found])
    hits = read_table(folder / "hits.parquet")
    for query_id, round_ in zip(hits["query_id"].tolist(), hits["round"].tolist(), strict=True):
        if len(trails[query_id][2]) < _DOCS:
            trails[query_id][2].append(round_)
    return trails
