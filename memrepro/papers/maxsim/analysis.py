"""What max-sim's report has beside tables: its diagram.

`check` judges the claims that no comparison decides; `judged`, `selection` and `decoded` have more.
"""

from pathlib import Path

from memrepro.papers.maxsim import diagram
from memrepro.papers.maxsim.judged import check as check


def write_analysis(profile: str, folder: Path) -> list[Path]:
    """Write the diagram."""
    return [] if profile == "sample" else diagram.write_diagram(folder)
