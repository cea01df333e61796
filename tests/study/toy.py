"""A small prepared data set with vectors of hashed words, for stages to run on."""

import numpy as np
import pandas as pd

from memrepro.core.key_builder import PlainKeyBuilder
from memrepro.core.memory import Dataset, Memory, Piece, Query, Round
from memrepro.core.prepared import save, save_extracted, text_id
from memrepro.encode.encoder import HashEncoder
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.study.params import DatasetEntry, Evaluation, Experiment, Latency, Plan

WORDS = ("tea", "cat", "rain", "book", "train", "song", "bread", "lake")
GATE = {"sharpness": 20.0, "entropy_threshold": 0.29, "mean_high": 0.9, "mean_low": 0.0}
DEEP = {"k": 4, "beam_width": 2, "fanout": 1, "alpha": 0.5}


def prepare(seed=0, n_memories=2, n_docs=30, n_queries=6):
    """Write the data set 'toy' and its vectors under 'hash-64'; return it."""
    rng = np.random.default_rng(seed)

    def say(n):
        return " ".join(rng.choice(WORDS, n))

    memories, queries = {}, []
    for m in range(n_memories):
        name = f"m{m}"
        docs = [(f"s{n % 5}", Round.from_texts(f"d{n}", user=say(4))) for n in range(n_docs)]
        memories[name] = Memory.from_rounds(name, *docs)
        queries += [Query(f"{name}-q{n}", name, say(3), "", "kind") for n in range(n_queries)]
    dataset = Dataset("toy", memories, tuple(queries))
    pieces = (
        Piece(memory, tuple(q for q in queries if q.memory_id == name))
        for name, memory in memories.items()
    )
    list(save(pieces, paths.prepared("toy")))
    save_extracted([], paths.extracted("toy"))
    write_vectors(dataset, PlainKeyBuilder("round", "concat"))
    return dataset


def write_vectors(dataset, builder):
    """The vectors of a builder's keys and of the queries, under 'hash-64'."""
    builder.make_all(list(dataset.memories.values()))
    encoder = HashEncoder()
    tables = [
        pd.DataFrame(
            {
                "role": role,
                "text_id": [text_id(text) for text in texts],
                "vector": list(encoder.encode(texts, role)),
            }
        )
        for role, texts in (
            ("document", builder.texts),
            ("query", list(dict.fromkeys(q.text for q in dataset.queries))),
        )
    ]
    write_table(paths.vectors("sample", "toy", "hash-64"), pd.concat(tables, ignore_index=True))


def experiment(retriever, traced=False, **parameters):
    """An experiment of RF-Mem on the toy's rounds, of the study 'all'."""
    shared = {
        "granularity": "round",
        "key_scheme": "concat",
        "encoder": "hash-64",
        "traced": traced,
    }
    return Experiment(
        "sample", "all", "toy", method="rfmem", retriever=retriever, parameters=parameters, **shared
    )


def plan(experiments, repeats=2, sweeps=None):
    """A plan of the experiments, which an entry 'timed' of latency times."""
    return Plan(
        {"toy": DatasetEntry("sample", "personamem", "question", {})},
        experiments, sweeps or {}, {},
        Evaluation((), (), (2,), (), {}),
        {"timed": Latency("sample", "toy", "hash-64", tuple(experiments), repeats)},
    )  # fmt: skip
