"""How large the keys of a run are, and how much of them its encoder reads (index size and cost)."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from memrepro.core.keys import Request
from memrepro.encode.load import TokenCounter
from memrepro.study.params import Experiment

_BLOCK = 4096  # texts tokenised at once
_FLOAT = 4  # bytes of an entry of a vector


def key_sizes(one: Experiment, requests: Sequence[Request]) -> dict[str, Any]:
    """The keys that an experiment searches, counted over all memories; a row of `key_sizes.csv`.

    A text that is the key of several docs is embedded once. `tokens` are the encoder's, of each
    text once; `read` are those within its limit, `share_read` the mean share of a text that is
    read, `cut` how many texts have more, and `share_cut` their share. `bytes` are of float32
    vectors, one a key.

    Args:
        one: an experiment with an encoder.
        requests: of all memories.
    """
    counter = _counter(one.encoder)
    rows = np.unique(np.concatenate([request.keys.rows for request in requests]))
    unique = requests[0].keys.unique
    counted: list[int] = []
    for start in range(0, len(rows), _BLOCK):
        counted += counter.counts([unique[row] for row in rows[start : start + _BLOCK]])
    tokens = np.array(counted, np.int64)
    read = np.minimum(tokens, counter.limit)
    keys = sum(len(request.keys.rows) for request in requests)
    return {
        **one.searched,
        "limit": counter.limit,
        "memories": len(requests),
        "docs": sum(len(request.keys.doc_ids) for request in requests),
        "keys": keys,
        "texts": len(rows),
        "tokens": int(tokens.sum()),
        "read": int(read.sum()),
        "share_read": round(float((read / tokens).mean()), 6),
        "cut": int((tokens > counter.limit).sum()),
        "share_cut": round(float((tokens > counter.limit).mean()), 6),
        "bytes": keys * counter.dimension * _FLOAT,
    }


@cache
def _counter(encoder: str) -> TokenCounter:
    return TokenCounter(encoder)
