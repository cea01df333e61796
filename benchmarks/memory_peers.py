"""What a memory is compared with: cosine, BM25, the plain hybrid and LanceDB's own, as rankings.

They search the same messages, a long one in the memory's windows, each by its best window.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rank_bm25 import BM25Okapi

from benchmarks.memory_histories import History, Question
from memrepro.encode.encoder import Encoder
from memrepro.memory.language.words import spoken
from memrepro.memory.settings import EVERYTHING
from memrepro.retrieve.tiered.keys.segments import Message, one_line, segment_text
from memrepro.text.lengths import count_tokens
from memrepro.text.scripts import windows

DEPTH = 120


class Listed(NamedTuple):
    """A message of a ranking, and what it takes of a budget."""

    message_id: str
    tokens: int


Rank = Callable[[Question], Sequence[Listed]]


class _Piece(NamedTuple):
    message_id: str
    text: str
    tokens: int


def pieces(chat: Sequence[Mapping[str, Any]]) -> list[_Piece]:
    """The messages as a memory cuts and encodes them."""
    found = []
    for said in chat:
        for window in windows(said["content"], EVERYTHING.window):
            message = Message(said["id"], said["role"], said["at"], window)
            cost = cost_of(said["id"], said["role"], window)
            found.append(_Piece(said["id"], spoken(segment_text([message])), cost))
    return found


def cost_of(message_id: str, role: str, text: str) -> int:
    """Tokens of a line of `Memory.context`."""
    return count_tokens(f"- {role}: {one_line(text)} [{message_id[:12]}]\n")


def peers(history: History, encoder: Encoder, folder: Path) -> dict[str, Rank]:
    """Name → what ranks the messages for a question, each once, by its best window."""
    import lancedb
    from lancedb.index import FTS

    cut = pieces(history.chat)
    texts = [piece.text for piece in cut]
    vectors = encoder.encode(texts, "document")
    bm25 = BM25Okapi([words(text) for text in texts])
    table = lancedb.connect(folder).create_table(
        "messages", [{"id": n, "text": t, "vector": v} for n, (t, v) in
                     enumerate(zip(texts, vectors, strict=True))]
    )  # fmt: skip
    table.create_index("text", config=FTS())

    def cosine(query: str) -> np.ndarray:
        return vectors @ encoder.encode([query], "query")[0]

    def lexical(query: str) -> np.ndarray:
        return bm25.get_scores(words(query))

    def hybrid(query: str) -> np.ndarray:
        scores = lexical(query)
        return 0.5 * cosine(query) + 0.5 * scores / max(scores.max(), 1e-12)

    def lance(query: str) -> Sequence[int]:
        said = re.sub(r"[^\w ]+", " ", query)
        search = table.search(query_type="hybrid").vector(encoder.encode([query], "query")[0])
        return search.text(said).limit(2 * DEPTH).to_arrow().column("id").to_pylist()

    def sorted_by(scores: Callable[[str], np.ndarray]) -> Callable[[str], Sequence[int]]:
        return lambda query: np.argsort(-scores(query), kind="stable").tolist()

    def listed(places: Callable[[str], Sequence[int]]) -> Rank:
        def rank(question: Question) -> Sequence[Listed]:
            found: dict[str, Listed] = {}
            for place in places(question.text):
                piece = cut[place]
                found.setdefault(piece.message_id, Listed(piece.message_id, piece.tokens))
            return list(found.values())[:DEPTH]

        return rank

    return {
        "cosine (numpy)": listed(sorted_by(cosine)), "BM25 (rank_bm25)": listed(sorted_by(lexical)),
        "plain hybrid, 0.5": listed(sorted_by(hybrid)), "LanceDB, its own hybrid": listed(lance),
    }  # fmt: skip


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
