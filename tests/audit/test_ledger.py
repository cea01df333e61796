"""The ledger: whole by its counts, complete against the documents' texts, read with care."""

import re
from pathlib import Path

import pytest

from memrepro.audit.documents import documents, tables
from memrepro.audit.ledger import ledger
from memrepro.audit.printed import KINDS

# The documents' texts are not in the repository; where they lie beside it, they are read.
PAPERS = Path(__file__).parents[3] / "shared" / "papers"
FILES = {"maxsim": "000", "longmemeval": "001", "associa": "002", "tiered": "003", "rfmem": "004"}


def test_all_documents_are_there_and_every_kind_is_known():
    frame = ledger()
    assert tuple(dict.fromkeys(frame["document"])) == documents()
    assert set(frame["kind"]) <= set(KINDS)
    assert not frame.duplicated(["document", "table", "row", "column"]).any()


@pytest.mark.parametrize(
    ("document", "table", "row", "column", "expected"),
    [
        ("maxsim", "table1", "Concat", "MS R@10",
         ("0.339", "share", "recall", "10", "LongMemEval", "Stella", "concat; ms", 121)),
        ("longmemeval", "table10", "Value = Session, K = V + fact (KM)", "Recall@5",
         ("0.732", "share", "recall", "5", "LongMemEval-M", "Stella",
          "k = v + fact; value = session", 0)),
        ("rfmem", "table1", "128K, Recol. (ours)", "New Scenarios",
         ("0.3765", "share", "accuracy", "", "PersonaMem-128k", "", "new scenarios; recol.", 213)),
    ],
)  # fmt: skip
def test_what_is_told_of_a_cell(document, table, row, column, expected):
    frame = ledger()
    cell = frame[
        (frame["document"] == document) & (frame["table"] == table) & (frame["row"] == row)
        & (frame["column"] == column)
    ]  # fmt: skip
    fields = ["printed", "kind", "metric", "k", "dataset", "encoder", "setting", "n"]
    assert tuple(cell[fields].iloc[0]) == expected


def test_the_sizes_that_are_read_are_those_that_the_paper_prints():
    by_name = {table.name: table for table in tables("rfmem")}
    shown = by_name["table7"].rows
    for row, cells in by_name["table1"].rows.items():
        size = row.split(", ")[0].replace("K", "k")
        for column in cells:
            if f"# of {column}" in shown:
                assert by_name["table1"].size(row, column) == int(shown[f"# of {column}"][size])
    topics = by_name["table8"].rows
    for row, cells in by_name["table11"].rows.items():
        for column in cells:
            if row != "Overall" and (n := topics[f"# of {row}"][column.split(", ")[0]]) != "–":
                assert by_name["table11"].size(row, column) == int(n)


NUMBER = re.compile(r"(?<![\w.,/])\d+(?:,\d{3})*(?:\.\d+)?(?:\s?%)?(?![\w/]|\.\d)")
# Decimals that claim nothing: versions, licences, sections, and ends of a parameter's range.
NAMES = re.compile(
    r"(?:Llama|Qwen|GPT|Phi|qwen|L)[- ]?\d[\w.]*|v\d\.\d|Apache \d\.\d|§\s?[\d.]+|V5 1\.5B|"
    r"(?:Section|Appendix|Eq\.|Table|Figure)s? [\d.]+|EN 1\.5B|https?://\S+|arXiv\S*|abs/\S+|"
    r"doi\S* \S+|doi:\S+"
)


def body(document):
    """A document's text without its references and its numbered headings."""
    (path,) = PAPERS.glob(f"{FILES[document]}_*.txt")
    text = path.read_text().replace("−", "-").replace("\\%", "%").replace("$", "")
    lines = []
    for line in text.splitlines():
        reference = re.match(r"^\s*- .*(?:19|20)\d\d", line)
        heading = re.match(r"^[#\s]*\d+(?:\.\d+)+:? \W*[A-Z]", line)
        if not reference and not heading:
            lines.append(NAMES.sub(" ", line))
    return "\n".join(lines)


def numbers(text):
    """Every decimal number and every percentage of a text, bare."""
    found = {m.group().replace(",", "").replace(" ", "") for m in NUMBER.finditer(text)}
    return {one.rstrip("%") for one in found if "." in one or one.endswith("%")}


# What the search still takes for a number: α and rates that are names of rows, an example's
# picture, and a section's number that the pages' line numbers part from its heading.
LEFT = {
    "maxsim": {"0.5", "0.7", "1.0"}, "associa": {"12.0", "4.2"}, "tiered": {"0.001"},
    "rfmem": set(), "longmemeval": set(),
}  # fmt: skip


@pytest.mark.skipif(
    not PAPERS.is_dir(), reason="the documents' texts are not beside the repository"
)
@pytest.mark.parametrize("document", documents())
def test_every_decimal_and_percentage_of_the_text_is_in_the_ledger(document):
    frame = ledger()
    shown = " ; ".join(frame.loc[frame["document"] == document, "printed"])
    held = {m.replace(",", "") for m in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", shown)}
    assert numbers(body(document)) - held == LEFT[document]
