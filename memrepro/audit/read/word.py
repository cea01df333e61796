"""Tables of a Word document; a merged cell is one cell in all its places."""

from collections.abc import Iterator
from pathlib import Path

from docx import Document

from memrepro.audit.read.grid import Grid, Unread, cell_of, filled
from memrepro.errors import MemreproError


def grids(path: Path) -> Iterator[Grid | Unread]:
    """The tables of a document, and those that could not be read with the reason."""
    for number, table in enumerate(Document(str(path)).tables, 1):
        name, seen, rows = f"{path.name}, table {number}", set(), []
        for row in table.rows:
            line = []
            for cell in row.cells:
                runs = [run for p in cell.paragraphs for run in p.runs if run.text.strip()]
                bold = bool(runs) and any(run.bold for run in runs)
                under = bool(runs) and any(run.underline for run in runs)
                again = id(cell._tc) in seen
                seen.add(id(cell._tc))
                line.append(cell_of(cell.text, bold, under, filled=again))
            rows.append(line)
        try:
            yield Grid(name, "", filled(rows, name))
        except MemreproError as error:
            yield Unread(name, str(error))
