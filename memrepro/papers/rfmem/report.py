"""RF-Mem's tables and figures, from the per-question metrics of the profiles."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from memrepro.audit.verdicts import NOT_IN_PAPER, NOT_RUN, Verdict, judge
from memrepro.core.prepared import load_qrels
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers import benchmark_statistics
from memrepro.papers.rfmem import (
    alternatives,
    cases,
    cost,
    cost_claims,
    further,
    learned,
    sensitivity,
    theory,
    trace_tables,
)
from memrepro.papers.rfmem.measured import Costs
from memrepro.papers.rfmem.printed import count, printed_table
from memrepro.papers.rfmem.routing import CUTOFFS as CUTOFFS
from memrepro.papers.rfmem.routing import KINDS as KINDS
from memrepro.papers.rfmem.routing import probes, signals
from memrepro.papers.rfmem.traces import Traces, or_none
from memrepro.report import checks, figures
from memrepro.report.profile import Metrics, Views, exclusion_cells
from memrepro.report.tables import Cell, number, write_cells
from memrepro.retrieve.rfmem.gate import Gate

_GATED = "RF-Mem rows: θ of the paper, τ = 0.2 as the released code's default"
_HUB = "profile full: the encoder comes from a model hub"
_NO_CORPUS = "the corpus is not in the mirror"
_VIEWS = Views("rfmem")
show_table, show_figure = _VIEWS.table, _VIEWS.figure


# Row prefix -> stem of the experiments, and why they may be missing.
ENCODERS = {
    "multi-qa-MiniLM": ("rfmem-multiqa", _HUB),
    "mpnet": ("rfmem-mpnet", ""),
    "bge-base": ("rfmem-bge", _HUB),
    "all-MiniLM-L6-v2": ("rfmem-minilm", ""),
}
# Table 7's rows -> the data's question types.
PERSONAMEM_KINDS = {
    "# of Revisit Reasons": "recalling_the_reasons_behind_previous_updates",
    "# of Track Evolution": "track_full_preference_evolution",
    "# of Latest Prefs": "recalling_facts_mentioned_by_the_user",
    "# of Aligned Recs": "provide_preference_aligned_recommendations",
    "# of New Scenarios": "generalizing_to_new_scenarios",
    "# of Shared Facts": "recall_user_shared_facts",
    "# of New Ideas": "suggest_new_ideas",
}
# The full profile's tables stand on the open one's runs too.
PROFILES_OF = {"full": ("open", "full")}
PATHS = {"Famili.": "familiarity", "Recol.": "recollection-k{k}", "RF-Mem": "gated-k{k}"}


class Results:
    """Mean recall by experiment, setting, k and kind of question."""

    def __init__(self, profile: str) -> None:
        self._parts = [Metrics(one) for one in PROFILES_OF.get(profile, (profile,))]
        self._kinds: dict[str, str] = {}
        self.experiments = frozenset().union(*(part.experiments for part in self._parts))

    def by_question(self, experiment: str, k: int, setting: str = "") -> pd.Series:
        """Question id → recall, in the order of the questions."""
        part = next((one for one in self._parts if experiment in one.experiments), self._parts[0])
        found = part.values(experiment, "session", "recall", k, setting).set_index("query_id")
        self._kinds |= found["kind"]
        return found["value"]

    def of_kind(self, values: pd.Series, kind: str | None) -> pd.Series:
        """Those of some questions' values that are of a kind (None: all)."""
        if kind is None:
            return values
        return values[np.array([self._kinds[query_id] == kind for query_id in values.index])]

    def mean_of(self, values: pd.Series, kind: str | None) -> float:
        """The mean of `of_kind`."""
        return float(self.of_kind(values, kind).mean())

    def settings(self, experiment: str) -> list[str]:
        """A sweep's settings, in order."""
        return [name for part in self._parts for name in part.settings(experiment)]


# The bounds on the mean score; the threshold is swept. λ = 30 in both (PROTOCOLS.md).
GATES = {
    "θ of the paper (0.6, 0.0)": Gate(30.0, 0.0, 0.6, 0.0),
    "θ of the code (0.5, 0.2)": Gate(30.0, 0.0, 0.5, 0.2),
}


