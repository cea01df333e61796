"""Which path RF-Mem's gate takes for each question, from the scores of a familiarity run.

A question's path depends on its probe scores alone: the gated row of any recollection follows from
two runs, at every threshold, without searching again.
"""

import itertools
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report.profile import Metrics
from memrepro.retrieve.rfmem.gate import Gate

# Column of the paper's tables -> the data's kind of question.
KINDS = {
    "Basic": "Basic information",
    "Social": "Social",
    "Pref Easy": "Preference easy",
    "Pref Hard": "Preference hard",
    "Overall": None,
}
CUTOFFS = (5, 10)
# θ of Appendix B, and what it leaves out: τ as the released code's default, on the mean form of H.
GATE = Gate(sharpness=30.0, entropy_threshold=0.2, mean_high=0.6, mean_low=0.0)


def probes(
    profile: str, experiment: str, k: int, group: str = "", setting: str = ""
) -> pd.DataFrame:
    """The first k scores of each question: a row a question in the run's order, a column a rank.

    A list shorter than k, which a floor can leave, ends in NaN. With a group, of a sweep at a
    setting.
    """
    run = read_table(paths.run(profile, experiment))
    run = run[run["setting"] == setting] if group else run
    table = run[run["rank"] <= k].pivot(index="query_id", columns="rank", values="score")
    return table.loc[run["query_id"].unique()]


def signals(scores: pd.DataFrame, gate: Gate) -> pd.DataFrame:
    """The gate's two signals by question, and its choice: `mean, entropy, familiar`."""
    lists = [row[~np.isnan(row)] for row in scores.to_numpy()]
    rows = [(float(s.mean()), gate.entropy(s), gate.is_familiar(s)) for s in lists]
    return pd.DataFrame(rows, columns=["mean", "entropy", "familiar"], index=scores.index)


class Routing(NamedTuple):
    """One routing, given by every entropy threshold τ with low < τ ≤ high."""

    low: float
    high: float
    familiar: pd.Series

    @property
    def recollected(self) -> int:
        """How many questions take the recollection path."""
        return int((~self.familiar).sum())


def routings(found: pd.DataFrame, gate: Gate) -> list[Routing]:
    """Every routing that some τ gives, in order of τ; from `signals`, whatever τ they were at."""
    mean, entropy = found["mean"].to_numpy(), found["entropy"].to_numpy()
    sure = mean >= gate.mean_high
    open_to_entropy = ~sure & (mean > gate.mean_low)
    steps = sorted(set(entropy[open_to_entropy].tolist()))
    return [
        Routing(low, high, pd.Series(sure | (open_to_entropy & (entropy < high)), found.index))
        for low, high in itertools.pairwise([0.0, *steps, float("inf")])
    ]


def side_by_side(direct: pd.DataFrame, deliberate: pd.DataFrame) -> pd.DataFrame:
    """`query_id, kind, familiarity, recollection` from `query_id, kind, value` of the two paths."""
    place = pd.Index(deliberate["query_id"]).get_indexer(pd.Index(direct["query_id"]))
    both: pd.DataFrame = direct[place >= 0].rename(columns={"value": "familiarity"})
    return both.assign(recollection=deliberate["value"].to_numpy()[place[place >= 0]])


def choose(both: pd.DataFrame, familiar: pd.Series) -> NDArray[np.float64]:
    """The gated row: of `side_by_side`, the value of the path that each question takes."""
    direct = familiar.loc[both["query_id"]].to_numpy(bool)
    return np.where(direct, both["familiarity"], both["recollection"])


class Encoder(NamedTuple):
    """An encoder whose runs are on PersonaBench, noise level 0.0, by sessions."""

    title: str
    stem: str

    def recall(self, metrics: Metrics, path: str, k: int) -> pd.DataFrame:
        """Recall@k by question of `familiarity`, or of a recollection such as `dbscan`."""
        name = f"{self.stem}-{path}" if path == "familiarity" else f"{self.stem}-{path}-k{k}"
        return metrics.values(name, "session", "recall", k)

    def probes(self, profile: str, k: int) -> pd.DataFrame:
        """The first k scores of each question by familiarity."""
        return probes(profile, f"{self.stem}-familiarity", k)


ENCODERS = {
    "mpnet": Encoder("all-mpnet-base-v2", "rfmem-mpnet"),
    "minilm": Encoder("all-MiniLM-L6-v2", "rfmem-minilm"),
}
