"""embed: the keys and queries of a data set as vectors; the only stage that wants a GPU."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from memrepro.cluster.workers import address
from memrepro.core.memory import Dataset
from memrepro.core.prepared import load, load_extractions, text_id
from memrepro.encode.drift import drift
from memrepro.encode.encoder import Encoder, Role, Vectors
from memrepro.encode.load import load_encoder
from memrepro.encode.shards import ShardedEncoder
from memrepro.encode.vectors import VectorStore, fill, stored
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_yaml, replacing, root, write_text
from memrepro.retrieve.key_builders import key_builder_for
from memrepro.study.params import Plan, load_plan
from memrepro.study.result import StageResult, data_files

_ABOVE = """\
# Which keys are embedded: profile, data set, encoder, granularity, key schemes. It follows from the
# runs of params.yaml; `memrepro repro` (or `memrepro keys`) writes it. It stands here so that a run
# that searches keys which are there already makes no embedding stale.
"""
_PART = 1 << 20  # vectors in memory at once: a row group, as pandas writes them


def keys_file() -> Path:
    """The file that says which keys are embedded."""
    return root() / "keys.yaml"


def keys_to_embed(plan: Plan) -> dict[str, dict[str, dict[str, dict[str, str]]]]:
    """Profile → data set → encoder → granularity → key schemes, with spaces between."""
    found: dict[str, dict[str, dict[str, dict[str, str]]]] = {}
    for one in plan.runs.values():
        if one.encoder:
            found.setdefault(one.profile, {})[one.dataset] = {
                encoder: {level: " ".join(sorted(schemes)) for level, schemes in levels.items()}
                for encoder, levels in plan.keys(one.profile, one.dataset).items()
            }
    return found


def write_keys(plan: Plan) -> bool:
    """Write what the runs' keys are, if the file says something else; whether it did."""
    wanted = keys_to_embed(plan)
    path = keys_file()
    if path.is_file() and read_yaml(path) == wanted:
        return False
    write_text(path, _ABOVE + yaml.safe_dump(wanted, sort_keys=False, width=10_000))
    return True


def run(profile: str, dataset: str) -> StageResult:
    """Embed each unique key and query text of a data set once, through the cache, by each encoder.

    A table is `role, text_id, vector`, documents before queries, in the data set's order.

    Raises:
        MemreproError: if no run of the profile searches vectors of the data set, or keys.yaml does
            not follow from the runs.
    """
    plan = load_plan()
    wanted = keys_to_embed(plan).get(profile, {}).get(dataset)
    if not wanted:
        raise MemreproError(f"no run of the profile {profile!r} searches vectors of {dataset!r}")
    if read_yaml(keys_file()).get(profile, {}).get(dataset) != wanted:
        raise MemreproError(
            f"keys.yaml is older than the runs of params.yaml: run `memrepro repro {profile}`, "
            "which writes it, or `memrepro keys`"
        )
    loaded = load(paths.prepared(dataset), dataset)
    summaries, outputs = [], []
    for encoder, levels in wanted.items():
        summary, output = _embed(profile, loaded, encoder, levels)
        summaries.append(summary)
        outputs.append(output)
    return StageResult(
        f"embed {profile} {dataset}", pd.DataFrame(summaries), data_files(dataset), outputs
    )


def texts_to_embed(dataset: Dataset, levels: Mapping[str, str]) -> dict[Role, list[str]]:
    """The keys that are searched, as documents, and the queries, each once, in their order.

    Args:
        dataset: as prepared.
        levels: granularity → key schemes, with spaces between.
    """
    extractions = load_extractions(paths.extracted(dataset.name))
    documents: dict[str, None] = {}
    for granularity, schemes in levels.items():
        for scheme in schemes.split():
            builder = key_builder_for(scheme)(granularity, scheme, extractions)
            builder.make_all(list(dataset.memories.values()))
            documents.update(dict.fromkeys(builder.texts))
    queries = dict.fromkeys(query.text for query in dataset.queries)
    return {"document": list(documents), "query": list(queries)}


def _embed(
    profile: str, dataset: Dataset, name: str, levels: Mapping[str, str]
) -> tuple[dict[str, Any], Path]:
    """Embed by one encoder: what a reader of the notebook sees, and the file.

    Where it computes in half precision, the reader sees how far that is from float32.
    """
    wanted = texts_to_embed(dataset, levels)
    documents, queries = wanted["document"], wanted["query"]
    load = partial(load_encoder, name)
    encoder = ShardedEncoder(load) if address() else load()
    moved, output = dict[str, Any](), paths.vectors(profile, dataset.name, name)
    with VectorStore() as cache:
        for role, texts in wanted.items():
            fill(texts, encoder, role, cache)
        with replacing(output) as temporary:
            _write_vectors(temporary, wanted, encoder, cache)
        if (dtype := encoder.identity.dtype) != "float32":
            # Against the CPU's: where half precision is asked for, float32 may have no room.
            full = load_encoder(name, device="cpu", dtype="float32")
            moved = {"dtype": dtype, **drift(encoder, full, documents, queries, cache)}
    summary = {
        "encoder": name,
        "runtime": encoder.identity.runtime,
        "documents": len(documents),
        "queries": len(queries),
        "mean length (characters)": int(np.mean([len(text) for text in documents])),
        **moved,
    }
    return summary, output


def _write_vectors(
    path: Path, wanted: Mapping[Role, list[str]], encoder: Encoder, cache: VectorStore
) -> None:
    """Write `role, text_id, vector` row group by row group: all at once may be beyond memory."""
    rows = ((role, text) for role, texts in wanted.items() for text in texts)
    one = {"role": [""], "text_id": [""], "vector": [np.zeros(encoder.dimension, np.float32)]}
    like = pa.Schema.from_pandas(pd.DataFrame(one), preserve_index=False)
    with pq.ParquetWriter(path, like, compression="zstd") as writer:
        while part := list(islice(rows, _PART)):
            by_role = [
                (role, [text for _, text in some]) for role, some in groupby(part, itemgetter(0))
            ]
            vectors = [stored(texts, encoder, role, cache) for role, texts in by_role]
            columns = [[role for role, _ in part], [text_id(text) for _, text in part]]
            writer.write_table(pa.table([*columns, _lists(vectors)], schema=like), _PART)


def _lists(blocks: Sequence[Vectors]) -> pa.ListArray:
    """Vectors, one block after the other, as lists; one block alone is not copied."""
    vectors = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
    ends = np.arange(0, vectors.size + 1, vectors.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(ends, vectors.reshape(-1))
