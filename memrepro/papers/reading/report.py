"""Answers and how they are judged: published ones, published choices, this project's."""

from pathlib import Path

from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.reading import choices, published
from memrepro.report.tables import write_cells


def build(profile: str, folder: Path) -> list[Path]:
    """Write the tables and figures into a folder; return their paths."""
    scored = read_table(paths.answers(profile), ["reader", "kind", "label"])
    chosen = choices.read_choices(profile)
    tables = published.tables(scored) | choices.tables(chosen)
    return [
        *(path for name, cells in tables.items() for path in write_cells(cells, folder, name)),
        *published.draw(scored, folder),
        *choices.draw(chosen, folder),
    ]
