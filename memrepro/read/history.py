"""Which part of a history a reader is shown: docs of a run, the evidence, all of it, or nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from memrepro.core.extractions import Extractions
from memrepro.core.key_schemes import is_extraction
from memrepro.core.memory import GRANULARITIES, Memory, Parts, Round, Session
from memrepro.core.prepared import load_qrels
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.read.plan import Condition, Form, ReadingStudy
from memrepro.read.prompts import Item, show
from memrepro.text.lengths import count_tokens

FACT = "fact about the user"


@dataclass(frozen=True)
class Shown:
    """What a reader is shown for one question.

    Attributes:
        items: best first.
        dropped: how many docs more would have been, were there room for them.
    """

    items: tuple[Item, ...]
    dropped: int


@dataclass
class Histories:
    """The docs of memories as items; those of the last memory are kept.

    Attributes:
        granularity: what a doc is: one of `GRANULARITIES`, or an extraction's name.
        extractions: of the data set.
        facts: the extraction that is shown with each doc, or ''.
        facts_only: it stands in place of the doc; one of which nothing was extracted is not shown.
        names: memory id → field → the person's name.
    """

    granularity: str
    extractions: Extractions
    facts: str = ""
    facts_only: bool = False
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Nothing is read yet."""
        self._last: tuple[str | None, dict[str, Item]] = (None, {})

    def items(self, memory: Memory) -> Mapping[str, Item]:
        """Doc id → item, in the history's order."""
        if memory.memory_id != self._last[0]:
            found: dict[str, Item] = {}
            for session, at in zip(memory.sessions, memory.times, strict=True):
                for doc, said in self._docs(session, self.names.get(memory.memory_id, {})):
                    found[doc.round_id] = Item(at, len(found), said)
            self._last = (memory.memory_id, found)
        return self._last[1]

    def _docs(
        self, session: Session, names: Mapping[str, str]
    ) -> Iterator[tuple[Round, tuple[tuple[str, str], ...]]]:
        if is_extraction(self.granularity):
            for doc in self.extractions.as_docs(self.granularity, session):
                yield doc, tuple((FACT, turn.text) for turn in doc.turns)
            return
        for doc in GRANULARITIES[self.granularity](session):
            whole = self.granularity == "session"
            # A session as one doc has each person's words joined; a reader sees who said what when.
            turns = [t for r in session.rounds for t in r.turns] if whole else doc.turns
            said = [(names.get(turn.field, turn.field), turn.text) for turn in turns]
            known = self.extractions.of_doc(self.facts, session, doc) if self.facts else ()
            yield doc, tuple([(FACT, text) for text in known] + said * (not self.facts_only))


def within(items: Sequence[Item], tokens: int, form: Form) -> int:
    """How many items, best first, have at most so many tokens together as they are shown.

    They are given whole, until one does not fit (as `evaluate.budgets.tokens_until`).
    """
    sizes = (count_tokens(show(item, len(items), form)) for item in items)
    return sum(total <= tokens for total in accumulate(sizes))


def found(condition: Condition, study: ReadingStudy) -> Mapping[str, Sequence[str]]:
    """Query id → the docs to show, best first; of 'none' and 'whole' nothing.

    Raises:
        MemreproError: if the run or the evidence is not here.
    """
    if condition.memory == "run":
        return ranked(paths.run(condition.run_profile, condition.run), condition)
    if condition.memory == "oracle":
        path = paths.qrels(study.data_profile, condition.dataset)
        _, gold = load_qrels(path, condition.granularity)
        return {query_id: _all_of(parts) for query_id, parts in gold.items()}
    return {}


def _all_of(parts: Parts) -> list[str]:
    return list(dict.fromkeys(doc_id for part in parts for doc_id in part))


def ranked(path: Path, condition: Condition) -> Mapping[str, Sequence[str]]:
    """Query id → the best docs of a run, or of one setting of a sweep."""
    table = read_table(path)
    if condition.setting:
        table = table[table["setting"] == condition.setting]
    table = table.sort_values(["query_id", "rank"], kind="stable")
    if condition.k:
        table = table[table["rank"] <= condition.k]
    groups = table.groupby("query_id", sort=False, observed=True)["doc_id"]
    return {str(query_id): list(ids) for query_id, ids in groups}


def shown_of(
    condition: Condition, items: Mapping[str, Item], wanted: Sequence[str], query_id: str
) -> Shown:
    """What a question's reader is shown of a memory's items.

    Raises:
        MemreproError: if a doc is not in the memory.
    """
    if condition.memory == "whole":
        return Shown(tuple(items.values()), 0)
    if lost := [doc_id for doc_id in wanted if doc_id not in items]:
        raise MemreproError(
            f"the docs of {condition.run or condition.memory} for question {query_id} hold "
            f"{lost[0]!r}, which is no {condition.granularity} of its memory: run it again on the "
            "data set as it is prepared now"
        )
    # In place of docs there may be nothing to show.
    best = [items[doc_id] for doc_id in wanted if items[doc_id].said]
    kept = within(best, condition.tokens, condition.history) if condition.tokens else len(best)
    return Shown(tuple(best[:kept]), len(best) - kept)
