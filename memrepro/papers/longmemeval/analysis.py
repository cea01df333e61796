"""What LongMemEval's report has beside tables of runs: statistics and time ranges."""

from pathlib import Path

from memrepro.papers.longmemeval import statistics, time
from memrepro.report.document import Document


def write_analysis(profile: str, folder: Path) -> list[Path]:
    """Write what is counted in each data set."""
    written: list[Path] = []
    for dataset in dict.fromkeys(
        s["dataset"] for s in Document.load("longmemeval").studies(profile)
    ):
        written += statistics.write_statistics(profile, dataset, folder)
        written += time.write_ranges(profile, dataset, folder)
    return written
