"""audit: the ledger of printed numbers, what accounts for it, and what its numbers say."""

from memrepro.files import paths
from memrepro.report import audit
from memrepro.report.tables import show
from memrepro.study.params import load_plan
from memrepro.study.result import StageResult


def run(profile: str) -> StageResult:
    """Write the audit's tables under `results/<profile>/audit/`, from the profile's reports."""
    load_plan().check_profile(profile)
    folder = paths.results(profile)
    outputs = audit.write_report(profile, folder / "audit")
    inputs = sorted(p for p in folder.glob("*/*.csv") if p.parent.name != "audit")
    summary = show(folder / "audit", "coverage")
    return StageResult(f"audit {profile}", summary, inputs, outputs)
