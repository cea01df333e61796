"""Whether memory stays flat: 100,000 texts embedded, a million segments taken in and searched.

    python benchmarks/long_runs.py [--texts 100000] [--segments 1000000] [--encoder NAME]
                                    [--messages 3]

The resident memory of this process after each tenth, and what the files take. Texts and segments
are those of `memory_scale.py`: drawn words, a vector drawn for each; the texts by the real encoder.
"""

import argparse
import time
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import psutil
from memory_scale import APART, opened, questions, segments

from memrepro.encode.encoder import Encoder, HashEncoder
from memrepro.encode.load import load_encoder
from memrepro.encode.vectors import VectorStore, fill

TENTHS = 10
HASH = "hash"  # the store and the loop without a model: vectors of as many numbers, at once


def row(done: int, began: float, folder: Path) -> dict[str, Any]:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {
        "done": done,
        "s": round(time.monotonic() - began),
        "memory MB": round(psutil.Process().memory_info().rss / 1e6),
        "files MB": round(size / 1e6),
    }


def embedded(number: int, name: str, length: int, folder: Path) -> list[dict[str, Any]]:
    """Texts of so many messages each, by the encoder, into a store of vectors."""
    encoder: Encoder = HashEncoder(384) if name == HASH else load_encoder(name)
    found = []
    messages = (one for some in segments(0, number) for segment in some for one in segment)
    texts = (message.text for message in messages)
    began = time.monotonic()
    with VectorStore(folder / "e.sqlite") as store:
        for tenth in range(1, TENTHS + 1):
            some = [" ".join(islice(texts, length)) for _ in range(number // TENTHS)]
            fill(some, encoder, "document", store, progress=False)
            found.append(row(tenth * number // TENTHS, began, folder))
            print(found[-1], flush=True)
    return found


def stored(number: int, folder: Path) -> list[dict[str, Any]]:
    """Segments by `add`, a thousand at a time, with a search after each tenth."""
    found, began, done = [], time.monotonic(), 0
    with opened(folder) as memory:
        for some in segments(0, number):
            memory.add([message for segment in some for message in segment])
            done += len(some)
            if done % (number // TENTHS) == 0:
                for question in questions(10, done):
                    memory.search(question, done * APART)
                found.append(row(done, began, folder))
                print(found[-1], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--messages", type=int, default=3, help="of a text, about 12 words each")
    parser.add_argument("--segments", type=int, default=1_000_000)
    parser.add_argument("--encoder", default="all-minilm-l6-v2", help=f"or {HASH}")
    arguments = parser.parse_args()
    texts = (arguments.texts, arguments.encoder, arguments.messages)
    with TemporaryDirectory() as folder:
        tables = [
            embedded(*texts, Path(folder)) if arguments.texts else [],
            stored(arguments.segments, Path(folder) / "memories") if arguments.segments else [],
        ]
    for table in filter(None, tables):
        print(pd.DataFrame(table).to_markdown(index=False), end="\n\n")


if __name__ == "__main__":
    main()
