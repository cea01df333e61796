"""Conversations with questions about them: a registered data set, or one's own files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path

import pandas as pd

from memrepro.core.memory import GRANULARITIES, Dataset, Memory, Parts, Piece, Query
from memrepro.data import read_pieces
from memrepro.data.fetch import check_before_use, fetch_all
from memrepro.data.registry import registration, registrations
from memrepro.encode.models import cache_folder
from memrepro.errors import MemreproError
from memrepro.evaluate.clustered import group_of
from memrepro.evaluate.comparison import QUESTION, Groups
from memrepro.face.defaults import dataset_parameters, unit_of
from memrepro.face.own.files import read_own
from memrepro.face.own.rows import Rows
from memrepro.files import paths
from memrepro.files.atomic import root
from memrepro.llm.model import LanguageModel
from memrepro.study.evaluation import Gold


@dataclass(frozen=True)
class Conversations:
    """Conversations, the questions asked of them, and which docs answer each question.

    A *memory* is all that a question may search: a conversation, or a person's.

    Attributes:
        name: of the data set, or of the file.
        dataset: memories and questions, as methods see them.
        labels: level ('session', 'round', 'turn', or one with other labels) → question → the parts
            of its answer, each a tuple of docs any one of which will do.
        unit: what an interval resamples: 'question', 'conversation' or 'person'.
        faults: question → why it has no gold, where that is known.
        noticed: what is odd in one's own files → the items (`face.own.noticed.KINDS`).
    """

    name: str
    dataset: Dataset
    labels: Mapping[str, Mapping[str, Parts]]
    unit: str
    faults: Mapping[str, str]
    noticed: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __repr__(self) -> str:
        counts = (len(self.dataset.memories), len(self.dataset.sessions), len(self.dataset.queries))
        said = "{:,} memories, {:,} sessions, {:,} questions".format(*counts)
        return f"<Conversations {self.name}: {said}>"

    @cached_property
    def turns(self) -> pd.DataFrame:
        """`memory_id, session_id, at, round_id, turn_id, speaker, text`, a row a turn, in order.

        `at` is when the session took place, ISO 8601 to the minute, '' where that is not known.
        """
        rows = [
            (memory.memory_id, session.session_id, at, r.round_id, *turn)
            for memory in self.dataset.memories.values()
            for session, at in zip(memory.sessions, memory.times, strict=True)
            for r in session.rounds
            for turn in r.turns
        ]
        return pd.DataFrame(
            rows,
            columns=["memory_id", "session_id", "at", "round_id", "turn_id", "speaker", "text"],
        )

    @cached_property
    def questions(self) -> pd.DataFrame:
        """`query_id, memory_id, kind, at, text`, a row a question."""
        columns = ["query_id", "memory_id", "kind", "at", "text"]
        rows = [[getattr(query, name) for name in columns] for query in self.dataset.queries]
        return pd.DataFrame(rows, columns=columns)

    @cached_property
    def gold(self) -> pd.DataFrame:
        """`query_id, level, part, doc_id`: the docs of one part of an answer are alternatives."""
        return gold_of(self.labels)

    def docs(self, level: str = "round") -> pd.DataFrame:
        """`memory_id, doc_id, session_id, at, text`: what is ranked, a row a doc.

        Args:
            level: 'session', 'round' or 'turn'.
        """
        if level not in GRANULARITIES:
            raise MemreproError(f"unknown level {level!r}: known are {', '.join(GRANULARITIES)}")
        rows = [
            (memory.memory_id, doc.round_id, session.session_id, at, " ".join(doc.fields.values()))
            for memory in self.dataset.memories.values()
            for session, at in zip(memory.sessions, memory.times, strict=True)
            for doc in GRANULARITIES[level](session)
        ]
        return pd.DataFrame(rows, columns=["memory_id", "doc_id", "session_id", "at", "text"])

    @property
    def level(self) -> str:
        """The docs that are ranked by default: rounds, or sessions where no round is marked."""
        return "round" if self.labels.get("round") else "session"

    def as_gold(self) -> Gold:
        """The labels as evaluation reads them."""
        kinds = {query.query_id: query.kind for query in self.dataset.queries}
        by_level = {level: self.labels.get(level, {}) for level in {*GRANULARITIES, *self.labels}}
        places = {
            doc_id: session.session_id
            for session in self.dataset.sessions
            for r in session.rounds
            for doc_id in (r.round_id, *(turn.turn_id for turn in r.turns))
            if doc_id != session.session_id
        }
        return Gold(kinds, self.faults, by_level, places)

    def groups(self, query_ids: Sequence[str]) -> Groups:
        """What each question belongs to, by the unit."""
        if self.unit == QUESTION:
            return Groups(QUESTION, ("",) * len(query_ids))
        memories = {query.query_id: query.memory_id for query in self.dataset.queries}
        return Groups(self.unit, tuple(group_of(memories[query]) for query in query_ids))


def gold_of(labels: Mapping[str, Mapping[str, Parts]]) -> pd.DataFrame:
    """Level → question → the parts of its answer, as the table `Conversations.gold`."""
    rows = [
        (query_id, level, number, doc_id)
        for level, by_query in labels.items()
        for query_id, parts in by_query.items()
        for number, part in enumerate(parts)
        for doc_id in part
    ]
    return pd.DataFrame(rows, columns=["query_id", "level", "part", "doc_id"])


def load(
    source: str | Path | Rows, questions: str | Path | Rows | None = None, *,
    make_questions: int = 0, model: LanguageModel | None = None,
) -> Conversations:  # fmt: skip
    """The conversations, questions and gold of a registered data set, or of one's own files.

    A registered data set's files are read where they are: in the repository's `data/raw`, or in the
    cache, to which they are fetched first (`$MEMREPRO_MIRROR` is tried before the network); each is
    checked against its SHA-256. `sample` is compiled by the package and needs no network.

    One's own conversations are JSON Lines (or mappings, or a DataFrame), one message each:
    `text`; where there are several, `conversation`; and if they are known `session`, `speaker` (or
    `role`), `at` and `id`. Messages are in order. A question has `question`; `gold`, the ids of the
    messages or sessions that answer it; and `conversation` where there are several; if known `id`,
    `kind` and `at`.
    Files of LoCoMo's and LongMemEval's form bring their questions; exports of ChatGPT and Claude
    are one conversation, each chat a session. Nothing is copied; what is odd is in `.noticed`.

    Args:
        source: a name such as 'locomo', or a file of conversations, or its rows.
        questions: with one's own conversations, the file of questions, or its rows.
        make_questions: how many questions to make instead, each a known-item test whose kind
            begins with 'made: '; never to be compared with real ones.
        model: of `llm`, that writes made questions; by default rules do.

    Raises:
        MemreproError: for an unknown name, files that cannot be had, or a row that cannot be used,
            with its number, what was found and the rule.

    Example:
        >>> import memrepro as mr
        >>> mr.load("sample")
        <Conversations sample: 48 memories, 195 sessions, 48 questions>
        >>> own = mr.load(
        ...     [{"id": "m1", "speaker": "user", "text": "I moved to Bern."},
        ...      {"id": "m2", "speaker": "assistant", "text": "How do you like it?"}],
        ...     questions=[{"id": "q1", "question": "Where do I live?", "gold": ["m1"]}],
        ... )
        >>> own.gold
          query_id    level  part doc_id
        0       q1  session     0      1
        1       q1    round     0     m1
        2       q1     turn     0     m1
    """
    is_name = isinstance(source, str) and source in registrations()
    if (
        questions is not None
        or make_questions
        or not isinstance(source, str)
        or (not is_name and ("." in source or "/" in source))
    ):
        return _own(source, questions, make_questions, model)
    if source not in registrations():
        raise MemreproError(
            f"no data set {source[:30]!r}: choose one of {', '.join(registrations())}, or give "
            "your own conversations as a .jsonl file"
        )
    return _of_pieces(source, *_registered(source))


def _own(
    source: str | Path | Rows, questions: str | Path | Rows | None, make: int,
    model: LanguageModel | None,
) -> Conversations:  # fmt: skip
    name = Path(source).stem if isinstance(source, str | Path) else "conversations"
    own = read_own(source, questions, make, model)
    if not any(piece.queries for piece in own.pieces):
        raise MemreproError(
            f"{name} comes without questions: give `questions`, a .jsonl file or rows with "
            "'question' and 'gold', or have some made (make_questions); to search texts alone, "
            "use search(texts, queries)"
        )
    return replace(_of_pieces(name, own.pieces, own.unit), noticed=own.noticed)


def _registered(name: str) -> tuple[Iterable[Piece], str]:
    """The pieces of a registered data set, its files fetched and checked, and its unit."""
    registered = registration(name)
    folder, parameters = files_of(name), dataset_parameters(name)
    if registered.compiled:
        if not is_here(name):
            import_module(f"memrepro.data.{registered.module}").compile_files(folder, parameters)
    else:
        if not is_here(name):
            fetch_all(registered, folder)
        check_before_use(registered, folder)
    pieces = read_pieces(registered.module, folder, name, parameters)
    return pieces, unit_of(registered.module)


def is_here(name: str) -> bool:
    """Whether the files of a registered data set are on this machine."""
    registered, folder = registration(name), files_of(name)
    if registered.compiled:
        return any(folder.glob("*.json"))
    return all((folder / file.path).is_file() for file in registered.files)


def files_of(name: str) -> Path:
    """The folder of a data set's files: the repository's where they are there, or the cache's."""
    try:
        root()
    except MemreproError:
        pass
    else:
        if paths.raw(name).is_dir():
            return paths.raw(name)
    return cache_folder() / "data" / name


def _of_pieces(name: str, pieces: Iterable[Piece], unit: str) -> Conversations:
    memories: dict[str, Memory] = {}
    queries: list[Query] = []
    labels: dict[str, dict[str, Parts]] = {}
    faults: dict[str, str] = {}
    for piece in pieces:
        memories[piece.memory.memory_id] = piece.memory
        queries += piece.queries
        faults.update(piece.faults)
        for level, by_query in piece.qrels.items():
            labels.setdefault(level, {}).update(by_query)
    return Conversations(name, Dataset(name, memories, tuple(queries)), labels, unit, faults)
