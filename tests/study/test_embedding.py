"""The stage embed: its table part by part, and what a reader sees of half precision."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from memrepro.core.prepared import text_id
from memrepro.encode.encoder import HashEncoder
from memrepro.encode.vectors import VectorStore, embed
from memrepro.study import embedding
from memrepro.study.search import requests
from tests.study.toy import prepare


class Rounded(HashEncoder):
    """A `HashEncoder` whose vectors keep three digits."""

    def __init__(self):
        super().__init__()
        self.identity = replace(self.identity, dtype="bfloat16")

    def encode(self, texts, role):
        return super().encode(texts, role).round(3)


@pytest.mark.parametrize("encoder", [HashEncoder(), Rounded()])
def test_the_summary_has_the_drift_of_half_precision(encoder, tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    monkeypatch.setenv("MEMREPRO_CACHE", str(tmp_path / "cache"))
    loaded = {None: encoder, "float32": HashEncoder()}
    monkeypatch.setattr(
        embedding, "load_encoder", lambda name, device=None, dtype=None: loaded[dtype]
    )
    summary, output = embedding._embed("sample", prepare(), "hash-64", {"round": "concat"})
    half = encoder.identity.dtype == "bfloat16"
    assert ("dtype" in summary, "least cosine" in summary) == (half, half)
    if half:
        assert 1e-5 < summary["largest difference"] <= 5e-4 + 1e-7
        assert summary["top-10 agreement"] > 0.9
    vectors = pd.read_parquet(output)["vector"]
    assert (vectors.map(lambda v: abs(v - v.round(3)).max()).max() < 1e-7) == half


@pytest.mark.parametrize("part", [1 << 20, 4, 1])
def test_vectors_are_written_and_read_in_parts_as_they_are_at_once(tmp_path, monkeypatch, part):
    monkeypatch.setattr(embedding, "_PART", part)
    monkeypatch.setattr(requests, "_PART", part)
    encoder = HashEncoder()
    wanted = {"document": [f"text {i}" for i in range(9)], "query": ["text 3", "why?"]}
    path, whole = tmp_path / "parts.parquet", tmp_path / "whole.parquet"
    with VectorStore(tmp_path / "store.sqlite") as store:
        at_once = {role: embed(texts, encoder, role, store) for role, texts in wanted.items()}
        embedding._write_vectors(path, wanted, encoder, store)
    rows = [
        (role, text_id(t), v)
        for role in wanted
        for t, v in zip(wanted[role], at_once[role], strict=True)
    ]
    frame = pd.DataFrame(rows, columns=["role", "text_id", "vector"])
    frame.to_parquet(whole, index=False, compression="zstd")
    # Up to a million vectors the bytes are those that pandas writes, so that no stage is stale.
    assert (path.read_bytes() == whole.read_bytes()) == (part == 1 << 20)
    found = requests.read_vectors(SimpleNamespace(vectors=path))
    for role, texts in wanted.items():
        np.testing.assert_array_equal(found.of_texts(role, texts[::-1]), at_once[role][::-1])
