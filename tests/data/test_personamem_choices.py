"""Published choices on PersonaMem: known counts, and files that are others or missing."""

from pathlib import Path

import pandas as pd
import pytest

from memrepro.data import fetch, personamem
from memrepro.data import personamem_choices as source
from memrepro.data.registry import registration
from memrepro.errors import MemreproError
from tests.data.gathered import MIRROR, in_mirror


@pytest.fixture(scope="module")
def questions():
    return in_mirror("personamem-32k")


@pytest.fixture
def outside(monkeypatch):
    """The folder of the published files; without them the test is skipped."""
    folder = MIRROR.parent / "outside"
    if not all((folder / name).is_file() for name in source.FILES):
        pytest.skip(f"no published choices in {folder}")
    monkeypatch.setenv(fetch.MIRROR, str(MIRROR))
    return folder


def test_the_published_counts_and_where_the_evidence_was_found(outside, questions, tmp_path):
    chosen = source.choices(tmp_path, questions)
    shares = chosen.groupby(["reader", "memory"])["right"].agg(["size", "mean"]).round(4)
    assert shares.to_dict("index") == {
        ("gpt-4o", source.NO_MEMORY): {"size": 589, "mean": 0.4686},
        ("gpt-4o-mini", source.NO_MEMORY): {"size": 589, "mean": 0.3447},
        ("gpt-4o", source.RETRIEVED): {"size": 589, "mean": 0.6418},
        ("gpt-4o-mini", source.RETRIEVED): {"size": 589, "mean": 0.4907},
    }
    # The rank again, by the text: the message at that place of the context is the evidence's turn.
    places = pd.read_csv(outside / "personamem-32k-rag-gpt-4o.csv").set_index("question_id")["r"]
    contexts = personamem._contexts(questions / "personamem" / "shared_contexts_32k.jsonl")
    asked = {
        q.query_id: (piece, contexts[piece.memory.memory_id.partition("@")[0]])
        for piece in personamem.stream(questions, "personamem-32k")
        for q in piece.queries
    }
    found = chosen[(chosen["evidence"] > 0) & (chosen["memory"] == source.RETRIEVED)]
    for query_id, rank in found.drop_duplicates("query_id")[["query_id", "evidence"]].values:
        piece, context = asked[query_id]
        ((turn_id,),) = piece.qrels["turn"][query_id]
        (text,) = (t.text for r in piece.memory.rounds for t in r.turns if t.turn_id == turn_id)
        assert context[int(places[query_id].split()[rank - 1])][1].strip() == text
    assert len(found) == 2 * 274


def test_the_form_in_which_they_were_published_has_the_same_rows(outside, tmp_path):
    file = next(one for one in registration(source.DATASET).unhashed if "r" in one.columns)
    table = pd.read_csv(outside / file.path, dtype=str)
    table["r"] = "[ " + table["r"].str.replace(" ", "  ") + "]"
    table.to_csv(tmp_path / file.path, index=False)
    # The data set's own folder comes first.
    pd.testing.assert_frame_equal(
        fetch.rows_of(file, tmp_path), fetch.rows_of(file, Path("nowhere"))
    )
    table.iloc[::-1].to_csv(tmp_path / file.path, index=False)
    with pytest.raises(MemreproError, match=r"other rows than the registry says of https://raw"):
        fetch.rows_of(file, tmp_path)
    table.drop(columns="p").to_csv(tmp_path / file.path, index=False)
    with pytest.raises(MemreproError, match="no column 'p'"):
        fetch.rows_of(file, tmp_path)


def test_where_a_file_is_missing_there_are_no_choices(monkeypatch, tmp_path):
    monkeypatch.delenv(fetch.MIRROR, raising=False)
    assert source.choices(tmp_path, tmp_path) is None
    assert "licence: none stated" in source.missing()
