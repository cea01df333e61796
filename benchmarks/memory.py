"""Does the memory find? Any evidence of questions at equal tokens, peers in the same run.

    python -m benchmarks.memory --mirror ../shared/mirror --choose     settings, on one half
    python -m benchmarks.memory --mirror ../shared/mirror --calibrate  the threshold, on that half
    python -m benchmarks.memory --mirror ../shared/mirror              the table, on the other
    python -m benchmarks.memory --mirror ../shared/mirror --speed 1000 10000

What is chosen is chosen on LoCoMo's conversations 1-4 and on the first half of LongMemEval's oracle
questions: the setting of `GRID` with the best mean over both data sets and both budgets, weighed
alike. What is reported is of the rest. LongMemEval's questions share a history by 25, some 50
sessions as in its S. Peers search the same messages, a long one in the memory's windows, each by
its best window. A question counts where any turn that it names is among what fits the budget, the
best first. Those without an answer decide on no setting: all of them are in the abstention's curve.
Vectors come from the project's store. The lists that Letta has published are compared with ours, on
the same questions.
"""

import argparse
import itertools
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from sklearn.metrics import roc_auc_score

from benchmarks.memory_histories import History, Question, locomo, longmemeval
from benchmarks.memory_peers import DEPTH, Listed, Rank, cost_of, peers
from benchmarks.memory_speed import speed
from memrepro.encode.encoder import Encoder
from memrepro.encode.load import load_encoder
from memrepro.encode.vectors import VectorStore, embed
from memrepro.evaluate.comparison import Groups, compare, mean_interval, questions
from memrepro.memory.everything import Everything, mixed
from memrepro.memory.journal import day
from memrepro.memory.settings import EVERYTHING, Asked, Settings
from memrepro.memory.user_memory import ENCODER, Memory
from memrepro.text.dates import TimeRange
from memrepro.text.temporal import time_range

BUDGETS = (400, 800)
METRICS = (*(f"any at {budget}" for budget in BUDGETS), "turn recall at 5")
OURS = "memory"
# What is tried: the cosine's share, shares of the neighbours in both scores, and for which lengths.
_SHARES = ((), (0.2, 0.1), (0.4, 0.2), (0.6, 0.3))
GRID = {"alpha": (0.3, 0.4, 0.5, 0.6, 0.7), "near_cosines": _SHARES, "near_words": _SHARES,
        "near_length": (50, 100, 200, 400, 10**6)}  # fmt: skip
PACKAGE = Path(__file__).parents[1] / "memrepro"
THRESHOLDS = PACKAGE / "memory/thresholds.yaml"
LETTA = PACKAGE / "retrieve/outside/letta-locomo-5.tsv"


