"""The gate's signals on the scores of real runs, as Figures 6 to 11 of RF-Mem show them.

The gates are Appendix B's, with τ as the released code's default: PersonaBench has λ = 30 and θ =
0.6 and 0.0, the others λ = 20, rounds (PersonaMem's, and so LoCoMo's) θ = 0.6 and 0.3.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from memrepro.papers.rfmem.cells import ranking_of
from memrepro.papers.rfmem.grid import BOTH, CUTOFFS, GATE, probes, signals
from memrepro.report import figures
from memrepro.report.panels import COLOURS, INK, WIDTH, share_legend
from memrepro.report.sources import Source
from memrepro.report.specs import Spec
from memrepro.retrieve.rfmem.gate import Gate

_ROUNDS = {"sharpness": 20.0, "mean_low": 0.3}
# Figure → the run whose scores it shows, its setting, and what its gate has of its own.
DRAWN: Mapping[str, Spec] = {
    "personabench_mpnet": {"run": "rfmem-mpnet-familiarity"},
    "personamem_mpnet": {"run": "personamem-mpnet-probe", "gate": _ROUNDS},
    "longmemeval_s_mpnet": {"run": "lme-s-mpnet-rfmem-familiarity", "gate": {"sharpness": 20.0}},
    "locomo_mpnet": {"run": "locomo-mpnet-fields", "setting": "concat", "gate": _ROUNDS},
}


@dataclass(frozen=True)
class Lists:
    """Score lists of a run at one K, `query_id` by rank, without those shorter than K.

    Attributes:
        run: the experiment.
        k: K.
        gate: of Appendix B, with τ as the released code's default.
        scores: shape (n_queries, K).
    """

    run: str
    k: int
    gate: Gate
    scores: pd.DataFrame

    @cached_property
    def signals(self) -> pd.DataFrame:
        """The gate's signals and choice, by query."""
        return signals(self.scores, self.gate)

    @property
    def sources(self) -> list[Source]:
        """Of what the scores alone say."""
        return [ranking_of(self.run)]


def lists_of(entry: Spec) -> Iterator[Lists]:
    """The lists at every cut-off of an entry with `run`, and perhaps `setting` and `gate`."""
    run, setting = entry["run"], entry.get("setting", "")
    gate = replace(GATE, **entry.get("gate", {}))
    for k in CUTOFFS:
        yield Lists(run, k, gate, probes(run, k, setting).dropna())


def _draw_signals(data: pd.DataFrame, gate: Gate) -> Figure:
    """A column a K: the scatter of the two signals, and the distribution of each."""
    groups = data.groupby("k")
    lines = {
        "mean score": {"θ_low": gate.mean_low, "θ_high": gate.mean_high},
        "entropy": {"τ": gate.entropy_threshold},
    }
    figure = Figure(figsize=(WIDTH, 6), layout="constrained")
    axes = figure.subplots(3, len(groups), height_ratios=[3, 2, 2], squeeze=False)
    for (scatter, *bars), (k, part) in zip(axes.T, groups, strict=True):
        for path, colour in zip(BOTH, COLOURS, strict=False):
            points = part[part["path"] == path]
            scatter.scatter(points["mean score"], points["entropy"], s=3, linewidth=0,
                            color=colour, rasterized=True)  # fmt: skip
        scatter.set(title=f"K = {k}", xlabel="mean score", ylabel="entropy")
        for axis, (column, thresholds) in zip(bars, lines.items(), strict=True):
            shares = [part.loc[part["path"] == path, column] for path in BOTH]
            axis.hist(shares, bins=20, stacked=True, color=COLOURS[:2], label=BOTH, linewidth=0)
            axis.set(xlabel=column, ylabel="questions")
            for name, at in thresholds.items():
                axis.axvline(at, color=INK, ls="--", lw=1)
                axis.annotate(name, (at, 1), (0, 1), xycoords=axis.get_xaxis_transform(),
                              textcoords="offset points", ha="center", fontsize=8)  # fmt: skip
                across = column == "mean score"
                (scatter.axvline if across else scatter.axhline)(at, color=INK, ls="--", lw=1)
        for axis in (scatter, *bars):
            axis.locator_params(nbins=5)
    share_legend(figure)
    return figure


def signals_figures(drawn: Mapping[str, Spec], folder: Path) -> list[Path]:
    """A figure of each entry of `DRAWN`: dashed the thresholds."""
    written = []
    for name, entry in drawn.items():
        parts = []
        for one in lists_of(entry):
            found = one.signals.reset_index().rename(columns={"mean": "mean score"})
            path = np.where(found.pop("familiar"), *BOTH)
            parts.append(found.assign(path=path, k=one.k))
        data = pd.concat(parts, ignore_index=True)
        draw = partial(_draw_signals, data, one.gate)
        written += figures.save(draw, data, folder, f"signals_{name}")
    return written
