"""The tables of RF-Mem's traces: a hand-made trace counted by hand, and what holds for any."""

import numpy as np
import pandas as pd
import pytest

from memrepro.files.atomic import read_table, write_table
from memrepro.papers.rfmem.cells import run_path
from memrepro.papers.rfmem.trace_tables import (
    build,
    by_round,
    gold_cells,
    routing_cells,
    search_cells,
    variant_cells,
)
from memrepro.papers.rfmem.traces import Traced, Traces, familiarity_of, pairs_of
from memrepro.report.tables import show
from memrepro.retrieve.rfmem.gate import Gate
from tests.papers.rfmem import toy

DEEP, GATED = "rfmem-mpnet-recollection-k5", "rfmem-mpnet-gated-k5"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    return tmp_path


def traced(name, queries, branches, hits):
    columns = ["query_id", "round", "branch", "parent", "cluster", "score", "drift",
               "n_candidates", "n_clusters"]  # fmt: skip
    return Traced(
        name, toy.plan().experiments[name], "open",
        pd.DataFrame(queries, columns=["query_id", "path", "mean", "entropy", "rounds"]),
        pd.DataFrame(branches, columns=columns),
        pd.DataFrame(hits, columns=["query_id", "doc_id", "rank", "score", "round", "branch",
                                    "cluster"]),
    )  # fmt: skip


