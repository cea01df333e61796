"""What `bench.py` compares: each function makes the work of one size, ours and the peer's."""

from functools import cache, partial
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from bench import NAN, Comparison, Work
from compared_programs import (
    DIMENSION,
    encoding,
    half_precision,
    one_search,
    opening,
    preparing,
    stage,
    stored,
    verifying,
    words,
)

from memrepro.core.key_builder import PlainKeyBuilder
from memrepro.core.keys import Keys, Request
from memrepro.core.ranking import to_frame
from memrepro.core.similarity import normalise

K = 10
_METRICS, _KS = ("recall", "ndcg"), (5, 10)


def unit_vectors(rng: np.random.Generator, n: int, dimension: int) -> np.ndarray:
    """Drawn, with a common part, as those of texts have."""
    return normalise(rng.standard_normal((n, dimension), np.float32) + np.float32(0.5))


def recollection(k: int, fanout: int, alpha: float, size: int) -> Work:
    """Six memories with 44 queries each, as PersonaBench has, by the released variant."""
    from recollection import batch, drawn, loop, ranks_that_differ

    from memrepro.retrieve.rfmem.nearest import QueryBatch
    from memrepro.retrieve.rfmem.recollection import Released, Searches, recollect

    asked = drawn(6, size, 44, 768)
    few = [QueryBatch(one.queries[:4], one.docs, one.ties) for one in asked]
    settings = Released(beam_width=3, k=k, fanout=fanout, alpha=alpha)

    def apart(ours: list[list[int]], theirs: list[list[int]]) -> float:
        mine = [ours[44 * memory + query] for memory in range(6) for query in range(4)]
        return float(ranks_that_differ(mine, theirs))

    seen: list[Searches] = []
    recollect(asked, settings, seen)
    # Each branch's query meets each doc of its memory.
    flops = 2.0 * 768 * size * sum(len(one.query) for one in seen)
    ours, peer = partial(batch, asked, settings), partial(loop, few, settings)
    return Work(ours, peer, apart, 4 / 44, flops, "float32")


def one_query(size: int) -> Work:
    """One query by itself."""
    from recollection import batch, drawn, loop, ranks_that_differ

    from memrepro.retrieve.rfmem.recollection import Released

    (asked,) = drawn(1, size, 1, 768)
    settings = Released(beam_width=3, k=10, fanout=2, alpha=0.2)
    ours, peer = (partial(way, [asked], settings) for way in (batch, loop))
    return Work(ours, peer, ranks_that_differ)


