"""Requests from vectors, for the tests of retrievers that see one vector a doc."""

import numpy as np

from memrepro.core.key_builder import make_keys
from memrepro.core.keys import Request
from memrepro.core.memory import Memory, Round
from memrepro.core.similarity import normalise


def request(vectors, queries, *times):
    """Docs d0, d1, … and queries q0, q1, …, a vector each; `times` are their dates and ranges."""
    ids = [f"d{i}" for i in range(len(vectors))]
    keys = make_keys(
        Memory.from_rounds("m", *((i, Round.from_texts(i, user=f"text {i}")) for i in ids)),
        "concat",
    )
    names = [f"q{i}" for i in range(len(queries))]
    keys = keys.with_vectors(np.asarray(vectors, np.float32))
    return Request(keys, names, names, np.asarray(queries, np.float32), *times)


def random_request(n_docs, seed=0, n_queries=3, dimension=16):
    """Random vectors of length 1 that tend in one direction."""
    generator = np.random.default_rng(seed)
    docs, queries = (
        normalise(generator.normal(size=(n, dimension)).astype(np.float32) + 0.4)
        for n in (n_docs, n_queries)
    )
    return request(docs, queries)


def two_vectors_a_doc(dimension=16):
    """A doc that those retrievers refuse: it has two fields, and a vector of each."""
    memory = Memory.from_rounds("m", ("d", Round.from_texts("d", user="u", assistant="a")))
    keys = make_keys(memory, "fielded").with_vectors(np.ones((2, dimension), np.float32))
    return Request(keys, ["q"], ["q"], np.ones((1, dimension), np.float32))
