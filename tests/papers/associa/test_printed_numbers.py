"""Associa's printed settings and schema are those that are built here; its claims are checked."""

from memrepro.audit.documents import printed_rows
from memrepro.report.checks import checked_rows
from memrepro.retrieve.associa.evidence import Settings
from memrepro.retrieve.associa.keys.entities import CATEGORIES
from memrepro.retrieve.associa.keys.graph import EDGE_KINDS
from memrepro.retrieve.associa.retrievers import DeliberatedAssocia


def test_the_settings_that_are_named_are_the_defaults():
    shown = {
        row: cells["printed"] for row, cells in printed_rows("associa", "hyperparameters").items()
    }
    ours = Settings()
    assert float(shown["cost_e, intuitive association"]) == ours.edge_cost
    assert int(shown["top_k, nodes"]) == ours.top_nodes
    assert int(shown["top_e, edges"]) == ours.top_edges
    assert int(shown["max_iter, deliberating recall"]) == DeliberatedAssocia(k=1).max_iter


def test_the_graph_is_built_to_the_printed_schema():
    labels = [edge["label"].strip("<|>") for edge in printed_rows("associa", "schema").values()]
    assert tuple(labels) == EDGE_KINDS
    assert (
        tuple(entry["category"] for entry in printed_rows("associa", "categories").values())
        == CATEGORIES
    )


def test_every_claim_of_the_prose_on_a_table_is_checked():
    claims = {where for where in printed_rows("associa", "text_claims") if "Table" in where}
    checked = checked_rows("associa", "consistency")
    assert claims <= set(checked)
    assert all(checked[where][0].reported for where in claims)
