"""Claims over all documents: each once for each verdict, whatever the number of its studies."""

import pandas as pd

from memrepro.audit.claims import FALLS, HOLDS, claims_in_words, read_claims
from memrepro.papers.findings.claims import class_cells, fallen_cells


def claims(folder, name, *rows):
    path = folder / "toy" / f"{name}_claims.csv"
    path.parent.mkdir(exist_ok=True)
    columns = ["row", "column", "reported", "reproduced", "n"]
    pd.DataFrame([(row, "verdict", "said", verdict, n) for row, verdict, n in rows],
                 columns=columns).to_csv(path, index=False)  # fmt: skip


def test_a_claim_is_counted_once_for_each_verdict_of_its_studies(tmp_path):
    claims(tmp_path, "small", ("a", "does not hold here", 5), ("b", "holds here", 5))
    claims(tmp_path, "large", ("a", "does not hold here: far", 9), ("b", "does not hold here", 9),
           ("not in the paper: c", "holds here", 9))  # fmt: skip
    found = read_claims(tmp_path)
    counted = {(c.row, c.column): c.reproduced for c in class_cells(found)}
    assert counted["all", "claims"] == "2"
    assert (counted["toy", HOLDS], counted["toy", FALLS]) == ("1", "2")
    assert claims_in_words(found, "toy").startswith("2 claims, 1 holds and 2 do not hold (")
    fallen = {c.row: c for c in fallen_cells(found)}
    assert list(fallen) == ["toy, a", "toy, b"]
    assert fallen["toy, a"].n == 9
    assert fallen["toy, a"].sources == "file toy/large_claims.csv + file toy/small_claims.csv"
