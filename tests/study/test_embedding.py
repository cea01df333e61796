"""The stage embed: what a reader of its notebook sees of an encoder in half precision."""

from dataclasses import replace

import pandas as pd
import pytest

from memrepro.encode.encoder import HashEncoder
from memrepro.study import embedding
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
    loaded = {None: encoder, "cpu": HashEncoder()}
    monkeypatch.setattr(embedding, "load_encoder", lambda name, device=None: loaded[device])
    summary, output = embedding._embed("sample", prepare(), "hash-64", {"round": "concat"})
    half = encoder.identity.dtype == "bfloat16"
    assert ("dtype" in summary, "least cosine" in summary) == (half, half)
    if half:
        assert 1e-5 < summary["largest difference"] <= 5e-4 + 1e-7
        assert summary["top-10 agreement"] > 0.9
    vectors = pd.read_parquet(output)["vector"]
    assert (vectors.map(lambda v: abs(v - v.round(3)).max()).max() < 1e-7) == half
