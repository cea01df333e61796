import numpy as np
import pytest

from memrepro.errors import MemreproError
from memrepro.retrieve.associa import solver
from memrepro.retrieve.associa.solver import check, checked_solver, solve


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
