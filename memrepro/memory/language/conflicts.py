"""Conflicts between a new statement and the facts that stand: add, update, delete or no-op.

328e0f776fdaed08, "Memory conflict resolution lacks standards" and its account of Mem0: new facts
are compared with existing ones, and an operation is chosen. By rules, unless a language model's
choices are recorded. What the rules cannot read, or what two facts fit, is added: nothing that
stands is given up for a guess.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
from pydantic import BaseModel, ConfigDict

from memrepro.core.similarity import Doubles
from memrepro.llm.model import LanguageModel, Prompt
from memrepro.llm.structured import Refused, parse
from memrepro.memory.language.english import SINGLE, STATES
from memrepro.memory.language.fact import Candidate, Decision, Fact, Operation, Similar
from memrepro.memory.language.known import Known, clauses_read, same_words
from memrepro.memory.language.prompts import prompt
from memrepro.memory.language.statements import ANYTHING, Item, Statement

NEAREST = 10  # facts that a model is shown
# A fact about one of these has one value at a time.
_EXCLUSIVE = SINGLE | {"residence", "employer", "occupation", "name", "drive", "when", "amount"}
# What is given up or changed to, without saying what one did with it.
_HABITS = frozenset({"drink", "eat", "smoke", "play", "use", "drive", "like", "prefer", "read",
                     "have", "take", "study", "employer", "do"})  # fmt: skip


def by_rules(candidate: Candidate, facts: Collection[Fact]) -> Decision:
    """Decide by rules on subject, attribute and value; the first that fits counts.

    1. The same words are a no-op; what cannot be read (`statements.read`) is added.
    2. A denial of one fact's whole statement deletes it; "I do not like" is a dislike instead.
    3. The same statement in other words is a no-op.
    4. An update: another value where there can be only one (a residence, two words of one kind
       after "I am"), another number of the same things, the opposite, or naming what is replaced.
       More words ("green tea" to "tea") or another condition ("in the morning") make none.
    5. All else is added.

    Of several facts that fit, the one that was last validated counts, ties by id; for a denial,
    none does if they differ in value.

    They err by adding: what they take for an update, a deletion or a no-op is so in all 114 cases
    of the tests, but of those that should be one and were not looked at while the rules were
    written they find 20 of 32; and three quarters of the statements in LoCoMo's talk cannot be
    read. Whoever needs conflicts resolved in free talk wants a model's recorded choices.
    """
    known = facts if isinstance(facts, Known) else Known(facts)
    if same := known.in_words(candidate.text):
        return Decision("noop", _latest_first(same)[0].fact_id, "the same words")
    new, is_whole = clauses_read(candidate.text)
    if not is_whole:
        return Decision("add", reason="not read")
    # Each rule below wants the subject to be the same.
    others = known.about(new)
    old = [(fact, *clauses_read(fact.text)) for fact in _latest_first(others)]
    whole = [(fact, told) for fact, told, is_whole in old if is_whole]
    if len(new) == 1 and new[0].denied:
        hit = [(fact, told) for fact, told in whole if all(_denies(new[0], one) for one in told)]
        values = {frozenset(one.value for one in told) for _, told in hit}
        if len(values) == 1:
            return Decision("delete", hit[0][0].fact_id, "denied")
        if hit:
            return Decision("add", reason="a denial that fits several")
    for fact, told, _ in old:
        if all(any(_same(mine, one) for one in told) for mine in new):
            return Decision("noop", fact.fact_id, "the same statement")
    for fact, told in whole:
        # All of a fact must be contradicted or repeated, since all of it is superseded.
        reasons = [reason for one in told for mine in new if (reason := _replaces(mine, one))]
        if reasons and all(
            any(_same(mine, one) or _replaces(mine, one) for mine in new) for one in told
        ):
            return Decision("update", fact.fact_id, reasons[0])
    return Decision("add", reason="new")


def _latest_first(facts: Collection[Fact]) -> list[Fact]:
    return sorted(facts, key=lambda fact: (-fact.last_validated_at, fact.fact_id))


def _repeats(candidate: Candidate, facts: Collection[Fact]) -> Decision | None:
    words = same_words(candidate.text)
    for fact in facts:
        if same_words(fact.text) == words:
            return Decision("noop", fact.fact_id, "the same words")
    return None


def apart(one: str, other: str) -> bool:
    """Whether two texts state different things, however alike they sound.

    They do if they differ in negation, in their numbers, if each names somebody or something whom
    the other does not, or if the rules read different subjects, conditions or values that are not
    one the other's part.
    """
    first, second = (
        {word for word in same_words(text) if word in _NOT or word.endswith("n't")}
        for text in (one, other)
    )
    if bool(first) != bool(second):
        return True
    numbers = [set(re.findall(r"\d+(?:[.:]\d+)*", text)) for text in (one, other)]
    if numbers[0] != numbers[1]:
        return True
    names = [_names(text) for text in (one, other)]
    if names[0] - names[1] and names[1] - names[0]:
        return True
    for mine in clauses_read(one)[0]:
        for its in clauses_read(other)[0]:
            if (mine.subject, mine.negative, mine.denied, mine.condition) != (
                its.subject, its.negative, its.denied, its.condition,
            ):  # fmt: skip
                return True
            if mine.attribute == its.attribute and not _part(mine.value, its.value):
                return True
    return False


_NOT = frozenset(
    ("no", "not", "never", "none", "nobody", "without", "hate", "dislike", "stopped", "quit")
)


def _names(text: str) -> set[str]:
    """Words with a capital that begin no sentence."""
    return {word.casefold() for word in re.findall(r"(?<![.!?:]\s)(?<!^)\b[A-Z]\w+", text)}


def _about(mine: Statement, its: Statement) -> bool:
    return (mine.subject, mine.condition) == (its.subject, its.condition)


def _same(mine: Statement, its: Statement) -> bool:
    return (
        _about(mine, its)
        and mine.attribute == its.attribute
        and {_counted(item) for item in mine.value} == {_counted(item) for item in its.value}
        and not any(item.more for item in mine.value)
        and (mine.negative, mine.denied) == (its.negative, its.denied)
    )


def _counted(item: Item) -> tuple[tuple[str, ...], str, int]:
    return item.words, item.name, item.count or 1


def _denies(mine: Statement, its: Statement) -> bool:
    """Whether a denial covers all of a statement."""
    if mine.subject != its.subject or its.denied or mine.negative != its.negative:
        return False
    if mine.attribute != its.attribute and not (
        (mine.attribute == "*" and its.attribute in _HABITS | {"residence"})
        or (mine.once and (mine.attribute, its.attribute) == ("have", "drive"))
    ):
        return False
    if mine.condition and mine.condition != its.condition:
        return False

    def covered(item: Item) -> bool:
        return any(
            _same_thing(item.words, gone.words, mine.once, item.name == gone.name)
            and (not gone.name or not item.name or gone.name == item.name)
            and not (mine.once and (item.count or 1) > 1)
            for gone in mine.value
        )

    return all(covered(item) for item in its.value)


def _same_thing(held: tuple[str, ...], gone: tuple[str, ...], once: bool, same_name: bool) -> bool:
    """Whether what is gone is what was held.

    "I sold the Clio" is of a Renault Clio, of Rex the name is enough, and coffee is coffee every
    morning.
    """
    if gone == ANYTHING:
        return same_name
    if "every" in held[1:]:
        held = held[: held.index("every")]
    return held == gone or (once and held[-len(gone) :] == gone)


def _replaces(mine: Statement, its: Statement) -> str:
    """Why a statement takes another's place, or ''."""
    if not _about(mine, its) or mine.denied:
        return ""
    words, others = ({item.words for item in one.value} for one in (mine, its))
    same_attribute = mine.attribute == its.attribute
    changed = mine.attribute == "*" and its.attribute in _HABITS
    if (same_attribute or changed) and mine.replaces >= its.value:
        return "named as replaced"
    if not same_attribute:
        other = changed and words != others and _one_kind(mine, its)
        return "changed to another of a kind" if other else ""
    if others <= words and (mine.negative != its.negative or its.denied):
        return "the opposite"
    if mine.negative != its.negative or its.denied or _part(mine.value, its.value):
        return _another_number(mine, its)
    if mine.attribute == "drive" and any(item.count != 1 for item in mine.value | its.value):
        return ""
    if mine.attribute in _EXCLUSIVE or mine.attribute.startswith("favourite "):
        # Only of the user can it be said who it is that "has" it.
        return "" if mine.attribute == "name" and "'s " in mine.subject else "one value at a time"
    if mine.attribute == "be":
        kinds = {item.kind for item in mine.value | its.value}
        return "another of a kind" if len(kinds) == 1 and kinds <= STATES else ""
    return "another of a kind" if mine.attribute == "prefer" and _one_kind(mine, its) else ""


