"""Associa's Figures 1 to 3, drawn."""

import networkx as nx
import pytest

from memrepro.audit.documents import printed_rows
from memrepro.files.atomic import read_table
from memrepro.papers.associa.diagrams import build, diagrams
from memrepro.report.diagram import data

BY_NAME = {diagram.name: diagram for diagram in diagrams()}


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_arrows_join_boxes_that_are_there_once_and_inside(name):
    diagram = BY_NAME[name]
    names = [box.name for box in diagram.boxes]
    assert len(set(names)) == len(names)
    assert {end for a in diagram.arrows for end in (a.start, a.end)} <= set(names)
    assert all(0 < box.x < 1 and 0 < box.y < 1 for box in diagram.boxes)


def test_figure_2_is_the_schema():
    arrows = data(BY_NAME["figure2"]).query("what == 'arrow'")
    found = {
        (row["from"], row["text"], row["to"].removeprefix("another "))
        for row in arrows.to_dict("records")
    }
    assert found == {
        (edge["from"], edge["label"].strip("<|>"), edge["to"])
        for edge in printed_rows("associa", "schema").values()
    }


def test_figure_3_goes_round_and_ends_in_the_ranking():
    graph = nx.DiGraph([(a.start, a.end) for a in BY_NAME["figure3"].arrows])
    (loop,) = nx.simple_cycles(graph)
    assert set(loop) == {
        "prizes", "virtual", "tree", "subgraph", "deliberate", "augment",
    }  # fmt: skip
    assert [node for node in graph if not graph.out_degree(node)] == ["answer"]


def test_written_with_their_data_and_byte_stable(tmp_path):
    written = build(tmp_path / "one")
    assert [path.name for path in written] == [
        f"figure{n}.{suffix}" for n in (1, 2, 3) for suffix in ("svg", "png", "csv")
    ]
    again = build(tmp_path / "two")
    assert [p.read_bytes() for p in written] == [p.read_bytes() for p in again]
    table = read_table(tmp_path / "one" / "figure3.csv")
    assert set(table["what"]) == {"box", "arrow"}
    assert len(table) == len(BY_NAME["figure3"].boxes) + len(BY_NAME["figure3"].arrows)
    drawn = (tmp_path / "one" / "figure2.svg").read_text()
    assert all(
        edge["label"].strip("<|>") in drawn for edge in printed_rows("associa", "schema").values()
    )
