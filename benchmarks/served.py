"""Many users' memories in one served store, beside a folder a user.

    uv pip install --target build/peers pgserver==0.1.4 'psycopg[binary]==3.3.9'
    python benchmarks/served.py [--users 1000] [--segments 1000]

Every user has the same memory, as `memory_users.py` copies it. A search gives the
five segments of one user that are nearest to a question; an addition is an exchange of two
messages, on the disk when it returns. Users are drawn at random, and the stores take turns at each.
By the clock, as a server's work is in other processes. Postgres (with pgvector, from the wheel
`pgserver`) holds segments in one table with an index by user, or in a partition a user; LanceDB in
one table with a scalar index by user. Their search is of vectors alone, or of words alone
(Postgres's full text); a memory's own search is all of it: vectors, BM25, scores, MMR, texts.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import memory_scale as scale
import numpy as np
import pandas as pd

from memrepro.memory.folders import user_folder
from memrepro.retrieve.tiered.keys.segments import Message, segment_text

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "build/peers"))
ASKED, TOP = 200, 5
Step = Callable[[int, str], object]


def own(n_segments: int) -> tuple[list[str], np.ndarray]:
    """The texts of one memory's segments, and their vectors."""
    texts = [segment_text(one) for some in scale.segments(0, n_segments) for one in some]
    return texts, scale.Drawn(scale._DIMENSION).encode(texts, "document")


def literal(vector: np.ndarray) -> str:
    return f"[{','.join(map(str, vector.tolist()))}]"


def folders(root: Path, users: int, n_segments: int) -> dict[str, Step]:
    """Ours: opened for each request, and closed after it."""
    scale.alone(scale.fill_tiered, root / "first", n_segments)
    for user in range(users):
        shutil.copytree(user_folder(root / "first", scale.USER), user_folder(root, f"user {user}"))
    now = n_segments * scale.APART

    def search(user: int, question: str) -> object:
        with scale.opened(root, user=f"user {user}", mode="read") as memory:
            return memory.search(question, now)

    def nearest(user: int, question: str) -> object:
        with scale.opened(root, user=f"user {user}", mode="read") as memory:
            (vector,) = memory.encoder.encode([question], "query")
            return memory.index.nearest("segments", vector, TOP, exact=True)

    def add(user: int, question: str) -> object:
        said = [Message(f"new {turn}", speaker, now + turn, f"{question} {turn}")
                for turn, speaker in enumerate(("user", "assistant"))]  # fmt: skip
        with scale.opened(root, user=f"user {user}") as memory:
            return memory.add(said)

    return {"nearest vectors": nearest, "all of a search": search, "addition": add}


def postgres(
    root: Path, users: int, n_segments: int, ends: ExitStack, *, partitions: bool
) -> dict[str, Step]:
    import pgserver
    import psycopg

    server = pgserver.get_server(root)
    ends.callback(server.cleanup)
    link = ends.enter_context(psycopg.connect(server.get_uri(), autocommit=True))
    run = link.execute
    run("CREATE EXTENSION vector")
    columns = f"(place int, text text, vector vector({scale._DIMENSION}))"
    run(f"CREATE TABLE first {columns}")
    with link.cursor().copy("COPY first FROM STDIN") as copy:
        for place, (text, vector) in enumerate(zip(*own(n_segments), strict=True)):
            copy.write_row((place, text, literal(vector)))
    run(
        "CREATE TABLE segments (owner int, place int, text text, words tsvector GENERATED ALWAYS "
        f"AS (to_tsvector('simple', text)) STORED, vector vector({scale._DIMENSION}))"
        + (" PARTITION BY LIST (owner)" if partitions else "")
    )
    for user in range(users):
        if partitions:
            run(f"CREATE TABLE of_{user} PARTITION OF segments FOR VALUES IN ({user})")
        insert = "INSERT INTO segments (owner, place, text, vector) SELECT"
        run(f"{insert} {user}, place, text, vector FROM first ORDER BY place")
    if not partitions:
        run("CREATE INDEX ON segments (owner)")
    run("ANALYZE segments")
    run("CHECKPOINT")
    encode = scale.Drawn(scale._DIMENSION).encode

    def nearest(user: int, question: str) -> object:
        (vector,) = encode([question], "query")
        asked = "SELECT place, text FROM segments WHERE owner = %s ORDER BY vector <=> %s LIMIT 5"
        return run(asked, (user, literal(vector))).fetchall()

    def by_words(user: int, question: str) -> object:
        asked = (
            "SELECT place, text FROM segments, to_tsquery('simple', %s) AS asked WHERE owner = %s "
            "AND words @@ asked ORDER BY ts_rank(words, asked) DESC LIMIT 5"
        )
        return run(asked, (" | ".join(question.split()), user)).fetchall()

    def add(user: int, question: str) -> object:
        (vector,) = encode([question], "document")
        insert = "INSERT INTO segments (owner, place, text, vector) VALUES (%s, %s, %s, %s)"
        with link.transaction():
            for turn in range(2):
                run(insert, (user, n_segments + turn, f"{question} {turn}", literal(vector)))
        return None

    return {"nearest vectors": nearest, "by words": by_words, "addition": add}


