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
        ("table1", "DialSim (Kim et al., 2024)", "MR", "✓**"),
        ("table2", "LD-Agent (Li et al., 2024)", "Query", "keyphrase"),
        ("table3", "Value = Round, K = V + keyphrase", "L3.1 70B Top-10", "0.620"),
        ("table3", "Value = Session, K = fact", "Recall@10", "0.814"),
        ("table4", "(2) w/ Query Expansion (GPT-4o)", "Value = Round, Recall@10", "0.722"),
        ("table6", "abstention", "Llama-3.1-8B-instruct", "0.90 (27/30)"),
        ("table7", "Coze, GPT-3.5-turbo", "TR", "0.043"),
        ("table9", "K = V, Contriever", "Value = round, Recall@10", "0.747"),
        ("table9", "K = V + summary, BM25", "Value = round, NDCG@5", "-"),
        ("table10", "Value = Session, K = V + keyphrase (RM)", "L3.1 8B Top-5", "0.492"),
        ("table11", "Example 2", "Question Date", "2023/04/27"),
    ],
    "associa": [
        ("table1", "BM25", "Longmemeval-s, recall@5", "0.507"),
        ("table1", "Stella", "Longmemeval-m, recall@10", "0.666"),
        ("table1", "Longmemeval (w UF and TF)", "Longmemeval-s, ndcg@5", "0.720"),
        ("table1", "Associa max_iter=2", "Longmemeval-m, recall@10", "0.766"),
        ("table2", "MemoryBank", "Longmemeval-m", "0.12"),
        ("table3", "w/o EIR", "recall@10", "0.852"),
        ("schema", "edge 5", "from", "user/speaker"),
        ("categories", "category 8", "category", "Interest/Skill"),
        ("hyperparameters", "beacon_ratio of MemoRAG, Longmemeval_m", "printed", "16"),
        ("text", "A: question-answer pairs of CoQA", "printed", "127,000"),
    ],
    "tiered": [
        ("decay", "0.001", "Half-life", "~1 month"),
        ("stack", "Retrieval", "Recommendation", "Hybrid (0.7 semantic + 0.3 BM25)"),
        ("numbers", "LlamaIndex, token_limit", "printed", "default 30,000"),
    ],
    "rfmem": [
        ("table1", "32K, RF-Mem (ours)", "Overall", "0.6350*"),
        ("table1", "128K, Recol. (ours)", "New Scenarios", "0.3765"),
        ("table1", "1M, Full Context", "Shared Facts", "OOC"),
        ("table1", "1M, Recol. (ours)", "Retri Time", "8.12ms"),
        ("table3", "bge-base Recol.", "LongMemEval-S, Time", "43.65ms"),
        ("table4", "Recollection", "New Ideas", "0.1398"),
        ("table5", "multi-qa-MiniLM Recol.", "R@10 Pref Hard", "0.4878"),
        ("table6", "RF-MEM", "Avg. Tokens", "5158.2"),
        ("table8", "# of Sports Rec", "32k", "–"),
        ("table10", "Total Session-level Memory", "LongMemEval-m", "250,948"),
        ("table11", "Music Rec", "128k, RF-Mem", "0.5096"),
        ("table12", "PersonaMem-128k", "Training Samples", "363 (178+185)"),
        ("table14", "RF-Mem (Learned), ±", "Num. of Recol.", "±28.33"),
        ("table15", "DBSCAN cluster (KMeans alternative), RF-Mem", "R@10 Pref Hard", "0.6015"),
        ("table16", "Basic KMeans (Fully Exploration), Recol.", "R@5 Social", "0.4827"),
        ("table17", "mpnet", "Route→Recol.", "248"),
        ("hyperparameters", "PersonaBench, Recall@5", "F", "1"),
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
