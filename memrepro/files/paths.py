"""Where everything lies, relative to the repository's root; the only module that knows."""

from collections.abc import Callable
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


def _of_dataset(name: str) -> Callable[[str, str], Path]:
    return lambda profile, dataset: results(profile) / "data" / dataset / name


# What is known of a profile's data set and is no text, each a function of profile and data set.
qrels = _of_dataset("qrels.parquet")  # ids and kinds
statistics = _of_dataset("statistics.csv")  # queries, sessions and rounds of each memory
sizes = _of_dataset("sizes.csv")  # questions of its other sizes, by type and topic
topics = _of_dataset("topics.csv")  # the number of questions on each topic
types = _of_dataset("types.csv")  # the question types of questions whose kind says another
persons = _of_dataset("persons.csv")  # whose chats a shared context holds
evidence = _of_dataset("evidence.csv")  # how well evidence that is inferred fits the data
lengths = _of_dataset("lengths.parquet")  # how long docs and queries are
extracted_lengths = _of_dataset("extracted_lengths.parquet")  # how long facts and summaries are
places = _of_dataset("places.parquet")  # the session that each round and turn lies in
skipped = _of_dataset("skipped.csv")  # what could not be used, and why
extraction_counts = _of_dataset("extracted.csv")  # by source and kind, and by what version
asked = _of_dataset("times/asked.parquet")  # when the session of each query's last evidence was
ranges = _of_dataset("times/ranges.parquet")  # the dates that each query asks about
dates = _of_dataset("times/dates.parquet")  # the dates of events in each session


def study(profile: str, name: str) -> Path:
    """The runs of a study, and what is written beside them."""
    return results(profile) / "runs" / name


def key_sizes(profile: str, name: str) -> Path:
    """How large the keys of a study's runs are, and how much of them its encoders read."""
    return study(profile, name) / "key_sizes.csv"


def graphs(profile: str, name: str) -> Path:
    """How large the memory graphs of a study are."""
    return study(profile, name) / "graphs.csv"


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


def latency(profile: str, name: str, suffix: str = ".csv") -> Path:
    """What was measured of time and size, as published: a csv table, or a parquet one of stores."""
    return results(profile) / "latency" / f"{name}{suffix}"


def measured(profile: str) -> Path:
    """What was measured on this machine and is not published."""
    return build_folder(profile) / "measured"


def evaluated(profile: str) -> dict[str, Path]:
    """What evaluation writes for a profile, by name; the metrics stay out of git."""
    return {
        "metrics": metrics(profile),
        "protocols": protocols(profile),
        "exclusions": exclusions(profile),
    }


def metrics(profile: str) -> Path:
    """The per-question metrics of a profile, which follow from its runs and qrels."""
    return root() / "data" / "metrics" / f"{profile}.parquet"


def exclusions(profile: str) -> Path:
    """The ledger of excluded questions of a profile."""
    return results(profile) / "evaluation" / "exclusions.csv"


def protocols(profile: str) -> Path:
    """Every run of a profile under every protocol, summed up."""
    return results(profile) / "evaluation" / "protocols.parquet"


def answers(profile: str) -> Path:
    """Each published answer to a question: its judgements and scores, without texts."""
    return results(profile) / "answers.parquet"


def labelled(profile: str) -> Path:
    """How many published answers to LongMemEval are right, by reader, type and condition."""
    return results(profile) / "labelled_answers.csv"


def choices(profile: str) -> Path:
    """Each published choice of an option: whether it is right, without texts."""
    return results(profile) / "choices.parquet"


def readings(profile: str) -> Path:
    """Each answer of a profile's reading studies: its outcome, scores and judgement, no texts."""
    return results(profile) / "readings.parquet"


def manifest(profile: str) -> Path:
    """The digests of all outputs of a profile."""
    return results(profile) / "manifest.json"


def build_folder(profile: str) -> Path:
    """Executed notebooks and pages that are not kept in git."""
    return root() / "build" / profile


def stage_record(stage: str) -> Path:
    """What a stage, such as `retrieve sample-rfmem`, read, wrote and summed up here."""
    return root() / "build" / "stages" / f"{stage.replace(' ', '--')}.json"
