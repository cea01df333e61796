"""report: a paper's tables and figures, from the per-question metrics alone."""

import pandas as pd

from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report.modules import write_report
from memrepro.study.params import load_plan
from memrepro.study.result import StageResult


def run(paper: str, profile: str) -> StageResult:
    """Write a paper's tables and figures under `results/<profile>/<paper>/`."""
    load_plan().check_report(profile, paper)
    outputs = write_report(paper, profile, paths.results(profile) / paper)
    tables = [read_table(p) for p in outputs if p.suffix == ".csv"]
    verdicts = pd.concat([t["verdict"] for t in tables if "verdict" in t])
    counts = (
        verdicts[verdicts != ""].value_counts().rename_axis("verdict").reset_index(name="cells")
    )
    inputs = [paths.protocols(profile), paths.exclusions(profile)]
    return StageResult(f"report {paper} {profile}", counts, inputs, outputs)
