"""The documents are found by their folders, and their tables are as printed."""

import pytest

from memrepro.audit import documents
from memrepro.audit.documents import printed_rows, without_run
from memrepro.errors import MemreproError
from memrepro.report.checks import printed_cells

# Some cells of each table, read again in the paper: document → (table, row, column, string).
GOLDEN = {
    "maxsim": [
        ("table1", "Concat", "MS R@10", "0.339"),
        ("table2", "Mixture (α=0.5)", "Δ Overall", "-0.043"),
        ("text", "§4.2: SSA NDCG@10, fielded", "printed", "0.834"),
    ],
    "longmemeval": [
        ("table3", "Value = Round, K = V + keyphrase", "L3.1 70B Top-10", "0.620"),
        ("table4", "(2) w/ Query Expansion (GPT-4o)", "Value = Round, Recall@10", "0.722"),
        ("table6", "abstention", "Llama-3.1-8B-instruct", "0.90 (27/30)"),
        ("table9", "K = V + summary, BM25", "Value = round, NDCG@5", "-"),
    ],
    "associa": [
        ("table1", "Stella", "Longmemeval-m, recall@10", "0.666"),
        ("table3", "w/o EIR", "recall@10", "0.852"),
        ("schema", "edge 5", "from", "user/speaker"),
        ("text", "A: question-answer pairs of CoQA", "printed", "127,000"),
    ],
    "tiered": [
        ("decay", "0.001", "Half-life", "~1 month"),
        ("stack", "Retrieval", "Recommendation", "Hybrid (0.7 semantic + 0.3 BM25)"),
    ],
    "rfmem": [
        ("table1", "128K, Recol. (ours)", "New Scenarios", "0.3765"),
        ("table1", "1M, Full Context", "Shared Facts", "OOC"),
        ("table5", "multi-qa-MiniLM Recol.", "R@10 Pref Hard", "0.4878"),
        ("table11", "Music Rec", "128k, RF-Mem", "0.5096"),
        ("table14", "RF-Mem (Learned), ±", "Num. of Recol.", "±28.33"),
        ("table17", "mpnet", "Route→Recol.", "248"),
        ("text", "§3.2: time of Recollection, 1M", "printed", "7.12ms"),
    ],
}


def test_the_documents_are_the_folders_in_their_order(tmp_path):
    assert documents.documents() == tuple(GOLDEN)
    for name, order in (("second", 2), ("first", 1)):
        (tmp_path / name).mkdir()
        text = (
            f"document: {{order: {order}}}\ntable1: {{columns: [R@5], rows: {{ours: ['0.5']}}}}\n"
        )
        (tmp_path / name / "printed.yaml").write_text(text)
    assert documents.documents(tmp_path) == ("first", "second")
    (table,) = documents.tables("second", tmp_path)
    assert (table.name, table.rows) == ("table1", {"ours": {"R@5": "0.5"}})
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut/printed.yaml").write_text("document: {order: 3}\nchecks: [formulas]\n")
    with pytest.raises(MemreproError, match="checks maps no names"):
        documents.checks("cut", tmp_path)


@pytest.mark.parametrize("document", GOLDEN)
def test_golden_cells(document):
    for table, row, column, shown in GOLDEN[document]:
        assert printed_rows(document, table)[row][column] == shown


def test_a_table_that_is_not_printed_is_an_error():
    with pytest.raises(MemreproError, match="prints no table 'table99': known are table1"):
        printed_rows("maxsim", "table99")


@pytest.mark.parametrize("document", GOLDEN)
def test_every_cell_that_is_not_run_says_why(document):
    for table in without_run(document):
        cells = [cell for cell in printed_cells(document, table) if cell.metric == "as printed"]
        rows = printed_rows(document, table)
        shown = {(row, c): s for row, cells in rows.items() for c, s in cells.items() if s}
        assert {(cell.row, cell.column): cell.reported for cell in cells} == shown
        assert {cell.reproduced for cell in cells} == {""}
        assert {cell.verdict for cell in cells} <= {"not run", "not comparable"}
        assert all(cell.note for cell in cells)
