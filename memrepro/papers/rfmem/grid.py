"""RF-Mem on PersonaBench, question by question: recall by either path, and what the gate chooses.

Which path the gate takes depends on the familiarity scores alone, so that the gated row of any
recollection follows from two runs, at every threshold, without searching again.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from memrepro.core.similarity import Doubles
from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import Comparison, Groups, compare
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.files.cached import until_changed
from memrepro.papers.rfmem.cells import ranking_of, run_path
from memrepro.report.profile import Metrics
from memrepro.report.sources import FileSource, RunSource
from memrepro.retrieve.rfmem.gate import Gate
from memrepro.study.groups import groups_of_questions
from memrepro.study.params import load_plan

# PersonaBench's runs, and PersonaMem's, lie there; the full profile's tables stand on them too.
OPEN = "open"
# Column of the paper's tables -> the data's kind of question.
KINDS = {
    "Basic": "Basic information",
    "Social": "Social",
    "Pref Easy": "Preference easy",
    "Pref Hard": "Preference hard",
    "Overall": None,
}
CUTOFFS = (5, 10)
TAU = 0.2  # the released code's default, on the mean form of H; the paper prints none
# The bounds on the mean score that the paper (Appendix B) and the released code have.
GATES = {
    "θ of the paper (0.6, 0.0)": Gate(30.0, TAU, mean_high=0.6, mean_low=0.0),
    "θ of the code (0.5, 0.2)": Gate(30.0, TAU, mean_high=0.5, mean_low=0.2),
}
GATE = next(iter(GATES.values()))
# Hyper-parameter → its name in params.yaml, by which its sweep is called too.
SWEEPS = {"α": "alpha", "B": "beam_width", "F": "fanout", "seed": "seed"}
# B has no sweep of its own: each of its values has one over F.
BEAMS = "12345"
# The entropy of K probabilities, as a mean over them, is at most ln K / K: 0.322 at K = 5.
TAUS = np.arange(36) / 100
BOTH = ("familiarity", "recollection")
Bools = NDArray[np.bool_]


class Encoder(NamedTuple):
    """An encoder whose runs are on PersonaBench, noise level 0.0, by sessions.

    Attributes:
        short: in the names of tables and of runs.
        name: in the rows of tables; the paper's MiniLM is another (multi-qa-MiniLM-L6-cos-v1).
        title: its whole name.
    """

    short: str
    name: str
    title: str


ENCODERS = (
    Encoder("mpnet", "mpnet", "all-mpnet-base-v2"),
    Encoder("minilm", "all-MiniLM-L6-v2", "all-MiniLM-L6-v2"),
)


def probes(experiment: str, k: int, setting: str = "") -> pd.DataFrame:
    """The first k scores of each question: a row a question in the run's order, a column a rank.

    A list shorter than k, which a floor can leave, ends in NaN. With a setting, of a sweep's run.
    """
    run = _run(run_path(experiment))
    run = run[run["setting"] == setting] if setting else run
    table = run[run["rank"] <= k].pivot(index="query_id", columns="rank", values="score")
    return table.loc[run["query_id"].unique()]


@until_changed(4)
def _run(path: Path) -> pd.DataFrame:
    """A run's table, which a report asks for at each cut-off."""
    return read_table(path, ["query_id"])


def signals(scores: pd.DataFrame, gate: Gate) -> pd.DataFrame:
    """The gate's two signals by question, and its choice: `mean, entropy, familiar`."""
    values = scores.to_numpy()
    lengths, found = (~np.isnan(values)).sum(axis=1), np.empty((2, len(values)))
    for length in np.unique(lengths):
        alike = lengths == length
        lists = np.ascontiguousarray(values[alike, :length])
        found[:, alike] = lists.mean(axis=1), gate.entropy(lists)
    columns = {"mean": found[0], "entropy": found[1], "familiar": gate.passes(*found)}
    return pd.DataFrame(columns, index=scores.index)


