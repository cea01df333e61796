"""RF-Mem's signals and its Appendix F on the scores of real runs.

Figures 6 to 9 show the mean score and the entropy of PersonaMem and PersonaBench; their
counterparts here are drawn for the data sets that were run. Of F.1 to F.4 the tables say how often
a premise holds, how often what follows from it does, and whether it could fail at all.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
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
from memrepro.papers.rfmem.grid import CUTOFFS, GATE, probes, signals
from memrepro.report import figures
from memrepro.report.profile import Metrics
from memrepro.report.sources import RunSource, Source
from memrepro.report.tables import Cell, number, write_cells
from memrepro.retrieve.rfmem.gate import Gate


class Study(NamedTuple):
    """A run whose scores are similarities, and the gate that the paper has for such data.

    Attributes:
        key: part of the figures' names; '' where none is drawn.
        title: for people.
        experiment: the run, or a sweep.
        setting: of the sweep; '' for a run.
        level: at which it is evaluated; '' for a data set without gold.
        gate: of Appendix B, with τ as the released code's default.
    """

    key: str
    title: str
    experiment: str
    setting: str = ""
    level: str = "session"
    gate: Gate = GATE


# λ and θ of PersonaMem, whose docs are rounds. LoCoMo is not in the paper: its sessions get
# LongMemEval's, all else PersonaMem's.
_SESSIONS = replace(GATE, sharpness=20.0)
_ROUNDS = replace(_SESSIONS, mean_low=0.3)
_LOCOMO = (("mpnet", "mpnet"), ("minilm", "MiniLM"))
STUDIES = (
    Study("personabench_mpnet", "PersonaBench, mpnet", "rfmem-mpnet-familiarity"),
    Study("personabench_minilm", "PersonaBench, MiniLM", "rfmem-minilm-familiarity"),
    Study("personabench_n03_mpnet", "PersonaBench, noise 0.3, mpnet",
          "rfmem-mpnet-n03-familiarity"),
    Study("personamem_minilm", "PersonaMem 32k, MiniLM", "personamem-minilm-probe", "", "",
          _ROUNDS),
    Study("", "PersonaMem 32k, whole context, MiniLM", "personamem-whole-minilm-probe", "", "",
          _ROUNDS),
    *(Study(f"locomo_{stem}", f"LoCoMo, rounds, {name}", f"locomo-{stem}-fields", "concat",
            "round", _ROUNDS) for stem, name in _LOCOMO),
    *(Study("", f"LoCoMo, sessions, {name}", f"locomo-{stem}-session-keys", "concat", "session",
            _SESSIONS) for stem, name in _LOCOMO),
    Study("", "LoCoMo, turns, MiniLM", "locomo-minilm-values", "turn", "turn", _ROUNDS),
    *(Study("", f"LoCoMo, facts, {name}", f"locomo-{stem}-values", "recorded-fact", "round",
            _ROUNDS) for stem, name in _LOCOMO),
)  # fmt: skip
_GATES = (
    "PersonaBench: λ = 30, θ = 0.6 and 0.0; PersonaMem: λ = 20, θ = 0.6 and 0.3; LoCoMo, which is "
    "not in the paper: as PersonaMem, whose docs are rounds, and its sessions θ = 0.6 and 0.0, as "
    "of LongMemEval; "
    "τ = 0.2, the released code's default"
)
# φ_K of Eq. 21, as printed and as it could be meant, and the bound that does hold.
_CERTIFICATES = {"printed": "printed", "meant": "least x", "right": "right"}
_PATHS = ["familiarity", "recollection"]
_DELTAS = 20
_LIKELY = 0.05


@dataclass(frozen=True)
class Lists:
    """The score lists of a study at one K: `query_id` by rank, without those shorter than K."""

    study: Study
    k: int
    scores: pd.DataFrame

    @property
    def row(self) -> str:
        """For people."""
        return f"{self.study.title}, K = {self.k}"

    @property
    def values(self) -> Doubles:
        """The scores, shape (n_queries, K)."""
        return self.scores.to_numpy(np.float64)

    @cached_property
    def signals(self) -> pd.DataFrame:
        """The gate's signals and choice, by query."""
        return signals(self.scores, self.study.gate)

    @property
    def source(self) -> Source:
        """Of what the scores alone say."""
        return ranking_of(self.study.experiment)

    def cells(self, texts: Mapping[str, str], note: str = _GATES, n: int = 0) -> Iterator[Cell]:
        """Cells of its row, over all lists where no other number of them is given."""
        yield from row_cells(self.row, "theory", texts, n or len(self.scores), note, [self.source])


def lists_of(study: Study) -> Iterator[Lists]:
    """A study's lists at every cut-off."""
    for k in CUTOFFS:
        yield Lists(study, k, probes(study.experiment, k, study.setting).dropna())


def _share(mask: object) -> str:
    values = np.asarray(mask, bool)
    return share(int(values.sum()), len(values))


def _quartiles(values: pd.Series) -> str:
    return " / ".join(f"{q:.3f}" for q in values.quantile([0.25, 0.5, 0.75]))


