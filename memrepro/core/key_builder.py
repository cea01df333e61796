"""Makes keys: the docs of a memory's sessions, under a key scheme."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memrepro.core.extractions import Extractions
from memrepro.core.key_schemes import KeySpec, check_granularity
from memrepro.core.keys import Keys
from memrepro.core.memory import GRANULARITIES, Memory, Round, Session
from memrepro.core.ranking import tie_keys
from memrepro.errors import MemreproError


@dataclass
class PlainKeyBuilder:
    """Makes the keys of many memories; a session that stands in many of them is read once.

    Attributes:
        granularity: what a doc is: one of `GRANULARITIES`, or an extraction's name.
        key_scheme: `base` or `base+mode:extraction`.
        extractions: of the data set.
        texts: the texts of all keys made so far, each once.

    Raises:
        MemreproError: if the granularity or the key scheme is unknown.
    """

    granularity: str
    key_scheme: str
    extractions: Extractions = field(default_factory=lambda: Extractions({}))
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse what cannot be made."""
        check_granularity(self.granularity, self.key_scheme)
        self._spec = KeySpec.parse(self.key_scheme)
        self._place: dict[str, int] = {}
        # All docs and keys, session after session; a session is known by its object, not its text.
        self._number: dict[int, int] = {}
        self._sessions: list[Session] = []
        self._doc_ids: list[str] = []
        self._first_doc: list[int] = [0]
        self._first_key: list[int] = [0]
        self._owner: list[int] = []
        self._rows: list[int] = []
        self._fields: list[str] = []

    def docs(self, session: Session) -> tuple[Round, ...]:
        """The docs of a session."""
        if self.granularity in GRANULARITIES:
            return GRANULARITIES[self.granularity](session)
        return self.extractions.as_docs(self.granularity, session)

    def _number_of(self, session: Session) -> int:
        """The session's number, its docs and keys being read at the first time."""
        if (known := self._number.get(id(session))) is not None:
            return known
        number = self._number[id(session)] = len(self._sessions)
        self._sessions.append(session)  # so that its id() is not used again
        for doc in self.docs(session):
            for name, text in self._spec.keys(doc, session, self.extractions):
                if (row := self._place.setdefault(text, len(self.texts))) == len(self.texts):
                    self.texts.append(text)
                self._owner.append(len(self._doc_ids))
                self._rows.append(row)
                self._fields.append(name)
            self._doc_ids.append(doc.round_id)
        self._first_doc.append(len(self._doc_ids))
        self._first_key.append(len(self._rows))
        return number

    def make_all(self, memories: Sequence[Memory]) -> list[Keys]:
        """The keys of each memory, without vectors.

        Raises:
            MemreproError: if the key scheme gives a whole memory no key.
        """
        held = [np.array([self._number_of(s) for s in m.sessions], np.int64) for m in memories]
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

    def sessions_of_docs(self, memory: Memory) -> NDArray[np.int64]:
        """The index of each doc's session in the memory, shape (n_docs,)."""
        counts = [len(self.docs(session)) for session in memory.sessions]
        return np.repeat(np.arange(len(counts)), counts)


def _runs(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The whole numbers of each run, from its start on, one run after the other."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


def make_keys(memory: Memory, key_scheme: str, granularity: str = "round") -> Keys:
    """The keys of one memory without expansion, and without vectors."""
    return PlainKeyBuilder(granularity, key_scheme).make(memory)