class Routing(NamedTuple):
    """One routing of questions, given by every entropy threshold τ with low < τ ≤ high."""

    low: float
    high: float
    familiar: Bools

    @property
    def middle(self) -> float:
        """A threshold that gives it."""
        return (self.low + self.high) / 2 if np.isfinite(self.high) else 1.5 * self.low

    @property
    def recollected(self) -> int:
        """How many questions take the recollection path."""
        return int((~self.familiar).sum())


def routings(found: pd.DataFrame, gate: Gate, every: bool = False) -> list[Routing]:
    """Every routing that some τ gives, in order of τ; from `signals`, whatever τ they were at.

    Args:
        found: the signals.
        gate: whose bounds on the mean score count.
        every: a step at each entropy, also where the mean score alone decides.
    """
    mean, entropy = found["mean"].to_numpy(), found["entropy"].to_numpy()
    sure = mean >= gate.mean_high
    open_to_entropy = ~sure & (mean > gate.mean_low)
    steps = sorted(set(entropy[open_to_entropy | every].tolist()))
    return [
        Routing(low, high, sure | (open_to_entropy & (entropy < high)))
        for low, high in itertools.pairwise([0.0, *steps, float("inf")])
    ]


@dataclass(frozen=True)
class Depth:
    """One encoder at one K of the sweep over K, B = 3, F = 2 and α = 0.2 throughout.

    Attributes:
        k: the cut-off.
        familiarity: recall@K by familiarity, shape (n,).
        recollection: by recollection, shape (n,).
        docs: how many docs recollection gives, which may find no more before K, shape (n,).
        scores: familiarity's K scores of the n questions, the best first, shape (n, K).
    """

    k: int
    familiarity: Doubles
    recollection: Doubles
    docs: Doubles
    scores: pd.DataFrame

    def familiar(self, gate: Gate) -> Bools:
        """Which questions a gate takes by familiarity, shape (n,)."""
        return signals(self.scores, gate)["familiar"].to_numpy(bool)


