"""Keys: what a memory is searched by. A keying says which texts of a doc are its keys.

A keying is a base, the fields that are keys, and perhaps an expansion of them by what was
extracted from the doc, written `base+mode:extraction`, such as `user_only+merge:nlp-fact`.
A key remembers the field that it was made of, so that a rule may weigh the fields.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from memrepro.errors import MemreproError
from memrepro.extractions import KINDS, Extractions
from memrepro.memory import GRANULARITIES, Memory, Round, Session
from memrepro.numerics.similarity import Doubles, Floats, max_by_owner, products
from memrepro.ranking import Ranking, tie_keys, top_k

# A doc's keys: (field, text), each field at most once.
Keying = Callable[[Round], Sequence[tuple[str, str]]]
EXPANSION = "expansion"  # the field of a key that was extracted
_BLOCK = 1 << 26  # scores held at once


def only(field: str) -> Keying:
    """One field's words alone (max-sim document, Eq. 1; LongMemEval §5.1: the user's)."""
    return lambda doc: [(field, doc.fields[field])] if field in doc.fields else []


def concat(doc: Round) -> Sequence[tuple[str, str]]:
    """All fields in order, joined by one space, as one key (max-sim document, Eq. 2)."""
    return [("all", " ".join(doc.fields.values()))] if doc.fields else []


def fielded(doc: Round) -> Sequence[tuple[str, str]]:
    """One key a field (max-sim document, Eq. 3: the doc's score is the best of its keys)."""
    return list(doc.fields.items())


# LoCoMo's two fields are its two speakers.
KEYINGS: Mapping[str, Keying] = {
    "user_only": only("user"),
    "assistant_only": only("assistant"),
    "speaker_a_only": only("speaker_a"),
    "speaker_b_only": only("speaker_b"),
    "concat": concat,
    "fielded": fielded,
}


def merge(keys: Sequence[tuple[str, str]], extracted: Sequence[str]) -> Sequence[tuple[str, str]]:
    """Each extracted text and a space before each key (LongMemEval §5.3, `K = V + fact`).

    Where nothing was extracted the keys stay as they are. (The released code drops a doc whose list
    of facts is empty, and keeps one whose extraction failed.)
    """
    if not extracted:
        return keys
    return [(name, f"{text} {key}") for name, key in keys for text in extracted]


def substitute(
    keys: Sequence[tuple[str, str]], extracted: Sequence[str]
) -> Sequence[tuple[str, str]]:
    """The extracted texts alone (LongMemEval Table 3, `K = fact`); no key where there is none."""
    return [(EXPANSION, text) for text in extracted]


def separate(
    keys: Sequence[tuple[str, str]], extracted: Sequence[str]
) -> Sequence[tuple[str, str]]:
    """The extracted texts as further keys of the doc (released code's `separate`)."""
    return [*keys, *((EXPANSION, text) for text in extracted)]


_MODES = {"merge": merge, "replace": substitute, "separate": separate}
# Joined by one space, all that was extracted is one text; split, each piece is one.
MODES = (*_MODES, *(f"split-{mode}" for mode in _MODES))


@dataclass(frozen=True)
class KeySpec:
    """A keying's parts: the base, and the mode and name of its expansion ('' without one)."""

    base: str
    mode: str = ""
    extraction: str = ""

    @staticmethod
    def parse(keying: str) -> "KeySpec":
        """Read `base` or `base+mode:source-kind`.

        Raises:
            MemreproError: if the base, the mode or the kind is unknown.
        """
        base, plus, expansion = keying.partition("+")
        mode, colon, extraction = expansion.partition(":")
        if base not in KEYINGS:
            raise MemreproError(f"unknown keying {base!r}: known are {', '.join(KEYINGS)}")
        if plus and (mode not in MODES or not colon or not is_extraction(extraction)):
            raise MemreproError(
                f"keying {keying!r} has the expansion {expansion!r}: write mode:source-kind, with "
                f"a mode of {', '.join(MODES)} and a kind of {', '.join(KINDS)}"
            )
        return KeySpec(base, mode, extraction)

    def keys(
        self, doc: Round, session: Session, extractions: Extractions
    ) -> Sequence[tuple[str, str]]:
        """The (field, text) pairs of a doc of a session."""
        keys = KEYINGS[self.base](doc)
        if not self.mode:
            return keys
        extracted = extractions.of_doc(self.extraction, session, doc)
        split = self.mode.startswith("split-")
        if extracted and not split:
            extracted = (" ".join(extracted),)
        return _MODES[self.mode.removeprefix("split-")](keys, extracted)


def is_extraction(name: str) -> bool:
    """Whether a name is one of an extraction, `<source>-<kind>`."""
    source, _, kind = name.rpartition("-")
    return bool(source) and kind in KINDS


def check_granularity(granularity: str, keying: str) -> None:
    """Refuse a granularity or keying that is unknown, or two that do not go together."""
    mode = KeySpec.parse(keying).mode
    if granularity not in GRANULARITIES and not is_extraction(granularity):
        raise MemreproError(
            f"unknown granularity {granularity!r}: known are {', '.join(GRANULARITIES)}, and an "
            f"extraction's name such as 'nlp-fact'"
        )
    if is_extraction(granularity) and keying != "concat":
        raise MemreproError(
            f"granularity {granularity!r} under the keying {keying!r}: an extraction has no "
            "speaker; choose the keying 'concat'"
        )
    if granularity == "turn" and mode:
        raise MemreproError(
            f"granularity 'turn' under the keying {keying!r}: extractions are of rounds and "
            "sessions, not of turns; choose a keying without expansion"
        )


@dataclass(frozen=True)
class Keys:
    """The keys of one memory.

    Attributes:
        doc_ids: the docs, shape (n_docs,), in the order of the memory.
        rows: each key's place in `unique`, shape (n_keys,).
        unique: the texts of all keys of the data set, each once, shape (n_unique,); shared.
        fields: the field of each key, shape (n_keys,); 'all' for a concatenation.
        owner: the doc's index of each key, shape (n_keys,), ascending.
        ties: what decides between docs of one score, the least first, shape (n_docs,).
        vectors: of the unique texts, shape (n_unique, dimension); shared; None for lexical search.
    """

    doc_ids: tuple[str, ...]
    rows: NDArray[np.int64]
    unique: Sequence[str]
    fields: tuple[str, ...]
    owner: NDArray[np.int64]
    ties: NDArray[np.uint64]
    vectors: Floats | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """One a key, shape (n_keys,)."""
        return tuple(self.unique[row] for row in self.rows)

    def with_vectors(self, vectors: Floats) -> "Keys":
        """The same keys with the vectors of the unique texts, shape (n_unique, dimension)."""
        if len(vectors) != len(self.unique):
            raise MemreproError(
                f"{len(vectors)} vectors for {len(self.unique)} texts: must be equal"
            )
        return replace(self, vectors=vectors)

    def key_scores(self, query_vectors: Floats) -> Doubles:
        """The similarity of each query with each key, shape (n_queries, n_keys).

        In double precision, so that no ranking hangs on the order in which a machine adds; and a
        text that is the key of two docs is scored once, so that they tie to the last bit.
        """
        if self.vectors is None:
            raise MemreproError("these keys have no vectors: this retriever needs an encoder")
        rows, place = np.unique(self.rows, return_inverse=True)
        return products(query_vectors, self.vectors[rows])[:, place]

    def best(self, key_scores: Doubles, which: NDArray[np.bool_] | None = None) -> Doubles:
        """Max-sim: each doc's best key, shape (n_queries, n_docs); −inf without a key.

        Args:
            key_scores: shape (n_queries, n_keys).
            which: shape (n_keys,), the keys that count; all of them where it is None.
        """
        if which is None:
            return max_by_owner(key_scores, self.owner, len(self.doc_ids))
        return max_by_owner(key_scores[:, which], self.owner[which], len(self.doc_ids))

    def doc_vectors(self) -> Floats:
        """One vector a doc, shape (n_docs, dimension).

        Raises:
            MemreproError: if a doc has no key, or more than one.
        """
        counts = np.bincount(self.owner, minlength=len(self.doc_ids))
        if self.vectors is None or (counts != 1).any():
            raise MemreproError(
                f"doc {self.doc_ids[int(np.argmax(counts != 1))]!r} has "
                f"{0 if self.vectors is None else counts[int(np.argmax(counts != 1))]} vectors: "
                "this retriever needs one a doc; choose the keying 'concat' or 'user_only'"
            )
        return self.vectors[self.rows]


@dataclass
class KeyMaker:
    """Makes the keys of many memories; a session that stands in many of them is read once.

    Attributes:
        granularity: what a doc is: one of `GRANULARITIES`, or an extraction's name.
        keying: `base` or `base+mode:extraction`.
        extractions: of the data set.
        texts: the texts of all keys made so far, each once.

    Raises:
        MemreproError: if the granularity or the keying is unknown.
    """

    granularity: str
    keying: str
    extractions: Extractions = field(default_factory=lambda: Extractions({}))
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse what cannot be made."""
        check_granularity(self.granularity, self.keying)
        self._spec = KeySpec.parse(self.keying)
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
            MemreproError: if the keying gives a whole memory no key.
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
                    f"memory {memory.memory_id!r} has no key under the keying {self.keying!r} by "
                    f"{self.granularity}: its rounds have the fields "
                    f"{sorted({f for r in memory.rounds for f in r.fields})}; choose another keying"
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


def make_keys(memory: Memory, keying: str, granularity: str = "round") -> Keys:
    """The keys of one memory without expansion, and without vectors."""
    return KeyMaker(granularity, keying).make(memory)


@dataclass(frozen=True)
class Request:
    """The queries asked of one memory: what a retriever is given, and all that it may see.

    Attributes:
        keys: of the memory.
        query_ids: shape (n_queries,).
        query_texts: shape (n_queries,).
        query_vectors: shape (n_queries, dimension), or None for a lexical retriever.
        doc_dates: each doc's dates as (first, last) ordinals, shape (n_docs,), or None.
        ranges: the dates that each query asks about, None for one that asks about none; shape
            (n_queries,), or None.
    """

    keys: Keys
    query_ids: Sequence[str]
    query_texts: Sequence[str]
    query_vectors: Floats | None = None
    doc_dates: Sequence[Sequence[tuple[int, int]]] | None = None
    ranges: Sequence[tuple[int, int] | None] | None = None

    def vectors_of_queries(self) -> Floats:
        """The queries' vectors, shape (n_queries, dimension).

        Raises:
            MemreproError: if there are none.
        """
        if self.query_vectors is None:
            raise MemreproError("these queries have no vectors: this retriever needs an encoder")
        return self.query_vectors

    def doc_scores(self) -> Doubles:
        """Max-sim of each query with each doc, shape (n_queries, n_docs)."""
        return self.keys.best(self.keys.key_scores(self.vectors_of_queries()))


# A row that is gathered costs about as much time as this many products of a query and a row.
_GATHERED = 30


def score_all(requests: Sequence[Request]) -> Iterator[tuple[Request, Doubles]]:
    """Each request with its key scores, shape (n_queries, n_keys).

    Where memories share their texts, all queries are scored against all unique vectors in one
    matrix product (in blocks, for memory), and a memory picks its columns; where they share few,
    each memory's own vectors are gathered instead. Whichever costs less is done.
    """
    if not requests:
        return
    shared = requests[0].keys.vectors
    asked = sum(len(r.query_ids) for r in requests)
    held = sum(len(r.keys.rows) for r in requests)
    one_product = (
        shared is not None
        and all(r.keys.vectors is shared for r in requests)
        and asked * len(shared) <= _GATHERED * held
    )
    if not one_product or shared is None:
        for request in requests:
            yield request, request.keys.key_scores(request.vectors_of_queries())
        return
    most = max(1, _BLOCK // len(shared))
    block: list[Request] = []
    size = 0
    for number, request in enumerate(requests, start=1):
        block.append(request)
        size += len(request.query_ids)
        if size >= most or number == len(requests):
            queries = np.concatenate([r.vectors_of_queries() for r in block])
            scores = products(queries, shared)
            start = 0
            for one in block:
                end = start + len(one.query_ids)
                yield one, scores[start:end, one.keys.rows]
                start = end
            block, size = [], 0


def best_first(request: Request, scores: Doubles, k: int) -> list[Ranking]:
    """The k best docs of each query of a request.

    Args:
        request: whose queries and docs these are.
        scores: shape (n_queries, n_docs).
        k: length of a ranking.
    """
    rankings = []
    for query_id, row in zip(request.query_ids, scores, strict=True):
        best = top_k(row, request.keys.ties, k)
        rankings.append(ranked(request.keys, query_id, best, row[best]))
    return rankings


def ranked(
    keys: Keys, query_id: str, docs: NDArray[np.intp], scores: NDArray[np.floating]
) -> Ranking:
    """A ranking of docs, given by index, with the score of each."""
    return Ranking(query_id, tuple(keys.doc_ids[i] for i in docs), tuple(map(float, scores)))