def _cell(
    results: Results, row: str, k: int, kind: str, experiment: str, printed: str, missing: str,
    note: str = "",
) -> Cell:  # fmt: skip
    column, metric = f"R@{k} {kind}", f"recall@{k}"
    if experiment not in results.experiments:
        return Cell(row, column, metric, printed, "", 0, NOT_RUN, note=missing)
    values = results.of_kind(results.by_question(experiment, k), KINDS[kind])
    if values.empty:
        return Cell(row, column, metric, printed, "", 0, NOT_RUN, note="no question of this kind")
    value = float(values.mean())
    label, term = judge(printed, value) if printed else Verdict(NOT_IN_PAPER, "")
    return Cell(row, column, metric, printed, number(value), len(values), label, term, note)


def table2(results: Results, times: Mapping[tuple[str, int], Cell]) -> Iterator[Cell]:
    """Table 2, each encoder's three rows and both halves, with rows that the paper lacks.

    Args:
        results: recall by question.
        times: the cells of time, by row and K.
    """
    printed = printed_table("table2")
    for encoder, (stem, missing) in ENCODERS.items():
        for path, suffix in PATHS.items():
            row = f"{encoder} {path}"
            note = (
                "RF-Mem rows: θ of the paper, τ = 0.2 as the released code's default"
                if path == "RF-Mem"
                else ""
            )
            for k in CUTOFFS:
                if time := times.get((row, k)):
                    yield time
                for kind in KINDS:
                    experiment = f"{stem}-{suffix.format(k=k)}"
                    shown = printed.get((row, f"R@{k} {kind}"), "")
                    yield _cell(results, row, k, kind, experiment, shown, missing, note)
    for k in CUTOFFS:
        for kind in KINDS:
            yield _cell(results, "BM25", k, kind, "personabench-bm25", "", "")


class Threshold(NamedTuple):
    """One routing of the gate: the thresholds that give it, and each question's recall under it."""

    low: float
    high: float
    recall: pd.Series

    @property
    def middle(self) -> float:
        """A threshold that gives this routing."""
        return (self.low + self.high) / 2


def thresholds(results: Results, k: int, gate: Gate) -> list[Threshold]:
    """Every routing that some entropy threshold gives, in order of the threshold.

    A question's path depends on its probe scores alone, so that the gated row follows from the
    familiarity and recollection runs; between two neighbouring entropies nothing changes.
    """
    direct = results.by_question("rfmem-mpnet-familiarity", k)
    deliberate = results.by_question(f"rfmem-mpnet-recollection-k{k}", k).loc[direct.index]
    found = signals(probes("open", "rfmem-mpnet-familiarity", k), gate).loc[direct.index]
    means, entropies = found["mean"].to_numpy(), found["entropy"].to_numpy()
    sure, open_to_entropy = means >= gate.mean_high, means > gate.mean_low
    first, second = direct.to_numpy(), deliberate.to_numpy()
    steps = sorted(set(entropies.tolist()))
    routed = []
    for low, high in itertools.pairwise([0.0, *steps, 2 * steps[-1]]):
        familiar = sure | (open_to_entropy & (entropies < (low + high) / 2))
        recall = pd.Series(np.where(familiar, first, second), index=direct.index)
        routed.append(Threshold(low, high, recall))
    return routed


def closest(results: Results, routings: Sequence[Threshold], k: int) -> Threshold:
    """The routing nearest to the printed gated row: least sum of distances, then the lowest."""
    shown = printed_table("table2")
    recalls = np.stack([routing.recall.to_numpy() for routing in routings])
    places = pd.Series(np.arange(recalls.shape[1]), index=routings[0].recall.index)
    distances = np.zeros(len(routings))
    for column, kind in KINDS.items():
        means = recalls[:, results.of_kind(places, kind).to_numpy()].mean(axis=1)
        distances += np.abs(np.round(means, 4) - float(shown["mpnet RF-Mem", f"R@{k} {column}"]))
    return routings[int(np.argmin(np.round(distances, 6)))]


