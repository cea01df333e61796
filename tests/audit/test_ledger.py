"""The ledger: whole by its counts, complete against the documents' texts, read with care."""

import re
from pathlib import Path

import pytest

from memrepro.audit import ledger as ledger_module
from memrepro.audit.ledger import DOCUMENTS, counts, ledger, tables
from memrepro.audit.printed import KINDS
from memrepro.files.atomic import read_yaml

PAPERS = Path(__file__).parents[3] / "shared" / "papers"
FILES = {"maxsim": "000", "longmemeval": "001", "associa": "002", "tiered": "003", "rfmem": "004"}
# Table → numbers and words of it. A file that grows or loses a row is noticed here; `tiered` is in
# tests/reported/test_tiered.py.
COUNTS = {
    "maxsim": {"table1": (24, 0), "table2": (12, 0), "text": (49, 0), "table2_threshold": (0, 4)},
    "longmemeval": {
        "table1": (19, 42), "table2": (0, 51), "figure3a": (5, 0), "table3": (120, 0),
        "table4": (48, 0), "table5": (0, 14), "table6": (16, 0), "table7": (16, 0),
        "table9": (84, 0), "table10": (120, 0), "table11": (0, 16), "figure9_text": (4, 2),
        "text": (8, 0), "figure3b": (24, 0), "table8": (40, 0), "text_further": (71, 0),
    },
    "associa": {
        "table1": (64, 0), "table2": (10, 0), "table3": (20, 0), "schema": (0, 18),
        "categories": (0, 9), "hyperparameters": (8, 5), "text": (18, 0), "text_claims": (1, 13),
    },
    "rfmem": {
        "table1": (136, 14), "table2": (108, 0), "table3": (72, 0), "table4": (27, 0),
        "table5": (30, 0), "table6": (27, 0), "table7": (30, 0), "table8": (43, 0),
        "table9": (40, 0), "table10": (10, 0), "table11": (138, 0), "table12": (8, 0),
        "table13": (50, 0), "table14": (50, 0), "table15": (110, 0), "table16": (90, 0),
        "table17": (12, 0), "hyperparameters": (27, 0), "text": (56, 0),
        "text_computed": (16, 0), "text_claims": (0, 17), "text_elsewhere": (25, 0),
        "text_further": (16, 0),
    },
}  # fmt: skip


@pytest.mark.parametrize("document", COUNTS)
def test_the_counts_of_every_table(document):
    found = counts()
    found = found[found["document"] == document]
    here = {t: (n, w) for t, n, w in found[["table", "numbers", "word"]].to_numpy()}
    assert here == COUNTS[document]


def test_all_documents_are_there_and_every_kind_is_known():
    frame = ledger()
    assert tuple(dict.fromkeys(frame["document"])) == DOCUMENTS
    assert set(frame["kind"]) <= set(KINDS)
    assert not frame.duplicated(["document", "table", "row", "column"]).any()


@pytest.mark.parametrize(
    ("document", "table", "row", "column", "expected"),
    [
        ("maxsim", "table1", "Concat", "MS R@10",
         ("0.339", "share", "recall", "10", "LongMemEval", "Stella", "concat; ms", 121)),
        ("associa", "table1", "Contriever", "Longmemeval-m, ndcg@10",
         ("0.579", "share", "ndcg", "10", "LongMemEval-M", "Contriever", "k = v", 0)),
        ("longmemeval", "table10", "Value = Session, K = V + fact (KM)", "Recall@5",
         ("0.732", "share", "recall", "5", "LongMemEval-M", "Stella",
          "k = v + fact; value = session", 0)),
        ("rfmem", "table1", "128K, Recol. (ours)", "New Scenarios",
         ("0.3765", "share", "accuracy", "", "PersonaMem-128k", "", "new scenarios; recol.", 213)),
        ("rfmem", "table2", "mpnet Famili.", "R@5 Pref Easy",
         ("0.4487", "share", "recall", "5", "PersonaBench", "mpnet", "famili.; pref easy", 26)),
        ("rfmem", "table5", "multi-qa-MiniLM Famili.", "R@10 Overall",
         ("0.5120", "share", "recall", "10", "PersonaBench", "multi-qa-MiniLM", "famili.; hyde",
          230)),
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


def test_every_reading_is_of_a_table_that_is_there():
    readings = read_yaml(Path(ledger_module.__file__).parent / "readings.yaml")
    for document, entries in readings.items():
        assert set(entries) <= {table.name for table in tables(document)}, document


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


@pytest.mark.skipif(not PAPERS.is_dir(), reason=f"the documents' texts are not here: {PAPERS}")
@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_decimal_and_percentage_of_the_text_is_in_the_ledger(document):
    frame = ledger()
    shown = " ; ".join(frame.loc[frame["document"] == document, "printed"])
    held = {m.replace(",", "") for m in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", shown)}
    assert numbers(body(document)) - held == LEFT[document]
