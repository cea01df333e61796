"""Tables of papers' PDFs beside the same tables of their LaTeX, both as the audit reads them.

    python benchmarks/audit_pdf.py FOLDER [--part first] [--list]

FOLDER holds repositories, a folder `owner+name` each, as `audit_pdf.yaml` lists them with commit,
PDF and LaTeX file; nothing is fetched here, and what is missing is named. A table of the LaTeX with
at least four cells of numbers is held against the table of the PDF that shares most of its numbers:
*right* where rows, columns, all numbers and all names agree, *numbers* where only names differ,
*partly* where numbers differ, *none* where no table of the PDF has three in ten of its numbers. A
PDF may be older than its LaTeX, whose tables are not all read rightly either, so that the shares
are lower bounds; two versions of the reader are compared on the same papers.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from memrepro.audit.read.files import tables_of
from memrepro.audit.tables import Table
from memrepro.errors import MemreproError

LIST = Path(__file__).with_suffix(".yaml")
OUTCOMES = ("right", "numbers", "partly", "none")
_NUMBER = re.compile(r"[-+−–]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)")
_SIGNS = str.maketrans("−–", "--", ",+")
_FEWEST, _SHARED = 4, 0.3


class Shown(NamedTuple):
    """What a table shows, in a form that does not depend on how it was set."""

    rows: list[str]
    columns: list[str]
    numbers: list[list[list[str]]]

    def all(self) -> Counter[str]:
        """Each number of the table, as often as it stands there."""
        return Counter(one for row in self.numbers for cell in row for one in cell)

    def filled(self) -> int:
        """How many cells hold a number."""
        return sum(bool(cell) for row in self.numbers for cell in row)


def shown(table: Table) -> Shown:
    """Names in small letters and digits alone; of each cell its numbers."""
    rows, columns = (
        [re.sub(r"[\W_]", "", re.sub(r"\\[a-zA-Z]+", "", name)).lower() for name in some]
        for some in (table.rows, table.columns)
    )
    cells = [[row.get(column, "") for column in table.columns] for row in table.rows.values()]
    numbers = [[[n.translate(_SIGNS) for n in _NUMBER.findall(t)] for t in row] for row in cells]
    return Shown(rows, columns, numbers)


def outcomes(latex: Path, pdf: Path) -> Iterator[tuple[str, Table]]:
    """What became of each table of the LaTeX in the PDF."""
    there = [shown(table) for table in tables_of(pdf).tables]
    expected = [(table, shown(table)) for table in tables_of(latex).tables]
    expected = [one for one in expected if one[1].filled() >= _FEWEST]
    shares = []
    for i, (_, one) in enumerate(expected):
        for k, other in enumerate(there):
            common = (one.all() & other.all()).total()
            if common >= _SHARED * one.all().total():
                shares.append((-common / max(one.all().total(), other.all().total()), i, k))
    of_table: dict[int, int] = {}
    for _, i, k in sorted(shares):
        if i not in of_table and k not in of_table.values():
            of_table[i] = k
    for i, (table, one) in enumerate(expected):
        if i not in of_table:
            yield "none", table
        elif one == there[of_table[i]]:
            yield "right", table
        else:
            yield "numbers" if one.numbers == there[of_table[i]].numbers else "partly", table


def main() -> int:
    """Print what became of the tables of all papers that are in a folder."""
    parser = argparse.ArgumentParser(description="tables of PDFs beside those of their LaTeX")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", help="of the list: 'built with', first or second")
    parser.add_argument("--list", action="store_true", help="print each table that is not right")
    arguments = parser.parse_args()
    found: Counter[str] = Counter()
    papers = 0
    for paper in yaml.safe_load(LIST.read_text(encoding="utf-8")):
        if arguments.part not in (None, paper["part"]):
            continue
        folder = arguments.folder / paper["repo"].replace("/", "+")
        pdf, latex = folder / paper["pdf"], folder / paper["latex"]
        if not (pdf.is_file() and latex.is_file()):
            print(f"not here: {paper['repo']} at {paper['commit']}", file=sys.stderr)
            continue
        try:
            for outcome, table in outcomes(latex, pdf):
                found[outcome] += 1
                if arguments.list and outcome != "right":
                    print(f"{outcome:8} {paper['repo']}  {table.source}")
        except MemreproError as error:
            print(f"{paper['repo']}: {error}", file=sys.stderr)
            continue
        papers += 1
    told = ", ".join(f"{found[outcome]} {outcome}" for outcome in OUTCOMES)
    print(f"{papers} papers, {found.total()} tables: {told}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
