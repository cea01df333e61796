"""The facts that hold, found by their words and by what they are about."""

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from functools import lru_cache

from memrepro.memory.language.fact import Fact
from memrepro.memory.language.statements import Statement, read


class Known(Collection[Fact]):
    """Facts by id, kept in step by who changes them."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        """Hold these facts; what they are found by is read when it is first asked for."""
        self._facts = {fact.fact_id: fact for fact in facts}
        self._by_words, self._by_subject = _Index(_its_words), _Index(_its_subjects)

    def put(self, fact: Fact) -> None:
        """Add a fact, or put it in the place of the one of its id."""
        self.remove(fact.fact_id)
        self._facts[fact.fact_id] = fact
        for index in (self._by_words, self._by_subject):
            index.add(fact)

    def remove(self, fact_id: str) -> None:
        """Remove a fact, if it is there."""
        if fact := self._facts.pop(fact_id, None):
            for index in (self._by_words, self._by_subject):
                index.remove(fact)

    def in_words(self, text: str) -> list[Fact]:
        """The facts of the same words as a text."""
        return self._found(self._by_words, [same_words(text)])

    def about(self, told: Iterable[Statement]) -> list[Fact]:
        """The facts that have a clause of a statement's subject and attribute.

        Of a denial, and of a change of whatever it is, those of the subject alone.
        """
        return self._found(
            self._by_subject,
            [(one.subject, "" if one.denied or one.attribute == "*" else one.attribute)
             for one in told],
        )  # fmt: skip

    def has(self, fact_id: str) -> bool:
        """Whether there is a fact of an id."""
        return fact_id in self._facts

    def __getitem__(self, fact_id: str) -> Fact:
        return self._facts[fact_id]

    def __contains__(self, fact: object) -> bool:
        return isinstance(fact, Fact) and self._facts.get(fact.fact_id) == fact

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._facts.values())

    def __len__(self) -> int:
        return len(self._facts)

    def _found(self, index: "_Index", keys: Iterable[Hashable]) -> list[Fact]:
        ids = dict.fromkeys(one for key in keys for one in index.ids_of(self._facts.values(), key))
        return [self._facts[one] for one in ids]


class _Index:
    """Key → ids of facts, made when it is first asked."""

    def __init__(self, keys_of: Callable[[Fact], Iterable[Hashable]]) -> None:
        self._keys_of = keys_of
        self._ids: dict[Hashable, dict[str, None]] | None = None

    def ids_of(self, facts: Iterable[Fact], key: Hashable) -> Iterable[str]:
        if self._ids is None:
            self._ids = {}
            for fact in facts:
                self.add(fact)
        return self._ids.get(key, ())

    def add(self, fact: Fact) -> None:
        if self._ids is not None:
            for key in self._keys_of(fact):
                self._ids.setdefault(key, {})[fact.fact_id] = None

    def remove(self, fact: Fact) -> None:
        if self._ids is not None:
            for key in self._keys_of(fact):
                self._ids[key].pop(fact.fact_id, None)


@lru_cache(1 << 16)
def same_words(text: str) -> tuple[str, ...]:
    """The words of a text without case and punctuation; equal for texts that differ in no word."""
    return tuple(re.findall(r"\w+(?:['’]\w+)*", text.casefold().replace("’", "'")))


@lru_cache(1 << 16)
def clauses_read(text: str) -> tuple[tuple[Statement, ...], bool]:
    """The clauses that can be read, and whether these are all."""
    told = read(text)
    return tuple(one for one in told if one is not None), bool(told) and None not in told


def _its_words(fact: Fact) -> Iterable[Hashable]:
    return (same_words(fact.text),)


def _its_subjects(fact: Fact) -> Iterable[Hashable]:
    told = clauses_read(fact.text)[0]
    return {(one.subject, attribute) for one in told for attribute in ("", one.attribute)}
