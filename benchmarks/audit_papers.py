"""How many tables of real papers the audit reads as a person does.

    python benchmarks/audit_papers.py FOLDER [--list]

FOLDER holds the sources, a folder `owner+name` each, as `audit_papers.yaml` lists them with their
commits; nothing is fetched here (`git clone`, then `git checkout COMMIT`, gets one). A paper that
is not in FOLDER is named and left out. For each table the list has what a person reads: file and
line, how many rows and columns, and three cells, each with the names of its row and column.
A table is read *right* where all of these agree, *partly* where it is read and one does not,
*not* where it, or its whole file, is among the unread, and *lost* where it is nowhere. `--list`
prints each table that is not right.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from memrepro.audit.read.files import Read, tables_of
from memrepro.audit.tables import Table
from memrepro.errors import MemreproError

LIST = Path(__file__).with_suffix(".yaml")
OUTCOMES = ("right", "partly", "not", "lost")


def outcome(expected: dict[str, Any], read: Read) -> str:
    """What became of one table, of `OUTCOMES`."""
    here = [
        t for t in read.tables
        if (t.reading.get("file"), t.reading.get("line")) == (expected["file"], expected["line"])
    ]  # fmt: skip
    if not here:
        place = f"{expected['file']}, line {expected['line']},"
        told = (one.source for one in read.unread)
        named = any(source.startswith(place) or source == expected["file"] for source in told)
        return "not" if named else "lost"
    return "right" if any(_agrees(expected, table) for table in here) else "partly"


def _agrees(expected: dict[str, Any], table: Table) -> bool:
    if (len(table.rows), len(table.columns)) != (expected["rows"], expected["columns"]):
        return False
    return all(table.rows.get(row, {}).get(c) == text for row, c, text in expected["cells"])


def measured(folder: Path) -> Iterator[tuple[dict[str, Any], Counter[str], list[str], float]]:
    """Each paper of the list that is in a folder: outcomes, what is not right, seconds."""
    for paper in yaml.safe_load(LIST.read_text(encoding="utf-8")):
        sources = folder / paper["repo"].replace("/", "+")
        if not sources.is_dir():
            print(f"not here: {paper['repo']} at {paper['commit']}", file=sys.stderr)
            continue
        began = time.process_time()
        try:
            read = tables_of(sources)
        except MemreproError as error:
            print(error, file=sys.stderr)
            read = Read((), (), {}, {})
        seconds = time.process_time() - began
        found = [(outcome(table, read), table) for table in paper["tables"]]
        told = [f"{what}: {paper['repo']}, {t['file']}, line {t['line']}"
                for what, t in found if what != "right"]  # fmt: skip
        yield paper, Counter(what for what, _ in found), told, seconds


def main() -> int:
    """Print a table of rates by split."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--list", action="store_true", help="print each table that is not right")
    arguments = parser.parse_args()
    sums: dict[str, Counter[str]] = {}
    for paper, counts, told, seconds in measured(arguments.folder):
        split = sums.setdefault(paper["split"], Counter())
        split.update(counts)
        split.update(papers=1, milliseconds=round(1000 * seconds))
        if arguments.list:
            print("\n".join(told))
    print("| split | papers | tables | " + " | ".join(OUTCOMES) + " | right | seconds of CPU |")
    print("| --- |" + " ---: |" * (len(OUTCOMES) + 4))
    for name, counts in sums.items():
        tables = sum(counts[what] for what in OUTCOMES)
        cells = [counts["papers"], tables, *(counts[what] for what in OUTCOMES)]
        share = f"{counts['right'] / tables:.1%}" if tables else ""
        print(f"| {name} | {' | '.join(map(str, cells))} | {share} | "
              f"{counts['milliseconds'] / 1000:.1f} |")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
