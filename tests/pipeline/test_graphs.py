"""graphs: sizes by kind, before and after merging; and the table that shows them."""

from dataclasses import replace

import pytest

from memrepro.audit.verdicts import NOT_RUN
from memrepro.core.prepared import load, load_extractions
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.associa.graphs import graph_cells
from memrepro.pipeline.stages import graphs
from memrepro.retrieve.associa.graph import EDGE_KINDS, NODE_KINDS
from memrepro.retrieve.associa.key_builder import GraphKeyBuilder, graph_of
from memrepro.retrieve.associa.merge import counts
from memrepro.study.params import Embedding
from tests.pipeline.test_retrieve_graph import EXPERIMENTS, KEY_SCHEME, prepare_graphs
from tests.pipeline.toy import plan

ENTRY = Embedding("sample", "toy", "hash-64", {"round": (KEY_SCHEME,)})
OTHER = Embedding("sample", "toy", "hash-64", {"round": ("concat",)})


@pytest.fixture
def planned(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    made = replace(plan(EXPERIMENTS), embeddings={"toy--graph": ENTRY, "toy": OTHER})
    for module in ("graphs", "retrieve"):
        monkeypatch.setattr(f"memrepro.pipeline.stages.{module}.load_plan", lambda: made)
    return made


def test_sizes_are_those_of_the_graphs_and_merging_only_takes_away(planned):
    prepare_graphs()
    table = graphs.run("toy--graph").summary
    assert list(table.columns) == graphs.COLUMNS
    builder = GraphKeyBuilder("round", KEY_SCHEME, load_extractions(paths.extracted("toy")))
    memories = load(paths.prepared("toy"), "toy").memories.values()
    expected = [graph_of(keys) for keys in builder.make_all(list(memories))]
    total = table.set_index(["merging", "what"])["total"]
    plain = total["none"]
    assert plain["nodes: event"] == sum(counts(g)["event"] for g in expected)
    assert plain["edges: relation"] == sum(counts(g)["relation"] for g in expected)
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
    kept = read_table(paths.graphs("sample", "toy--graph"))
    assert kept["total"].astype(int).tolist() == table["total"].tolist()


def test_the_report_shows_a_memorys_mean_fewest_and_most(planned):
    (missing,) = graph_cells("sample", "toy", planned)
    assert missing.verdict == NOT_RUN
    prepare_graphs()
    graphs.run("toy--graph")
    cells = {(c.row, c.column): c for c in graph_cells("sample", "toy", planned)}
    shown = cells[f"{KEY_SCHEME}, merging none", "nodes: utterance"]
    assert shown.reproduced == "30.0 (30 to 30)"
    assert shown.n == 2
    assert list(graph_cells("open", "toy", planned)) == []


@pytest.mark.parametrize("name", ["toy", "toy--graph"])
def test_vectors_that_no_graph_is_searched_with_are_refused(planned, monkeypatch, name):
    none = replace(planned, experiments={})
    monkeypatch.setattr("memrepro.pipeline.stages.graphs.load_plan", lambda: none)
    with pytest.raises(MemreproError, match=f"no experiment searches graphs .* of '{name}'"):
        graphs.run(name)
