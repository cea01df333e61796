import numpy as np
import pytest

from memrepro.errors import MemreproError
from memrepro.retrieve.associa import solver
from memrepro.retrieve.associa.solver import (
    SEVEN_COSTS,
    SEVEN_EDGES,
    SEVEN_PRIZES,
    check,
    checked_solver,
    solve,
)

NONE = np.zeros((0, 2), np.int64)


@pytest.mark.parametrize("pruning", ["strong", "gw"])
def test_seven_nodes_that_a_broken_build_gets_wrong(pruning):
    nodes, edges = solve(SEVEN_EDGES, SEVEN_PRIZES, SEVEN_COSTS, pruning)
    assert nodes.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert edges.tolist() == [0, 1, 2, 3, 4, 5]


def test_what_the_wheel_answers_under_numpy_2_is_refused_with_the_cure():
    def wheel(edges, prizes, costs, root, clusters, pruning, verbosity):
        return np.zeros(7, np.int32), np.zeros(6, np.int32)

    with pytest.raises(MemreproError, match=r"nodes \[0, 0, 0, 0, 0, 0, 0\].*pcst-fast2==1.1.0"):
        check(wheel)
    check(checked_solver())


def test_a_missing_pcst_fast_is_named_with_the_cure(monkeypatch):
    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(solver, "import_module", missing)
    with pytest.raises(MemreproError, match="pcst_fast cannot be imported .*pcst-fast2"):
        checked_solver.__wrapped__()


def test_a_graph_in_pieces_gives_a_tree_of_one_of_them():
    edges = np.array([[0, 1], [2, 3]])
    nodes, taken = solve(edges, np.array([1.0, 1, 3, 3]), np.array([0.5, 0.5]))
    assert (nodes.tolist(), taken.tolist()) == ([2, 3], [1])


def test_no_edges_no_prizes_no_nodes():
    assert solve(NONE, np.array([1.0, 3, 2]), np.zeros(0))[0].tolist() == [1]
    assert solve(np.array([[0, 1]]), np.zeros(2), np.ones(1))[0].tolist() == []
    assert solve(NONE, np.zeros(0), np.zeros(0))[0].tolist() == []


@pytest.mark.parametrize(
    ("edges", "prizes", "costs", "said"),
    [
        ([[0, 1]], [1, np.nan], [1], "prize 1 is nan"),
        ([[0, 1]], [np.inf, 1], [1], "prize 0 is inf"),
        ([[0, 1]], [1, -1], [1], "prize 1 is -1.0"),
        ([[0, 1]], [1, 1], [np.nan], "cost 0 is nan"),
        ([[0, 1]], [1, 1], [-0.5], "cost 0 is -0.5"),
        ([[0, 2]], [1, 1], [1], "from 0 to 2: the graph has the nodes 0 to 1"),
        ([[-1, 0]], [1, 1], [1], "from -1 to 0"),
        ([[0, 1]], [1, 1], [1, 1], "1 edges have 2 costs"),
    ],
)
def test_bad_numbers_and_edges_to_nowhere_are_refused(edges, prizes, costs, said):
    with pytest.raises(MemreproError, match=said):
        solve(np.array(edges), np.array(prizes, float), np.array(costs, float))


def test_an_unknown_pruning_is_refused():
    with pytest.raises(MemreproError, match="unknown pruning 'none'"):
        solve(SEVEN_EDGES, SEVEN_PRIZES, SEVEN_COSTS, "none")
