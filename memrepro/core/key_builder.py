"""Builds keys: the docs of a memory's sessions, under a key scheme."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from memrepro.core.extractions import Extractions
from memrepro.core.key_schemes import KeySpec, check_granularity
from memrepro.core.keys import Keys, Request
from memrepro.core.memory import GRANULARITIES, Memory, Query, Round, Session
from memrepro.core.ranking import tie_keys
from memrepro.errors import MemreproError


@dataclass
class KeyBuilder(ABC):
    """Builds the keys of many memories; a family of key schemes is one subclass.

    Attributes:
        granularity: what a doc is: one of `GRANULARITIES`, or an extraction's name.
        key_scheme: which texts of a doc are its keys.
        extractions: of the data set.
        texts: the texts of all keys made so far, each once.

    Raises:
        MemreproError: if the granularity or the key scheme is unknown.
    """

    timed: ClassVar[bool] = False  # whether a query sees only what was said before it is asked
    granularity: str
    key_scheme: str
    extractions: Extractions = field(default_factory=lambda: Extractions({}))
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        self._scheme: Any = self.parse(self.granularity, self.key_scheme)
        self._places = _Places(self.texts)

    @staticmethod
    @abstractmethod
    def parse(granularity: str, key_scheme: str) -> object:
        """The parts of a key scheme.

        Raises:
            MemreproError: if the granularity or the key scheme is unknown, or the two do not go
                together.
        """

    @abstractmethod
    def make(self, memory: Memory) -> Keys:
        """The keys of one memory, without vectors."""

    def make_all(self, memories: Sequence[Memory]) -> list[Keys]:
        """The keys of each memory, as `make`."""
        return [self.make(memory) for memory in memories]

    def docs(self, session: Session) -> tuple[Round, ...]:
        """The docs of a session, also those without keys."""
        return GRANULARITIES[self.granularity](session)

    def sessions_of_docs(self, memory: Memory) -> NDArray[np.int64]:
        """The index of each doc's session in the memory, shape (n_docs,)."""
        counts = [len(self.docs(session)) for session in memory.sessions]
        return np.repeat(np.arange(len(counts)), counts)

    def request(
        self, keys: Keys, memory: Memory, queries: Sequence[Query], **vectors: Any
    ) -> Request:
        """What a retriever is given of a memory: its keys and the queries asked of it.

        Args:
            keys: of the memory.
            memory: for what a family's requests know of it, such as times.
            queries: of the memory.
            vectors: further fields of `Request`, such as `query_vectors`.
        """
        ids, texts = [query.query_id for query in queries], [query.text for query in queries]
        return Request(keys, ids, texts, doc_sessions=self.sessions_of_docs(memory), **vectors)

    def row_of(self, text: str) -> int:
        """A key's place among the texts, where it is put if it is new."""
        return self._places[text]


class _Places(dict[str, int]):
    """Each text's place in a list, to whose end a new one is put."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__(zip(texts, range(len(texts)), strict=True))
        self._texts = texts

    def __missing__(self, text: str) -> int:
        place = self[text] = len(self._texts)
        self._texts.append(text)
        return place


@dataclass
class PlainKeyBuilder(KeyBuilder):
    """Keys of `base` or `base+mode:extraction`; a session of many memories is read once."""

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        super().__post_init__()
        # All docs and keys, session after session; a session is known by its object, not its text.
        self._number: dict[int, int] = {}
        self._sessions: list[Session] = []
        self._doc_ids: list[str] = []
        self._first_doc: list[int] = [0]
        self._first_key: list[int] = [0]
        self._owner: list[int] = []
        self._rows: list[int] = []
        self._fields: list[str] = []

    @staticmethod
    def parse(granularity: str, key_scheme: str) -> KeySpec:
        """The parts of a key scheme, see `core.key_schemes`."""
        check_granularity(granularity, key_scheme)
        return KeySpec.parse(key_scheme)

    def docs(self, session: Session) -> tuple[Round, ...]:
        """The docs of a session: rounds, turns, the whole, or what was extracted from it."""
        if self.granularity in GRANULARITIES:
            return super().docs(session)
        return self.extractions.as_docs(self.granularity, session)

    def _numbers_of(self, memory: Memory) -> list[int]:
        """The numbers of a memory's sessions; the docs and keys of a new one are read."""
        known = self._number
        for session in memory.sessions:
            if id(session) not in known:
                known[id(session)] = len(self._sessions)
                self._sessions.append(session)  # so that its id() is not used again
                self._read(session)
        return list(map(known.__getitem__, map(id, memory.sessions)))

    def _read(self, session: Session) -> None:
        """Add a session's docs and keys."""
        places, rows, fields, owner = self._places, self._rows, self._fields, self._owner
        for number, doc in enumerate(self.docs(session), len(self._doc_ids)):
            for name, text in self._scheme.keys(doc, session, self.extractions):
                owner.append(number)
                rows.append(places[text])
                fields.append(name)
            self._doc_ids.append(doc.round_id)
        self._first_doc.append(len(self._doc_ids))
        self._first_key.append(len(self._rows))

    def make_all(self, memories: Sequence[Memory]) -> list[Keys]:
        """The keys of each memory, without vectors.

        Raises:
            MemreproError: if the key scheme gives a whole memory no key.
        """
        held = [np.array(self._numbers_of(memory), np.int64) for memory in memories]
        doc_ids, fields = (np.array(x, object) for x in (self._doc_ids, self._fields))
        owner, rows = np.array(self._owner, np.int64), np.array(self._rows, np.int64)
        first_doc, first_key = np.array(self._first_doc), np.array(self._first_key)
        ties = tie_keys(self._doc_ids)
        made = []
        for memory, numbers in zip(memories, held, strict=True):
            n_docs, n_keys = (
                first[numbers + 1] - first[numbers] for first in (first_doc, first_key)
            )
            docs = _runs(first_doc[numbers], n_docs)
            keys = _runs(first_key[numbers], n_keys)
            if not len(keys):
                raise MemreproError(
                    f"memory {memory.memory_id!r} has no key under the key scheme "
                    f"{self.key_scheme!r} by {self.granularity}: its rounds have the fields "
                    f"{sorted({f for r in memory.rounds for f in r.fields})}; choose another"
                )
            # A session's first doc stands elsewhere in the memory than among all docs.
            moved = np.cumsum(n_docs) - n_docs - first_doc[numbers]
            made.append(
                Keys(
                    tuple(doc_ids[docs].tolist()),
                    rows[keys],
                    self.texts,
                    tuple(fields[keys].tolist()),
                    owner[keys] + np.repeat(moved, n_keys),
                    ties[docs],
                )
            )
        return made

    def make(self, memory: Memory) -> Keys:
        """The keys of one memory, as `make_all`."""
        return self.make_all([memory])[0]


def _runs(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The whole numbers of each run, from its start on, one run after the other."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


def make_keys(memory: Memory, key_scheme: str, granularity: str = "round") -> Keys:
    """The keys of one memory without expansion, and without vectors."""
    return PlainKeyBuilder(granularity, key_scheme).make(memory)
