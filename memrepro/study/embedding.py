"""embed: the keys and queries of a data set as vectors; the only stage that wants a GPU."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from memrepro.cluster.workers import address
from memrepro.core.memory import Dataset
from memrepro.core.prepared import load, load_extractions, text_id
from memrepro.encode.drift import drift
from memrepro.encode.encoder import Role
from memrepro.encode.load import load_encoder
from memrepro.encode.shards import ShardedEncoder
from memrepro.encode.vectors import VectorStore, embed
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_yaml, root, write_table, write_text
from memrepro.retrieve.key_builders import key_builder_for
from memrepro.study.params import Plan, load_plan
from memrepro.study.result import StageResult, data_files

_ABOVE = """\
# Which keys are embedded: profile, data set, encoder, granularity, key schemes. It follows from the
# runs of params.yaml; `memrepro repro` (or `memrepro keys`) writes it. It stands here so that a run
# that searches keys which are there already makes no embedding stale.
"""


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
    blocks, moved = [], dict[str, Any]()
    with VectorStore() as cache:
        for role, texts in wanted.items():
            vectors = embed(texts, encoder, role, cache)
            ids = [text_id(text) for text in texts]
            blocks.append(pd.DataFrame({"role": role, "text_id": ids, "vector": list(vectors)}))
        if (dtype := encoder.identity.dtype) != "float32":
            # Against the CPU's: where half precision is asked for, float32 may have no room.
            full = load_encoder(name, device="cpu")
            moved = {"dtype": dtype, **drift(encoder, full, documents, queries, cache)}
    output = paths.vectors(profile, dataset.name, name)
    write_table(output, pd.concat(blocks, ignore_index=True))
    summary = {
        "encoder": name,
        "runtime": encoder.identity.runtime,
        "documents": len(documents),
        "queries": len(queries),
        "mean length (characters)": int(np.mean([len(text) for text in documents])),
        **moved,
    }
    return summary, output
