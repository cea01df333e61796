"""The study: what its data name, and how a row is chosen and compared."""

import re

import numpy as np
import pandas as pd
import pytest

from memrepro.files import paths
from memrepro.papers.findings import confirmatory, study
from memrepro.papers.findings.arenas import read_study
from memrepro.study.params import load_plan


def test_the_family_is_a_dozen_at_most_and_of_what_the_study_compares():
    data = read_study()
    family = confirmatory.named()
    assert 0 < len(family) == len(set(family)) <= 12
    known = {
        (method, f"{entry['arena']}, {encoder}")
        for entry in data["open"]
        for encoder in entry["encoders"].values()
        for method in entry["methods"]
    }
    assert {one[:2] for one in family} <= known
    assert {reference for *_, reference in family} <= set(study.BASELINES)
    owners = {method.partition(":")[0] for method in data["methods"]}
    assert owners - {"No document's", "Outside"} == set(data["documents"])


@pytest.mark.parametrize("profile", ["sample", "open"])
def test_what_the_study_names_is_planned(profile):
    """Each plain sweep is, and each method that needs something is one of the study's."""
    data, plan = read_study(), load_plan()
    for entry in data[profile]:
        for short in entry["encoders"]:
            sweep = plan.sweeps[entry["plain"].replace("{encoder}", short)]
            assert {0.0, 0.5, 1.0} <= set(sweep.values)
            assert (sweep.dataset, sweep.granularity) == (entry["dataset"], entry["level"])
        assert set(entry["methods"]) <= set(data["methods"])
        for method in entry["methods"].values():
            assert all(re.fullmatch(r"[^\[\]]+(\[[^\[\]]+\])?", one) for one in method["printed"])


def test_the_committed_family_is_corrected_together_and_judged_by_interval_and_p():
    table = pd.read_csv(paths.results("open") / "findings/confirmatory.csv", keep_default_na=False)
    table[["kind", "against"]] = table["column"].str.extract(
        r"(less|p,|p after Holm,|against) (.*)"
    )
    rows = table.pivot(index=["row", "against"], columns="kind", values="reproduced")
    before, after = (rows[name].astype(float) for name in ("p,", "p after Holm,"))
    smallest_first, least = before.sort_values(kind="stable"), 0.0
    for place, (row, p) in enumerate(smallest_first.items()):
        least = max(least, min(1.0, (len(rows) - place) * p))
        assert after[row] == pytest.approx(least, abs=len(rows) * 5e-5)  # p is printed rounded
    differences = table[table["kind"] == "less"].set_index(["row", "against"])
    low, high = (differences[end].astype(float).reindex(rows.index) for end in ("low", "high"))
    words = np.where(low > 0, "helps", np.where(high < 0, "harms", "not significant"))
    judged = np.where(after < 0.05, words, "not significant")
    assert rows["against"].tolist() == judged.tolist()
    assert len({*judged}) > 1