@cache
def judged(size: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A run of 50 docs a query, and one to four docs that answer it."""
    rng, run, qrels = np.random.default_rng(size), [], []
    for q in range(size):
        docs = [f"d{d}" for d in rng.permutation(200)]
        run += [(f"q{q}", doc, rank, 1.0 / rank) for rank, doc in enumerate(docs[:50], 1)]
        gold = rng.choice(docs, rng.integers(1, 5), replace=False)
        qrels += [(f"q{q}", doc, 1) for doc in gold]
    return (
        pd.DataFrame(run, columns=["query_id", "doc_id", "rank", "score"]),
        pd.DataFrame(qrels, columns=["query_id", "doc_id", "relevance"]),
    )


def evaluation(peer: str, size: int) -> Work:
    """Recall and NDCG at 5 and 10 of every query, from what each reads to a value a query."""
    from memrepro.evaluate.metrics import Values, evaluate, lay_out, ranks_of

    run, qrels = judged(size)
    gold = {q: tuple((d,) for d in own) for q, own in qrels.groupby("query_id")["doc_id"]}

    scored = {q: dict(zip(own["doc_id"], own["score"], strict=True))
              for q, own in run.groupby("query_id")}  # fmt: skip
    wanted = {q: {doc: 1 for part in parts for doc in part} for q, parts in gold.items()}

    def ours() -> Values:
        return evaluate(ranks_of(run), lay_out(gold), _METRICS, _KS)

    def by_ir_measures() -> dict[tuple[str, str], float]:
        import ir_measures as im

        names = {im.R @ k: f"recall@{k}" for k in _KS} | {im.nDCG @ k: f"ndcg@{k}" for k in _KS}
        return {
            (one.query_id, names[one.measure]): one.value
            for one in im.iter_calc(list(names), qrels, run)
        }

    def by_ranx() -> dict[tuple[str, str], float]:
        from ranx import Qrels, Run
        from ranx import evaluate as ranx_evaluate

        ranked = Run(scored)
        names = [f"{name}@{k}" for name in _METRICS for k in _KS]
        ranx_evaluate(Qrels(wanted), ranked, names)
        return {(q, m): v for m, own in ranked.scores.items() for q, v in own.items()}

    def apart(values: Values, theirs: dict[Any, float]) -> float:
        frame = values.frame()
        names = frame["metric"].astype(str) + "@" + frame["k"].astype(str)
        mine = dict(zip(zip(frame["query_id"], names, strict=True), frame["value"], strict=True))
        assert mine.keys() == theirs.keys()
        most = max(abs(value - theirs[key]) for key, value in mine.items())
        return most if most > 1e-12 else 0.0

    return Work(ours, by_ir_measures if peer == "ir_measures" else by_ranx, apart)


def bm25(peer: str, whole: bool, size: int) -> Work:
    """200 queries over texts of 60 words: searched alone, or indexed too (`whole`)."""
    from rank_bm25 import BM25Okapi

    from memrepro.text.okapi import Lexicon, Postings

    corpus, queries = words(size, 60, size), words(200, 8, 1)
    few = queries[:20] if peer == "rank_bm25" else queries

    def index() -> Any:
        lexicon = Lexicon(str.split)
        postings = Postings([lexicon.count(text) for text in corpus])
        return lambda query: postings.scores([lexicon[token] for token in query])

    def other() -> Any:
        if peer == "rank_bm25":
            return BM25Okapi(corpus).get_scores
        import bm25s

        made = bm25s.BM25(method="robertson")
        made.index(corpus, show_progress=False)
        return made.get_scores

    ready = (lambda: None, lambda: None) if whole else (index(), other())

    def search(at: int) -> np.ndarray:
        scores = ready[at] if not whole else (index, other)[at]()
        return np.array([scores(query) for query in (queries, few)[at]])

    def apart(mine: np.ndarray, theirs: np.ndarray) -> float:
        # bm25s has another idf: the work is the same, the scores are not.
        return float(np.abs(mine[: len(few)] - theirs).max()) if peer == "rank_bm25" else NAN

    return Work(lambda: search(0), lambda: search(1), apart, len(few) / len(queries))


def small_memories(size: int) -> Work:
    """So many memories of 90 docs, 40 queries each: one faiss index a memory is the peer."""
    import faiss

    from memrepro.retrieve import make_retriever

    rng, docs, asked = np.random.default_rng(size), 90, 40
    ties, ids = np.arange(docs, dtype=np.uint64), tuple(f"d{i}" for i in range(docs))
    memories = []
    for memory in range(size):
        shared, place = unit_vectors(rng, docs, DIMENSION), np.arange(docs)
        keys = Keys(ids, place, range(docs), ("all",) * docs, place, ties, shared)
        names = [f"m{memory}q{q}" for q in range(asked)]
        memories.append(Request(keys, names, names, unit_vectors(rng, asked, DIMENSION)))
    dense = make_retriever("dense", "dense", {"k": K})

    def by_faiss() -> list[np.ndarray]:
        found = []
        for one in memories:
            index = faiss.IndexFlatIP(DIMENSION)
            index.add(one.keys.vectors)
            found.append(index.search(one.query_vectors, K)[0])
        return found

    def apart(mine: list[Any], theirs: list[np.ndarray]) -> float:
        # By scores, as single precision may put two docs of nearly one score the other way round.
        scores = to_frame(mine)["score"].to_numpy()
        most = float(np.abs(scores - np.concatenate(theirs).ravel()).max())
        return most if most > 1e-6 else 0.0

    flops = 2.0 * size * docs * asked * DIMENSION
    return Work(lambda: dense.search(memories), by_faiss, apart, flops=flops)


def key_scheme(granularity: str, scheme: str, size: int) -> Work:
    """One run over so many questions with 200 sessions each, from vectors to its table."""
    from key_schemes import experiment, haystacks, loop

    dataset = haystacks(size, 200)
    builder = PlainKeyBuilder(granularity, scheme)
    builder.make_all(list(dataset.memories.values()))
    rng = np.random.default_rng(0)
    vectors = unit_vectors(rng, len(builder.texts), DIMENSION)
    queries = unit_vectors(rng, len(dataset.queries), DIMENSION)
    row_of = {text: row for row, text in enumerate(builder.texts)}
    few = max(4, size // 16)
    some = type(dataset)(dataset.name, dataset.memories, dataset.queries[:few])

    def apart(mine: pd.DataFrame, theirs: pd.DataFrame) -> float:
        both = theirs.merge(mine, on=["query_id", "rank"], how="left", suffixes=("", " ours"))
        return float((both["doc_id"] != both["doc_id ours"]).sum())

    return Work(
        lambda: experiment(dataset, granularity, scheme, vectors, queries)[0],
        lambda: loop(some, granularity, scheme, row_of, vectors, queries),
        apart, part=few / size, flops=2.0 * len(queries) * len(vectors) * DIMENSION,
    )  # fmt: skip


def page_ranks(size: int) -> Work:
    """PageRank of ten queries on a drawn graph of three edges a node."""
    import networkx as nx

    from memrepro.retrieve.associa.importance import page_rank

    rng, asked, few = np.random.default_rng(size), 10, 1
    edges = rng.integers(0, size, (3 * size, 2))
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    strength = rng.random(len(edges)) + 0.1
    preferences = rng.random((asked, size)) * (rng.random((asked, size)) < 0.05) + 1e-9
    graph = nx.Graph()
    graph.add_nodes_from(range(size))
    graph.add_weighted_edges_from(
        (a, b, w) for (a, b), w in zip(edges.tolist(), strength.tolist(), strict=True)
    )

    def by_networkx() -> np.ndarray:
        found = [
            nx.pagerank(graph, 0.85, dict(enumerate(one.tolist())), tol=1e-12 / size, max_iter=1000)
            for one in preferences[:few]
        ]
        return np.array([[one[node] for node in range(size)] for one in found])

    def ours() -> np.ndarray:
        return page_rank(edges, strength, preferences)

    def apart(mine: np.ndarray, theirs: np.ndarray) -> float:
        most = float(np.abs(mine[:few] - theirs).max())
        return most if most > 1e-9 else 0.0

    return Work(ours, by_networkx, apart, part=few / asked)


def steiner_trees(size: int) -> Work:
    """Prizes and Steiner trees of 20 queries on a memory graph; the peer solves alone."""
    from associa import synthetic_graph, unit_vectors_of

    from memrepro.retrieve.associa.association import associate, prize
    from memrepro.retrieve.associa.solver import checked_solver

    solver: Any = checked_solver()
    graph, generator = synthetic_graph(size)
    queries, asked = unit_vectors_of(generator, 20), []

    def keep(*given: Any) -> Any:
        asked.append(given)
        return solver(*given)

    def ours() -> list[Any]:
        found = []
        for query in queries:
            prizes = prize(graph, graph.similarities(query), 15, 15, 0.5)
            found.append(associate(graph.edges, prizes))
        return found

    with mock.patch("memrepro.retrieve.associa.solver.checked_solver", return_value=keep):
        ours()
    return Work(ours, lambda: [solver(*given) for given in asked], lambda *_: NAN)


COMPARISONS = (
    # First, as it looks at results/bench.* too, which the others write.
    Comparison("verify open", "", "profiles", (1,), verifying, within={1: 15_000.0}),
    Comparison("recollection, K = 5", "loop over queries", "docs a memory", (88, 704, 5632),
               partial(recollection, 5, 1, 0.9), 50),
    Comparison("recollection, K = 10", "loop over queries", "docs a memory", (88, 704, 5632),
               partial(recollection, 10, 2, 0.2), 50),
    Comparison("one query's recollection", "loop over queries", "docs", (88, 704, 5632), one_query,
               within={88: 2.0}),
    Comparison("evaluation", "ir_measures", "queries", (250, 2000, 16000),
               partial(evaluation, "ir_measures"), 25),
    Comparison("evaluation", "ranx", "queries", (250, 2000, 16_000),
               partial(evaluation, "ranx"), 3, ("ranx",)),
    Comparison("BM25", "rank_bm25", "texts", (1000, 8000, 64_000),
               partial(bm25, "rank_bm25", False)),
    Comparison("BM25", "bm25s", "texts", (1000, 8000, 64_000), partial(bm25, "bm25s", False), 1,
               ("bm25s",)),
    Comparison("BM25 with its index", "bm25s", "texts", (1000, 8000, 64_000),
               partial(bm25, "bm25s", True), 1, ("bm25s",)),
    Comparison("search of small memories", "faiss, an index a memory", "memories", (10, 80, 640),
               small_memories, 10, share=1 / 2),
    Comparison("keys of fielded sessions", "loop over questions", "questions", (8, 64, 512),
               partial(key_scheme, "session", "fielded"), share=2 / 3),
    Comparison("keys of rounds", "loop over questions", "questions", (8, 64, 512),
               partial(key_scheme, "round", "user_only"), share=2 / 3),
    Comparison("PageRank of ten queries", "networkx", "nodes", (1600, 12_800, 102_400), page_ranks,
               5, within={102_400: 1500.0}),
    Comparison("Steiner trees of 20 queries", "pcst_fast alone", "nodes", (1600, 12_800, 102_400),
               steiner_trees, within={102_400: 3000.0}),
    Comparison("preparing", "json.loads alone", "questions", (1, 8, 64), preparing,
               within={size: 56.0 * size for size in (1, 8, 64)}),  # 100 MB/s
    Comparison("encoding of long texts", "sentence-transformers", "texts", (2, 16, 128),
               encoding, share=0.8),
    Comparison("encoding in bfloat16", "in float32", "texts", (4, 16), half_precision, 1.8),
    Comparison("adding to the memory", "LanceDB", "segments", (250, 2000, 16_000),
               partial(stored, "add"), 1 / 3),
    Comparison("search of the memory", "LanceDB", "segments", (1000, 64_000),
               partial(stored, "search"), 1),
    Comparison("search of the memory, 95th percentile", "", "segments", (1_000_000,), one_search,
               within={1_000_000: 250.0}, turns=200, quantile=0.95),
    Comparison("opening the memory, a first answer", "", "segments", (1_000_000,), opening,
               within={1_000_000: 1000.0}),
    Comparison("a stage's overhead", "papermill alone", "stages", (1,), stage, within={1: 2000.0}),
)  # fmt: skip
