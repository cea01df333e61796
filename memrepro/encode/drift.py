"""What half precision changes: vectors of a sample against float32's, and what is found by them."""

from collections.abc import Sequence

import numpy as np

from memrepro.encode.encoder import Encoder
from memrepro.encode.vectors import VectorStore, embed

# How many documents and queries are compared, and how many documents of each query.
DOCUMENTS, QUERIES, TOP = 200, 50, 10


def drift(
    half: Encoder,
    full: Encoder,
    documents: Sequence[str],
    queries: Sequence[str],
    store: VectorStore,
) -> dict[str, float]:
    """How far an encoder's vectors are from float32's, on texts evenly spread over those given.

    Args:
        half: in bfloat16 or float16.
        full: the same model in float32.
        documents: at least one text.
        queries: likewise.
        store: both encoders' vectors are kept here, each under its own key.

    Returns:
        `largest difference` of an entry, `least cosine` of a text's two vectors, and `top-10
        agreement`: of the 10 documents of the sample nearest to a query by float32, the share
        that half precision finds too, averaged over the queries.
    """
    asked = _spread(queries, QUERIES)
    searched = _spread(documents, DOCUMENTS)
    found, pairs = [], []
    for encoder in (half, full):
        vectors = embed(searched, encoder, "document", store, progress=False)
        sought = embed(asked, encoder, "query", store, progress=False)
        pairs.append(np.vstack([vectors, sought]).astype(np.float64))
        scores = sought.astype(np.float64) @ vectors.astype(np.float64).T
        found.append(np.argsort(-scores, axis=1, kind="stable")[:, :TOP])
    one, two = pairs
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(two, axis=1)
    shared = [len(set(a) & set(b)) / len(b) for a, b in zip(*found, strict=True)]
    return {
        "largest difference": float(np.abs(one - two).max()),
        "least cosine": float(((one * two).sum(axis=1) / lengths).min()),
        f"top-{TOP} agreement": float(np.mean(shared)),
    }


def _spread(texts: Sequence[str], most: int) -> list[str]:
    unique = list(dict.fromkeys(texts))
    return [unique[n * len(unique) // most] for n in range(most)] if len(unique) > most else unique
