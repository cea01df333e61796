"""Which field won a doc of max-sim's list, told by the runs of the single fields alone."""

import numpy as np
import pandas as pd
import pytest

from memrepro.core.key_builder import make_keys
from memrepro.core.keys import Request
from memrepro.core.memory import Memory, Round
from memrepro.core.ranking import to_frame
from memrepro.errors import MemreproError
from memrepro.papers.maxsim.selection import winners
from memrepro.retrieve.dense.retrievers import Dense

K = 4


def rankings(seed):
    """Max-sim and each field alone over random vectors, as runs; and the similarities by field."""
    rng = np.random.default_rng(seed)
    rounds = [
        (
            "s",
            Round.from_texts(
                f"d{i:02}", **{f: f"{f}{i}" for f in ("user", "assistant") if (i + 1) % 5}
            ),
        )
        for i in range(20)
        if (i + 1) % 5
    ] + [("s", Round.from_texts("alone", user="alone"))]
    memory = Memory.from_rounds("m", *rounds)
    questions = rng.normal(size=(3, 8)).astype(np.float32)
    vectors: dict[str, np.ndarray] = {}
    runs, similar = [], {}
    for setting, scheme in (
        ("fielded", "fielded"), ("user_only", "user_only"), ("assistant_only", "assistant_only"),
    ):  # fmt: skip
        keys = make_keys(memory, scheme)
        rows = [vectors.setdefault(t, rng.normal(size=8).astype(np.float32)) for t in keys.unique]
        keys = keys.with_vectors(np.array(rows))
        found = Dense(K).search([Request(keys, ["a", "b", "c"], ["", "", ""], questions)])
        runs.append(to_frame(found).assign(setting=setting))
        if scheme == "fielded":
            for number, query in enumerate("abc"):
                scores = keys.key_scores(questions)[number]
                for owner, field, score in zip(keys.owner, keys.fields, scores, strict=True):
                    similar.setdefault((query, keys.doc_ids[owner]), {})[field] = score
    return pd.concat(runs, ignore_index=True), similar


@pytest.mark.parametrize("seed", range(3))
def test_the_winner_is_the_field_of_the_greater_similarity(seed):
    runs, similar = rankings(seed)
    found = winners(runs, "user", "assistant")
    assert len(found) == 3 * K
    for query, doc, field in zip(found["query_id"], found["doc_id"], found["field"], strict=True):
        by = similar[query, doc]
        assert field == {"user": "1", "assistant": "2"}[max(by, key=by.__getitem__)]


def test_runs_that_do_not_fit_are_refused():
    runs, _ = rankings(0)
    other = runs["setting"] == "fielded"
    runs.loc[other, "score"] += 1
    with pytest.raises(MemreproError, match="neither field's run has"):
        winners(runs, "user", "assistant")
