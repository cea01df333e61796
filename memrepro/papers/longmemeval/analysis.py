"""What LongMemEval's report has beside tables of runs: arithmetic, statistics, time ranges."""

from pathlib import Path

from memrepro.papers import benchmark_statistics
from memrepro.papers.longmemeval import time
from memrepro.report.document import Document


def build(profile: str, folder: Path) -> list[Path]:
    """Write of each data set what is counted in it."""
    written = list[Path]()
    for dataset in dict.fromkeys(s["dataset"] for s in Document.of("longmemeval").studies(profile)):
        written += benchmark_statistics.build(profile, dataset, folder)
        written += time.build(profile, dataset, folder)
    return written