class Stored:
    """An encoder whose vectors come from the project's store, from any thread."""

    def __init__(self, name: str) -> None:
        self._encoder = load_encoder(name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    def encode(self, texts: Sequence[str], role: Any) -> np.ndarray:
        with VectorStore() as store:
            return embed(texts, self._encoder, role, store, progress=len(texts) > 1)


def of_memory(memory: Memory, later: float = 0.0) -> Rank:
    """The memory's ranking, asked so many seconds later.

    Not so for a question that names days: a year later "last week" is another one.
    """

    def rank(question: Question) -> Sequence[Listed]:
        now = question.now if span_of(question) else question.now + later
        found = memory.search(question.text, DEPTH, now=now)
        return [Listed(hit.id, cost_of(hit.id, hit.role, hit.text)) for hit in found]

    return rank


def span_of(question: Question) -> TimeRange | None:
    """The days that a question names."""
    return time_range(question.text, day(question.now))


def shown(ranking: Sequence[Listed], budget: int) -> set[str]:
    """What fits, the best first."""
    found, left = set(), budget
    for one in ranking:
        if one.tokens <= left:
            found.add(one.message_id)
            left -= one.tokens
    return found


def scored(question: Question, ranking: Sequence[Listed]) -> dict[str, float]:
    """Whether any evidence is shown, and the share of it among the first five."""
    five = {one.message_id for one in ranking[:5]}
    return {
        **{f"any at {b}": float(bool(question.gold & shown(ranking, b))) for b in BUDGETS},
        "turn recall at 5": len(question.gold & five) / len(question.gold),
    }


def unanswerable(history: History, encoder: Encoder) -> list[dict[str, Any]]:
    """How certain the memory is of the questions without an answer."""
    asked = [question for question in history.questions if not question.answerable]
    if not asked:
        return []
    with tempfile.TemporaryDirectory() as scratch, Memory(scratch, encoder=encoder) as memory:
        memory.add(history.chat)
        return [certainty(history, question, memory) for question in asked]


def found_by_all(history: History, encoder: Encoder, letta: Mapping[str, Sequence[str]]
                 ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:  # fmt: skip
    """One row a question and method, and one a question of how certain the memory was."""
    rows, sure = [], []
    with tempfile.TemporaryDirectory() as scratch:
        methods = peers(history, encoder, Path(scratch) / "lance")
        memories = states(Path(scratch), history, encoder)
        for name, (memory, later) in memories.items():
            methods[name] = of_memory(memory, later)
        for question in history.questions:
            if question.answerable and not question.gold:
                continue
            sure.append(certainty(history, question, memories["memory"][0]))
            about = {"data": history.data, "question": question.key}
            if not question.answerable:
                continue
            for name, rank in methods.items():
                rows.append({**about, "method": name, **scored(question, rank(question))})
            if question.key in letta:
                first = letta[question.key][:5]
                recall = len(question.gold.intersection(first)) / len(question.gold)
                rows.append({**about, "method": "Letta (published)", "turn recall at 5": recall})
        for memory, _ in memories.values():
            memory.close()
    print(f"{history.data}, {history.name}: {len(history.chat)} messages", flush=True)
    return rows, sure


def certainty(history: History, question: Question, memory: Memory) -> dict[str, Any]:
    """How certain a memory is that it has an answer: its best cosine and score, what it tells."""
    found = memory.tiers.search(question.text, question.now, k=10)
    return {
        "data": history.data, "answerable": question.answerable, "told": found.says != "",
        "cosine": max((item.cosine or 0.0 for item in found.items), default=0.0),
        "score": max((item.score for item in found.items), default=0.0),
    }  # fmt: skip


def states(root: Path, history: History, encoder: Encoder) -> dict[str, tuple[Memory, float]]:
    """The memory, after upkeep and a year of quiet, and after an export and import."""
    first, later, carried = (Memory(root, name, encoder=encoder) for name in "abc")
    end = max(message["at"] for message in history.chat)
    year = 365 * 86400.0
    for memory in (first, later):
        memory.add(history.chat)
    later.maintain(end + 86400)
    later.maintain(end + year)
    later.export(root / "out.json")
    carried.import_(root / "out.json")
    return {
        "memory": (first, 0.0), "memory, after upkeep and a year": (later, year),
        "memory, after export and import": (carried, 0.0),
    }  # fmt: skip


def choose(histories: Sequence[History], encoder: Encoder) -> pd.DataFrame:
    """Each setting of the grid: any evidence shown, data sets and budgets weighed alike.

    Cosines and words of a question are scored once, and mixed anew for each setting. What changed
    facts move is left out.
    """
    tried = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    settings: list[Settings] = [replace(EVERYTHING, **one) for one in tried]  # type: ignore[arg-type]
    rows = []
    for history in histories:
        with tempfile.TemporaryDirectory() as scratch, Memory(scratch, encoder=encoder) as memory:
            memory.add(history.chat)
            journal, index = memory.tiers.journal, memory.tiers.index
            search = Everything(journal, index, encoder, EVERYTHING, lambda work: work())
            windows_of = listed_segments(memory)
            for question in history.questions:
                if not (question.answerable and question.gold):
                    continue
                asked = Asked(question.text, question.now, span_of(question))
                with journal.snapshot():
                    signals = search.signals(asked)
                for names, values in zip(tried, settings, strict=True):
                    scores = mixed(signals, values) + signals.beside
                    found: dict[str, Listed] = {}
                    for row in np.argsort(-scores, kind="stable")[:DEPTH]:
                        one = windows_of[signals.ids[row]]
                        found.setdefault(one.message_id, one)
                    rows.append(
                        {
                            **{name: str(value) for name, value in names.items()},
                            "data": history.data,
                            **scored(question, list(found.values())),
                        }
                    )
        print(f"{history.data}, {history.name}", flush=True)
    by_data = pd.DataFrame(rows).groupby([*GRID, "data"]).mean().unstack("data")
    by_data["mean"] = by_data[[f"any at {budget}" for budget in BUDGETS]].mean(axis=1)
    return by_data.sort_values("mean", ascending=False).reset_index()


def listed_segments(memory: Memory) -> dict[str, Listed]:
    """Segment id → the message that it is, or of which it is a window."""
    said = {message.message_id: message for message in memory.messages()}
    found = {}
    for segment in memory.tiers.journal.segments():
        message = said[segment.message_ids[0]]
        window = segment.text.partition(f"{message.speaker}: ")[2] or message.text
        cost = cost_of(message.message_id, message.speaker, window)
        found[segment.segment_id] = Listed(message.message_id, cost)
    return found


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Each method's means by data set, each with its 95 % interval, and how far the memory is off.

    LoCoMo's intervals are by conversation, LongMemEval's by question.
    """
    found = []
    for (data, method), some in rows.groupby(["data", "method"], sort=False):
        keys = some["question"]
        of_ours = (rows["data"] == data) & (rows["method"] == OURS)
        ours = rows[of_ours].set_index("question").loc[keys]
        by_question = questions(len(keys))
        talks = Groups("conversation", tuple(key.rpartition("-q")[0] for key in keys))
        groups = talks if data == "LoCoMo" else by_question
        row: dict[str, object] = {"data": data, "method": method, "questions": len(keys)}
        for name in METRICS:
            values = some[name].to_numpy(float)
            if np.isnan(values).all():
                continue
            mean, low, high = mean_interval(values, groups)
            off = compare(values, ours[name].to_numpy(float), groups)
            row[name] = f"{mean:.3f} [{low:.3f}, {high:.3f}]"
            row[f"{OURS} − it, {name}"] = f"{off.difference:+.3f} [{off.low:+.3f}, {off.high:+.3f}]"
        found.append(row)
    return pd.DataFrame(found)


def curve(sure: pd.DataFrame) -> pd.DataFrame:
    """By threshold on the best cosine: the share that is told 'nothing certain', by data set."""
    rows = []
    asked = {(data, has): one for (data, has), one in sure.groupby(["data", "answerable"])}
    names = {True: "with an answer", False: "without"}
    for least in np.arange(0.2, 0.75, 0.05):
        row = {f"{data}, {names[has]}": (one["cosine"] < least).mean()
               for (data, has), one in asked.items()}  # fmt: skip
        rows.append({"threshold": f"{least:.2f}", **row})
    told = {f"{data}, {names[has]}": one["told"].mean() for (data, has), one in asked.items()}
    return pd.DataFrame([*rows, {"threshold": "default", **told}])


def areas(sure: pd.DataFrame) -> pd.DataFrame:
    """Area under the ROC curve: how well a number tells whether there is an answer."""
    return pd.DataFrame([
        {"data": data, "questions": len(one), "without": (~one["answerable"]).sum(),
         **{name: roc_auc_score(one["answerable"], one[name]) for name in ("cosine", "score")}}
        for data, one in sure.groupby("data")
    ])  # fmt: skip


def calibrate(histories: Sequence[History], encoder: Encoder, name: str) -> float:
    """Write an encoder's threshold, by the best cosine of each question with an answer.

    It is the largest twentieth below which at most 1 % of them lie.
    """
    best = []
    for history in histories:
        with tempfile.TemporaryDirectory() as scratch, Memory(scratch, encoder=encoder) as memory:
            memory.add(history.chat)
            best += [certainty(history, question, memory)["cosine"]
                     for question in history.questions if question.answerable]  # fmt: skip
    least = round(float(np.floor(20 * np.quantile(best, 0.01)) / 20), 2)
    head = [line for line in THRESHOLDS.read_text().splitlines() if line.startswith("#")]
    known = {**yaml.safe_load(THRESHOLDS.read_text()), name: least}
    THRESHOLDS.write_text("\n".join([*head, yaml.safe_dump(known)]))
    return least


def published() -> dict[str, list[str]]:
    """LoCoMo's question → the turns that Letta has published for it, the best first."""
    rows = [line.split("\t") for line in LETTA.read_text().splitlines()]
    return {key: [f"{key.rpartition('-q')[0]}:{turn}" for turn in turns.split()]
            for key, turns in rows}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mirror", type=Path, help="with locomo/ and longmemeval/")
    parser.add_argument("--encoder", help=f"default: {ENCODER}; of --speed: none, hashed words")
    parser.add_argument("--choose", action="store_true", help="try settings on the first half")
    parser.add_argument("--calibrate", action="store_true", help="write thresholds.yaml by it")
    parser.add_argument("--speed", type=int, nargs="+", metavar="SEGMENTS")
    arguments = parser.parse_args()
    if arguments.speed:
        times = speed(arguments.speed, arguments.encoder, arguments.mirror)
        print(times.to_markdown(index=False, floatfmt=".2f"))
    elif arguments.mirror:
        name = arguments.encoder or ENCODER
        encoder: Any = Stored(name)
        first, second = (
            [*locomo(arguments.mirror / "locomo/locomo10.json", half),
             *longmemeval(arguments.mirror / "longmemeval/longmemeval_oracle.json.xz", half)]
            for half in (True, False)
        )  # fmt: skip
        if arguments.choose:
            print(choose(first, encoder).round(4).to_markdown(index=False))
        if arguments.calibrate:
            print(f"{name}: {calibrate(first, encoder, name)}")
        if not (arguments.choose or arguments.calibrate):
            letta = published()
            both = [found_by_all(history, encoder, letta) for history in second]
            sure = [row for _, some in both for row in some]
            sure += [row for history in first for row in unanswerable(history, encoder)]
            rows = pd.DataFrame([row for some, _ in both for row in some])
            print(table(rows).to_markdown(index=False))
            print(curve(pd.DataFrame(sure)).to_markdown(index=False, floatfmt=".3f"))
            print(areas(pd.DataFrame(sure)).to_markdown(index=False, floatfmt=".3f"))


if __name__ == "__main__":
    main()
