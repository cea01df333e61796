"""How fast a memory is beside plain LanceDB: searches, additions and deletions, in one run.

Of made words, which state nothing, and of real talk: LoCoMo's and LongMemEval's messages in order
of time, asked their questions. LanceDB has a row for each of the memory's segments, with the same
vectors; a long message is several. The two take turns, so that what else runs weighs on both.
"""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.memory_histories import locomo, longmemeval
from benchmarks.memory_peers import pieces
from memrepro.encode.encoder import Encoder, HashEncoder
from memrepro.encode.load import load_encoder
from memrepro.memory.user_memory import Memory

_AT_ONCE = 100
_QUERIES = 200
_DELETED = 40
# The last of LongMemEval's messages are left out, so that LoCoMo's are more than half.
_MOST = 10000
STORES = ("LanceDB", "memory")


class Talk(NamedTuple):
    """Messages as `Memory.add` takes them, and what is asked of them."""

    name: str
    chat: Sequence[dict[str, Any]]
    queries: Sequence[str]


def made_words(size: int) -> Talk:
    """Messages of twelve words, and queries of six, drawn from 5,000."""
    rng = np.random.default_rng(7)
    vocabulary = [f"word{n}" for n in range(5000)]
    texts = [" ".join(rng.choice(vocabulary, 12)) for _ in range(size)]
    chat = [{"id": f"m{n}", "role": "user", "content": text, "at": 1.6e9 + 60 * n}
            for n, text in enumerate(texts)]  # fmt: skip
    return Talk("made words", chat, [" ".join(rng.choice(vocabulary, 6)) for _ in range(_QUERIES)])


def real_talk(mirror: Path) -> Talk:
    """What people and assistants said, in order of time, and the questions."""
    histories = [
        history
        for read, name in ((locomo, "locomo/locomo10.json"),
                           (longmemeval, "longmemeval/longmemeval_oracle.json.xz"))
        for first in (True, False)
        for history in read(mirror / name, first)
    ]  # fmt: skip
    chat = {message["id"]: message for history in histories for message in history.chat}
    queries = [question.text for history in histories for question in history.questions]
    some = sorted(list(chat.values())[:_MOST], key=lambda message: message["at"])
    return Talk("real talk", some, queries[:: len(queries) // _QUERIES][:_QUERIES])


def speed(
    sizes: Sequence[int], name: str | None = None, mirror: Path | None = None
) -> pd.DataFrame:
    """Milliseconds of a search, of a message added by the hundred and of a deletion; LanceDB too.

    By the clock, and of the processor, which a busy machine changes less. The same encoder stands
    before both; where none is named vectors are hashes of words.
    """
    encoder = load_encoder(name) if name else HashEncoder(384)
    talks = [made_words(size) for size in sizes]
    if mirror:
        said = real_talk(mirror)
        talks += [said._replace(chat=said.chat[:size]) for size in sizes]
    return pd.DataFrame([row for talk in talks for row in of_talk(talk, encoder)])


def of_talk(talk: Talk, encoder: Encoder) -> list[dict[str, Any]]:
    """A row for each store."""
    import lancedb

    with tempfile.TemporaryDirectory() as scratch:
        # What a process loads once, such as the words for dates.
        with Memory(scratch, "first", encoder=encoder) as first:
            first.add("Yesterday, on 5 May, I moved to Oslo")
        cut: dict[str, list[dict[str, Any]]] = {}
        for piece in pieces(talk.chat):
            cut.setdefault(piece.message_id, []).append(
                {"id": piece.message_id, "text": piece.text}
            )
        vector = encoder.encode(["a"], "document")[0]
        table = lancedb.connect(Path(scratch) / "lance").create_table(
            "messages", [{"id": "", "text": "", "vector": vector}]
        )
        memory = Memory(scratch, encoder=encoder)

        def add_lance(some: Sequence[Mapping[str, Any]]) -> None:
            rows = [row for message in some for row in cut[message["id"]]]
            vectors = encoder.encode([row["text"] for row in rows], "document")
            table.add([{**row, "vector": v} for row, v in zip(rows, vectors, strict=True)])

        def search_lance(query: str) -> None:
            table.search(encoder.encode([query], "query")[0]).limit(5).to_list()

        chat, rows = talk.chat, sum(map(len, cut.values()))
        batches = [chat[at : at + _AT_ONCE] for at in range(0, len(chat), _AT_ONCE)]
        gone = [message["id"] for message in chat[:: len(chat) // _DELETED][:_DELETED]]
        adding = timed(batches, add_lance, memory.add)
        searching = timed(talk.queries, search_lance, memory.search)
        deleting = timed(gone, lambda key: table.delete(f"id = '{key}'"), memory.forget)
        memory.close()
    return [
        {
            "messages": len(chat), "segments": rows, "of": talk.name, "store": store,
            "search p50": np.percentile(search[0], 50), "search p95": np.percentile(search[0], 95),
            "search, CPU p50": np.median(search[1]),
            "add, a message": add[0].sum() / len(chat), "add, CPU": add[1].sum() / len(chat),
            "deletions": len(gone), "delete p50": np.median(delete[0]),
            "delete p95": np.percentile(delete[0], 95), "delete, CPU p50": np.median(delete[1]),
            "delete, CPU p95": np.percentile(delete[1], 95),
        }
        for store, add, search, delete in zip(STORES, adding, searching, deleting, strict=True)
    ]  # fmt: skip


def timed(given: Sequence[Any], *works: Callable[[Any], object]) -> list[np.ndarray]:
    """Milliseconds of each call of each work, in turns: by the clock, and of the processor."""
    found: list[list[tuple[float, float]]] = [[] for _ in works]
    for one in given:
        for times, work in zip(found, works, strict=True):
            began, used = time.perf_counter(), time.process_time()
            work(one)
            times.append((time.perf_counter() - began, time.process_time() - used))
    return [1000 * np.array(times).T for times in found]
