"""Where everything lies, relative to the repository's root; the only module that knows."""

from pathlib import Path

from memrepro.store import root


def raw(dataset: str) -> Path:
    """A data set's files as fetched or compiled."""
    return root() / "data" / "raw" / dataset


def prepared(dataset: str) -> Path:
    """A data set's rounds, texts and queries."""
    return root() / "data" / "prepared" / dataset


def vectors(dataset: str, encoder: str) -> Path:
    """The vectors of a data set's keys and queries under an encoder."""
    return root() / "data" / "vectors" / dataset / f"{encoder}.parquet"


def results(profile: str) -> Path:
    """The results of a profile: `runs/`, `qrels/`, metrics and a folder a paper."""
    return root() / "results" / profile


def qrels(profile: str, dataset: str) -> Path:
    """A data set's qrels: ids and kinds, no text."""
    return results(profile) / "qrels" / f"{dataset}.parquet"


def statistics(profile: str, dataset: str) -> Path:
    """How many queries, sessions and rounds each memory of a data set has."""
    return results(profile) / "statistics" / f"{dataset}.csv"


def run(profile: str, experiment: str) -> Path:
    """The run of an experiment."""
    return results(profile) / "runs" / f"{experiment}.parquet"


def sweep(profile: str, experiment: str) -> Path:
    """The runs of a sweep, one a setting."""
    return results(profile) / "runs" / "sweeps" / f"{experiment}.parquet"


def metrics(profile: str) -> Path:
    """The per-question metrics of a profile."""
    return results(profile) / "metrics.parquet"


def exclusions(profile: str) -> Path:
    """The ledger of excluded questions of a profile."""
    return results(profile) / "exclusions.csv"


def manifest(profile: str) -> Path:
    """The digests of all outputs of a profile."""
    return results(profile) / "manifest.json"


def build(profile: str) -> Path:
    """Executed notebooks and pages that are not kept in git."""
    return root() / "build" / profile