def signal_cells(one: Lists) -> Iterator[Cell]:
    """Appendix B's description of Figures 6 to 9: quartiles, the thresholds' regions, the tails.

    Normal lists have a skewness and an excess kurtosis of 0; light tails one of at most 0.
    """
    gate, found = one.study.gate, one.signals
    texts = {
        "mean score, quartiles": _quartiles(found["mean"]),
        "entropy (mean form), quartiles": _quartiles(found["entropy"]),
        "greatest entropy, log(K) / K": f"{np.log(one.k) / one.k:.3f}",
        "mean ≥ θ_high": _share(found["mean"] >= gate.mean_high),
        "mean ≤ θ_low": _share(found["mean"] <= gate.mean_low),
        "recollected, τ = 0.2": _share(~found["familiar"]),
        "skewness of the mean": f"{skew(found['mean']):+.2f}",
        "excess kurtosis of the mean": f"{kurtosis(found['mean']):+.2f}",
    }
    yield from one.cells(texts)


def entropy_cells(one: Lists) -> Iterator[Cell]:
    """F.2: Eqs. 20 and 21 and Lemma 2, at both readings of τ = 0.2."""
    gate, tau = one.study.gate, one.study.gate.entropy_threshold
    note = (
        "F.2 is about the entropy as a sum (Eq. 2): τ = 0.2 of the released mean form is K·0.2 "
        "there; 'printed' is φ_K as Eq. 21 has it, always 1; 'least x' its inverse as meant; "
        "'right' the greatest bound that follows from H ≤ τ; the shares are of the lists that meet "
        "the premise"
    )
    for form, threshold in (("released form", tau * one.k), ("as printed", tau)):
        table = certificates.entropy_certificate(one.values, gate.sharpness, threshold)
        met, phi = table[table["premise"]], table.iloc[0]
        row = f"{one.row}, τ = 0.2 {form}"
        texts = {
            "Eq. 20 holds": _share(table["ceiling_holds"]),
            "premise: H ≤ τ": _share(table["premise"]),
            "p_max there, median": f"{met['top'].median():.3f}" if len(met) else "",
            **{
                f"p_max ≥ φ, {name}": f"φ = {phi[kind]:.3f}: {_share(met[kind + '_holds'])}"
                for kind, name in _CERTIFICATES.items()
            },
            "right bound binds": _share(table["binds"]),
        }
        yield from row_cells(row, "theory", texts, len(table), note, [one.source])


def concentration_cells(one: Lists) -> Iterator[Cell]:
    """F.3: Proposition 2, its premise, and Eq. 22 against the lists."""
    gate = one.study.gate
    table = certificates.concentration(one.values, gate.mean_low, gate.mean_high)
    met = table[table["premise"]]
    away = np.abs(one.values.mean(axis=1) - one.values.mean()).max()
    tails = certificates.tails(one.values, np.linspace(0, away, _DELTAS + 1)[1:])
    worst = tails.assign(share=tails[["below", "above"]].max(axis=1))
    worst = worst.assign(excess=worst["share"] - worst["bound"])
    most = worst.iloc[int(worst["excess"].to_numpy().argmax())]
    note = (
        "premise: the list's own mean, for μ, lies outside [θ_low, θ_high]; a bound binds where it "
        f"is at most {_LIKELY}; design effect: 1 if the scores were independent, K if those of a "
        f"list were one; Eq. 22 for one μ and the variance of all scores, at {_DELTAS} δ"
    )
    texts = {
        "premise": _share(table["premise"]),
        "δ there, median": f"{met['delta'].median():.3f}" if len(met) else "",
        "binds, σ² = 1": _share(table["binds"]),
        "binds, the list's own σ²": _share(table["premise"] & (table["bound"] <= _LIKELY)),
        "design effect": f"{certificates.design_effect(one.values):.2f}",
        "Eq. 22 holds": f"at {int(tails['holds'].sum())} of {len(tails)} δ",
        "Eq. 22 at its worst": (
            f"δ = {most['delta']:.3f}: {most['share']:.3f} of lists, bound {most['bound']:.3f}"
        ),
    }
    yield from one.cells(texts, note)


def monotonicity_cells(one: Lists, metrics: Metrics) -> Iterator[Cell]:
    """F.1, Lemma 1: the share of pairs of questions that contradict each monotonicity.

    The error of familiarity is an insufficient set: not all evidence in the top K.
    """
    study = one.study
    found = one.signals
    top = certificates.probabilities(one.values, study.gate.sharpness).max(axis=1)
    note = (
        "share of the pairs of questions, told apart by both, that are ordered against Lemma 1: 0 "
        "if it holds, 0.5 by chance; p of the two-sided rank-sum test against chance, each alone"
    )
    against = certificates.discordant_pairs(-found["entropy"].to_numpy(np.float64), top)
    yield from one.cells({"p_max falls in H": number(against)}, note)
    if not study.level:
        return
    place = (study.experiment, study.level, "recall_all", one.k, study.setting)
    answers = metrics.values(*place)
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
    evidence = RunSource(study.experiment, study.setting, study.level, "recall_all", one.k)
    sources = [one.source, evidence]
    yield from row_cells(one.row, "theory", texts, len(whole), note, sources)
    texts = {"all evidence found": number(whole.mean())}
    yield from row_cells(one.row, "theory", texts, len(whole), note, sources[1:])


