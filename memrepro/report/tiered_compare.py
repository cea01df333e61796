"""Comparisons of the tiered design's runs on the same questions, all of a data set one family.

P-values are of paired sign flips, corrected by Holm's method over all that are made.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.numerics.bootstrap import paired_difference
from memrepro.numerics.multiple import holm, sign_flip
from memrepro.report import figures
from memrepro.report.associa_claims import FAILS, HOLDS, UNDECIDED, Compared
from memrepro.report.profile import difference
from memrepro.report.tables import Cell
from memrepro.report.tiered_here import DESIGNS, GIVEN, TESTED, Runs


class Pair(NamedTuple):
    """Two rows, of which a claim calls the first better, on all questions or on those of a kind."""

    better: str
    worse: str
    kind: str = ""

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.better} less {self.worse}" + (f", {self.kind}" if self.kind else "")


Compares = dict[Pair, list[Compared]]


def compare(runs: Runs, pairs: Sequence[Pair]) -> Compares:
    """Each pair whose rows were both run, by each metric that both have; corrected together."""
    made = {pair: list(_of_pair(runs, pair)) for pair in dict.fromkeys(pairs)}
    flat = [(pair, one) for pair, found in made.items() for one in found]
    corrected = holm([one.p for _, one in flat])
    result: Compares = {pair: [] for pair in made}
    for (pair, one), p in zip(flat, corrected, strict=True):
        result[pair].append(one._replace(corrected=p))
    return result


def _of_pair(runs: Runs, pair: Pair) -> Iterator[Compared]:
    if runs.why_not(pair.better) or runs.why_not(pair.worse):
        return
    # Lists of the whole memory go to 50 docs, those of the design end where it does.
    both_end = pair.better in DESIGNS and pair.worse in DESIGNS
    for metric, k in (*TESTED, GIVEN) if both_end else TESTED:
        before, now = (runs.values(row, metric, k) for row in (pair.worse, pair.better))
        if before is None or now is None:
            continue
        if pair.kind:
            before, now = (part[part["kind"] == pair.kind] for part in (before, now))
            if before.empty:
                continue
        shown = difference(before, now)
        both = before.merge(now, on="query_id", suffixes=(" before", " now"))
        old, new = (both[f"value {when}"].to_numpy() for when in ("before", "now"))
        yield Compared(
            pair.better, pair.worse, f"{metric}@{k}", shown, paired_difference(old, new),
            len(both), sign_flip(new - old),
        )  # fmt: skip


def verdict(found: Sequence[Compared]) -> str:
    """'holds here' where each is told from chance for it, 'does not' where one is against it."""
    signs = [one.sign for one in found]
    return FAILS if -1 in signs else HOLDS if set(signs) == {1} else UNDECIDED


def differences(compared: Compares) -> Iterator[Cell]:
    """Each comparison: its difference, and its p-value before and after the correction."""
    count = sum(map(len, compared.values()))
    note = f"p: paired sign flips, two-sided; Holm's correction over all {count} that are made"
    for pair, found in compared.items():
        for one in found:
            for column, words in (
                (one.metric, one.shown),
                (f"{one.metric}, p → after Holm", f"{one.p:.4f} → {one.corrected:.4f}"),
            ):
                yield Cell(
                    pair.name, column, one.metric, "", words, one.n, NOT_COMPARABLE, note=note
                )


def draw(compared: Compares, title: str, folder: Path, name: str) -> list[Path]:
    """Each difference with its interval, a panel a metric; nothing where none was made."""
    rows = [
        (pair.name, one.metric, *one.interval, one.n)
        for pair, found in compared.items()
        for one in found
    ]
    columns = ["comparison", "metric", "difference", "low", "high", "n"]
    data = pd.DataFrame(rows, columns=columns)
    if data.empty:
        return []
    names = list(dict.fromkeys(data["comparison"]))
    figure = Figure(figsize=(17, 0.34 * len(names) + 1.6), layout="constrained")
    panels = (*TESTED, GIVEN)
    axes = figure.subplots(1, len(panels), sharey=True)
    colour = sns.color_palette("colorblind", 1).as_hex()[0]
    for axis, (metric, k) in zip(axes, panels, strict=True):
        part = data[data["metric"] == f"{metric}@{k}"]
        places = [names.index(one) for one in part["comparison"]]
        ends = [part["difference"] - part["low"], part["high"] - part["difference"]]
        axis.errorbar(part["difference"], places, xerr=ends, fmt="o", color=colour, capsize=3)
        axis.axvline(0, color="0.5", linestyle="--", linewidth=1)
        axis.set_title(f"{metric}@{k}", fontsize=11)
        axis.grid(axis="y", visible=False)
    axes[0].set_yticks(range(len(names)), names, fontsize=9)
    axes[0].invert_yaxis()
    figure.suptitle(f"{title}: differences with 95 % paired bootstrap intervals", fontsize=12)
    return figures.save(figure, data, folder, name)
