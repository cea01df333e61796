"""Which method helps on one's own conversations."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.errors import MemreproError
from memrepro.face.comparing import compare
from memrepro.face.conversations import Conversations, Rows, load
from memrepro.face.defaults import tried
from memrepro.face.runs import read_metric, run
from memrepro.face.searching import search

_BASELINE = "plain hybrid"
_COMPARED = ("difference", "low", "high", "p", "won", "lost")


def try_methods(
    conversations: str | Path | Rows | Conversations,
    questions: str | Path | Rows | None = None,
    methods: Sequence[str] | Mapping[str, Mapping[str, Any]] | None = None,
    *,
    metric: str = "recall@10",
    level: str = "round",
    encoder: str = "all-minilm-l6-v2",
) -> pd.DataFrame:
    """Several methods on the same conversations, each beside the plain hybrid of BM25 and cosine.

    Args:
        conversations: a file, its rows or a registered data set, see `load`; or what that gives.
        questions: with files or rows, those of the questions.
        methods: names of `face/defaults.yaml` (`tried`), all by default; or one's own: name → what
            `search` is asked with, such as {"mine": {"method": "bm25.hybrid", "alpha": 0.7}}.
        metric: as of `Run.values`; its k is the length of the rankings.
        level: what a doc is: 'session', 'round' or 'turn'.
        encoder: of `encode/encoders.yaml`.

    Returns:
        A row a method, the best first: the metric's mean, 'n' questions with gold, and against the
        plain hybrid `difference`, `low`, `high` (95 % interval), `p`, `won` and `lost` questions.
        Intervals resample questions, or conversations where there are several: with few of either
        they are wide, and `p` cannot be small.

    Raises:
        MemreproError: for an unknown method, or rows that cannot be used.

    Example:
        >>> import memrepro as mr
        >>> talk = [
        ...     {"id": "a", "session": "1", "speaker": "user", "text": "I adopted a grey cat."},
        ...     {"id": "b", "session": "1", "speaker": "assistant", "text": "What is its name?"},
        ...     {"id": "c", "session": "1", "speaker": "user", "text": "She is called Miso."},
        ...     {"id": "d", "session": "2", "speaker": "user", "text": "The train was late."},
        ... ]
        >>> asked = [{"question": "What is my cat called?", "gold": ["c"]},
        ...          {"question": "What was late?", "gold": ["d"]}]
        >>> chosen = ["BM25", "plain hybrid", "segments, hybrid"]
        >>> found = mr.try_methods(talk, asked, chosen, metric="recall@1")
        >>> found[["recall@1", "n", "difference", "won", "lost"]]
                          recall@1  n  difference  won  lost
        method
        segments, hybrid       1.0  2         0.5    1     0
        plain hybrid           0.5  2         0.0    0     0
        BM25                   0.5  2         0.0    0     0
    """
    _, k = read_metric(metric)
    chosen = _chosen(methods)
    if isinstance(conversations, Conversations):
        data = conversations
    else:
        data = load(conversations, questions)
    found = {}
    for name, asked in {_BASELINE: tried()[_BASELINE], **chosen}.items():
        settings = {"level": level, "encoder": encoder, **asked, "k": k}
        ranking = search(data, **settings)
        found[name] = run(ranking, data, level=settings["level"]).values(metric)
    rows = {
        name: {metric: values.mean(), "n": len(values), **_against(found[_BASELINE], values)}
        for name, values in found.items()
        if name in chosen
    }
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")
    return table.sort_values(metric, ascending=False, kind="stable")


def _against(baseline: pd.Series, values: pd.Series) -> dict[str, float]:
    """What is told of a comparison; of the baseline with itself nothing moves."""
    found = compare(baseline, values)
    return {name: getattr(found, name) for name in _COMPARED}


def _chosen(
    methods: Sequence[str] | Mapping[str, Mapping[str, Any]] | None,
) -> Mapping[str, Mapping[str, Any]]:
    if isinstance(methods, Mapping):
        if bare := [name for name, asked in methods.items() if "method" not in asked]:
            raise MemreproError(
                f"the method {bare[0]!r} says no 'method': write such as "
                "{'mine': {'method': 'bm25.hybrid', 'alpha': 0.7}}"
            )
        return methods
    known = tried()
    if strange := [name for name in methods or () if name not in known]:
        raise MemreproError(
            f"unknown method {strange[0]!r}: known are {', '.join(known)}; or give your own, such "
            "as {'mine': {'method': 'bm25.hybrid', 'alpha': 0.7}}"
        )
    return {name: known[name] for name in methods or known}
