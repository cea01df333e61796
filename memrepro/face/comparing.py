"""Two rankings on the same questions: which is better, and how far chance goes."""

import numpy as np
import pandas as pd

from memrepro.errors import MemreproError
from memrepro.evaluate import comparison
from memrepro.evaluate.comparison import QUESTION, Comparison, Groups

_ALWAYS = ("query_id", "kind")  # of the index of `Run.values`: no unit


def compare(a: pd.Series, b: pd.Series, by: str | None = None) -> Comparison:
    """The second against the first, question by question.

    Args:
        a: a metric of each question, as `Run.values` gives it.
        b: the same metric of the same questions, in any order.
        by: what is resampled, and whose signs are flipped: a level of the values' index such as
            'conversation', or 'question'; by default the data set's own unit, where the values have
            it, as questions of one conversation are no independent draws.

    Returns:
        `difference` (mean of b − a), `low` and `high` (its 95 % interval), `p`, `won`, `lost` and
        `tied` (questions on which b is better, worse, equal), `n`, and the `groups` resampled, each
        a `unit`.

    Raises:
        MemreproError: if the two are not of the same questions, a value is no number, or the index
            has no such level.

    Example:
        >>> import memrepro as mr
        >>> hybrid = mr.run("locomo-minilm-round-hybrid", setting="0.5").values("recall_all@10")
        >>> dense = mr.run("locomo-minilm-rounds").values("recall_all@10")
        >>> found = mr.compare(dense, hybrid)
        >>> print(found)
        +0.2031 [+0.1420, +0.2640], won 481, lost 79, by 10 conversations
        >>> print(f"{found.p:.3f}")
        0.002
    """
    for one in (a, b):
        if not isinstance(one, pd.Series) or "query_id" not in one.index.names:
            raise MemreproError(
                f"compare takes the values of two runs, not a {type(one).__name__}"
                f"{'' if not isinstance(one, pd.Series) else ' without query_id in its index'}: "
                "write compare(run_a.values('recall@10'), run_b.values('recall@10'))"
            )
    first, second = (one.index.get_level_values("query_id") for one in (a, b))
    common = len(first.intersection(second))
    if not common == len(first) == len(second) or not (first.is_unique and second.is_unique):
        raise MemreproError(
            f"{len(first)} questions in the first and {len(second)} in the second have {common} in "
            "common: a paired comparison needs the same questions, each once"
        )
    before, after = (
        pd.to_numeric(one, errors="coerce").to_numpy(float, na_value=np.nan) for one in (a, b)
    )
    if strange := int((~np.isfinite(before)).sum() + (~np.isfinite(after)).sum()):
        raise MemreproError(
            f"{strange:,} of the {2 * len(a):,} values are no numbers: leave out their questions "
            "in both, or give them a value, such as 0"
        )
    return comparison.compare(before, after[second.get_indexer(first)], _groups(a, by))


def _groups(values: pd.Series, by: str | None) -> Groups:
    names = [str(name) for name in values.index.names]
    unit = by or next((name for name in names if name not in _ALWAYS), QUESTION)
    if unit == QUESTION:
        return comparison.questions(len(values))
    if unit not in names:
        raise MemreproError(
            f"the values have no {by!r} to resample: their index has {', '.join(names)}; "
            "choose one of these, or 'question'"
        )
    return Groups(unit, tuple(values.index.get_level_values(unit).astype(str)))
