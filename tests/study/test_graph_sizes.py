"""graphs: sizes by kind, before and after merging; and the table that shows them."""

import pytest

from memrepro.core.prepared import load, load_extractions
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.retrieve.associa.keys.graph import EDGE_KINDS, EVENT, NODE_KINDS, RELATION
from memrepro.retrieve.associa.keys.key_builder import GraphKeyBuilder, graph_of
from memrepro.retrieve.associa.sizes import COLUMNS
from memrepro.study.search import retrieval
from tests.study.test_encoder_attached import EXPERIMENTS, KEY_SCHEME, prepare_graphs
from tests.study.toy import plan


@pytest.fixture
def planned(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    made = plan({"plain": EXPERIMENTS["plain"]})
    monkeypatch.setattr("memrepro.study.search.retrieval.load_plan", lambda: made)
    return made


def test_sizes_are_those_of_the_graphs_and_merging_only_takes_away(planned):
    prepare_graphs()
    retrieval.run("all")
    table = read_table(paths.graphs("sample", "all"))
    assert list(table.columns) == ["granularity", "keying", "encoder", *COLUMNS]
    table = table.astype(dict.fromkeys(("memories", "total", "least", "most"), int))
    builder = GraphKeyBuilder("round", KEY_SCHEME, load_extractions(paths.extracted("toy")))
    memories = load(paths.prepared("toy"), "toy").memories.values()
    expected = [graph_of(keys) for keys in builder.make_all(list(memories))]
    total = table.set_index(["merging", "what"])["total"]
    plain = total["none"]
    assert plain["nodes: event"] == sum((g.kinds == EVENT).sum() for g in expected)
    assert plain["edges: relation"] == sum((g.edge_kinds == RELATION).sum() for g in expected)
    assert set(table["memories"]) == {len(expected)}
    assert len(plain) == len(NODE_KINDS) + len(EDGE_KINDS)
    assert sum(n for what, n in plain.items() if "nodes" in what) == sum(
        len(g.kinds) for g in expected
    )
    for merging in ("incremental", "clustering"):
        assert (total[merging] <= plain).all()
        assert total[merging]["nodes: utterance"] == plain["nodes: utterance"]
        assert total[merging]["nodes: event"] < plain["nodes: event"]
    assert (table["least"] <= table["most"]).all()
