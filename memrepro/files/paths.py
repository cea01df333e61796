"""Where everything lies, relative to the repository's root; the only module that knows."""

from pathlib import Path

from memrepro.files.atomic import root

TRACE_TABLES = ("queries", "branches", "hits")


def raw(dataset: str) -> Path:
    """A data set's files as fetched or compiled."""
    return root() / "data" / "raw" / dataset


def prepared(dataset: str) -> Path:
    """A data set's rounds, texts and queries."""
    return root() / "data" / "prepared" / dataset


def extracted(dataset: str) -> Path:
    """The extractions of a data set."""
    return prepared(dataset) / "extracted"


def vectors(profile: str, dataset: str, encoder: str) -> Path:
    """The vectors of the keys and queries of a data set that a profile's runs search."""
    return root() / "data" / "vectors" / profile / dataset / f"{encoder}.parquet"


def results(profile: str) -> Path:
    """The results of a profile: `data/`, `runs/`, sums of metrics and a folder a report."""
    return root() / "results" / profile


def about(profile: str, dataset: str) -> Path:
    """What is known of a data set and is no text: ids, kinds, dates, counts and reasons."""
    return results(profile) / "data" / dataset


def qrels(profile: str, dataset: str) -> Path:
    """A data set's qrels: ids and kinds, no text."""
    return about(profile, dataset) / "qrels.parquet"


def statistics(profile: str, dataset: str) -> Path:
    """How many queries, sessions and rounds each memory of a data set has."""
    return about(profile, dataset) / "statistics.csv"


def topics(profile: str, dataset: str) -> Path:
    """How many questions a data set has on each topic."""
    return about(profile, dataset) / "topics.csv"


def lengths(profile: str, dataset: str) -> Path:
    """How long a data set's docs and queries are: ids and counts."""
    return about(profile, dataset) / "lengths.parquet"


def places(profile: str, dataset: str) -> Path:
    """Which session each round and turn of a data set lies in: ids only."""
    return about(profile, dataset) / "places.parquet"


def skipped(profile: str, dataset: str) -> Path:
    """What of a data set could not be used, and why."""
    return about(profile, dataset) / "skipped.csv"


def extraction_counts(profile: str, dataset: str) -> Path:
    """How much was extracted from a data set, by source and kind, and by what version."""
    return about(profile, dataset) / "extracted.csv"


def ranges(profile: str, dataset: str) -> Path:
    """The dates that each query asks about: ids and dates."""
    return about(profile, dataset) / "ranges.parquet"


def dates(profile: str, dataset: str) -> Path:
    """The dates of what is told of in each session: ids and dates."""
    return about(profile, dataset) / "dates.parquet"


def study(profile: str, name: str) -> Path:
    """The runs of a study, and what is written beside them."""
    return results(profile) / "runs" / name


def run(profile: str, experiment: str, study: str = "") -> Path:
    """The run of an experiment, or the runs of a sweep, one a setting.

    A name is one experiment's alone, so that its study need not be known to read its run.
    """
    return _of_study(profile, study, f"{experiment}.parquet")


def trace(profile: str, experiment: str, study: str = "") -> Path:
    """How an experiment answered each query: a folder of three tables."""
    return _of_study(profile, study, f"traces/{experiment}")


def _of_study(profile: str, study: str, name: str) -> Path:
    folder = results(profile) / "runs"
    if study:
        return folder / study / name
    return next(iter(sorted(folder.glob(f"*/{name}"))), folder / name)


def graphs(profile: str, study: str) -> Path:
    """How large the memory graphs of a study are."""
    return results(profile) / "runs" / study / "graphs.csv"


def latency(profile: str, name: str) -> Path:
    """How long experiments took for one query at a time, as published."""
    return results(profile) / "latency" / f"{name}.csv"


def scale(profile: str, name: str) -> Path:
    """What stores cost as they grow, as published."""
    return results(profile) / "latency" / f"{name}.parquet"


def measured(profile: str) -> Path:
    """What was measured on this machine and is not published."""
    return build(profile) / "measured"


def metrics(profile: str) -> Path:
    """The per-question metrics of a profile, which follow from its runs and qrels."""
    return root() / "data" / "metrics" / f"{profile}.parquet"


def exclusions(profile: str) -> Path:
    """The ledger of excluded questions of a profile."""
    return results(profile) / "exclusions.csv"


def protocols(profile: str) -> Path:
    """Every run of a profile under every protocol, summed up."""
    return results(profile) / "protocols.parquet"


def evaluated(profile: str) -> dict[str, Path]:
    """What evaluation writes for a profile, by name; the metrics stay out of git."""
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
