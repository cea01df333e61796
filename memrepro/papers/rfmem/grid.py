"""RF-Mem's recall question by question over its hyper-parameters, and choices among them.

All of it follows from runs of familiarity and recollection: which path the gate takes depends on
the familiarity scores alone, so that no run of its own is needed at each τ.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import KFold, LeaveOneGroupOut

from memrepro.core.similarity import Doubles
from memrepro.errors import MemreproError
from memrepro.evaluate.bootstrap import Interval
from memrepro.papers.rfmem import routing
from memrepro.papers.rfmem.routing import GATE, Routing, routings, signals
from memrepro.report.profile import Metrics
from memrepro.study.params import load_plan

# Row of a table → encoder; the paper's MiniLM is another one (multi-qa-MiniLM-L6-cos-v1).
ENCODERS = {
    "mpnet": routing.ENCODERS["mpnet"],
    "all-MiniLM-L6-v2": routing.ENCODERS["minilm"],
}
# Hyper-parameter → ending of its sweep's name, and its name in params.yaml.
SWEEPS = {
    "α": ("alpha", "alpha"),
    "B": ("beam", "beam_width"),
    "F": ("fanout", "fanout"),
    "seed": ("seed", "seed"),
}
# The entropy of K probabilities, as a mean over them, is at most ln K / K: 0.322 at K = 5.
TAUS = np.arange(36) / 100
FOLDS, REPEATS = 5, 20
Bools = NDArray[np.bool_]
Split = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class Grid:
    """One encoder at one K: recall@K of the same n questions by either path.

    Attributes:
        encoder: key of `ENCODERS`.
        k: the paper's K.
        questions: `query_id, kind, user`, n rows.
        routings: every routing of the gate, in order of τ; `familiar` in the questions' order.
        familiarity: recall by familiarity, shape (n,).
        recollection: recall by recollection at the experiment's own settings, shape (n,).
        own: hyper-parameter → the experiment's own value of it.
        sweeps: hyper-parameter → value → recall by recollection, shape (n,).
    """

    encoder: str
    k: int
    questions: pd.DataFrame
    routings: Sequence[Routing]
    familiarity: Doubles
    recollection: Doubles
    own: Mapping[str, str]
    sweeps: Mapping[str, Mapping[str, Doubles]]

    def familiar(self, tau: float) -> Bools:
        """Which questions take familiarity at a threshold, shape (n,)."""
        return next(r.familiar.to_numpy(bool) for r in self.routings if tau <= r.high)

    def gated(self, recollection: Doubles, tau: float) -> Doubles:
        """Recall of the gated method at a threshold, shape of `recollection`: (n,) or (…, n)."""
        return np.where(self.familiar(tau), self.familiarity, recollection)

    def stacked(self, parameter: str) -> Doubles:
        """Recall by recollection over a sweep, shape (values, n)."""
        return np.stack(list(self.sweeps[parameter].values()))

    def over_tau(self) -> Doubles:
        """Recall of the gated method at every routing, shape (routings, n)."""
        return np.stack([self.gated(self.recollection, r.high) for r in self.routings])

    def over_alpha_and_tau(self) -> tuple[list[tuple[str, float]], Doubles]:
        """Every pair of α and `TAUS`, α by α, and the gated recall at it, shape (pairs, n)."""
        deep = self.stacked("α")
        at = np.stack([self.gated(deep, float(tau)) for tau in TAUS], axis=1)
        pairs = [(alpha, float(tau)) for alpha in self.sweeps["α"] for tau in TAUS]
        return pairs, at.reshape(len(pairs), -1)

    def of_kind(self, kind: str | None) -> Bools:
        """Which questions are of a kind (None: all), shape (n,)."""
        kinds = self.questions["kind"].to_numpy()
        return np.ones(len(kinds), bool) if kind is None else np.asarray(kinds == kind)


def signed(value: float) -> str:
    """A difference at four digits, with its sign; one that rounds to zero is +0.0000."""
    return f"{round(value, 4) + 0.0:+.4f}"


def within(interval: Interval) -> str:
    """The interval's ends."""
    return f"[{signed(interval.low)}, {signed(interval.high)}]"


def user_of(query_id: str) -> str:
    """The user whom a PersonaBench question asks about: community and person, three digits each."""
    return query_id[:6]


def load(profile: str, metrics: Metrics, encoder: str, k: int) -> Grid:
    """The grid of an encoder from the runs and metrics of a profile.

    Raises:
        MemreproError: if two runs are of different questions, or a sweep at the experiment's own
            setting differs from the experiment.
    """
    one = ENCODERS[encoder]
    base = one.recall(metrics, "familiarity", k)

    def recall(experiment: str, setting: str = "") -> Doubles:
        found = metrics.values(experiment, "session", "recall", k, setting)
        if found["query_id"].tolist() != base["query_id"].tolist():
            raise MemreproError(f"{experiment} {setting!r} is not of familiarity's questions")
        return found["value"].to_numpy()

    name = f"{one.stem}-recollection-k{k}"
    parameters = load_plan().experiment(name).parameters
    # 42 is scikit-learn's random_state in the released code, and the retriever's default.
    own = {p: str(parameters.get(key, 42)) for p, (_, key) in SWEEPS.items()}
    sweeps = {
        p: {s: recall(f"{name}-by-{end}", s) for s in metrics.settings(f"{name}-by-{end}")}
        for p, (end, _) in SWEEPS.items()
    }
    whole = recall(name)
    for p, by_value in sweeps.items():
        if own[p] not in by_value or not np.array_equal(by_value[own[p]], whole):
            raise MemreproError(
                f"the sweep of {name} over {p} does not hold its run at {own[p]}: run `dvc repro`"
            )
    found = signals(one.probes(profile, k), GATE).loc[base["query_id"]]
    questions = base[["query_id", "kind"]].assign(user=base["query_id"].map(user_of))
    return Grid(
        encoder, k, questions, routings(found, GATE), base["value"].to_numpy(), whole, own, sweeps
    )


class Chosen(NamedTuple):
    """What came out where each question was answered at a setting that others chose.

    Attributes:
        recall: of each question, shape (n,); the mean where it was tested more than once.
        picks: the chosen setting of each split, as a place in the list of settings.
    """

    recall: Doubles
    picks: list[int]


def best(recalls: Doubles) -> int:
    """The setting with the highest mean, shape (settings, n); the first of equals."""
    # Rounded: means that differ by a last bit alone are equal.
    return int(np.argmax(np.round(recalls.mean(axis=1), 9)))


def chosen(recalls: Doubles, splits: Iterable[Split]) -> Chosen:
    """Answer each split's test questions at the setting that is best on its training questions.

    Args:
        recalls: shape (settings, n).
        splits: (train, test), places of questions; each question is tested at least once.
    """
    total, times = np.zeros(recalls.shape[1]), np.zeros(recalls.shape[1])
    picks = []
    for train, test in splits:
        picks.append(best(recalls[:, train]))
        total[test] += recalls[picks[-1], test]
        times[test] += 1
    return Chosen(total / times, picks)


def left_out_users(users: Sequence[str]) -> Iterator[Split]:
    """One split a user: the others' questions choose, the user's test."""
    yield from LeaveOneGroupOut().split(np.zeros(len(users)), groups=np.asarray(users))


def folds(n: int) -> Iterator[Split]:
    """`FOLDS` random folds of n questions, drawn `REPEATS` times."""
    for seed in range(REPEATS):
        yield from KFold(FOLDS, shuffle=True, random_state=seed).split(np.zeros(n))