def gated_closest(results: Results) -> Iterator[Cell]:
    """The gated mpnet row at the closest threshold, with the paper's bounds and the code's."""
    printed = printed_table("table2")
    for name, gate in GATES.items():
        for k in CUTOFFS:
            routings = thresholds(results, k, gate)
            best = closest(results, routings, k)
            note = (
                f"{name}, K = {k}: closest of {len(routings)} routings is τ from {best.low:.6f} to "
                f"{best.high:.6f}, found after the fact"
            )
            for column, kind in KINDS.items():
                shown = printed["mpnet RF-Mem", f"R@{k} {column}"]
                values = results.of_kind(best.recall, kind)
                verdict = judge(shown, float(values.mean()))
                yield Cell(
                    f"mpnet RF-Mem, {name}", f"R@{k} {column}", f"recall@{k}", shown,
                    number(values.mean()), len(values), verdict.label, verdict.term, note,
                )  # fmt: skip


def noise(results: Results) -> Iterator[Cell]:
    """The three mpnet rows at each noise level; the paper prints level 0.0 only."""
    printed = printed_table("table2")
    unseen = "profile full: needs files that the mirror does not hold, from the data set's address"
    for level, tag in (("0.0", ""), ("0.3", "-n03"), ("0.5", "-n05"), ("0.7", "-n07")):
        for path, suffix in PATHS.items():
            for k in CUTOFFS:
                shown = "" if tag else printed[f"mpnet {path}", f"R@{k} Overall"]
                experiment = f"rfmem-mpnet{tag}-{suffix.format(k=k)}"
                yield _cell(
                    results, f"noise {level} {path}", k, "Overall", experiment, shown, unseen
                )


def table7(profile: str, costs: Costs) -> Iterator[Cell]:
    """Table 7: PersonaMem's questions by type; only the 32k corpus is in the mirror."""
    kinds, _ = load_qrels(paths.qrels(profile, "personamem-32k"), "session")
    counted = {"# of samples": len(kinds)} | {
        row: sum(kind == name for kind in kinds.values()) for row, name in PERSONAMEM_KINDS.items()
    }
    for (row, column), shown in printed_table("table7").items():
        if column != "32k":
            why = _NO_CORPUS
        elif row == "Avg tokens of memory":
            yield cost.tokens_of_memories(costs, shown)
            continue
        elif row not in counted:
            why = "counts the instruction and the options, which no prepared table holds"
        else:
            yield count(row, column, shown, counted[row])
            continue
        yield Cell(row, column, "count", shown, "", 0, NOT_RUN, note=why)


def table9(profile: str) -> Iterator[Cell]:
    """Table 9: PersonaBench's queries and docs by user, at noise level 0.0."""
    users = read_table(paths.statistics(profile, "personabench-n00"))
    # A doc's field is named by its source.
    names = {
        "# of Queries": "queries",
        "# of Corpus": "rounds",
        "# of Conversations with friends": "rounds with conversation",
        "# of User-AI Conversation": "rounds with user_ai_interaction",
        "# of User e-commerce purchase histories": "rounds with purchase_history",
    }
    counts = {column: users[name].astype(int).tolist() for column, name in names.items()}
    for (row, column), shown in printed_table("table9").items():
        values = counts[column]
        total = {"Sum": sum(values), "Avg": sum(values) / len(values)}
        yield count(row, column, shown, total[row] if row in total else values[int(row) - 1])


def table8(profile: str) -> Iterator[Cell]:
    """Table 8: PersonaMem's questions by topic."""
    if paths.topics(profile, "personamem-32k").is_file():
        yield from benchmark_statistics.by_topic(profile)
        return
    for (row, column), shown in printed_table("table8").items():
        why = "the topics were not counted: run `dvc repro`" if column == "32k" else _NO_CORPUS
        yield Cell(row, column, "count", shown, "", 0, NOT_RUN, note=why)


