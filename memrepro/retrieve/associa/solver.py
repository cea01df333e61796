"""The prize-collecting Steiner tree by `pcst_fast`, checked to be a right build.

Source: Hegde, Indyk and Schmidt's implementation of Goemans and Williamson's scheme, which Associa
§4.2.1 uses as G-Retriever does. The wheel of pcst_fast 1.0.10 gives wrong vertices under NumPy 2
without an error (docs/protocols.md, PCST retrieval), so the first use solves a case that a broken
build gets wrong.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from memrepro.core.similarity import Doubles
from memrepro.errors import MemreproError

PRUNINGS = ("strong", "gw")
_CURE = (
    "put `pcst-fast2==1.1.0` in its place, or build it from source: pip install --force-reinstall "
    "--no-deps --no-binary pcst_fast pcst_fast==1.0.10"
)
# A path of seven nodes, each second one worth more than the way to it: all of it is the answer.
# The broken wheel says that its vertices are 0, 0, 0, 0, 0, 0, 0.
SEVEN_EDGES = np.array([(i, i + 1) for i in range(6)], np.int64)
SEVEN_PRIZES = np.array([5, 0, 4, 0, 3, 0, 2], np.float64)
SEVEN_COSTS = np.full(6, 0.5)


# `pcst_fast.pcst_fast`: edges, prizes, costs, root, trees, pruning, verbosity → nodes, edges.
Solver = Callable[..., tuple[NDArray[np.int32], NDArray[np.int32]]]


def check(solver: Solver) -> None:
    """Refuse a build that gets the seven nodes wrong, naming what it said and the cure."""
    for pruning in PRUNINGS:
        nodes, edges = solver(SEVEN_EDGES, SEVEN_PRIZES, SEVEN_COSTS, -1, 1, pruning, 0)
        if sorted(nodes.tolist()) != [*range(7)] or sorted(edges.tolist()) != [*range(6)]:
            raise MemreproError(
                f"this build of pcst_fast is broken: of a path of seven nodes that all belong to "
                f"the answer it returns the nodes {nodes.tolist()} and the edges {edges.tolist()}; "
                f"{_CURE}"
            )


@cache
def checked_solver() -> Solver:
    """`pcst_fast`, imported and checked once."""
    try:
        module = import_module("pcst_fast")
    except ImportError as error:
        raise MemreproError(f"pcst_fast cannot be imported ({error}): {_CURE}") from error
    solver: Solver = module.pcst_fast
    check(solver)
    return solver


def solve(
    edges: NDArray[np.int64], prizes: Doubles, costs: Doubles, pruning: str = "strong"
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One tree with a high sum of its nodes' prizes less its edges' costs, anywhere in the graph.

    A graph may be in pieces: the tree lies in one of them. Where no node has a prize the tree is
    empty. Of the two prunings 'strong' is at least as good on the tree that was grown.

    Returns:
        The tree's nodes and edges, ascending.
    """
    solver = checked_solver()
    if not (prizes > 0).any():
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if not len(edges):
        return np.array([int(np.argmax(prizes))]), np.zeros(0, np.int64)
    nodes, chosen = solver(edges, prizes, costs, -1, 1, pruning, 0)
    return np.sort(nodes).astype(np.int64), np.sort(chosen).astype(np.int64)
