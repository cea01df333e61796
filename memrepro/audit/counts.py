"""The one count of what was reproduced: printed numbers by document and outcome.

The audit writes it to `results/<profile>/audit/counts.csv`; whoever shows a count reads it here.
"""

import pandas as pd

from memrepro.audit import coverage
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table

ALL = "all"  # what the rows of all documents together are called
PROFILE = "open"  # the profile that is audited


def load_counts(profile: str = PROFILE) -> pd.DataFrame:
    """`document, outcome, n`: each document in its order, then `ALL`; of each every outcome.

    Raises:
        MemreproError: if the audit has not been written.
    """
    path = paths.results(profile) / "audit" / "counts.csv"
    if not path.is_file():
        raise MemreproError(f"{path} is missing: run `dvc repro`, whose audit counts the numbers")
    return read_table(path).astype({"n": int})


def counts_of(document: str = ALL, profile: str = PROFILE) -> dict[str, int]:
    """A document's numbers by outcome, in the order of `coverage.OUTCOMES`.

    Raises:
        MemreproError: if there is no such document.
    """
    found = load_counts(profile)
    own = found[found["document"] == document]
    if own.empty:
        known = ", ".join(dict.fromkeys(found["document"]))
        raise MemreproError(f"no counts of {document!r}: known are {known}")
    return dict(zip(own["outcome"], own["n"].tolist(), strict=True))


def counts_sentence(document: str = ALL, profile: str = PROFILE) -> str:
    """A document's counts as a sentence; outcomes that no number has are left out."""
    n = counts_of(document, profile)
    exact, within = n.pop(coverage.RUN_EXACT), n.pop(coverage.RUN_WITHIN)
    agree, differ = n.pop(coverage.ARITHMETIC_AGREES), n.pop(coverage.ARITHMETIC_DIFFERS)
    parts = {
        f"reproduced by a run ({exact:,} exact, {within:,} within tolerance)": exact + within,
        "run and different": n[coverage.RUN_DIFFERS],
        "statistics of a data set, recounted": n[coverage.DATASET],
        f"checked by arithmetic on printed numbers ({agree:,} agree, {differ:,} differ)": agree
        + differ,
        **{name: n[name] for name in list(n) if name in coverage.OUTCOMES[6:]},
    }
    told = [f"{count:,} {words}" for words, count in parts.items() if count]
    total = exact + within + agree + differ + sum(n.values())
    return f"Of {total:,} printed numbers: {'; '.join(told)}."
