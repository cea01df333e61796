"""What stands out in LongMemEval's tables, and what the sample takes from them."""

from pathlib import Path

import pandas as pd

from memrepro import data
from memrepro.audit.documents import printed_rows
from memrepro.files.atomic import read_yaml

SAMPLE = read_yaml(Path(data.__file__).with_name("sample_texts.yaml"))


def printed(table):
    """A table as printed: strings, by row and column."""
    return pd.DataFrame.from_dict(printed_rows("longmemeval", table), orient="index")


def test_what_stands_out_between_recall_and_ndcg():
    """From 5 to 10, NDCG gains about 0.3 of what Recall gains, in every row but the noted."""
    ratios = {}
    for name in ("table3", "table9", "table10"):
        table = printed(name).replace("-", None).astype(float)
        for prefix in ("Value = session, ", "Value = round, ") if name == "table9" else ("",):
            recall, ndcg = (
                table[f"{prefix}{m}@10"] - table[f"{prefix}{m}@5"] for m in ("Recall", "NDCG")
            )
            ratios |= {
                (name, prefix + row): ratio for row, ratio in (ndcg / recall).dropna().items()
            }
    odd = {where for where, ratio in ratios.items() if not 0.235 <= ratio < 0.355}
    assert odd == {
        ("table3", "Value = Round, K = keyphrase"),
        ("table10", "Value = Round, K = V + keyphrase (RM)"),
    }
    times = printed("table4").filter(like="Session").astype(float).to_numpy()
    recall, ndcg = times[:, 2] - times[:, 0], times[:, 3] - times[:, 1]
    assert list(ndcg > 1.5 * recall) == [True, False, True, True, False, True]
    exchanged = (times[:, 2] - times[:, 1]) / (times[:, 3] - times[:, 0])
    assert all(0.28 <= ratio <= 0.345 for ratio in exchanged[ndcg > recall])


def test_the_samples_ontology_is_table_5():
    def name(heading):
        parts = [part.split(": ", 1)[1] for part in heading.split(", ")]
        return ": ".join(parts)

    transcribed = {
        name(row): cell.split(", ") for row, cell in printed("table5")["attributes"].items()
    }
    assert list(transcribed.items()) == list(SAMPLE["ontology"].items())


def test_the_counts_by_type_are_those_that_the_sample_is_compiled_to():
    counts = printed("figure9").astype(int)
    types = counts.drop("all")
    assert dict(types["without abstention"]) == {k: t["plain"] for k, t in SAMPLE["types"].items()}
    abstentions = types["with abstention"] - types["without abstention"]
    assert dict(abstentions) == {k: t["abstention"] for k, t in SAMPLE["types"].items()}
    assert (types.sum() == counts.loc["all"]).all()
    text = printed("figure9_text")["printed"]
    assert abstentions.sum() == int(text["abstention questions"])
    assert counts.loc["all", "with abstention"] == int(text["questions"])
