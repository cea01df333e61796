"""RF-Mem's signals and its Appendix F on the scores of real runs.

Figures 6 to 9 show the mean score and the entropy of PersonaMem and PersonaBench; their
counterparts here are drawn for the data sets that were run. Of F.1 to F.4 the tables say how often
a premise holds, how often what follows from it does, and whether it could fail at all.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import kurtosis, mannwhitneyu, skew

from memrepro.audit.verdicts import NOT_IN_PAPER
from memrepro.core.similarity import Doubles
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.rfmem import certificates
from memrepro.papers.rfmem.printed import numeric, printed_rows
from memrepro.papers.rfmem.routing import CUTOFFS, GATE, probes, signals
from memrepro.report import figures
from memrepro.report.profile import Metrics
from memrepro.report.tables import Cell, number, write_cells
from memrepro.retrieve.rfmem.gate import Gate


class Study(NamedTuple):
    """A run whose scores are similarities, and the gate that the paper has for such data.

    Attributes:
        key: part of the figures' names; '' where none is drawn.
        title: for people.
        experiment: the run, or a sweep.
        group: of the sweep; '' for a run.
        setting: of the sweep; '' for a run.
        level: at which it is evaluated; '' for a data set without gold.
        gate: of Appendix B, with τ as the released code's default.
    """

    key: str
    title: str
    experiment: str
    group: str
    setting: str
    level: str
    gate: Gate


# λ and θ of PersonaMem, whose docs are rounds. LoCoMo is not in the paper: its sessions get
# LongMemEval's, all else PersonaMem's.
_SESSIONS = replace(GATE, sharpness=20.0)
_ROUNDS = replace(_SESSIONS, mean_low=0.3)
STUDIES = (
    *(
        Study(
            f"personabench_{short}", f"PersonaBench, {name}", f"rfmem-{stem}-familiarity", "",
            "", "session", GATE,
        )
        for short, name, stem in (
            ("mpnet", "mpnet", "mpnet"),
            ("minilm", "MiniLM", "minilm"),
            ("n03_mpnet", "noise 0.3, mpnet", "mpnet-n03"),
        )
    ),
    Study("personamem_minilm", "PersonaMem 32k, MiniLM", "personamem-minilm-probe", "", "", "",
          _ROUNDS),
    Study("", "PersonaMem 32k, whole context, MiniLM", "personamem-whole-minilm-probe", "", "", "",
          _ROUNDS),
    *(
        Study(f"locomo_{stem}", f"LoCoMo, rounds, {name}", f"locomo-{stem}-fields",
              f"locomo-{stem}-dense", "concat", "round", _ROUNDS)
        for stem, name in (("mpnet", "mpnet"), ("minilm", "MiniLM"))
    ),
    *(
        Study("", f"LoCoMo, sessions, {name}", f"locomo-{stem}-session-keys",
              f"locomo-{stem}-dense", "concat", "session", _SESSIONS)
        for stem, name in (("mpnet", "mpnet"), ("minilm", "MiniLM"))
    ),
    Study("", "LoCoMo, turns, MiniLM", "locomo-minilm-values", "locomo-minilm-dense", "turn",
          "turn", _ROUNDS),
    *(
        Study("", f"LoCoMo, facts, {name}", f"locomo-{stem}-values", f"locomo-{stem}-dense",
              "recorded-fact", "round", _ROUNDS)
        for stem, name in (("mpnet", "mpnet"), ("minilm", "MiniLM"))
    ),
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


def lists_of(profile: str, study: Study) -> Iterator[Lists]:
    """A study's lists at every cut-off."""
    for k in CUTOFFS:
        scores = probes(profile, study.experiment, k, study.group, study.setting)
        yield Lists(study, k, scores.dropna())


def _cell(row: str, column: str, text: str, n: int, note: str = _GATES) -> Cell:
    return Cell(row, column, "theory", "", text, n, NOT_IN_PAPER, note=note)


def _share(mask: object) -> str:
    """`67 of 230 (29.1%)`."""
    values = np.asarray(mask, bool)
    held, of = int(values.sum()), len(values)
    return f"{held} of {of} ({held / of:.1%})" if of else "of none"


