"""The rankings of all dense runs come out of faiss as they come out of the product."""

import numpy as np
import pandas as pd
import pytest

from memrepro.files import paths
from memrepro.retrieve.dense import index
from memrepro.study.params import load_plan
from memrepro.study.search import retrieval


def dense(profile):
    """Study → name → setting → experiment, of the runs whose retriever searches through faiss."""
    for study, runs in load_plan().studies(profile).items():
        settings = {name: entry.variants() for name, entry in runs.items()}
        found = {
            name: {s: one for s, one in variants.items() if one.retriever == "dense"}
            for name, variants in settings.items()
            if all(one.method == "dense" for one in variants.values())
        }
        if found := {name: variants for name, variants in found.items() if variants}:
            yield study, runs, found


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["sample", "open"])
def test_faiss_gives_the_committed_rankings_of_every_dense_run(profile, monkeypatch):
    wanted = {
        path
        for study, _, settings in dense(profile)
        for name, variants in settings.items()
        for one in variants.values()
        for path in (one.vectors, paths.prepared(one.dataset), paths.run(profile, name, study))
    }
    if missing := sorted(str(path) for path in wanted if not path.exists()):
        pytest.skip(f"not here: {missing[0]}; `memrepro repro {profile}` makes it")
    product, searched, left = index._Memory.product, [], []
    monkeypatch.setattr(
        index._Memory, "product", lambda self, n: left.append(len(n)) or product(self, n)
    )
    plan = load_plan()
    for study, runs, settings in dense(profile):
        for _, dataset, requests, asked in retrieval._by_requests(settings):
            for name, setting in asked:
                one = settings[name][setting]
                # The last digit of a vector is the machine's: both ways search the same ones.
                monkeypatch.setattr(index, "_LARGE", np.inf)
                multiplied, _ = retrieval._search(name, one, requests, plan.models)
                monkeypatch.setattr(index, "_LARGE", 1)
                table, _ = retrieval._search(name, one, requests, plan.models)
                searched.append(table["query_id"].nunique())
                pd.testing.assert_frame_equal(
                    table, multiplied, check_exact=True, obj=f"{name} {setting}"
                )
                if runs[name].varies_keys:
                    table = retrieval.shortened(table, dataset, max(plan.evaluation.protocol_ks))
                kept = pd.read_parquet(paths.run(profile, name, study))
                if "setting" in kept:
                    kept = kept[kept["setting"] == setting]
                assert [*table["doc_id"]] == [*kept["doc_id"]], f"{name} {setting}: as committed"
    assert searched
    # The certificate holds for nearly all; where texts are alike, the product decides.
    assert sum(left) < 0.005 * sum(searched)
