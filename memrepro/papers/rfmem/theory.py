"""RF-Mem's signals and its Appendix F on the scores of real runs.

Figures 6 to 9 show the mean score and the entropy of PersonaMem and PersonaBench; their
counterparts here are drawn for the data sets that were run. Of F.1 to F.4 the tables say how often
a premise holds, how often what follows from it does, and whether it could fail at all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import kurtosis, mannwhitneyu, skew

from memrepro.core.similarity import Doubles
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.rfmem import certificates
from memrepro.papers.rfmem.cells import (
    file_of,
    numeric,
    printed_rows,
    ranking_of,
    row_cells,
    share,
)
from memrepro.papers.rfmem.grid import BOTH, CUTOFFS, GATE, OPEN, probes, signals
from memrepro.report import figures
from memrepro.report.panels import COLOURS, INK, WIDTH, share_legend
from memrepro.report.runs import Runs
from memrepro.report.sources import RunSource, Source
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell, number
from memrepro.retrieve.rfmem.gate import Gate

_DELTAS = 20
_LIKELY = 0.05


@dataclass(frozen=True)
class Lists:
    """Score lists of a run at one K, `query_id` by rank, without those shorter than K.

    Attributes:
        title: for people.
        place: of the evidence found; its level is '' for a data set without gold.
        gate: of Appendix B, with τ as the released code's default.
        scores: shape (n_queries, K).
    """

    title: str
    place: RunSource
    gate: Gate
    scores: pd.DataFrame

    @property
    def row(self) -> str:
        """For the rows of tables."""
        return f"{self.title}, K = {self.place.k}"

    @property
    def values(self) -> Doubles:
        """The scores, shape (n_queries, K)."""
        return self.scores.to_numpy(np.float64)

    @cached_property
    def signals(self) -> pd.DataFrame:
        """The gate's signals and choice, by query."""
        return signals(self.scores, self.gate)

    @property
    def sources(self) -> list[Source]:
        """Of what the scores alone say."""
        return [ranking_of(self.place.run)]


def lists_of(entries: Sequence[Spec]) -> Iterator[Lists]:
    """The lists of `lists` in `tables.yaml` at every cut-off."""
    for entry in entries:
        run, setting = entry["run"], entry.get("setting", "")
        gate = replace(GATE, **entry.get("gate", {}))
        for k in CUTOFFS:
            place = RunSource(run, setting, entry.get("level", ""), "recall_all", k)
            yield Lists(entry["title"], place, gate, probes(run, k, setting).dropna())


def _share(mask: object) -> str:
    values = np.asarray(mask, bool)
    return share(int(values.sum()), len(values))


def _quartiles(values: pd.Series) -> str:
    return " / ".join(f"{q:.3f}" for q in values.quantile([0.25, 0.5, 0.75]))


def _median(values: pd.Series) -> str:
    return f"{values.median():.3f}" if len(values) else ""


def signals_table(_: Runs, table: Spec) -> Iterator[Cell]:
    """Appendix B's description of Figures 6 to 9: quartiles, the thresholds' regions, the tails.

    Normal lists have a skewness and an excess kurtosis of 0; light tails one of at most 0.
    """
    for one in lists_of(table["lists"]):
        gate, found, k = one.gate, one.signals, one.place.k
        texts = {
            "mean score, quartiles": _quartiles(found["mean"]),
            "entropy (mean form), quartiles": _quartiles(found["entropy"]),
            "greatest entropy, log(K) / K": f"{np.log(k) / k:.3f}",
            "mean ≥ θ_high": _share(found["mean"] >= gate.mean_high),
            "mean ≤ θ_low": _share(found["mean"] <= gate.mean_low),
            "recollected, τ = 0.2": _share(~found["familiar"]),
            "skewness of the mean": f"{skew(found['mean']):+.2f}",
            "excess kurtosis of the mean": f"{kurtosis(found['mean']):+.2f}",
        }
        yield from row_cells(one.row, "theory", texts, len(found), table["note"], one.sources)


def entropy_certificate(_: Runs, table: Spec) -> Iterator[Cell]:
    """F.2: Eqs. 20 and 21 and Lemma 2, at both readings of τ = 0.2."""
    for one in lists_of(table["lists"]):
        tau = one.gate.entropy_threshold
        for form, threshold in (("released form", tau * one.place.k), ("as printed", tau)):
            found = certificates.entropy_certificate(one.values, one.gate.sharpness, threshold)
            met, phi = found[found["premise"]], found.iloc[0]
            texts = {
                "Eq. 20 holds": _share(found["ceiling_holds"]),
                "premise: H ≤ τ": _share(found["premise"]),
                "p_max there, median": _median(met["top"]),
                **{
                    f"p_max ≥ φ, {name}": f"φ = {phi[name]:.3f}: {_share(met[name + ' holds'])}"
                    for name in certificates.CERTIFICATES
                },
                "right bound binds": _share(found["binds"]),
            }
            row = f"{one.row}, τ = 0.2 {form}"
            yield from row_cells(row, "theory", texts, len(found), table["note"], one.sources)


