"""What a reading study is: conditions under which the same questions are answered, as nouns.

Entries of `reading` in params.yaml become these in `memrepro.study.readings`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from pydantic import NonNegativeInt, dataclasses

from memrepro.errors import MemreproError
from memrepro.files.checked import STRICT

Form = Literal["json", "text"]
# What all conditions of a study share.
SHARED = ("dataset", "questions", "seed")
IN_WORDS = ("open", "short")


@dataclasses.dataclass(frozen=True, config=STRICT)
class Condition:
    """How questions are answered: by which model, of what it is shown, in which form.

    Attributes:
        dataset: key of the data set.
        model: key of `models` in params.yaml.
        answer: 'open' or 'short' (words, by the prompts of these names), 'letter' (one of the
            options, in words) or 'options' (the likeliest option).
        memory: what is shown: 'none', 'run' (the docs of a run), 'oracle' (the evidence) or 'whole'
            (the history).
        run: of which run; its `setting` if it is a sweep.
        setting: see there.
        granularity: what a doc is; a run's own, where there is one.
        k: at most so many docs of a run, or 0.
        tokens: at most so many tokens of a run's docs as shown, by o200k_base, or 0.
        room: a prompt of more tokens, by o200k_base, is not asked, and counted as too long; or 0.
        history: the form in which docs are shown.
        notes: 'no', 'one' (notes and the answer in one prompt), 'each' (a note a doc, then the
            answer from the notes).
        facts: an extraction, such as `nlp-fact`, that is shown beside each doc; or ''.
        facts_only: it stands in place of what was said.
        questions: of how many questions, drawn by kind; 0: of all.
        seed: of the draw, and of the order of options.
        judge: key of `models` for the judge of answers in words; '' for none.
        rubrics: the family of rubrics that it is told.
        prompts: a file of prompts in place of the project's own.
        run_profile: whose results folder the run lies in; found, not written.
    """

    dataset: str
    model: str
    answer: Literal["open", "short", "letter", "options"]
    memory: Literal["none", "run", "oracle", "whole"] = "run"
    run: str = ""
    setting: str = ""
    granularity: str = ""
    k: NonNegativeInt = 0
    tokens: NonNegativeInt = 0
    room: NonNegativeInt = 0
    history: Form = "json"
    notes: Literal["no", "one", "each"] = "no"
    facts: str = ""
    facts_only: bool = False
    questions: NonNegativeInt = 0
    seed: NonNegativeInt = 0
    judge: str = ""
    rubrics: str = "strict"
    prompts: str = ""
    run_profile: str = ""

    def check(self, where: str) -> None:
        """Refuse settings that do not go together.

        Raises:
            MemreproError: naming the entry, the setting and the rule.
        """
        shown = self.memory in ("oracle", "whole")
        rules = [
            ("run", bool(self.run) == (self.memory == "run"), "a condition has a run, or a memory"),
            ("setting", not self.setting or self.memory == "run", "only a run has settings"),
            ("granularity", bool(self.granularity) == (shown or bool(self.run)),
             "it says what a doc is of oracle and whole, and of nothing else"),
            ("k", not self.k or self.memory == "run", "only a run's docs are ranked"),
            ("tokens", not self.tokens or self.memory == "run", "only a run's docs are ranked"),
            ("notes", self.notes == "no" or self.answer == "open", "notes need an open answer"),
            ("facts_only", not self.facts_only or bool(self.facts), "it needs facts"),
            ("judge", not self.judge or self.answer in IN_WORDS, "options need no judge"),
        ]  # fmt: skip
        for name, good, rule in rules:
            if not good:
                raise MemreproError(f"{where} has {name} {getattr(self, name)!r}: {rule}")

    @property
    def prompt_name(self) -> str:
        """The name of its prompt in a file of prompts."""
        if self.answer in ("letter", "options"):
            return "options"
        return {"no": self.answer, "one": "noted", "each": "from_notes"}[self.notes]


@dataclass(frozen=True)
class ReadingStudy:
    """The same questions under several conditions.

    Attributes:
        name: its key in params.yaml.
        profile: whose results its rows belong to.
        data_profile: whose results folder holds the evidence of its data set.
        conditions: by name, in order; all share the settings `SHARED`.
    """

    name: str
    profile: str
    data_profile: str
    conditions: Mapping[str, Condition]

    def __post_init__(self) -> None:
        """Refuse conditions of different questions."""
        where = f"params.yaml: reading.{self.name}"
        if not self.conditions:
            raise MemreproError(f"{where} has no conditions: it needs at least one")
        for name in SHARED:
            found = {getattr(one, name) for one in self.conditions.values()}
            if len(found) > 1:
                raise MemreproError(
                    f"{where} has conditions with the {name} {sorted(found)}: they must answer the "
                    "same questions"
                )

    @property
    def any(self) -> Condition:
        """One of its conditions, for what all share."""
        return next(iter(self.conditions.values()))


FIELDS = frozenset(f.name for f in fields(Condition)) - {"run_profile"}


def choose(kinds: Mapping[str, str], count: int, seed: int) -> list[str]:
    """Questions by kind in the proportions of all: the same ones on every machine.

    Each kind has its share rounded down; what is left goes to the largest remainders, of equal ones
    to the kind that comes first. Of a kind come first those with the least SHA-256 of seed and id.

    Args:
        kinds: query id → kind, in the data set's order, in which they are returned.
        count: how many; 0 for all.
        seed: another one is another draw.

    Raises:
        MemreproError: if there are not so many.
    """
    if count > len(kinds):
        raise MemreproError(f"{count} questions are asked for, and there are {len(kinds)}")
    by_kind: dict[str, list[str]] = {}
    for query_id, kind in kinds.items():
        by_kind.setdefault(kind, []).append(query_id)
    wanted = count or len(kinds)
    sizes = {kind: divmod(wanted * len(ids), len(kinds)) for kind, ids in by_kind.items()}
    by_remainder = sorted(sizes, key=lambda kind: -sizes[kind][1])
    left = by_remainder[: wanted - sum(size for size, _ in sizes.values())]
    chosen = {
        query_id
        for kind, ids in by_kind.items()
        for query_id in sorted(
            ids, key=lambda one: hashlib.sha256(f"{seed} {one}".encode()).digest()
        )[: sizes[kind][0] + (kind in left)]
    }
    return [query_id for query_id in kinds if query_id in chosen]
