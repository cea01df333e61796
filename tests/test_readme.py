"""What the README says is what the results say, and its commands are those of the Makefile."""

import re
from pathlib import Path

from memrepro.files.atomic import read_table

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def rows(start):
    block = README.split(start)[1].split("\n\n")[0]
    table = [[c.strip() for c in line.strip("|").split("|")] for line in block.splitlines()[1:]]
    head, _, *body = table
    return [dict(zip(head, line, strict=True)) for line in body]


def test_table2():
    cells = read_table(ROOT / "results" / "open" / "rfmem" / "table2.csv")
    known = {(c.row, c.column): (c.reproduced, c.reported) for c in cells.itertuples(index=False)}
    shown = rows("<!-- table2 -->")
    assert [row[""] for row in shown] == [
        "Famili. R@5",
        "Recol. R@5",
        "Famili. R@10",
        "Recol. R@10",
    ]
    for row in shown:
        path, cutoff = row.pop("").split()
        for column, text in row.items():
            reproduced, reported = known[f"mpnet {path}", f"{cutoff} {column}"]
            assert text == f"{reproduced} / {reported}"
            assert reproduced == reported


def test_the_sample():
    cells = read_table(ROOT / "results" / "sample" / "sample" / "overview.csv")
    known = {(c.row, c.column): c.reproduced for c in cells.itertuples(index=False)}
    shown = rows("<!-- sample -->")
    assert len(shown) >= 3
    for row in shown:
        name = row.pop("").strip("`")
        for column, text in row.items():
            assert text == known[name, column]


def test_the_protocols():
    path = ROOT / "results" / "open" / "longmemeval" / "locomo-minilm_protocols.csv"
    known = {
        (c.row.removeprefix("dense, docs are rounds; "), c.column): c.reproduced
        for c in read_table(path).itertuples(index=False)
        if c.row.startswith("dense, docs are rounds; ")
    }
    shown = rows("<!-- protocols -->")
    assert len(shown) >= 5
    for row in shown:
        name = row.pop("docs are rounds")
        for column, text in row.items():
            assert text == known[name, column]


def test_the_commands_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"^make (\w+)", README, re.M)):
        assert re.search(rf"^{target}:", makefile, re.M)
    assert "make test" in (ROOT / ".ci" / "run").read_text()
