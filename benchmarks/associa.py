"""Associa: how long a memory graph takes to build, and a query by part, as graphs grow.

    python benchmarks/associa.py [--queries 40] [--sizes 1000 10000 100000] [--json]

First LoCoMo's first conversation, its graph from the recorded facts and events, with MiniLM's
vectors and its own questions; run where the data set has been prepared and extracted (`dvc repro
extract@locomo`), else it is left out. Then synthetic graphs of about each number of nodes: an
utterance tells two events, an event has three entities whose frequencies fall as 1/rank, two of
them related; texts are numbers, vectors random with a common part, of 64 dimensions, so that the
similarities of 384 dimensions would take six times as long. Times are medians over the queries, by
the clock, on a machine that may be busy.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pandas as pd

from memrepro.core.prepared import load, load_extractions
from memrepro.core.similarity import normalise
from memrepro.encode.load import load_encoder
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.retrieve.associa.association import associate, prize
from memrepro.retrieve.associa.evidence import Settings
from memrepro.retrieve.associa.importance import importance
from memrepro.retrieve.associa.keys.clues import EventClues, Recipe, UtteranceClues, read_memory
from memrepro.retrieve.associa.keys.graph import Graph, build_from
from memrepro.retrieve.associa.merge import GROUPINGS, merge
from memrepro.retrieve.associa.solver import checked_solver

RECIPE = Recipe("round", "concat", ("recorded-fact", "recorded-event"))
DIMENSION = 64
Found = TypeVar("Found")


def timed(action: Callable[[], Found]) -> tuple[Found, float]:
    """What an action gives, and the seconds that it took."""
    began = time.perf_counter()
    found = action()
    return found, time.perf_counter() - began


def by_part(graph: Graph, queries: np.ndarray) -> dict[str, float]:
    """Milliseconds of each part of a query, medians; and the size of what is found."""
    settings, rows = Settings(), []
    graph.similarities(queries[0])  # makes what all queries share
    graph.ties  # noqa: B018
    for query in queries:
        similar, one = timed(lambda q=query: graph.similarities(q))
        prizes, two = timed(
            lambda s=similar: prize(
                graph, s, settings.top_nodes, settings.top_edges, settings.edge_cost
            )
        )
        found, three = timed(lambda p=prizes: associate(graph.edges, p, settings.pruning))
        (nodes, _), four = timed(lambda p=prizes, f=found: importance(graph, f, p.nodes, p.costs))
        rows.append([one, two, three, four, one + two + three + four, len(found.nodes), len(nodes)])
    names = ["similarities", "prizes", "PCST", "PageRank", "query", "found", "ranked"]
    medians = np.median(rows, axis=0)
    return {
        f"{name} ms" if place < 5 else f"{name} nodes": 1e3 * value if place < 5 else value
        for place, (name, value) in enumerate(zip(names, medians, strict=True))
    }


def locomo(n_queries: int) -> list[dict[str, object]]:
    """The first conversation, as it is and merged both ways."""
    dataset = load(paths.prepared("locomo"), "locomo")
    extractions = load_extractions(paths.extracted("locomo"))
    memory = next(iter(dataset.memories.values()))
    texts = [q.text for q in dataset.queries if q.memory_id == memory.memory_id][:n_queries]
    clues, reading = timed(lambda: read_memory(memory, extractions, RECIPE))
    graph, building = timed(lambda: build_from(clues))
    _, inserting = timed(lambda: build_from(clues[-10:], build_from(clues[:-10])))
    encoder = load_encoder("all-minilm-l6-v2", device="cpu")
    vectors, embedding = timed(lambda: encoder.encode(graph.texts, "document"))
    graph = graph.with_vectors(vectors)
    queries = encoder.encode(texts, "query")
    rows = [
        {"graph": f"LoCoMo {memory.memory_id}", **sizes(graph), "read clues s": reading,
         "build s": building, "build and insert s": inserting, "embed s": embedding,
         **by_part(graph, queries)}
    ]  # fmt: skip
    for grouping in GROUPINGS:
        merged, merging = timed(lambda g=grouping: merge(graph, g, 0.9))
        rows.append(
            {"graph": f"merged, {grouping}", **sizes(merged), "merge s": merging,
             **by_part(merged, queries)}
        )  # fmt: skip
    return rows


def synthetic_graph(n_nodes: int) -> tuple[Graph, np.random.Generator]:
    """A graph of about so many nodes with vectors, and what has drawn it."""
    generator = np.random.default_rng(n_nodes)
    # An utterance, its two events and what it has of a new entity: about 3.5 nodes.
    n_utterances, n_entities = int(n_nodes / 3.5), n_nodes // 7
    odds = 1 / np.arange(1, n_entities + 1)
    drawn = generator.choice(n_entities, (n_utterances, 2, 3), p=odds / odds.sum())
    clues = []
    for number, of_utterance in enumerate(drawn.tolist()):
        events = []
        for which, named in enumerate(of_utterance):
            entities = list(dict.fromkeys(named))
            related = ((0, f"r {number} {which}", 1),) if len(entities) > 1 else ()
            told = tuple((f"e {entity}", "Other") for entity in entities)
            events.append(EventClues(f"v {number} {which}", told, related))
        day = f"day {number // 20}"
        clues.append(UtteranceClues(f"d{number}", f"u {number}", ("user",), day, tuple(events)))
    graph = build_from(clues)
    return graph.with_vectors(unit_vectors_of(generator, len(graph.texts))), generator


def unit_vectors_of(generator: np.random.Generator, n: int) -> np.ndarray:
    """Vectors with a common part, as those of texts have."""
    return normalise(generator.normal(size=(n, DIMENSION)).astype(np.float32) + 0.5)


def synthetic(n_nodes: int, n_queries: int) -> dict[str, object]:
    """What takes how long on such a graph."""
    (graph, generator), building = timed(lambda: synthetic_graph(n_nodes))
    return {"graph": "synthetic", **sizes(graph), "build s": building,
            **by_part(graph, unit_vectors_of(generator, n_queries))}  # fmt: skip


def sizes(graph: Graph) -> dict[str, object]:
    """How many nodes and edges."""
    return {"nodes": len(graph.kinds), "edges": len(graph.edges)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1000, 10_000, 100_000])
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    checked_solver()
    rows: list[dict[str, object]] = []
    try:
        rows += locomo(arguments.queries)
    except MemreproError as error:
        print(f"without LoCoMo: {error}")
    rows += [synthetic(size, arguments.queries) for size in arguments.sizes]
    if arguments.json:
        print(json.dumps(rows, indent=1, default=float, ensure_ascii=False))
        return
    print(pd.DataFrame(rows).T.to_markdown(floatfmt=".3f", headers=[]))


if __name__ == "__main__":
    main()
