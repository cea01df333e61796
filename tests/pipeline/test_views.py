"""What notebooks show of vectors, read part by part, against the formulas on all of them."""

import numpy as np
import pandas as pd
import pytest

from memrepro.pipeline import views


def test_vectors_are_summed_up_part_by_part(tmp_path, monkeypatch):
    """Eleven documents and five questions in parts of four: one part has both roles."""
    rng = np.random.default_rng(3)
    documents, queries = (rng.standard_normal((n, 6)).astype(np.float32) for n in (11, 5))
    table = pd.DataFrame({
        "role": ["document"] * 11 + ["query"] * 5,
        "text_id": [f"{n:032x}" for n in range(16)],
        "vector": [*documents, *queries],
    })  # fmt: skip
    table.to_parquet(tmp_path / "drawn.parquet")
    monkeypatch.setattr(views, "_PART", 4)
    shown = views.vectors([tmp_path / "drawn.parquet"])
    assert shown[["role", "texts", "dimension"]].values.tolist() == [
        ["document", 11, 6], ["query", 5, 6]
    ]  # fmt: skip
    lengths = [np.linalg.norm(each, axis=1).mean() for each in (documents, queries)]
    assert shown["mean length"].tolist() == pytest.approx(lengths, abs=1e-4)
    products = queries @ documents.T
    cosines = views.cosines([tmp_path / "drawn.parquet"])["drawn"]
    for column, each in (("best key", products.max(1)), ("middle key", np.median(products, 1))):
        assert cosines[column].tolist() == pytest.approx(each, abs=1e-6)
