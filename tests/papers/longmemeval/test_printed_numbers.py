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