def _quartiles(values: pd.Series) -> str:
    return " / ".join(f"{q:.3f}" for q in values.quantile([0.25, 0.5, 0.75]))


def signal_cells(one: Lists) -> Iterator[Cell]:
    """Appendix B's description of Figures 6 to 9: quartiles, the thresholds' regions, the tails.

    Normal lists have a skewness and an excess kurtosis of 0; light tails one of at most 0.
    """
    gate, n = one.study.gate, len(one.scores)
    found = one.signals
    for column, text in {
        "mean score, quartiles": _quartiles(found["mean"]),
        "entropy (mean form), quartiles": _quartiles(found["entropy"]),
        "greatest entropy, log(K) / K": f"{np.log(one.k) / one.k:.3f}",
        "mean ≥ θ_high": _share(found["mean"] >= gate.mean_high),
        "mean ≤ θ_low": _share(found["mean"] <= gate.mean_low),
        "recollected, τ = 0.2": _share(~found["familiar"]),
        "skewness of the mean": f"{skew(found['mean']):+.2f}",
        "excess kurtosis of the mean": f"{kurtosis(found['mean']):+.2f}",
    }.items():
        yield _cell(one.row, column, text, n)


def entropy_cells(one: Lists) -> Iterator[Cell]:
    """F.2: Eqs. 20 and 21 and Lemma 2, at both readings of τ = 0.2."""
    gate, n = one.study.gate, len(one.scores)
    tau = gate.entropy_threshold
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
        for column, text in {
            "Eq. 20 holds": _share(table["ceiling_holds"]),
            "premise: H ≤ τ": _share(table["premise"]),
            "p_max there, median": f"{met['top'].median():.3f}" if len(met) else "",
            **{
                f"p_max ≥ φ, {name}": f"φ = {phi[kind]:.3f}: {_share(met[kind + '_holds'])}"
                for kind, name in _CERTIFICATES.items()
            },
            "right bound binds": _share(table["binds"]),
        }.items():
            yield _cell(row, column, text, n, note)


def concentration_cells(one: Lists) -> Iterator[Cell]:
    """F.3: Proposition 2, its premise, and Eq. 22 against the lists."""
    gate, n = one.study.gate, len(one.scores)
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
    for column, text in {
        "premise": _share(table["premise"]),
        "δ there, median": f"{met['delta'].median():.3f}" if len(met) else "",
        "binds, σ² = 1": _share(table["binds"]),
        "binds, the list's own σ²": _share(table["premise"] & (table["bound"] <= _LIKELY)),
        "design effect": f"{certificates.design_effect(one.values):.2f}",
        "Eq. 22 holds": f"at {int(tails['holds'].sum())} of {len(tails)} δ",
        "Eq. 22 at its worst": (
            f"δ = {most['delta']:.3f}: {most['share']:.3f} of lists, bound {most['bound']:.3f}"
        ),
    }.items():
        yield _cell(one.row, column, text, n, note)


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
    share = certificates.discordant_pairs(-found["entropy"].to_numpy(np.float64), top)
    yield _cell(one.row, "p_max falls in H", number(share), len(top), note)
    if not study.level:
        return
    answers = metrics.values(study.experiment, study.level, "recall_all", one.k, study.setting)
    answers = answers[answers["query_id"].isin(found.index)]
    judged, whole = found.loc[answers["query_id"]], answers["value"].to_numpy(np.float64)
    mean, entropy = (judged[c].to_numpy(np.float64) for c in ("mean", "entropy"))
    for column, signal in (
        ("familiarity's error falls in the mean score", mean),
        ("familiarity's error rises in H", -entropy),
    ):
        share = certificates.discordant_pairs(signal, whole)
        p = float(mannwhitneyu(signal[whole == 1], signal[whole == 0]).pvalue)
        yield _cell(one.row, column, f"{number(share)} (p = {p:.2g})", len(whole), note)
    yield _cell(one.row, "all evidence found", number(whole.mean()), len(whole), note)