@dataclass(frozen=True)
class Grid:
    """One encoder at one K: recall@K of the same n questions, all those with a relevant doc."""

    encoder: Encoder
    k: int
    metrics: Metrics

    def __str__(self) -> str:
        """For the rows of tables."""
        return f"{self.encoder.short}, K = {self.k}"

    def run(self, path: str, parameter: str = "") -> str:
        """The name of a path's run, such as 'familiarity' or 'dbscan', or of its sweep."""
        if path == "familiarity":
            return f"rfmem-{self.encoder.short}-familiarity"
        name = f"rfmem-{self.encoder.short}-{path}-k{self.k}"
        return f"{name}-by-{parameter}" if parameter else name

    def recall(self, path: str, parameter: str = "", setting: str = "") -> Doubles:
        """Recall of a path, in a sweep at a setting, shape (n,).

        Raises:
            MemreproError: if the run is of other questions than familiarity's.
        """
        return self._recall(self.run(path, parameter), setting)

    def _recall(self, name: str, setting: str, k: int = 0) -> Doubles:
        found = self.metrics.values(name, "session", "recall", k or self.k, setting)
        if found["query_id"].tolist() != self.questions["query_id"].tolist():
            raise MemreproError(f"{name} {setting!r} is not of familiarity's questions")
        return found["value"].to_numpy()

    def sweep(self, path: str, parameter: str) -> dict[str, Doubles]:
        """Setting → recall of a path's sweep."""
        settings = self.metrics.settings(self.run(path, parameter))
        return {setting: self.recall(path, parameter, setting) for setting in settings}

    def source(self, path: str, parameter: str = "", setting: str = "") -> RunSource:
        """Recall of a path, in a sweep at a setting, as the source of a number."""
        return RunSource(self.run(path, parameter), setting, "session", "recall", self.k)

    def sources(self, *names: str, kind: str | None = None) -> list[RunSource]:
        """Recall of some paths on the questions of a kind as the sources of a number."""
        return [self.source(name)._replace(kind=kind or "") for name in names]

    def swept(self, parameter: str) -> list[FileSource]:
        """All rankings of recollection's sweep as the source of a number; none without a sweep."""
        if parameter in ("B", "B × F"):
            return [ranking_of(self.by_fanout(beam)) for beam in BEAMS]
        ending = SWEEPS.get(parameter)
        return [ranking_of(self.run("recollection", ending))] if ending else []

    def by_fanout(self, beam: str) -> str:
        """The name of recollection's sweep over F at a value of B."""
        name = self.run("recollection", "fanout")
        return name if beam == self.own["B"] else name.replace("-by-", f"-b{beam}-by-")

    @cached_property
    def questions(self) -> pd.DataFrame:
        """`query_id, kind, user` of the n questions; a question's id begins with its user's."""
        found = self.metrics.values(self.run("familiarity"), "session", "recall", self.k)
        return found[["query_id", "kind"]].assign(user=found["query_id"].str[:6])

    def of_kind(self, kind: str | None) -> Bools:
        """Which questions are of a kind (None: all), shape (n,)."""
        kinds = self.questions["kind"].to_numpy()
        return np.ones(len(kinds), bool) if kind is None else np.asarray(kinds == kind)

    def columns(self) -> Iterator[tuple[str, str | None, Bools]]:
        """Column of Table 2, kind and mask of its questions, where there are any."""
        for column, kind in KINDS.items():
            if (mask := self.of_kind(kind)).any():
                yield column, kind, mask

    @cached_property
    def groups(self) -> Groups:
        """Whose each of the n questions is."""
        plan = load_plan()
        dataset = plan.experiment(self.run("familiarity")).dataset
        return groups_of_questions(dataset, self.questions["query_id"].tolist(), plan)

    def compare(self, base: Doubles, now: Doubles, chosen: Bools | None = None) -> Comparison:
        """Two recalls of the n questions, or of those chosen, each shape (n,)."""
        if chosen is None:
            return compare(base, now, self.groups)
        return compare(base[chosen], now[chosen], self.groups.only(chosen))

    @cached_property
    def familiarity(self) -> Doubles:
        """Recall by familiarity, shape (n,)."""
        return self.recall("familiarity")

    @cached_property
    def recollection(self) -> Doubles:
        """Recall by recollection at the experiment's own settings, shape (n,)."""
        return self.recall("recollection")

    @cached_property
    def own(self) -> Mapping[str, str]:
        """Hyper-parameter → the recollection's own value of it."""
        parameters = load_plan().experiment(self.run("recollection")).parameters
        # 42 is scikit-learn's random_state in the released code, and the retriever's default.
        return {p: str(parameters.get(key, 42)) for p, key in SWEEPS.items()}

    @cached_property
    def sweeps(self) -> Mapping[str, Mapping[str, Doubles]]:
        """Hyper-parameter → value → recall by recollection.

        Raises:
            MemreproError: if a sweep at the experiment's own setting differs from the experiment.
        """
        found: dict[str, Mapping[str, Doubles]] = {
            p: self.sweep("recollection", ending) for p, ending in SWEEPS.items() if p != "B"
        }
        at = self.over_beam_and_fanout
        found["B"] = {beam: at[beam, self.own["F"]] for beam in BEAMS}
        found = {p: found[p] for p in SWEEPS}
        for p, by_value in found.items():
            own = by_value.get(self.own[p])
            if own is None or not np.array_equal(own, self.recollection):
                raise MemreproError(
                    f"the sweep of {self.run('recollection')} over {p} does not hold its run at "
                    f"{self.own[p]}: run `dvc repro`"
                )
        return found

    @cached_property
    def over_beam_and_fanout(self) -> Mapping[tuple[str, str], Doubles]:
        """(B, F) → recall by recollection, shape (n,)."""
        return {
            (beam, fanout): self._recall(self.by_fanout(beam), fanout)
            for beam in BEAMS
            for fanout in self.metrics.settings(self.by_fanout(beam))
        }

    def docs(self, name: str, setting: str) -> Doubles:
        """How many docs a sweep's run gives each of the n questions, shape (n,)."""
        run = read_table(run_path(name), ["setting", "query_id"])
        counts = run.loc[run["setting"] == setting, "query_id"].value_counts()
        found = counts.reindex(self.questions["query_id"], fill_value=0)
        return np.asarray(found, np.float64)

    def deep_alphas(self, k: int) -> dict[str, Doubles]:
        """α → recall@k by recollection at another, greater k than the grid's own, shape (n,)."""
        name = self.deep_run(k)
        return {alpha: self._recall(name, alpha, k) for alpha in self.metrics.settings(name)}

    def deep_run(self, k: int) -> str:
        """The name of the sweep over α at another k."""
        return f"rfmem-{self.encoder.short}-recollection-k{k}-by-alpha"

    @property
    def by_k(self) -> list[str]:
        """The encoder's sweeps over K: familiarity's, then recollection's."""
        return [f"rfmem-{self.encoder.short}-{path}-by-k" for path in BOTH]

    def over_k(self) -> Iterator[Depth]:
        """Every K of the encoder's sweep over it, whatever the grid's own."""
        for setting in self.metrics.settings(self.by_k[0]):
            direct, deep = (self._recall(name, setting, int(setting)) for name in self.by_k)
            scores = probes(self.by_k[0], int(setting), setting).loc[self.questions["query_id"]]
            yield Depth(int(setting), direct, deep, self.docs(self.by_k[1], setting), scores)

    def stacked(self, parameter: str) -> Doubles:
        """Recall by recollection over a sweep, shape (values, n)."""
        return np.stack(list(self.sweeps[parameter].values()))

    @cached_property
    def asked(self) -> pd.DataFrame:
        """The gate's signals and choice of every question asked, in the run's order."""
        return signals(probes(self.run("familiarity"), self.k), GATE)

    @cached_property
    def signals(self) -> pd.DataFrame:
        """The same of the n questions, in their order."""
        return self.asked.loc[self.questions["query_id"]]

    @cached_property
    def routings(self) -> Sequence[Routing]:
        """Every routing of the n questions by the paper's bounds, in order of τ."""
        return routings(self.signals, GATE)

    def familiar(self, tau: float) -> Bools:
        """Which questions take familiarity at a threshold, shape (n,)."""
        return next(one.familiar for one in self.routings if tau <= one.high)

    def gated(self, recollection: Doubles, familiar: Bools | float = TAU) -> Doubles:
        """Recall of the gated method, at a threshold or of a routing; (n,) or (…, n)."""
        chosen = self.familiar(familiar) if isinstance(familiar, float) else familiar
        return np.where(chosen, self.familiarity, recollection)

    def over_tau(self, every: Sequence[Routing] | None = None) -> Doubles:
        """Recall of the gated method at every routing, or at those given; (routings, n)."""
        chosen = self.routings if every is None else every
        return np.stack([self.gated(self.recollection, one.familiar) for one in chosen])

    def over_alpha_and_tau(self) -> tuple[list[tuple[str, float]], Doubles]:
        """Every pair of α and `TAUS`, α by α, and the gated recall at it, shape (pairs, n)."""
        deep = self.stacked("α")
        at = np.stack([self.gated(deep, float(tau)) for tau in TAUS], axis=1)
        pairs = [(alpha, float(tau)) for alpha in self.sweeps["α"] for tau in TAUS]
        return pairs, at.reshape(len(pairs), -1)


def grids_of(profile: str) -> tuple[Grid, ...]:
    """Every encoder at every K, read once for one state of the metrics."""
    return _grids(paths.metrics(profile), profile)


@until_changed(2)
def _grids(path: Path, profile: str) -> tuple[Grid, ...]:
    metrics = Metrics(profile)
    return tuple(Grid(encoder, k, metrics) for encoder in ENCODERS for k in CUTOFFS)