def concentration(_: Runs, table: Spec) -> Iterator[Cell]:
    """F.3: Proposition 2, its premise, and Eq. 22 against the lists, at `_DELTAS` δ."""
    for one in lists_of(table["lists"]):
        found = certificates.concentration(one.values, one.gate.mean_low, one.gate.mean_high)
        away = np.abs(one.values.mean(axis=1) - one.values.mean()).max()
        tails = certificates.tails(one.values, np.linspace(0, away, _DELTAS + 1)[1:])
        tails["share"] = tails[["below", "above"]].max(axis=1)
        most = tails.iloc[int((tails["share"] - tails["bound"]).to_numpy().argmax())]
        texts = {
            "premise": _share(found["premise"]),
            "δ there, median": _median(found.loc[found["premise"], "delta"]),
            "binds, σ² = 1": _share(found["binds"]),
            "binds, the list's own σ²": _share(found["premise"] & (found["bound"] <= _LIKELY)),
            "design effect": f"{certificates.design_effect(one.values):.2f}",
            "Eq. 22 holds": f"at {int(tails['holds'].sum())} of {len(tails)} δ",
            "Eq. 22 at its worst": (
                f"δ = {most['delta']:.3f}: {most['share']:.3f} of lists, bound {most['bound']:.3f}"
            ),
        }
        yield from row_cells(one.row, "theory", texts, len(found), table["note"], one.sources)


def monotonicity(runs: Runs, table: Spec) -> Iterator[Cell]:
    """F.1, Lemma 1: the share of pairs of questions that contradict each monotonicity.

    The error of familiarity is an insufficient set: not all evidence in the top K.
    """
    for one in lists_of(table["lists"]):
        found, note = one.signals, table["note"]
        top = certificates.probabilities(one.values, one.gate.sharpness).max(axis=1)
        against = certificates.discordant_pairs(-found["entropy"].to_numpy(np.float64), top)
        texts = {"p_max falls in H": number(against)}
        yield from row_cells(one.row, "theory", texts, len(found), note, one.sources)
        answers = runs.values(one.place) if one.place.level else None
        if answers is None:
            continue
        answers = answers[answers["query_id"].isin(found.index)]
        judged, whole = found.loc[answers["query_id"]], answers["value"].to_numpy(np.float64)
        texts = {}
        for column, signal in (
            ("familiarity's error falls in the mean score", judged["mean"].to_numpy(np.float64)),
            ("familiarity's error rises in H", -judged["entropy"].to_numpy(np.float64)),
        ):
            against = certificates.discordant_pairs(signal, whole)
            p = float(mannwhitneyu(signal[whole == 1], signal[whole == 0]).pvalue)
            texts[column] = f"{number(against)} (p = {p:.2g})"
        sources = [*one.sources, one.place]
        yield from row_cells(one.row, "theory", texts, len(whole), note, sources)
        texts = {"all evidence found": number(whole.mean())}
        yield from row_cells(one.row, "theory", texts, len(whole), note, [one.place])


def cost(_: Runs, table: Spec) -> Iterator[Cell]:
    """F.4, Proposition 3 counted at the printed B and F, without early stop."""
    counts = paths.statistics(OPEN, "personabench-n00")
    users = round(float(read_table(counts)["sessions"].astype(int).mean()))
    haystack = printed_rows("table10")["Avg Session-level Memory per Question"]
    own: list[Source] = [file_of(counts, OPEN)]
    sizes = {f"PersonaBench, Recall@{k}": (users, 10, own) for k in CUTOFFS} | {
        f"LongMemEval-{edition.upper()}": (
            round(numeric(haystack[f"LongMemEval-{edition}"])), 50, [])
        for edition in "sm"
    }  # fmt: skip
    for row, (size, rounds, sources) in sizes.items():
        beam, fanout = (int(printed_rows("hyperparameters")[row][name]) for name in ("B", "F"))
        values = {"B": beam, "F": fanout, "R": rounds, "docs, M": size}
        values |= certificates.cost(beam, fanout, rounds, size)
        texts = {column: str(value) for column, value in values.items()}
        yield from row_cells(row, "theory", texts, 1, table["note"], sources)


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


def signals_figures(entries: Sequence[Spec], folder: Path) -> list[Path]:
    """Figures 6 to 9 of the lists that name one: dashed the thresholds."""
    written = []
    for entry in (entry for entry in entries if entry.get("figure")):
        parts = []
        for one in lists_of([entry]):
            found = one.signals.reset_index().rename(columns={"mean": "mean score"})
            path = np.where(found.pop("familiar"), *BOTH)
            parts.append(found.assign(path=path, k=one.place.k))
        data, name = pd.concat(parts, ignore_index=True), f"signals_{entry['figure']}"
        draw = partial(_draw_signals, data, one.gate)
        written += figures.save(draw, data, folder, name)
    return written