def cost_cells(profile: str) -> Iterator[Cell]:
    """F.4, Proposition 3 counted at the printed B and F, without early stop."""
    sessions = read_table(paths.statistics(profile, "personabench-n00"))["sessions"].astype(int)
    printed = printed_rows("hyperparameters")
    haystack = printed_rows("table10")["Avg Session-level Memory per Question"]
    sizes = {
        "PersonaBench, Recall@5": (round(float(sessions.mean())), 10),
        "PersonaBench, Recall@10": (round(float(sessions.mean())), 10),
        **{
            f"LongMemEval-{e.upper()}": (round(numeric(haystack[f"LongMemEval-{e}"])), 50)
            for e in "sm"
        },
    }
    note = (
        "counts at most, without early stop; R as the released code has it; familiarity needs M "
        "similarities, short of an approximate index"
    )
    for row, (size, rounds) in sizes.items():
        beam, fanout = (int(printed[row][name]) for name in ("B", "F"))
        counted = certificates.cost(beam, fanout, rounds, size)
        for column, value in {
            "B": beam,
            "F": fanout,
            "R": rounds,
            "docs, M": size,
            "similarities": counted.products,
            "candidates of one path, Σ N_r": counted.path,
            "candidates of all branches": counted.beam,
            "R·B·F": counted.first_bound,
            "B·F + R·F": counted.second_bound,
        }.items():
            yield _cell(row, column, str(value), 1, note)


def _draw(axes: NDArray[np.object_], part: pd.DataFrame, k: int, gate: Gate) -> None:
    """One K: the scatter of the two signals and the distribution of each, with the thresholds."""
    sns.scatterplot(
        part, x="mean score", y="entropy", hue="path", style="path", hue_order=_PATHS,
        style_order=_PATHS, s=18, alpha=0.7, ax=axes[0], rasterized=True,
    )  # fmt: skip
    axes[0].axhline(gate.entropy_threshold, color="black", ls="--", lw=1)
    axes[0].set_ylabel(f"entropy, K = {k}")
    for axis, column, lines in (
        (axes[1], "mean score", (gate.mean_low, gate.mean_high)),
        (axes[2], "entropy", (gate.entropy_threshold,)),
    ):
        sns.histplot(part, x=column, bins=30, color="grey", element="step", ax=axis)
        for quartile in part[column].quantile([0.25, 0.5, 0.75]):
            axis.axvline(quartile, color="C0", ls=":", lw=1.5)
        for line in lines:
            axis.axvline(line, color="black", ls="--", lw=1)
        axis.set_ylabel("questions")
    for line in (gate.mean_low, gate.mean_high):
        axes[0].axvline(line, color="black", ls="--", lw=1)


def _draw_signals(data: pd.DataFrame, study: Study, all_lists: list[Lists]) -> Figure:
    figure = Figure(figsize=(13, 3.6 * len(all_lists)), layout="constrained")
    axes = figure.subplots(len(all_lists), 3, squeeze=False)
    for row, one in zip(axes, all_lists, strict=True):
        _draw(row, data[data["k"] == one.k], one.k, study.gate)
        handles, labels = row[0].get_legend_handles_labels()
        row[0].get_legend().remove()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    figure.suptitle(f"{study.title}: dashed θ_low, θ_high and τ = 0.2; dotted quartiles")
    return figure


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
    return figures.save(lambda: _draw_signals(data, study, all_lists), data, folder, name)


def build(profile: str, folder: Path) -> list[Path]:
    """Write the tables and figures of the signals and of Appendix F; return the paths."""
    metrics = Metrics(profile)
    by_study = {study: list(lists_of(profile, study)) for study in STUDIES}
    every = [one for lists in by_study.values() for one in lists]
    written = [
        *write_cells((c for one in every for c in signal_cells(one)), folder, "signals"),
        *write_cells(
            (c for one in every for c in monotonicity_cells(one, metrics)), folder, "monotonicity"
        ),
        *write_cells(
            (c for one in every for c in entropy_cells(one)), folder, "entropy_certificate"
        ),
        *write_cells(
            (c for one in every for c in concentration_cells(one)), folder, "concentration"
        ),
        *write_cells(cost_cells(profile), folder, "cost"),
    ]
    for study, lists in by_study.items():
        if study.key:
            written += signals_figure(study, lists, folder)
    return written