def cost_cells(profile: str) -> Iterator[Cell]:
    """F.4, Proposition 3 counted at the printed B and F, without early stop."""
    counts = paths.statistics(profile, "personabench-n00")
    users = round(float(read_table(counts)["sessions"].astype(int).mean()))
    printed, haystack = printed_rows("hyperparameters"), printed_rows("table10")
    sizes = {
        "PersonaBench, Recall@5": (users, 10),
        "PersonaBench, Recall@10": (users, 10),
    }
    for edition in "sm":
        shown = haystack["Avg Session-level Memory per Question"][f"LongMemEval-{edition}"]
        sizes[f"LongMemEval-{edition.upper()}"] = (round(numeric(shown)), 50)
    note = (
        "counts at most, without early stop; R as the released code has it; familiarity needs M "
        "similarities, short of an approximate index"
    )
    for row, (size, rounds) in sizes.items():
        beam, fanout = (int(printed[row][name]) for name in ("B", "F"))
        counted = certificates.cost(beam, fanout, rounds, size)
        values = {
            "B": beam,
            "F": fanout,
            "R": rounds,
            "docs, M": size,
            "similarities": counted.products,
            "candidates of one path, Σ N_r": counted.path,
            "candidates of all branches": counted.beam,
            "R·B·F": counted.first_bound,
            "B·F + R·F": counted.second_bound,
        }
        texts = {column: str(value) for column, value in values.items()}
        sources = [file_of(counts, profile)] if rounds == 10 else []
        yield from row_cells(row, "theory", texts, 1, note, sources)


def _draw_signals(data: pd.DataFrame, study: Study) -> Figure:
    """A row a K: the scatter of the two signals, and the distribution of each."""
    gate, groups = study.gate, data.groupby("k")
    lines = {"mean score": (gate.mean_low, gate.mean_high), "entropy": (gate.entropy_threshold,)}
    figure = Figure(figsize=(13, 3.6 * len(groups)), layout="constrained")
    axes = figure.subplots(len(groups), 3, squeeze=False)
    for (scatter, *bars), (k, part) in zip(axes, groups, strict=True):
        sns.scatterplot(
            part,
            x="mean score",
            y="entropy",
            hue="path",
            style="path",
            s=18,
            hue_order=_PATHS,
            style_order=_PATHS,
            ax=scatter,
            rasterized=True,
        )
        scatter.set_ylabel(f"entropy, K = {k}")
        for axis, (column, thresholds), across in zip(bars, lines.items(), "vh", strict=True):
            sns.histplot(part, x=column, bins=30, color="grey", element="step", ax=axis)
            axis.set_ylabel("questions")
            for quartile in part[column].quantile([0.25, 0.5, 0.75]):
                axis.axvline(quartile, color="C0", ls=":", lw=1.5)
            for at in thresholds:
                axis.axvline(at, color="black", ls="--", lw=1)
                (scatter.axvline if across == "v" else scatter.axhline)(at, color="black", lw=1)
    figure.suptitle(f"{study.title}: dashed θ_low, θ_high and τ = 0.2; dotted quartiles")
    return figure  # fmt: skip


def signals_figure(study: Study, all_lists: list[Lists], folder: Path) -> list[Path]:
    """Figures 6 to 9 of a study: a row a K; dashed the thresholds, dotted the quartiles."""
    parts = []
    for one in all_lists:
        found = one.signals.reset_index()
        path = np.where(found["familiar"], *_PATHS)
        found = found.rename(columns={"mean": "mean score"}).drop(columns="familiar")
        parts.append(found.assign(path=path, k=one.k))
    data = pd.concat(parts, ignore_index=True)
    name = f"signals_{study.key}"
    return figures.save(lambda: _draw_signals(data, study), data, folder, name)


def build(profile: str, metrics: Metrics, folder: Path) -> list[Path]:
    """Write the tables and figures of the signals and of Appendix F; return the paths."""
    by_study = {study: list(lists_of(study)) for study in STUDIES}
    every = [one for lists in by_study.values() for one in lists]
    tables = {
        "signals": (cell for one in every for cell in signal_cells(one)),
        "monotonicity": (cell for one in every for cell in monotonicity_cells(one, metrics)),
        "entropy_certificate": (cell for one in every for cell in entropy_cells(one)),
        "concentration": (cell for one in every for cell in concentration_cells(one)),
        "cost": cost_cells(profile),
    }
    return [
        *(path for name, cells in tables.items() for path in write_cells(cells, folder, name)),
        *(path for study, lists in by_study.items() if study.key
          for path in signals_figure(study, lists, folder)),
    ]  # fmt: skip
