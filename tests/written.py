"""What is written from the results and the package's data: `python -m tests.written` writes all.

README.md, docs/report.md and docs/artifact.md hold such parts between marks; references.bib and
ro-crate-metadata.json are whole.
"""

from pathlib import Path
from textwrap import fill as wrap

from memrepro.audit.glossary import as_markdown
from memrepro.provenance import crate
from memrepro.provenance.artifact import PARTS, all_references, fill
from memrepro.report.narrative import headlines

ROOT = Path(__file__).parents[1]


def _found():
    """The results that matter, in lines of 120."""
    lines = headlines(["open"]).markdown.splitlines()
    return "\n".join(
        wrap(line, 120, subsequent_indent="  " * line.startswith("- "), break_on_hyphens=False)
        for line in lines
    )


def _filled(name, parts):
    text = (ROOT / name).read_text(encoding="utf-8")
    return fill(text, {part: make() for part, make in parts.items()})


# File → what makes it.
WRITTEN = {
    "README.md": lambda: _filled("README.md", {"found": _found}),
    "docs/report.md": lambda: _filled("docs/report.md", {"glossary": as_markdown}),
    "docs/artifact.md": lambda: _filled("docs/artifact.md", PARTS),
    "references.bib": all_references,
    crate.FILE: crate.as_json,
}


def write(*names):
    """Write these files, or all."""
    for name in names or WRITTEN:
        (ROOT / name).write_text(WRITTEN[name](), encoding="utf-8")


if __name__ == "__main__":
    write()