def lance(root: Path, users: int, n_segments: int) -> dict[str, Step]:
    import lancedb
    import pyarrow as pa
    from lancedb.index import BTree

    texts, vectors = own(n_segments)
    kind = pa.list_(pa.float32(), scale._DIMENSION)
    schema = pa.schema([("owner", pa.int32()), ("place", pa.int32()), ("text", pa.string()),
                        ("vector", kind)])  # fmt: skip

    def rows(owners: range) -> pa.Table:
        many = len(owners)
        flat = pa.array(np.tile(vectors, (many, 1)).ravel())
        return pa.table({
            "owner": np.repeat(np.array(owners, np.int32), n_segments),
            "place": np.tile(np.arange(n_segments, dtype=np.int32), many),
            "text": texts * many, "vector": pa.FixedSizeListArray.from_arrays(flat, type=kind),
        }, schema=schema)  # fmt: skip

    table: Any = lancedb.connect(root).create_table("segments", schema=schema)
    for start in range(0, users, 50):
        table.add(rows(range(start, min(start + 50, users))))
    table.create_index("owner", config=BTree())
    encode = scale.Drawn(scale._DIMENSION).encode

    def nearest(user: int, question: str) -> object:
        (vector,) = encode([question], "query")
        found: Any = table.search(vector).distance_type("cosine").where(f"owner = {user}")
        return [(row["place"], row["text"]) for row in found.limit(TOP).to_list()]

    def add(user: int, question: str) -> object:
        (vector,) = encode([question], "document")
        new = [{"owner": user, "place": n_segments + turn, "text": f"{question} {turn}",
                "vector": vector} for turn in range(2)]  # fmt: skip
        return table.add(new)

    return {"nearest vectors": nearest, "addition": add}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--users", type=int, default=1000)
    parser.add_argument("--segments", type=int, default=1000)
    given = parser.parse_args()
    users, n_segments = given.users, given.segments
    ends = ExitStack()  # before the folder goes
    made = {
        "a folder a user": folders,
        "Postgres, one table": lambda *of: postgres(*of, ends, partitions=False),
        "Postgres, a partition a user": lambda *of: postgres(*of, ends, partitions=True),
        "LanceDB, one table": lance,
    }
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as name, ends:
        stores: dict[str, dict[str, Step]] = {}
        size: dict[str, float] = {}
        for store, make in made.items():
            root, began = Path(name) / f"store{len(stores)}", time.perf_counter()
            root.mkdir()
            stores[store] = make(root, users, n_segments)
            held = sum(p.stat().st_size for p in root.rglob("*") if p.is_file())
            size[store] = round(held / users / 2**20, 2)
            print(store, f"filled in {time.perf_counter() - began:.0f} s", flush=True)
        drawn = np.random.default_rng(5).permutation(users)[:ASKED].tolist()
        asked = list(zip(drawn, scale.questions(len(drawn), 11), strict=True))
        served = [steps["nearest vectors"] for steps in list(stores.values())[1:]]
        for user, question in asked[:20]:
            first, *others = (nearest(user, question) for nearest in served)
            assert all(first == other for other in others)
        rows = []
        for step in dict.fromkeys(step for steps in stores.values() for step in steps):
            taken: dict[str, list[float]] = {s: [] for s in stores if step in stores[s]}
            for turn, (user, question) in enumerate(asked):
                for store in list(taken)[:: 1 if turn % 2 else -1]:
                    began = time.perf_counter()
                    stores[store][step](user, question)
                    taken[store].append(1000 * (time.perf_counter() - began))
            for store, ms in taken.items():
                p50, p95 = np.quantile(ms, (0.5, 0.95)).round(1)
                rows.append((step, store, len(ms), p50, p95, size[store]))
        columns = ["step", "store", "n", "p50 ms", "p95 ms", "MB a user"]
        print(pd.DataFrame(rows, columns=columns).to_markdown(index=False))


if __name__ == "__main__":
    main()
