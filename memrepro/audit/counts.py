"""The one count of what was reproduced, in words: printed numbers by document and outcome.

The audit writes it to `results/open/audit/counts.csv`; whoever tells a count tells it from there.
"""

import pandas as pd

from memrepro.audit import coverage
from memrepro.errors import MemreproError


def counts_of(found: pd.DataFrame, document: str) -> dict[str, int]:
    """A document's numbers by outcome, in the order of `coverage.OUTCOMES`.

    Args:
        found: `document, outcome, n`; the rows of 'all' are the sums.
        document: by name, or 'all'.

    Raises:
        MemreproError: if there is no such document.
    """
    own = found[found["document"] == document]
    if own.empty:
        known = ", ".join(dict.fromkeys(found["document"]))
        raise MemreproError(f"no printed number of {document!r} is counted: known are {known}")
    return dict(zip(own["outcome"], own["n"].astype(int).tolist(), strict=True))


def counts_in_words(found: pd.DataFrame, document: str) -> str:
    """A document's counts as in 'prints …'; outcomes that no number has are left out."""
    n = counts_of(found, document)
    exact, within, picked = (
        n[one] for one in (coverage.RUN_EXACT, coverage.RUN_WITHIN, coverage.RUN_PICKED)
    )
    agree, differ = n[coverage.ARITHMETIC_AGREES], n[coverage.ARITHMETIC_DIFFERS]
    parts = {
        f"reproduced by a run ({exact:,} exact, {within:,} within tolerance, {picked:,} at a "
        "setting picked to match)": exact + within + picked,
        "run and different": n[coverage.RUN_DIFFERS],
        "statistics of a data set, counted again": n[coverage.DATASET],
        f"checked by arithmetic on printed numbers ({agree:,} agree, {differ:,} differ)": agree
        + differ,
        **{name: n.get(name, 0) for name in coverage.FURTHER},
    }
    told = "; ".join(f"{count:,} {words}" for words, count in parts.items() if count)
    return f"{sum(n.values()):,} numbers: {told}"