def _another_number(mine: Statement, its: Statement) -> str:
    if len(mine.value) != 1 or len(its.value) != 1:
        return ""
    (new,), (old,) = mine.value, its.value
    differ = new.count is not None and old.count is not None and new.count != old.count
    if new.words == old.words and differ and not (new.name or old.name or new.more):
        return "another number"
    return ""


def _one_kind(mine: Statement, its: Statement) -> bool:
    if len(mine.value) != 1 or len(its.value) != 1:
        return False
    (new,), (old,) = mine.value, its.value
    if new.kind and new.kind == old.kind:
        return True
    # "Window seats" and "aisle seats"; "to work from home" and "to work in the office".
    many = len(new.words) > 1 and len(old.words) > 1
    return many and (new.words[-1] == old.words[-1] or new.words[:2] == old.words[:2])


def _part(some: frozenset[Item], others: frozenset[Item]) -> bool:
    """Whether one value has all the words of the other."""
    one, other = ({word for item in value for word in item.words} for value in (some, others))
    names = [{item.name for item in value if item.name} for value in (some, others)]
    if names[0] and names[1] and names[0] != names[1]:
        return False
    return one <= other or other <= one


class Choice(BaseModel):
    """A model's answer: an operation, and the number of the known fact that it is about."""

    model_config = ConfigDict(extra="forbid")
    operation: Operation
    fact: int | None = None


