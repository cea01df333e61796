"""What came out of a trial of methods on one's own conversations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from memrepro.core.memory import GRANULARITIES
from memrepro.evaluate.comparison import LEVEL, Comparison, Groups
from memrepro.evaluate.metrics import read_metric
from memrepro.face.conversations import Conversations
from memrepro.face.method_file import MethodFile
from memrepro.face.own.made import MADE

PRINTED, TUNED, OWN = "as printed", "as tuned", "own"
_COMPARED = ("difference", "low", "high", "p", "won", "lost")


@dataclass(frozen=True)
class Cost:
    """What a method takes.

    Attributes:
        query_ms: a question's search, its vector being there.
        keys: a stored message.
        words: of those keys that are encoded, a stored message; 0 without an encoder.
    """

    query_ms: float
    keys: float
    words: float


@dataclass(frozen=True)
class Outcome:
    """A method on the conversations.

    Attributes:
        name: of its row.
        method: the idea's name.
        variant: `PRINTED`, `TUNED`, or `OWN` for a ranking that was made elsewhere.
        saved: the method with the settings that are best over all conversations; None of `OWN`.
        values: of each question that counts, as `Run.values`.
        ranking: of `saved`, or the file's: `query_id, doc_id, rank`.
        against: the baseline; None of itself.
        p_holm: after Holm's correction over all rows.
        least: the least difference that a test could find with a power of 80 %; infinite if none.
        chosen: settings → how many conversations were answered under them, of `TUNED`.
        cost: None of `OWN`.
        settings: the values under each setting, of `TUNED`.
    """

    name: str
    method: str
    variant: str
    saved: MethodFile | None
    values: pd.Series
    ranking: pd.DataFrame = field(repr=False)
    against: Comparison | None = None
    p_holm: float = 1.0
    least: float = 0.0
    chosen: Mapping[str, int] = field(default_factory=dict)
    cost: Cost | None = None
    settings: tuple[pd.Series, ...] = field(default=(), repr=False)

    @property
    def mean(self) -> float:
        """Over all questions that count."""
        return float(self.values.mean())

    @property
    def verdict(self) -> str:
        """'helps', 'harms' or 'not significant', as `docs/report.md` has them."""
        if self.against is None:
            return "what all are compared with"
        return ("harms", "not significant", "helps")[self.against.sign(self.p_holm) + 1]


@dataclass(frozen=True)
class Trial:
    """All methods on the same conversations.

    Attributes:
        data: the conversations.
        metric: such as 'recall_all@10'.
        level: what a doc is.
        encoder: its name.
        outcomes: the best first.
        not_run: method → why it could not be run.
        problems: own run → what is wrong with its file, in sentences.
        shown: the methods that were asked for; the baseline is run in any case.
        left_out: kinds of question that do not count.
    """

    data: Conversations
    metric: str
    level: str
    encoder: str
    outcomes: tuple[Outcome, ...]
    not_run: Mapping[str, str]
    problems: Mapping[str, Sequence[str]]
    shown: frozenset[str]
    left_out: tuple[str, ...] = ()

    @property
    def k(self) -> int:
        """The cut-off."""
        return read_metric(self.metric)[1]

    @property
    def baseline(self) -> Outcome:
        """What all are compared with."""
        return next(one for one in self.outcomes if one.against is None)

    @property
    def groups(self) -> Groups:
        """What intervals resample."""
        ids = self.baseline.values.index.get_level_values("query_id")
        return self.data.groups(list(ids))

    @property
    def is_made(self) -> bool:
        """Whether the questions were made of the conversations."""
        return any(query.kind.startswith(MADE) for query in self.data.dataset.queries)

    @property
    def best(self) -> Outcome:
        """The best that helps; the baseline where none does."""
        able = [one for one in self.outcomes if one.saved is not None]
        return next((one for one in able if one.verdict == "helps"), self.baseline)

    @property
    def whole(self) -> float:
        """The share of the questions that count whose whole memory k reaches."""
        sizes = {
            name: sum(len(GRANULARITIES[self.level](s)) for s in memory.sessions)
            for name, memory in self.data.dataset.memories.items()
        }
        memory_of = {query.query_id: query.memory_id for query in self.data.dataset.queries}
        ids = self.baseline.values.index.get_level_values("query_id")
        return float(np.mean([sizes[memory_of[query_id]] <= self.k for query_id in ids]))

    @property
    def groups_needed(self) -> int:
        """So many units a test over all these rows needs at least."""
        tests = max(1, len(self.outcomes) - 1)
        return int(np.floor(np.log2(2 * tests / LEVEL))) + 1

    def frame(self) -> pd.DataFrame:
        """What `try_methods` returns."""
        rows = {
            one.name: {
                self.metric: one.mean, "n": len(one.values), **_compared_numbers(one.against),
                "p_holm": one.p_holm, "verdict": one.verdict,
            }
            for one in self.outcomes
            if one.method in self.shown
        }  # fmt: skip
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def _compared_numbers(against: Comparison | None) -> dict[str, float]:
    """A comparison's numbers; none of the baseline with itself."""
    if against is None:
        return {"difference": 0.0, "low": 0.0, "high": 0.0, "p": 1.0, "won": 0, "lost": 0}
    return {name: getattr(against, name) for name in _COMPARED}


def settings_of(one: Outcome) -> str:
    """In words; of `TUNED` with how many conversations were answered under each."""
    if one.variant == TUNED:
        return "; ".join(f"{words} ({n})" for words, n in one.chosen.items())
    if one.saved is None:
        return ""
    told = {"key_scheme": one.saved.key_scheme, **one.saved.parameters}
    return ", ".join(f"{name} {value}" for name, value in told.items() if value != "")
