"""Associa's Tables 1 and 3 on the data that are here: which run stands in which row.

All of it is of rounds. The sample and LoCoMo are under all-MiniLM-L6-v2; on LongMemEval the events
are by rules where the paper has a language model's, so that no number stands beside one of the
paper. A row whose run is missing says why.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pandas as pd

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report.profile import Metrics
from memrepro.report.tables import Cell, number
from memrepro.study.params import Plan

LEVEL = "round"
# The paper's four columns: its recall is of all evidence (§5.2).
COLUMNS = (("recall_all", 5), ("ndcg", 5), ("recall_all", 10), ("ndcg", 10))
_FURTHER = tuple((metric, k) for metric in ("recall_any", "ndcg_longmemeval") for k in (5, 10))


class Study(NamedTuple):
    """A data set, and how its experiments are named.

    Attributes:
        title: for people.
        stem: what the names of the encoder's experiments begin with.
        lexical: what BM25's begin with.
        dataset: key of the data set.
        base: the key scheme of the rounds.
        facts: the key scheme with user facts.
        apart: the key scheme with the same facts as keys of their own.
        events: what the graph's events are.
    """

    title: str
    stem: str
    lexical: str
    dataset: str
    base: str
    facts: str
    apart: str
    events: str


STUDIES: Mapping[str, tuple[Study, ...]] = {
    "sample": (
        Study(
            "sample, all-MiniLM-L6-v2", "sample", "sample-bm25", "sample", "user_only",
            "user_only+merge:gold-fact", "user_only+separate:gold-fact",
            "events are the facts that the sample's compiler wrote into rounds, which few rounds "
            "but gold ones have: as good as an oracle; 'events by rules alone' is without it",
        ),
    ),
    "open": (
        Study(
            "LoCoMo, all-MiniLM-L6-v2", "locomo-minilm", "locomo-bm25", "locomo", "concat",
            "concat+merge:recorded-fact", "concat+split-separate:recorded-fact",
            "events are the facts and events that LoCoMo's authors recorded by a language model",
        ),
    ),
    "full": (
        Study(
            "LongMemEval S, Contriever", "lme-s-contriever", "lme-s-bm25", "longmemeval-s",
            "user_only", "user_only+merge:nlp-fact", "user_only+split-separate:nlp-fact",
            "events are facts and events that rules take from the rounds",
        ),
    ),
}  # fmt: skip
BM25, DENSE = "BM25", "dense, K = V"
FACTS, FILTERED = "dense, K = V + user facts", "dense, K = V + user facts, time filter"
APART = "dense, facts as keys of their own"
WORDS = "BM25, words in lower case"
SEGMENTS = "segments of 3-5 turns, 0.7 dense + 0.3 BM25"
ASSOCIA, DELIBERATED = "Associa, max_iter = 1", "Associa, max_iter = 2, by rule"
BASELINES = (BM25, DENSE, FACTS, FILTERED)
NO_ASSOCIATION, NO_IMPORTANCE = "w/o AM", "w/o EIR"
TUNED, UNTUNED = "Associa, max_iter = 2, fine-tuned", "w/o SFT"
INCREMENTAL, CLUSTERED = "deduplicated, incremental", "deduplicated, clustering"
BY_RULES = "events by rules alone"
# Row → experiment and setting, to be filled in from a study; '' where there can be no run.
ROWS: Mapping[str, tuple[str, str]] = {
    BM25: ("{lexical}-round-keys", "{base}"),
    DENSE: ("{stem}-round-keys", "{base}"),
    FACTS: ("{stem}-round-keys", "{facts}"),
    FILTERED: ("{stem}-round-time", "{facts}"),
    APART: ("{stem}-round-keys", "{apart}"),
    WORDS: ("{lexical}-words", ""),
    SEGMENTS: ("{stem}-tiered-hybrid", ""),
    ASSOCIA: ("{stem}-associa", ""),
    DELIBERATED: ("{stem}-associa-deliberated", ""),
    TUNED: ("", ""),
    UNTUNED: ("", ""),
    NO_ASSOCIATION: ("{stem}-associa-without-association", ""),
    NO_IMPORTANCE: ("{stem}-associa-without-importance", ""),
    INCREMENTAL: ("{stem}-associa-incremental", ""),
    CLUSTERED: ("{stem}-associa-clustering", ""),
    "pruned by gw": ("{stem}-associa-gw", ""),
    BY_RULES: ("{stem}-associa-nlp", ""),
}
TABLE1 = (*BASELINES, APART, WORDS, SEGMENTS, ASSOCIA, DELIBERATED)
_FURTHER_ROWS = tuple(ROWS)[tuple(ROWS).index(INCREMENTAL) :]
# Table 3's rows → the rows above, and what is tried besides.
TABLE3: Mapping[str, str] = {
    NO_ASSOCIATION: NO_ASSOCIATION,
    f"w/o DM ({ASSOCIA})": ASSOCIA,
    UNTUNED: UNTUNED,
    NO_IMPORTANCE: NO_IMPORTANCE,
    TUNED: TUNED,
    DELIBERATED: DELIBERATED,
    **{f"w/o DM, {row}": row for row in _FURTHER_ROWS},
}
_NO_MODEL = "there is no GPU and no Qwen2.5-3B-instruct where this was made"
_IMPOSSIBLE = {
    TUNED: f"the deliberating model is fine-tuned on CoQA: {_NO_MODEL}",
    UNTUNED: f"a language model deliberates, as it comes: {_NO_MODEL}",
}
_NOTES = {
    BM25: "with the tokenisation of LongMemEval's released code, which keeps case and punctuation",
    DENSE: "in the place of Contriever, Stella and BGE-M3, which come from a model hub",
    FACTS: "facts and dates are recorded, the compiler's or by rules; the paper's are by a model",
    APART: "not in the paper: the facts that Associa's graph has, without a graph",
    WORDS: "not in the paper: the same BM25 with words in lower case, without punctuation",
    SEGMENTS: "not in the paper: the tiered document's WARM, without window, decay and threshold",
    NO_ASSOCIATION: "the utterances by similarity",
    BY_RULES: "events are facts and events that rules take from the rounds",
    NO_IMPORTANCE: (
        "of max_iter = 1; whether the paper's deliberates is not said; utterances of the subgraph "
        "and its events first, then those that share an entity, ties by the doc's hash"
    ),
    DELIBERATED: "a rule in the place of the deliberating model: words that no evidence has",
}


class Runs:
    """The rows of a study: per-question values, or why there are none."""

    def __init__(self, metrics: Metrics, plan: Plan, study: Study) -> None:
        self.metrics, self.study = metrics, study
        self._planned = {**plan.experiments, **plan.sweeps}

    def place(self, row: str) -> tuple[str, str]:
        """The experiment and the setting of a row."""
        experiment, setting = (part.format(**self.study._asdict()) for part in ROWS[row])
        return experiment, setting

    def why_not(self, row: str) -> str:
        """Why a row has no values; '' where it has."""
        experiment, setting = self.place(row)
        if not experiment:
            return _IMPOSSIBLE[row]
        if experiment not in self._planned:
            return f"{experiment} is not in params.yaml"
        if setting not in self.metrics.settings(experiment):
            return f"{' '.join([experiment, setting]).strip()} has not been run"
        return ""

    def values(self, row: str, metric: str, k: int) -> pd.DataFrame:
        """`query_id, kind, value` of a row that has been run."""
        experiment, setting = self.place(row)
        return self.metrics.values(experiment, LEVEL, metric, k, setting)

    def further(self) -> dict[str, str]:
        """Associa's experiments that no row of `ROWS` names: row → experiment."""
        named = {self.place(row)[0] for row in ROWS}
        return {
            name.removeprefix(f"{self.study.stem}-"): name
            for name, one in self._planned.items()
            if (one.method, one.dataset, one.vary) == ("associa", self.study.dataset, "")
            and name not in named
        }


