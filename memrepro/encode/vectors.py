"""The embedding store: each text embedded once, kept outside DVC, safe against kills.

One SQLite file. A vector's key is a SHA-256 over the encoder's whole identity, the role, the
prompt and the text, so that no two settings ever share a vector.
"""

import hashlib
import json
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from memrepro.encode.encoder import (
    Encoder,
    EncoderIdentity,
    Role,
    Vectors,
    batches_of,
    check_vectors,
)
from memrepro.encode.models import cache_folder
from memrepro.errors import MemreproError
from memrepro.files.database import Database
from memrepro.files.progress import bar

_COLUMNS = (
    "key BLOB PRIMARY KEY, dimension INTEGER NOT NULL, crc INTEGER NOT NULL, value BLOB NOT NULL"
)


def vector_key(identity: EncoderIdentity, role: Role, prompt: str, text: str) -> bytes:
    """The 32-byte key of one vector: SHA-256 of a JSON list, so that no two inputs run together.

    Raises:
        MemreproError: if a text holds a lone surrogate, which no tokenizer takes.
    """
    parts = ["memrepro vector 1", sorted(asdict(identity).items()), role, prompt, text]
    try:
        return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).digest()
    except UnicodeEncodeError as error:
        raise MemreproError(
            f"a text of {len(text)} characters is not valid Unicode ({error.reason} at "
            f"{text[:40]!a}…): repair the data set's reader"
        ) from error


class VectorStore(Database):
    """Vectors by key in one SQLite file; several processes may use it at once (local disks only).

    Attributes:
        found: how many unique texts `embed` has found here, since this was opened.
        encoded: how many it had to encode.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Open the file (by default `embeddings.sqlite` in `models.cache_folder()`), or make it.

        Raises:
            MemreproError: if it is damaged or cannot be written.
        """
        self.found = self.encoded = 0
        super().__init__(
            path or cache_folder() / "embeddings.sqlite",
            "vectors",
            _COLUMNS,
            what="embedding store",
            if_damaged="delete it, with its -wal and -shm files, and run again; its vectors are "
            "made again",
            synchronous="NORMAL",
        )

    def read(self, keys: Sequence[bytes], dimension: int) -> Vectors:
        """The vectors of keys that are all here, (n, d) float32, in order.

        Raises:
            MemreproError: if one is missing, of another dimension, or damaged.
        """
        vectors = np.empty((len(keys), dimension), np.float32)
        rows_of: dict[bytes, list[int]] = {}
        for row, key in enumerate(keys):
            rows_of.setdefault(key, []).append(row)
        for key, d, crc, value in self.rows_of("key, dimension, crc, value", list(rows_of)):
            if d != dimension or len(value) != 4 * d or zlib.crc32(value) != crc:
                raise self.damaged(f"the vector {key.hex()[:12]}… does not fit its check")
            vectors[rows_of.pop(key)] = np.frombuffer(value, "<f4")
        if rows_of:
            raise self.damaged(f"{len(rows_of)} vectors are not there")
        return vectors

    def add(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Commit vectors (n, d) in one transaction; a key that is here already stays as it is.

        Raises:
            MemreproError: if one is not finite, or the file cannot be written.
        """
        if not np.isfinite(vectors).all():
            raise MemreproError(f"a vector with NaN or infinity was refused by {self.path}")
        rows = []
        for key, vector in zip(keys, vectors, strict=True):
            value = vector.astype("<f4").tobytes()
            rows.append((key, vector.size, zlib.crc32(value), value))
        self.insert(rows)


def embed(
    texts: Sequence[str],
    encoder: Encoder,
    role: Role,
    store: VectorStore,
    *,
    progress: bool = True,
    batch_size: int = 32,
) -> Vectors:
    """Texts → vectors (n, d) float32, in order, each unique text encoded at most once for ever.

    All are in memory at once; where that is too much, `fill` the store and have them `stored` part
    by part. Arguments and errors are those of `fill`.
    """
    fill(texts, encoder, role, store, progress=progress, batch_size=batch_size)
    return stored(texts, encoder, role, store)


def stored(texts: Sequence[str], encoder: Encoder, role: Role, store: VectorStore) -> Vectors:
    """The vectors (n, d) float32 of texts that a store was filled with, in order.

    Raises:
        MemreproError: if one is missing or damaged.
    """
    prompt = encoder.prompts[role]
    keys = [vector_key(encoder.identity, role, prompt, text) for text in texts]
    return store.read(keys, encoder.dimension)


def fill(
    texts: Sequence[str],
    encoder: Encoder,
    role: Role,
    store: VectorStore,
    *,
    progress: bool = True,
    batch_size: int = 32,
) -> None:
    """Encode the texts of which a store lacks the vector.

    Missing texts go in batches of like length, longest first, so that running out of memory shows
    at once; each is committed in order as it comes. A killed run therefore loses at most what is
    in flight (a batch on a CPU or one GPU, two for each of several GPUs), and goes on with the same
    batches.

    Args:
        texts: n texts, with or without repetitions.
        encoder: of vectors of d entries.
        role: decides the prompt.
        store: where vectors are kept; its `found` and `encoded` are increased.
        progress: a bar on a terminal; elsewhere a line on stderr now and then, and one at the end.
        batch_size: texts to a commit, where the encoder does not count tokens.

    Raises:
        MemreproError: if a vector is not finite, or the store cannot be used.
    """
    prompt = encoder.prompts[role]
    key_of = {
        text: vector_key(encoder.identity, role, prompt, text) for text in dict.fromkeys(texts)
    }
    wanted = set(store.missing(list(key_of.values())))
    todo = sorted((t for t, key in key_of.items() if key in wanted), key=lambda t: (-len(t), t))
    store.found += len(key_of) - len(todo)
    began, name = time.perf_counter(), encoder.identity.model
    with bar(len(todo), name, " texts", show=progress) as shown:

        def still_missing() -> Iterator[list[str]]:
            for batch in batches_of(todo, encoder, batch_size):
                # Another process may have committed some of these since.
                still = set(store.missing([key_of[text] for text in batch]))
                new = [text for text in batch if key_of[text] in still]
                store.found += len(batch) - len(new)
                shown.update(len(batch) - len(new))
                if new:
                    yield new

        for batch, vectors in encoder.stream(still_missing(), role):
            check_vectors(vectors, batch, encoder.identity, encoder.dimension)
            store.add([key_of[text] for text in batch], vectors)
            store.encoded += len(batch)
            shown.update(len(batch))
    if progress and todo and not sys.stderr.isatty():
        seconds = time.perf_counter() - began
        print(
            f"{name}: {len(key_of) - len(todo)} vectors found, {len(todo)} encoded in "
            f"{seconds:.1f} s ({len(todo) / seconds:.1f} texts/s)",
            file=sys.stderr,
        )