@pytest.fixture
def by_hand():
    """Two queries by recollection (K = 5): q0 finds five docs in two rounds, q1 one and no more."""
    toy.write_gold("personabench-n00", "session", {"q0": ["a", "e", "x"], "q1": ["b"], "q2": ["a"]})
    nan = float("nan")
    return traced(
        DEEP,
        [("q0", "recollection", nan, nan, 2), ("q1", "recollection", nan, nan, 2)],
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


def test_rounds_searches_and_stops_by_hand(by_hand):
    found = texts(search_cells(by_hand))
    assert found == {
        "recollected": "2",
        "rounds a query": "2.00, at most 2",
        "searches a query": "2.50",
        "candidates a search": "2.00",
        "clusters a search": "1.60",
        "searches without a candidate": "1 of 5 (20.0%)",
        "stopped at K docs": "1 of 2 (50.0%)",
        "ran dry": "1 of 2 (50.0%)",
        "cut off after R rounds": "0 of 2 (0.0%)",
    }


def test_rounds_by_hand(by_hand):
    table = by_round(by_hand).set_index("round")
    assert table["queries"].tolist() == [2, 2]
    assert table["branches"].tolist() == [1.0, 1.5]
    assert table["candidates"].tolist() == [2.0, 2.0]
    assert table.loc[1, "drift"] == pytest.approx((0.1 + 0.3 + 0.2) / 3)
    assert table.loc[1, "drift_p95"] == pytest.approx(np.percentile([0.1, 0.3, 0.2], 95))
    assert table["returned"].tolist() == [4, 2]
    assert table["gold"].tolist() == [1, 1]


def test_gold_by_hand(by_hand):
    found = [("q0", "a", 1), ("q0", "x", 2), ("q1", "c", 1), ("q1", "b", 6)]
    direct = pd.DataFrame(found, columns=["query_id", "doc_id", "rank"])
    traces = Traces("open")
    assert "found by familiarity" not in texts(gold_cells(by_hand, traces))
    write_table(run_path("rfmem-mpnet-familiarity"), direct)
    cells = list(gold_cells(by_hand, traces))
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
    assert {c.sources for c in cells} == {
        " + ".join(
            f"file {path}"
            for path in (
                f"runs/personabench-rfmem/traces/{DEEP}/queries.parquet",
                f"runs/personabench-rfmem/traces/{DEEP}/hits.parquet",
                "data/personabench-n00/qrels.parquet",
                "runs/personabench-rfmem/rfmem-mpnet-familiarity.parquet",
            )
        )
    }


def test_a_data_set_without_gold_says_so(by_hand):
    toy.write_gold("personabench-n00", "session", {"q0": [], "q1": []})
    assert texts(gold_cells(by_hand, Traces("open"))) == {"relevant docs": "none marked"}
    assert by_round(by_hand)["gold"].tolist() == [0, 0]


def test_the_three_regions_by_hand():
    """θ_low = 0 and θ_high = 0.6."""
    queries = [
        ("q0", "familiarity", 0.7, 0.3, 0),
        ("q1", "familiarity", 0.5, 0.1, 0),
        ("q2", "recollection", 0.5, 0.3, 2),
        ("q3", "recollection", 0.0, 0.1, 2),
        ("q4", "recollection", float("nan"), float("nan"), 1),
    ]
    found = texts(routing_cells(traced(GATED, queries, [], [])))
    one = "1 of 5 (20.0%)"
    assert found.pop("Famili.") == "2 of 5 (40.0%)"
    assert found.pop("Recol.") == "3 of 5 (60.0%)"
    assert set(found.values()) == {one}
    assert len(found) == 5


def test_variants_by_hand():
    nan = float("nan")

    def one(name, lists, paths_):
        queries = [(f"q{i}", p, nan, nan, 1) for i, p in enumerate(paths_)]
        hits = [(f"q{i}", d, r, 0.1, 0, 0, 0) for i, ds in enumerate(lists)
                for r, d in enumerate(ds, 1)]  # fmt: skip
        return traced(name, queries, [], hits)

    path = ["recollection", "recollection", "recollection", "familiarity"]
    released = one(DEEP, ["ab", "ab", "ab", "ab"], path)
    printed = one("rfmem-mpnet-recollection-printed-k5", ["ab", "ba", "ac", "ab"],
                  [*path[:3], "recollection"])  # fmt: skip
    found = texts(variant_cells(released, printed))
    assert found["another path"] == "1 of 4 (25.0%)"
    assert found["another set"] == "1 of 4 (25.0%)"
    assert found["same set, another order"] == "1 of 4 (25.0%)"
    assert found["the same ranking"] == "2 of 4 (50.0%)"
    assert found["both recollect"] == "3 of 4 (75.0%)"
    assert found["another set there"] == "1 of 3 (33.3%)"
    assert found["docs in common (intersection over union)"] == f"{(3 + 1 / 3) / 4:.4f}"


@pytest.mark.parametrize("seed", range(3))
def test_what_holds_for_any_trace(seed):
    """Regions part the queries as the gate has it, rounds part the docs."""
    toy.write_gold("personabench-n00", "session", {"q00": ["d01"], "q01": ["d02", "d03"]})
    asked = toy.requests(seed=seed)
    names = (DEEP, GATED)
    made = {name: toy.write_trace(name, asked) for name in names}
    found = Traces("open").found
    assert set(found) == set(names)
    for name, one in found.items():
        table = by_round(one)
        assert table["returned"].sum() == len(one.deep_hits)
        assert table["gold"].sum() == len(one.deep_hits.merge(one.gold))
        searches = (table["queries"] * table["branches"]).sum()
        assert searches == pytest.approx(len(made[name].branches))
        assert table["drift"].tolist()[:1] == pytest.approx([0.0] * min(len(table), 1), abs=1e-6)
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


def test_pairs_and_familiarity_of_the_plan():
    plan = toy.plan()
    assert familiarity_of(plan, plan.experiments[GATED]) == "rfmem-mpnet-familiarity"
    assert familiarity_of(plan, plan.experiments["sample-rfmem-gated"]) == "sample-dense-user"
    empty = {name: traced(name, [], [], []) for name in plan.traced}
    pairs = [(a.name, b.name) for a, b in pairs_of(empty)]
    assert (DEEP, "rfmem-mpnet-recollection-printed-k5") in pairs
    for released, printed in pairs:
        assert printed.replace("-printed", "") == released
    assert len(pairs) == sum("printed" in name for name in plan.traced)


def test_without_any_trace_all_is_not_run(folder):
    traces = Traces("open")
    assert not traces.found
    assert traces.missing[DEEP] == f"{DEEP} has no trace: run `dvc repro`"
    build(traces, folder / "out")
    assert not (folder / "out" / "trace_rounds_figure.csv").exists()
    for name, column in (("routing", "Recol."), ("gold", "relevant docs")):
        table = read_table(folder / "out" / f"trace_{name}.csv")
        assert set(table["column"]) == {column}
        assert set(table["verdict"]) == {"not run"}


def test_all_is_written(folder):
    toy.write_gold("personabench-n00", "session", {"q00": ["d01"]})
    asked = toy.requests()
    for name in (DEEP, "rfmem-mpnet-recollection-printed-k5"):
        toy.write_family(name, asked)
    assert run_path("rfmem-mpnet-familiarity").is_file()
    written = build(Traces("open"), folder / "out")
    assert len(written) == 5 * 3 + 3
    table = show(folder / "out", "trace_searches")
    assert table.loc[DEEP, "recollected"] == "12 (not in the paper)"
    assert table.loc["rfmem-minilm-gated-k5", "recollected"] == "not run"


def test_a_profile_that_plans_nothing_has_its_tables_too(folder):
    written = build(Traces("nothing"), folder / "out")
    assert len(written) == 5 * 3
    assert {tuple(read_table(path)["row"]) for path in written[::3]} == {("none",)}