def table1(runs: Runs) -> Iterator[Cell]:
    """Table 1's rows on a study: baselines and Associa."""
    for row in TABLE1:
        yield from _row(runs, row, row)


def table3(runs: Runs) -> Iterator[Cell]:
    """Table 3's rows on a study, and Associa's further variants."""
    for shown, row in TABLE3.items():
        yield from _row(runs, shown, row)
    for shown, experiment in runs.further().items():
        why = "" if runs.metrics.settings(experiment) else f"{experiment} has not been run"
        yield from _cells(runs, shown, why, experiment, "")


def _row(runs: Runs, shown: str, row: str) -> Iterator[Cell]:
    experiment, setting = runs.place(row)
    note = runs.study.events if row == ASSOCIA else _NOTES.get(row, "")
    yield from _cells(runs, shown, runs.why_not(row), experiment, setting, note)


def _cells(
    runs: Runs, row: str, why: str, experiment: str, setting: str, note: str = ""
) -> Iterator[Cell]:
    """A row's cells, or 'not run' with the reason."""
    for metric, k in (*COLUMNS, *_FURTHER):
        name = f"{metric}@{k}"
        if why:
            yield Cell(row, name, name, "", "", 0, NOT_RUN, note=why)
            continue
        found = runs.metrics.values(experiment, LEVEL, metric, k, setting)["value"]
        shown = number(found.mean())
        about = f"{row}: {note}" if note else ""
        yield Cell(row, name, name, "", shown, len(found), NOT_COMPARABLE, note=about)


def protocols(profile: str, runs: Runs) -> Iterator[Cell]:
    """Each row that was run under every protocol, by round and by session, with its n.

    The paper leaves out what cannot be recalled from the user's words, as the 'official' labels do.
    """
    table = read_table(paths.protocols(profile))
    shown = [(metric, k) for metric, k in COLUMNS if k == 5]
    for row in ROWS:
        experiment, setting = runs.place(row)
        found = table[(table["experiment"] == experiment) & (table["setting"] == setting)]
        columns = (found[c].tolist() for c in ("level", "protocol", "metric", "k", "n", "value"))
        for level, protocol, metric, k, n, value in zip(*columns, strict=True):
            if (metric, k) in shown:
                name = f"{row}; by {level}, {protocol}, n = {n}"
                column = f"{metric}@{k}"
                yield Cell(name, column, column, "", number(value), n, NOT_COMPARABLE)
