"""What was found across the documents: ideas on the same data, and the claims that fell."""

from pathlib import Path

from memrepro.files import paths
from memrepro.papers.findings import sample
from memrepro.papers.findings.claims import class_cells, fallen_cells, read_claims
from memrepro.papers.findings.ideas import count_cells, draw_ideas, idea_cells, try_ideas
from memrepro.report.profile import Metrics
from memrepro.report.tables import write_cells


def build(profile: str, folder: Path) -> list[Path]:
    """Write the tables and figures into a folder; return their paths.

    The claims are read from the tables that the other reports of the profile have written.
    """
    tried = try_ideas(profile, Metrics(profile))
    claims = read_claims(paths.results(profile))
    return [
        *write_cells(idea_cells(tried), folder, "ideas"),
        *write_cells(count_cells(tried), folder, "ideas_counted"),
        *draw_ideas(tried, folder),
        *write_cells(class_cells(claims), folder, "claims_counted"),
        *write_cells(fallen_cells(claims), folder, "claims_fallen"),
        *(sample.build(profile, folder) if profile == "sample" else []),
    ]
