"""Does the memory find? Any evidence of LoCoMo's questions at equal tokens, peers in the same run.

    python -m benchmarks.memory ../shared/mirror/locomo/locomo10.json           conversations 5-10
    python -m benchmarks.memory locomo10.json --conversations 1-4 --calibrate   writes the threshold
    python -m benchmarks.memory --speed 1000 10000

The memory's defaults were chosen on conversations 1-4. Peers search the same messages, with the
speaker before the words, by the same vectors. A question counts where any turn that it names is
among what fits the budget, the best first; those without evidence, and adversarial ones, are the
abstention's alone. `--vectors` keeps vectors between runs.
"""

import argparse
import json
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from rank_bm25 import BM25Okapi

from memrepro.encode.load import load_encoder
from memrepro.memory.exchange.importers import read_chats
from memrepro.memory.user_memory import ENCODER, Memory
from memrepro.text.lengths import count_tokens

_TURN = re.compile(r"D:?(\d+):(\d+)")
_ADVERSARIAL = 5
_DEPTH = 120
BUDGETS = (400, 800)
# Published by Letta: turns of the evidence among the first five, of all questions.
PUBLISHED = {"Letta, published turn recall at 5": 0.5998}
Ranked = Sequence[str]


class Kept:
    """An encoder whose vectors are kept in a file."""

    def __init__(self, path: Path | None) -> None:
        self._encoder, self._path = load_encoder(ENCODER), path
        self._known: dict[str, np.ndarray] = {}
        if path and path.is_file():
            with np.load(path, allow_pickle=False) as kept:
                self._known = dict(zip(kept["texts"].tolist(), kept["vectors"], strict=True))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    def encode(self, texts: Sequence[str], role: str) -> np.ndarray:
        missing = list(dict.fromkeys(text for text in texts if text not in self._known))
        for at in range(0, len(missing), 64):
            some = missing[at : at + 64]
            self._known.update(zip(some, self._encoder.encode(some, role), strict=True))
        return np.array([self._known[text] for text in texts], np.float32)

    def save(self) -> None:
        if self._path:
            vectors = np.array(list(self._known.values()))
            np.savez(self._path, texts=np.array(list(self._known)), vectors=vectors)


def peers(texts: Sequence[str], ids: Sequence[str], encoder: Kept, folder: Path
          ) -> Mapping[str, Callable[[str], Ranked]]:  # fmt: skip
    """Name → what ranks the messages for a question."""
    import lancedb
    from lancedb.index import FTS

    vectors = encoder.encode(texts, "document")
    bm25 = BM25Okapi([words(text) for text in texts])
    rows = [{"id": i, "text": t, "vector": v} for i, t, v in zip(ids, texts, vectors, strict=True)]
    table = lancedb.connect(folder).create_table("messages", rows)
    table.create_index("text", config=FTS())

    def cosine(query: str) -> np.ndarray:
        return vectors @ encoder.encode([query], "query")[0]

    def lexical(query: str) -> np.ndarray:
        return bm25.get_scores(words(query))

    def hybrid(query: str) -> np.ndarray:
        scores = lexical(query)
        return 0.5 * cosine(query) + 0.5 * scores / max(scores.max(), 1e-12)

    def lance(query: str) -> Ranked:
        said = re.sub(r"[^\w ]+", " ", query)
        search = table.search(query_type="hybrid").vector(encoder.encode([query], "query")[0])
        return search.text(said).limit(_DEPTH).to_arrow().column("id").to_pylist()

    def ranked(scores: Callable[[str], np.ndarray]) -> Callable[[str], Ranked]:
        return lambda query: [ids[i] for i in np.argsort(-scores(query), kind="stable")[:_DEPTH]]

    return {
        "cosine (numpy)": ranked(cosine), "BM25 (rank_bm25)": ranked(lexical),
        "plain hybrid, 0.5": ranked(hybrid), "LanceDB, its own hybrid": lance,
    }  # fmt: skip


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def shown(ranking: Ranked, tokens: Mapping[str, int], budget: int) -> set[str]:
    """What fits, the best first."""
    found, left = set(), budget
    for one in ranking:
        if tokens[one] <= left:
            found.add(one)
            left -= tokens[one]
    return found


