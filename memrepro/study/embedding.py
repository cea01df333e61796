"""embed: the keys and queries of a data set as vectors; the only stage that wants a GPU."""

import numpy as np
import pandas as pd

from memrepro.core.key_builder import KeyBuilder, PlainKeyBuilder
from memrepro.core.prepared import load, load_extractions, text_id
from memrepro.encode.load import load_encoder
from memrepro.encode.vectors import VectorStore, embed
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.study.params import load_plan
from memrepro.study.result import StageResult


def run(embedding: str, builder_of: type[KeyBuilder] = PlainKeyBuilder) -> StageResult:
    """Embed each unique key and query text once, through the cache, and write the vectors.

    The table is `role, text_id, vector`, documents before queries, in the data set's order.
    """
    entry = load_plan().embedding(embedding)
    dataset = load(paths.prepared(entry.dataset), entry.dataset)
    extractions = load_extractions(paths.extracted(entry.dataset))
    documents: dict[str, None] = {}
    for granularity, key_schemes in entry.keys.items():
        for key_scheme in key_schemes:
            builder = builder_of(granularity, key_scheme, extractions)
            builder.make_all(list(dataset.memories.values()))
            documents.update(dict.fromkeys(builder.texts))
    queries = dict.fromkeys(query.text for query in dataset.queries)
    encoder = load_encoder(entry.encoder)
    blocks = []
    with VectorStore() as cache:
        for role, texts in (("document", list(documents)), ("query", list(queries))):
            vectors = embed(texts, encoder, role, cache)  # type: ignore[arg-type]
            ids = [text_id(text) for text in texts]
            blocks.append(pd.DataFrame({"role": role, "text_id": ids, "vector": list(vectors)}))
    output = entry.path
    write_table(output, pd.concat(blocks, ignore_index=True))
    summary = pd.DataFrame(
        {
            "encoder": [entry.encoder],
            "runtime": [encoder.identity.runtime],
            "documents": [len(documents)],
            "queries": [len(queries)],
            "mean length (characters)": [int(np.mean([len(text) for text in documents]))],
        }
    )
    folders = (paths.prepared(entry.dataset), paths.extracted(entry.dataset))
    inputs = [path for folder in folders for path in sorted(folder.glob("*.parquet"))]
    return StageResult(f"embed {embedding}", summary, inputs, [output])
