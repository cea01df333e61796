"""The reader and the tables on a file in LongMemEval's schema that is as large as M.

    python benchmarks/prepare.py [--questions 500] [--sessions 475] [--folder /tmp] [--json]

Writes the file (2.7 GB at M's size, of a seeded generator's sentences), reads it through
`longmemeval.stream` and `prepared.save`, `save_qrels` and `save_places` in a process of its own,
and prints that process's time, peak memory and rows. The file and the tables are removed.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pandas as pd
import pyarrow.parquet as pq

from memrepro.core.prepared import save, save_places, save_qrels
from memrepro.data.longmemeval import stream

SEED = 13
ROUNDS = 6
# Of the slots: with so many sessions to draw from, about 60 % of the slots hold a distinct one.
POOL = 0.9
EVIDENCE = 2
DATE = "2023/05/20 (Sat) 02:21"


def sentences(count: int = 5000) -> list[str]:
    """Sentences of made-up words, of 40 to 160 characters."""
    rng = Random(SEED)
    letters = "abcdefghijklmnopqrstuvwxyzéü"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 10))) for _ in range(8000)]
    return [" ".join(rng.choices(words, k=rng.randint(6, 23))) + "." for _ in range(count)]


def session(number: int, texts: list[str], *, evidence: bool = False) -> list[dict]:
    """The same turns for the same number: about 11 KB, as M's."""
    rng = Random(SEED * 10**9 + number)
    turns = []
    for n in range(ROUNDS):
        for role, least, most in (("user", 1, 4), ("assistant", 8, 15)):
            content = " ".join(rng.choices(texts, k=rng.randint(least, most)))
            turns.append({"role": role, "content": content})
            if evidence:
                turns[-1]["has_answer"] = n == 2 and role == "user"
    return turns


def instances(questions: int, sessions: int) -> Iterator[dict]:
    rng, texts = Random(SEED), sentences()
    pool = range(max(sessions, int(POOL * questions * sessions)))
    for q in range(questions):
        drawn = rng.sample(pool, sessions - EVIDENCE)
        held = {f"{number:08x}_1": session(number, texts) for number in drawn}
        answers = {
            f"answer_{q:08x}_{n}": session(-1 - EVIDENCE * q - n, texts, evidence=True)
            for n in range(1, EVIDENCE + 1)
        }
        ids = [*held, *answers]
        yield {
            "question_id": f"{q:08x}",
            "question_type": "multi-session",
            "question": rng.choice(texts),
            "question_date": "2023/05/30 (Tue) 23:40",
            "answer": "synthetic",
            "answer_session_ids": list(answers),
            "haystack_dates": [DATE] * len(ids),
            "haystack_session_ids": ids,
            "haystack_sessions": [*held.values(), *answers.values()],
        }


def write(path: Path, questions: int, sessions: int) -> None:
    with path.open("w", encoding="utf-8") as out:
        for n, instance in enumerate(instances(questions, sessions)):
            out.write(("," if n else "[") + "\n" + json.dumps(instance))
        out.write("\n]\n")


def measure(raw: Path, out: Path) -> dict[str, float]:
    """Prepare the file as the stage does; rows and sizes by table."""
    began = time.perf_counter()
    pieces = save_qrels(save(stream(raw, "synthetic"), out), out / "qrels.parquet")
    questions = sum(len(piece.queries) for piece in save_places(pieces, out / "places.parquet"))
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # KiB on Linux
    tables = sorted(out.glob("*.parquet"))
    rows = {f"{path.stem} rows": pq.read_metadata(path).num_rows for path in tables}
    distinct = len(set(pq.read_table(out / "haystacks.parquet")["session_key"].to_pylist()))
    return {
        "GB": sum(path.stat().st_size for path in raw.iterdir()) / 1e9,
        "questions": questions,
        "distinct sessions": distinct,
        **rows,
        "tables MB": round(sum(path.stat().st_size for path in tables) / 1e6),
        "seconds": round(seconds, 1),
        "peak MiB": round(peak),
    }


def child(folder: Path) -> dict[str, float]:
    """`measure` in a process of its own."""
    command = [sys.executable, __file__, "--child", str(folder)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--sessions", type=int, default=475, help="in a haystack")
    parser.add_argument("--folder", type=Path, help="where the file and tables lie meanwhile")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(measure(given.child / "raw", given.child / "prepared")))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        (folder / "raw").mkdir()
        write(folder / "raw" / "synthetic.json", given.questions, given.sessions)
        result = child(folder)
    print(json.dumps(result) if given.json else pd.Series(result).to_markdown())


if __name__ == "__main__":
    main()