def found_by_all(path: Path, numbers: range, encoder: Kept) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One row a question and method, and one a question of how certain the memory was."""
    samples = json.loads(path.read_text())
    rows, sure = [], []
    for number in numbers:
        sample = samples[number - 1]
        with tempfile.TemporaryDirectory() as scratch:
            one = Path(scratch) / "one.json"
            one.write_text(json.dumps([sample]))
            chat = read_chats(one, "locomo")
            ids = [message["id"].partition(":")[2] for message in chat]
            texts = [f"{m['role']}: {' '.join(m['content'].split())}" for m in chat]
            tokens = {i: count_tokens(f"- {t} [{i}]\n") for i, t in zip(ids, texts, strict=True)}
            methods = dict(peers(texts, ids, encoder, Path(scratch) / "lance"))
            end = max(message["at"] for message in chat)
            memories = states(Path(scratch), chat, encoder, end)

            def of_memory(memory: Memory, now: float) -> Callable[[str], Ranked]:
                return lambda query: [
                    hit.id.partition(":")[2] for hit in memory.search(query, _DEPTH, now=now)
                ]

            for name, (memory, now) in memories.items():
                methods[name] = of_memory(memory, now)
            for question in sample["qa"]:
                named = {f"D{a}:{b}" for e in question["evidence"] for a, b in _TURN.findall(e)}
                gold, asked = named & set(ids), question["question"]
                answerable = question["category"] != _ADVERSARIAL
                found = memories["memory"][0].tiers.search(asked, end, k=10)
                best = max((item.cosine or 0.0 for item in found.items), default=0.0)
                sure.append((number, answerable, best, found.says == ""))
                if not (gold and answerable):
                    continue
                for name, rank in methods.items():
                    ranking = rank(asked)
                    hit = {f"any at {b}": bool(gold & shown(ranking, tokens, b)) for b in BUDGETS}
                    recall = len(gold & set(ranking[:5])) / len(gold)
                    rows.append({"method": name, "conversation": number, **hit,
                                 "turn recall at 5": recall})  # fmt: skip
            for memory, _ in memories.values():
                memory.close()
        print(f"conversation {number}: {len(chat)} messages, {len(sample['qa'])} questions")
        encoder.save()
    columns = ["conversation", "answerable", "cosine", "certain"]
    return pd.DataFrame(rows), pd.DataFrame(sure, columns=columns)


def states(root: Path, chat: list[dict[str, Any]], encoder: Kept, end: float
           ) -> dict[str, tuple[Memory, float]]:  # fmt: skip
    """The memory at the end, after a year of quiet and upkeep, and after an export and import."""

    def opened(user: str) -> Memory:
        return Memory(root, user, encoder=encoder)  # type: ignore[arg-type]

    first, later, carried = opened("first"), opened("later"), opened("carried")
    for memory in (first, later):
        memory.add(chat)
    year = end + 365 * 86400
    later.maintain(end + 86400)
    later.maintain(year)
    later.export(root / "out.json")
    carried.import_(root / "out.json")
    return {
        "memory": (first, end), "memory, after maintain and a year": (later, year),
        "memory, after export and import": (carried, year),
    }  # fmt: skip


def speed(sizes: Sequence[int], dimension: int = 384, queries: int = 200) -> pd.DataFrame:
    """Milliseconds of a search, of a message added by the hundred and of a deletion; LanceDB too.

    Vectors are drawn, as the same encoder stands before both.
    """
    import lancedb

    from memrepro.encode.encoder import HashEncoder

    rng = np.random.default_rng(7)
    vocabulary = [f"word{n}" for n in range(5000)]
    encoder = HashEncoder(dimension)
    rows = []
    for size in sizes:
        texts = [" ".join(rng.choice(vocabulary, 12)) for _ in range(size)]
        asked = [" ".join(rng.choice(vocabulary, 6)) for _ in range(queries)]
        with tempfile.TemporaryDirectory() as scratch:
            vectors = encoder.encode(texts, "document")
            table = lancedb.connect(Path(scratch) / "lance").create_table(
                "messages", [{"id": "", "text": texts[0], "vector": vectors[0]}]
            )
            memory = Memory(scratch, encoder=encoder)

            def add_lance(at: int, table=table, texts=texts, vectors=vectors) -> None:
                some = texts[at : at + 100]
                pairs = zip(some, encoder.encode(some, "document"), strict=True)
                table.add([{"id": f"m{at}", "text": t, "vector": v} for t, v in pairs])

            def add_memory(at: int, memory=memory, texts=texts) -> None:
                some = enumerate(texts[at : at + 100], at)
                memory.add([{"content": t, "id": f"m{i}", "at": 1.6e9 + 60 * i} for i, t in some])

            adds = {"LanceDB": add_lance, "memory": add_memory}
            searches = {
                "LanceDB": lambda q, t=table: t.search(encoder.encode([q], "query")[0])
                .limit(5).to_list(),
                "memory": lambda q, m=memory: m.search(q),
            }  # fmt: skip
            deletes = {
                "LanceDB": lambda i, t=table: t.delete(f"id = 'm{i}'"),
                "memory": lambda i, m=memory: m.forget(f"m{i}"),
            }
            for name in adds:
                adding = timed(adds[name], range(0, size, 100))
                searching = timed(searches[name], asked)
                deleting = timed(deletes[name], [100 * i for i in range(5)])
                rows.append({
                    "segments": size, "store": name, "search p50": np.percentile(searching, 50),
                    "search p95": np.percentile(searching, 95),
                    "add, a message": np.sum(adding) / size, "delete, p50": np.median(deleting),
                })  # fmt: skip
            memory.close()
    return pd.DataFrame(rows)


def timed(work: Callable[[Any], object], given: Sequence[Any]) -> list[float]:
    """Milliseconds of each call."""
    found = []
    for one in given:
        began = time.perf_counter()
        work(one)
        found.append(1000 * (time.perf_counter() - began))
    return found


def curve(sure: pd.DataFrame) -> pd.DataFrame:
    """By threshold on the best cosine: the share that is told 'nothing certain'."""
    rows = []
    for least in np.arange(0.2, 0.75, 0.05):
        below = sure["cosine"] < least
        rows.append({"threshold": round(float(least), 2),
                     "with an answer": below[sure["answerable"]].mean(),
                     "without": below[~sure["answerable"]].mean()})  # fmt: skip
    told = ~sure["certain"]
    rows.append({"threshold": "default", "with an answer": told[sure["answerable"]].mean(),
                 "without": told[~sure["answerable"]].mean()})  # fmt: skip
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("locomo", type=Path, nargs="?")
    parser.add_argument("--conversations", default="5-10")
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--calibrate", action="store_true", help="write thresholds.yaml")
    parser.add_argument("--speed", type=int, nargs="+", metavar="SEGMENTS")
    arguments = parser.parse_args()
    if arguments.locomo:
        first, last = map(int, arguments.conversations.split("-"))
        encoder = Kept(arguments.vectors)
        rows, sure = found_by_all(arguments.locomo, range(first, last + 1), encoder)
        table = rows.drop(columns="conversation").groupby("method", sort=False).mean()
        table["questions"] = rows.groupby("method").size()
        print(table.round(3).to_markdown())
        for name, value in PUBLISHED.items():
            print(f"{name}: {value}")
        print(curve(sure).to_markdown(index=False, floatfmt=".3f"))
        if arguments.calibrate:
            # Certainty tells little (see the curve): no question with an answer shall be doubted.
            least = float(np.floor(20 * sure["cosine"][sure["answerable"]].min()) / 20)
            path = Path(__file__).parents[1] / "memrepro/memory/thresholds.yaml"
            head = [line for line in path.read_text().splitlines() if line.startswith("#")]
            known = {**yaml.safe_load(path.read_text()), ENCODER: round(least, 2)}
            path.write_text("\n".join([*head, yaml.safe_dump(known)]))
    if arguments.speed:
        print(speed(arguments.speed).to_markdown(index=False, floatfmt=".2f"))


if __name__ == "__main__":
    main()
