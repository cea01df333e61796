"""The real files, prepared again: gold, places, times, lengths and counts come out as committed."""

from dataclasses import replace

import pandas as pd
import pytest

from memrepro.core.prepared import load
from memrepro.data import personamem
from memrepro.data.fetch import mirror_copies
from memrepro.data.registry import registration
from memrepro.files import paths
from memrepro.files.atomic import read_table, root
from memrepro.pipeline.stages.data import download, extract, prepare
from memrepro.study.params import load_plan
from tests.data.gathered import MIRROR, in_mirror

NAMES = (
    "sample", "locomo", "locomo-mteb", "personabench-n00", "personabench-n03",
    "personabench-fields", "personamem-32k", "longmemeval-oracle",
)  # fmt: skip
# Two of the ten conversations of LoCoMo, and what `nlp` extracts from them: from all, and from
# other data sets, it takes minutes.
EXTRACTED = ("conv-26", "conv-30")
BY_NLP = {
    ("event", "round"): 87, ("fact", "round"): 509, ("keyphrase", "round"): 3725,
    ("keyphrase", "session"): 380, ("summary", "session"): 38, ("date", "session"): 69,
    ("range", "query"): 16, ("skipped", "item"): 0,
}  # fmt: skip
# Of every fourth question, check → met; of all questions it takes ten seconds.
MET = {
    "tokens up to and with the question": 148,
    "letters up to the question": 148,
    "the distance leads to a turn's beginning": 148,
    "that turn is the user's": 148,
    "distance in chats": 148,
    "the correct option's words weigh most in the round": 62,
    "the correct option's words weigh most in it or a neighbour": 78,
    "a wrong option's words weigh most in the round": 68,
    "a wrong option's words weigh most in it or a neighbour": 90,
}


def two_conversations(path, name):
    whole = load(path, name)
    memories = {one: whole.memories[one] for one in EXTRACTED}
    return replace(
        whole, memories=memories, queries=[q for q in whole.queries if q.memory_id in memories]
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_data_set_is_prepared_to_what_is_committed(name, tmp_path, monkeypatch):
    plan, committed = load_plan(), root()
    if not all(any(mirror_copies(file, MIRROR)) for file in registration(name).files):
        pytest.skip(f"no mirror with {name}: {MIRROR} lacks its files")
    monkeypatch.setattr(paths, "root", lambda: tmp_path)
    for stage in (download, prepare, extract):
        monkeypatch.setattr(stage, "load_plan", lambda: plan)
    monkeypatch.setattr(extract, "load", two_conversations)
    if name == "personamem-32k":  # the test below has a part of it
        monkeypatch.setattr(prepare, "evidence", lambda *_: {})
    monkeypatch.setenv("MEMREPRO_MIRROR", str(MIRROR))
    download.run(name)
    outputs = prepare.run(name).outputs
    made = [path for path in outputs if path.is_relative_to(tmp_path / "results")]
    assert len(made) >= 7
    for path in made:
        kept = read_table(committed / path.relative_to(tmp_path))
        pd.testing.assert_frame_equal(read_table(path), kept, obj=f"{name}: {path.name}")
    if name == "locomo":
        found = extract.run(name)
        by_nlp = found.summary[found.summary["source"] == "nlp"]
        assert by_nlp.set_index(["kind", "of"])["number"].to_dict() == BY_NLP
        of_the_two = [path for path in found.outputs if path.is_relative_to(tmp_path / "results")]
        (counted,) = (path for path in of_the_two if path.suffix == ".csv")
        for path in {*of_the_two} - {counted}:
            kept = read_table(committed / path.relative_to(tmp_path))
            kept = kept[kept["memory_id"].isin(EXTRACTED)].reset_index(drop=True)
            pd.testing.assert_frame_equal(read_table(path), kept, obj=f"{name}: {path.name}")


@pytest.mark.slow
def test_the_evidence_of_personamem_is_held_against_its_columns_and_options(monkeypatch):
    whole = personamem._table
    monkeypatch.setattr(personamem, "_table", lambda *given: whole(*given)[::4])
    found = personamem.evidence(in_mirror("personamem-32k"), "personamem-32k")
    assert {check: met for check, (met, _) in found.items()} == MET
    assert {of for _, of in found.values()} == {148, 3 * 148}