@dataclass
class ModelDecider:
    """Has a language model choose the operation among the nearest facts, as Mem0 does.

    The text of an update is the candidate's own: a model chooses, and writes nothing. The same
    words are a no-op without asking. An answer that cannot be used (`llm.structured`, a number that
    no fact has, 'add' with a number or another without) counts as 'add', which gives nothing up.

    Attributes:
        model: replays or records, see `memrepro.llm.choose.language_model`.
        similar: similarities of texts and others.
        nearest: how many facts the model is shown.
        counts: answers by kind (`llm.structured.KINDS`).
        refused: (candidate's text, reason) of those that could not be used.
    """

    model: LanguageModel
    similar: Similar
    nearest: int = NEAREST
    counts: Counter[str] = field(default_factory=Counter)
    refused: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, candidate: Candidate, facts: Collection[Fact]) -> Decision:
        """Decide.

        Raises:
            MemreproError: if the answer cannot be had, or when replayed is not recorded.
        """
        if repeated := _repeats(candidate, facts):
            return repeated
        if not facts:
            return Decision("add", reason="nothing known")
        shown = self._nearest(candidate, facts)
        (answer,) = self.model.answer([ask(candidate, shown)])
        try:
            choice = parse(answer, Choice)
            if (choice.operation == "add") != (choice.fact is None):
                raise Refused("misfit", f"{choice.operation} of the fact {choice.fact}")
            if choice.fact is not None and not 1 <= choice.fact <= len(shown):
                raise Refused("misfit", f"fact: {choice.fact} is none of 1 to {len(shown)}")
        except Refused as error:
            self.counts[error.kind] += 1
            self.refused.append((candidate.text, str(error)))
            return Decision("add", reason=f"unusable answer: {error.kind}")
        self.counts["used"] += 1
        if choice.fact is None:
            return Decision("add", reason="the model's choice")
        return Decision(choice.operation, shown[choice.fact - 1].fact_id, "the model's choice")

    def _nearest(self, candidate: Candidate, facts: Collection[Fact]) -> list[Fact]:
        known = sorted(facts, key=lambda fact: fact.fact_id)
        alike = self.similar([candidate.text], [fact.text for fact in known])[0]
        return [known[place] for place in np.argsort(-alike, kind="stable")[: self.nearest]]


def by_shared_words(texts: Sequence[str], others: Sequence[str]) -> Doubles:
    """The share of common words of texts and others, [n, m]: similar, with no encoder."""
    words = [[set(same_words(text)) for text in some] for some in (texts, others)]
    rows = [[len(a & b) / max(1, len(a | b)) for b in words[1]] for a in words[0]]
    return np.array(rows, np.float64).reshape(len(texts), len(others))


def ask(candidate: Candidate, shown: Sequence[Fact]) -> Prompt:
    """What a model is asked of a candidate and the nearest facts, numbered from 1."""
    known = [
        {"number": number, "text": fact.text, "said": _day(fact.last_validated_at)}
        for number, fact in enumerate(shown, start=1)
    ]
    new = {"text": candidate.text, "said": _day(candidate.at)}
    return prompt("decision", {"new": new, "known": known})


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).date().isoformat()