def table10() -> Iterator[Cell]:
    """Table 10: LongMemEval's questions, and the sessions that they search."""
    for (row, column), shown in printed_table("table10").items():
        why = "LongMemEval's files are not in the mirror"
        yield Cell(row, column, "count", shown, "", 0, NOT_RUN, note=why)


def _draw_curves(data: pd.DataFrame, xlabel: str) -> Figure:
    """Overall recall over a parameter, a panel a cut-off, a curve a value of 'curve'."""
    printed = printed_table("table2")
    figure = Figure(figsize=(11, 4), layout="constrained")
    for axis, k in zip(figure.subplots(1, 2), CUTOFFS, strict=True):
        sns.lineplot(data[data["k"] == k], x=xlabel, y="overall recall", hue="curve", ax=axis)
        for path, style in (("Famili.", ":"), ("Recol.", "--"), ("RF-Mem", "-.")):
            value = float(printed[f"mpnet {path}", f"R@{k} Overall"])
            axis.axhline(value, color="black", ls=style, lw=1, label=f"printed {path}")
        axis.set_title(f"Recall@{k}")
        axis.legend(fontsize=8)
    return figure


def _sweep(data: pd.DataFrame, xlabel: str, folder: Path, name: str) -> list[Path]:
    return figures.save(lambda: _draw_curves(data, xlabel), data, folder, name)


def gate_sweep(results: Results) -> pd.DataFrame:
    """Overall recall of the gated row at every routing: `k, curve, entropy threshold τ, …`."""
    rows = [
        (k, name, routing.middle, results.mean_of(routing.recall, None))
        for name, gate in GATES.items()
        for k in CUTOFFS
        for routing in thresholds(results, k, gate)
    ]
    return pd.DataFrame(rows, columns=["k", "curve", "entropy threshold τ", "overall recall"])


def alpha_sweep(results: Results) -> pd.DataFrame:
    """Overall recall of recollection at every α that was run: `k, curve, α, overall recall`."""
    rows = [
        (
            k,
            "Recollection here",
            float(setting),
            results.mean_of(results.by_question(sweep, k, setting), None),
        )
        for k in CUTOFFS
        for sweep in [f"rfmem-mpnet-recollection-k{k}-by-alpha"]
        for setting in results.settings(sweep)
    ]
    return pd.DataFrame(rows, columns=["k", "curve", "α", "overall recall"])


def build(profile: str, folder: Path) -> list[Path]:
    """Write all of RF-Mem's tables and figures into a folder; return their paths."""
    results, metrics = Results(profile), Metrics("open")
    traces = Traces(*PROFILES_OF.get(profile, (profile,)))
    costs = Costs(traces)
    times = cost.table2_times(costs)
    contexts = or_none(cost.context_cells(costs), "docs, asked")
    locomo = or_none(further.recall_cells(costs, metrics, "locomo"), "R@5 overall")
    return [
        *write_cells(table2(results, times), folder, "table2"),
        *write_cells(gated_closest(results), folder, "table2_gated_closest"),
        *write_cells(noise(results), folder, "noise"),
        *write_cells(table7("open", costs), folder, "table7"),
        *write_cells(table8("open"), folder, "table8"),
        *write_cells(table9("open"), folder, "table9"),
        *write_cells(table10(), folder, "table10"),
        *checks.build("rfmem", folder, cost.computed(costs)),
        *sensitivity.build("open", folder),
        *alternatives.build("open", folder, times["mpnet RF-Mem", 5]),
        *theory.build("open", folder),
        *learned.build("open", folder),
        *trace_tables.build(traces, folder),
        *cases.build("open", traces, folder),
        *cost.build(costs, folder),
        *write_cells(contexts, folder, "personamem_contexts"),
        *cost_claims.build(costs, metrics, folder),
        *write_cells(locomo, folder, "locomo"),
        *write_cells(exclusion_cells("open", "personabench"), folder, "exclusions"),
        *_sweep(gate_sweep(results), "entropy threshold τ", folder, "gate_sweep"),
        *_sweep(alpha_sweep(results), "α", folder, "alpha_sweep"),
    ]
