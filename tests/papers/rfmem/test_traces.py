"""The tables of RF-Mem's traces: a hand-made trace counted by hand, and the gate's regions."""

import numpy as np
import pandas as pd
import pytest

from memrepro.files.atomic import write_table
from memrepro.papers.rfmem.cells import run_path
from memrepro.papers.rfmem.trace_tables import gold_cells, routing_cells
from memrepro.papers.rfmem.traces import Recorded, Records
from memrepro.retrieve.rfmem.gate import Gate
from tests.papers.rfmem import toy

pytestmark = pytest.mark.usefixtures("folder")
DEEP, GATED = "rfmem-mpnet-recollection-k5", "rfmem-mpnet-gated-k5"
NAN = float("nan")


def traced(name, queries, branches, hits):
    one = Recorded(name, toy.plan())
    one.queries = pd.DataFrame(queries, columns=["query_id", "path", "mean", "entropy", "rounds"])
    one.branches = pd.DataFrame(branches, columns=[
        "query_id", "round", "branch", "parent", "cluster", "score", "drift", "n_candidates",
        "n_clusters"])  # fmt: skip
    one.hits = pd.DataFrame(
        hits, columns=["query_id", "doc_id", "rank", "score", "round", "branch", "cluster"]
    )
    return one


@pytest.fixture
def by_hand():
    """Two queries by recollection (K = 5): q0 finds five docs in two rounds, q1 one and no more."""
    toy.write_gold("personabench-n00", "session", {"q0": ["a", "e", "x"], "q1": ["b"], "q2": ["a"]})
    return traced(
        DEEP,
        [("q0", "recollection", NAN, NAN, 2), ("q1", "recollection", NAN, NAN, 2)],
        [
            ("q0", 0, 0, -1, -1, 0.0, 1.0, 3, 2),
            ("q0", 1, 0, 0, 0, 1.0, 0.9, 2, 2),
            ("q0", 1, 1, 0, 1, 0.8, 0.7, 4, 3),
            ("q1", 0, 0, -1, -1, 0.0, 1.0, 1, 1),
            ("q1", 1, 0, 0, 0, 0.5, 0.8, 0, 0),
        ],
        [
            *(("q0", d, i + 1, 0.5, int(i > 2), 0, 0) for i, d in enumerate("abcde")),
            ("q1", "c", 1, 0.4, 0, 0, 0),
        ],
    )


def texts(cells):
    return {c.column: c.reproduced for c in cells}


def test_gold_by_hand(by_hand):
    found = [("q0", "a", 1), ("q0", "x", 2), ("q1", "c", 1), ("q1", "b", 6)]
    direct = pd.DataFrame(found, columns=["query_id", "doc_id", "rank"])
    assert "found by familiarity" not in texts(gold_cells(by_hand, "a note"))
    write_table(run_path("rfmem-mpnet-familiarity"), direct)
    del by_hand.familiarity  # what was kept of before
    cells = list(gold_cells(by_hand, "a note"))
    assert texts(cells) == {
        "relevant docs": "4",
        "found": "2 of 4 (50.0%)",
        "found in round 0": "1 of 4 (25.0%)",
        "found after round 0": "1 of 4 (25.0%)",
        "found by familiarity": "2 of 4 (50.0%)",
        "after round 0, not by familiarity": "1 of 4 (25.0%)",
        "gained, lost against familiarity": "1, 1",
    }
    assert {c.n for c in cells} == {2}
    trace = f"file runs/personabench-rfmem/traces/{DEEP}"
    assert {c.sources for c in cells} == {
        f"{trace}/queries.parquet + {trace}/hits.parquet + "
        "file data/personabench-n00/qrels.parquet + "
        "file runs/personabench-rfmem/rfmem-mpnet-familiarity.parquet"
    }


@pytest.mark.parametrize("seed", range(2))
def test_the_regions_part_the_queries_as_the_gate_does(seed):
    asked = toy.requests(seed=seed)
    for name in (DEEP, GATED):
        toy.write_trace(name, asked)
    found = {one.name: one for one in Records("open").traced}
    assert set(found) == {DEEP, GATED}
    parameters = found[GATED].entry.parameters
    gate = Gate(*(parameters[n] for n in ("sharpness", "entropy_threshold", "mean_high",
                                          "mean_low")))  # fmt: skip
    direct = toy.write_run("rfmem-mpnet-familiarity", asked)
    scores = direct[direct["rank"] <= 5].groupby("query_id")["score"].agg(list)
    familiar = sum(gate.is_familiar(np.array(s)) for s in scores)
    shown = texts(routing_cells(found[GATED]))
    counts = {column: int(text.split()[0]) for column, text in shown.items()}
    assert counts.pop("Famili.") == familiar
    assert counts.pop("Recol.") == len(scores) - familiar
    assert sum(counts.values()) == len(scores)


def test_all_is_written(folder):
    toy.write_gold("personabench-n00", "session", {"q00": ["d01"]})
    toy.write_family(DEEP, toy.requests())
    tables = {name: toy.cells(name) for name in ("trace_routing", "trace_gold")}
    assert all(c.sources for found in tables.values() for c in found.values() if c.reproduced)
    assert tables["trace_gold"][DEEP, "relevant docs"].reproduced == "1"
    missing = tables["trace_routing"]["rfmem-minilm-gated-k5", "Recol."]
    assert missing.verdict == "not run"
