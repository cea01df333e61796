"""Associa's transcription: whole, true to its own shared rows, and what stands out in it."""

from decimal import Decimal

import pytest

from memrepro.files.atomic import read_yaml
from memrepro.papers.associa.consistency import checks, question_counts, recalls
from memrepro.papers.associa.printed import REPORTED, STATIC, WHY, notes, printed
from memrepro.retrieve.associa.entities import CATEGORIES
from memrepro.retrieve.associa.graph import EDGE_KINDS
from memrepro.retrieve.associa.retrievers import DeliberatedAssocia, Settings

CELLS = {
    "table1": 8 * 8,
    "table2": 5 * 2,
    "table3": 5 * 4,
    "schema": 6 * 3,
    "categories": 9,
    "hyperparameters": 13,
    "text": 18,
    "text_claims": 14,
}
# Some of each table, read again in the paper.
GOLDEN = [
    ("table1", "BM25", "Longmemeval-s, recall@5", "0.507"),
    ("table1", "Contriever", "Longmemeval-m, ndcg@10", "0.579"),
    ("table1", "Stella", "Longmemeval-m, recall@10", "0.666"),
    ("table1", "BGE", "Longmemeval-s, ndcg@10", "0.789"),
    ("table1", "Longmemeval (w UF)", "Longmemeval-m, recall@5", "0.554"),
    ("table1", "Longmemeval (w UF and TF)", "Longmemeval-s, ndcg@5", "0.720"),
    ("table1", "Associa max_iter=1", "Longmemeval-m, ndcg@5", "0.658"),
    ("table1", "Associa max_iter=2", "Longmemeval-m, recall@10", "0.766"),
    ("table2", "MemoryBank", "Longmemeval-m", "0.12"),
    ("table2", "Associa (iter=2)", "Longmemeval-s", "0.81"),
    ("table3", "w/o SFT", "ndcg@10", "0.873"),
    ("table3", "w/o EIR", "recall@10", "0.852"),
    ("schema", "edge 5", "from", "user/speaker"),
    ("categories", "category 8", "category", "Interest/Skill"),
    ("hyperparameters", "beacon_ratio of MemoRAG, Longmemeval_m", "printed", "16"),
    ("text", "A: question-answer pairs of CoQA", "printed", "127,000"),
]


def by_where():
    return {check.where: check for check in checks()}


def test_every_table_is_whole_and_of_strings():
    tables = read_yaml(REPORTED)
    assert {name: sum(map(len, printed(name).values())) for name in tables} == CELLS
    for name, table in tables.items():
        assert set(table) <= {"source", "columns", "rows", "notes"}
        assert all(isinstance(cell, str) for row in table["rows"].values() for cell in row), name
    assert {*STATIC, *WHY, "text_claims"} == set(tables)


@pytest.mark.parametrize(("table", "row", "column", "cell"), GOLDEN)
def test_golden_cells(table, row, column, cell):
    assert printed(table)[row][column] == cell


def test_every_printed_row_of_tables_1_and_3_has_its_reason():
    for table, rows in WHY.items():
        assert list(rows) == list(printed(table))
    assert not [
        row for rows in WHY.values() for row, why in rows.items() if not why and row != "BM25"
    ]


def test_the_settings_that_are_named_are_the_defaults():
    shown = {row: cells["printed"] for row, cells in printed("hyperparameters").items()}
    ours = Settings()
    assert float(shown["cost_e, intuitive association"]) == ours.edge_cost
    assert int(shown["top_k, nodes"]) == ours.top_nodes
    assert int(shown["top_e, edges"]) == ours.top_edges
    assert int(shown["max_iter, deliberating recall"]) == DeliberatedAssocia(k=1).max_iter


def test_the_graph_is_built_to_the_printed_schema():
    labels = [edge["label"].strip("<|>") for edge in printed("schema").values()]
    assert tuple(labels) == EDGE_KINDS
    assert tuple(entry["category"] for entry in printed("categories").values()) == CATEGORIES


def test_every_claim_of_the_prose_on_a_table_is_checked():
    claims = {where for where in printed("text_claims") if "Table" in where}
    assert claims <= set(by_where())
    assert all(check.said for where, check in by_where().items() if where in claims)


def test_what_does_not_hold():
    wrong = {
        where: check.found for where, check in by_where().items() if check.words == "does not hold"
    }
    assert set(wrong) == {
        "§5.3: max_iter=1 improves (Table 1)",
        "§5.3: Longmemeval stays below Associa, BGE and Stella (Table 1)",
        "§5.3: user facts help (Table 1)",
        "Table 2: m is harder than s",
        "§5.5: association matters most (Table 3)",
        "§4.1: types of nodes",
    }
    assert wrong["§5.3: max_iter=1 improves (Table 1)"].startswith("45 of 48")
    assert wrong["§5.3: user facts help (Table 1)"].startswith("3 of 8")
    assert wrong["Table 2: m is harder than s"] == "4 of 5; not: MemoRAG 0.05 → 0.06"
    assert wrong["§5.5: association matters most (Table 3)"] == (
        "1 of 4; not: recall@5 0.194, w/o EIR 0.349; ndcg@5 0.178, w/o EIR 0.363; "
        "ndcg@10 0.144, w/o EIR 0.281"
    )


def test_rows_printed_twice():
    found = by_where()
    same, other = (f"printed twice with {how} values" for how in ("the same", "different"))
    assert found["Table 3: w/o AM beside Table 1: Contriever, s"].words == same
    assert found["Table 3: Associa beside Table 1: Associa max_iter=2, s"].words == same
    without = found["Table 3: w/o DM beside Table 1: Associa max_iter=1, s"]
    assert without.words == other
    assert without.found == "2 of 4; 0.839 there, 0.838 here; 0.854 there, 0.853 here"
    # One number of questions, rounded there and cut off here.
    share = Decimal(359) / 428
    assert (round(share, 3), int(share * 1000)) == (Decimal("0.839"), 838)
    assert found["Table 2: Longmemeval with and without TF"].words == same


def test_one_number_of_questions_gives_every_recall():
    counts = question_counts()
    assert counts.pop(428) == len(recalls()) == 35
    assert max(counts.values()) == 32
    assert (counts[500], counts[470], counts[419]) == (18, 18, 18)


def test_what_stands_out_is_noted():
    assert all(
        notes(table) for table in ("table1", "table2", "table3", "schema", "hyperparameters")
    )
    assert "428" in " ".join(notes("table1"))
    assert "359 of 428" in " ".join(notes("table3"))
