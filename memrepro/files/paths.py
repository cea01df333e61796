"""Where everything lies, relative to the repository's root; the only module that knows."""

from pathlib import Path

from memrepro.files.atomic import root


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


def topics(profile: str, dataset: str) -> Path:
    """How many questions a data set has on each topic."""
    return results(profile) / "statistics" / f"{dataset}-topics.csv"


def lengths(profile: str, dataset: str) -> Path:
    """How long a data set's docs and queries are: ids and counts."""
    return results(profile) / "lengths" / f"{dataset}.parquet"


def places(profile: str, dataset: str) -> Path:
    """Which session each round and turn of a data set lies in: ids only."""
    return results(profile) / "places" / f"{dataset}.parquet"


def skipped(profile: str, dataset: str) -> Path:
    """What of a data set could not be used, and why."""
    return results(profile) / "skipped" / f"{dataset}.csv"


def extracted(dataset: str) -> Path:
    """The extractions of a data set: texts, dates and asked ranges."""
    return root() / "data" / "extracted" / dataset


def extraction_counts(profile: str, dataset: str) -> Path:
    """How much was extracted from a data set, by source and kind, and by what version."""
    return results(profile) / "extracted" / f"{dataset}.csv"


def ranges(profile: str, dataset: str) -> Path:
    """The dates that each query asks about: ids and dates."""
    return results(profile) / "time" / f"{dataset}-ranges.parquet"


def dates(profile: str, dataset: str) -> Path:
    """The dates of what is told of in each session: ids and dates."""
    return results(profile) / "time" / f"{dataset}-dates.parquet"


def run(profile: str, experiment: str, group: str = "") -> Path:
    """The run of an experiment, or the runs of a sweep, one a setting.

    A group is a sweeps' one, or names its own folder of `runs`, such as `tiered/<group>`.
    """
    folder = results(profile) / "runs"
    if group:
        folder = folder / group if "/" in group else folder / "sweeps" / group
    return folder / f"{experiment}.parquet"


def trace(profile: str, experiment: str) -> Path:
    """How an experiment answered each query: a folder of three tables."""
    return results(profile) / "traces" / experiment


def graphs(profile: str, embedding: str) -> Path:
    """How large the memory graphs of an embedding are."""
    return results(profile) / "graphs" / f"{embedding}.csv"


def latency(profile: str, name: str) -> Path:
    """How long experiments took for one query at a time."""
    return results(profile) / "latency" / f"{name}.csv"


def scale(profile: str, name: str) -> Path:
    """What stores cost as they grow."""
    return results(profile) / "latency" / f"{name}.parquet"


def metrics(profile: str) -> Path:
    """The per-question metrics of a profile."""
    return results(profile) / "metrics.parquet"


def exclusions(profile: str) -> Path:
    """The ledger of excluded questions of a profile."""
    return results(profile) / "exclusions.csv"


def protocols(profile: str) -> Path:
    """Every run of a profile under every protocol, summed up."""
    return results(profile) / "protocols.parquet"


def evaluated(profile: str) -> dict[str, Path]:
    """What evaluation writes for a profile, by name."""
    return {
        "metrics": metrics(profile),
        "protocols": protocols(profile),
        "exclusions": exclusions(profile),
    }


def manifest(profile: str) -> Path:
    """The digests of all outputs of a profile."""
    return results(profile) / "manifest.json"


def build(profile: str) -> Path:
    """Executed notebooks and pages that are not kept in git."""
    return root() / "build" / profile
