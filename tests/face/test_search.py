"""Search in memory gives the committed rankings; texts and conversations of one's own are read."""

import json

import pandas as pd
import pytest

import memrepro as mr
from memrepro.errors import MemreproError
from memrepro.study.params import load_plan

NOTES = ["I adopted a grey cat.", "The train to Bern was late again.", "We sail on Sundays."]
# Runs of the sample whose data the package compiles itself: run → its setting.
SAME = {
    "sample-bm25-words": "",
    "sample-round-hybrid": "0.5",
    "sample-dense-fielded": "",
    "sample-rfmem-recollection": "",
    "sample-rfmem-gated": "",
    "sample-by-alpha": "0.3",
    "sample-round-keys": "user_only+merge:gold-fact",
    "sample-round-ranks": "user_only+split-separate:nlp-fact",
    "sample-round-time": "user_only",
    "sample-associa-nlp": "",
    "sample-tiered-turn": "",
}


@pytest.fixture(scope="module")
def sample():
    return mr.load("sample")


@pytest.mark.slow
@pytest.mark.parametrize("name", SAME)
def test_a_search_in_memory_is_the_committed_run(name, sample):
    committed = mr.run(name, setting=SAME[name])
    one = load_plan().experiment(name).variants()[SAME[name]]
    asked = sample.questions["query_id"].tolist()[:2]
    given = {"alpha": 1.0} if name == "sample-tiered-turn" else {}  # the retriever's own default
    found = mr.search(
        sample, asked, f"{one.method}.{one.retriever}", key_scheme=one.key_scheme,
        level=one.granularity, encoder=one.encoder or "all-minilm-l6-v2",
        **{**given, **one.parameters},
    )  # fmt: skip
    wanted = committed.ranking[committed.ranking["query_id"].isin(asked)]
    # A sweep over key schemes is kept as far down as it is evaluated.
    both = wanted.merge(found, on=["query_id", "rank"], suffixes=("", "_found"))
    assert len(both) == len(wanted) >= 20
    assert both["doc_id_found"].tolist() == both["doc_id"].tolist()
    assert both["score_found"].tolist() == pytest.approx(both["score"].tolist(), abs=5e-6)


def test_ids_are_keys_or_places():
    by_place = mr.search(NOTES, ["late train"], method="bm25.bm25")
    by_key = mr.search(pd.Series(NOTES, ["x", "y", "z"]), {"q": "late train"}, method="bm25.bm25")
    assert by_place[["query_id", "doc_id"]].iloc[0].tolist() == ["0", "1"]
    assert by_key[["query_id", "doc_id"]].iloc[0].tolist() == ["q", "y"]


ERRORS = {
    "unknown method 'bm52': the nearest of .* 'bm25.bm25'": lambda: mr.search(NOTES, ["a"], "bm52"),
    "unknown parameter 'alfa' of bm25.hybrid.*alpha": lambda: mr.search(
        NOTES, ["a"], "bm25.hybrid", alfa=1.0
    ),
    "rfmem.recollection: alpha is 1.7, and must lie in 0..1": lambda: mr.search(
        NOTES, ["a"], "rfmem.recollection", alpha=1.7
    ),
    "no key has the field 'usr': there are text": lambda: mr.search(
        NOTES, ["a"], "dense.mixture", field="usr"
    ),
    "unknown encoder 'x'": lambda: mr.search(NOTES, ["a"], "dense.dense", encoder="x"),
    "unknown key scheme 'x'": lambda: mr.search(NOTES, ["a"], "bm25.bm25", key_scheme="x"),
    "text '1' is ''.*must be a string": lambda: mr.search(["a", ""], ["a"], "bm25.bm25"),
    "query '0' is 3": lambda: mr.search(NOTES, [3], "bm25.bm25"),
    "no questions and no levels": lambda: mr.search(NOTES, method="bm25.bm25"),
    "asked has 'soon'.*ISO 8601": lambda: mr.search(NOTES, ["a"], "bm25.bm25", asked=["soon"]),
    "times is a dict": lambda: mr.search(NOTES, ["a"], "bm25.bm25", times={0: "", 1: "", 2: ""}),
    "session '1' .* has no time, and others": lambda: mr.search(
        NOTES, ["a"], "tiered.tiered", times=[1746209100, None, "2025-05-02"]
    ),
    "texts has no extractions 'recorded'": lambda: mr.search(
        NOTES, ["a"], "bm25.bm25", key_scheme="concat+merge:recorded-fact"
    ),
    "no data set 'x'.*locomo": lambda: mr.search("x", method="bm25.bm25"),
    "published ranking 'mempalace-raw' of question '0'": lambda: mr.search(
        NOTES, ["a"], "outside.published"
    ),
    "conversations has no question 'q9'": lambda: mr.search(
        mr.load([{"text": "a"}], [{"question": "b"}]), ["q9"], "bm25.bm25"
    ),
}


@pytest.mark.parametrize("sentence", ERRORS)
def test_errors_of_a_search(sentence):
    with pytest.raises(MemreproError, match=sentence):
        ERRORS[sentence]()


TALK = [
    {"conversation": "ann", "session": "1", "id": "m1", "speaker": "user", "text": "A cat, Miso."},
    {"conversation": "ann", "session": "1", "id": "m2", "speaker": "bot", "text": "Lovely."},
    {"conversation": "ann", "session": "1", "id": "m3", "speaker": "user", "text": "She is grey."},
    {"conversation": "ann", "session": "2", "time": "2025-02-01", "text": "The train was late."},
    {"conversation": "bob", "session": "1", "id": "m1", "text": "I sail on Sundays."},
    {"conversation": "bob", "session": "1", "id": "m2", "text": "My boat is called Gull."},
    {"conversation": "bob", "session": "1", "id": "m3", "text": "We won the regatta."},
]
ASKED = [
    {"conversation": "ann", "question": "Is she grey?", "gold": ["m3"], "kind": "pets"},
    {"conversation": "ann", "question": "What was late?", "gold": ["2"]},
    {"conversation": "bob", "question": "What is my boat called?", "gold": ["m2"], "id": "boat"},
]


def test_own_conversations_have_rounds_and_gold_at_every_level(tmp_path):
    for name, rows in (("chats.jsonl", TALK), ("q.jsonl", ASKED)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    own = mr.load(tmp_path / "chats.jsonl", questions=str(tmp_path / "q.jsonl"))
    assert own.unit == "conversation"
    assert own.turns["round_id"].tolist() == [
        "ann/m1", "ann/m1", "ann/m3", "ann/2:1", "bob/m1", "bob/m2", "bob/m3",
    ]  # fmt: skip
    gold = {(q, level): doc for q, level, _, doc in own.gold.itertuples(index=False)}
    assert gold == {
        ("q1", "session"): "ann/1", ("q1", "round"): "ann/m3", ("q1", "turn"): "ann/m3",
        ("q2", "session"): "ann/2",
        ("boat", "session"): "bob/1", ("boat", "round"): "bob/m2", ("boat", "turn"): "bob/m2",
    }  # fmt: skip
    assert own.turns["at"].unique().tolist() == ["", "2025-02-01T00:00"]


def test_methods_are_tried_beside_the_plain_hybrid():
    mine = {"mine": {"method": "bm25.bm25", "tokenisation": "official"}, "lexical": {
        "method": "bm25.hybrid", "alpha": 0.0}}  # fmt: skip
    found = mr.try_methods(TALK, ASKED, mine, metric="recall@1", level="turn")
    assert found["n"].tolist() == [2, 2]  # a session alone is no gold turn
    # Each conversation is searched by itself, and its words find its turn.
    assert found.loc["lexical", "recall@1"] == 1.0
    own = mr.load(TALK, ASKED)
    plain = mr.run(mr.search(own, None, "bm25.hybrid", level="turn"), own, level="turn")
    lexical = mr.run(mr.search(own, None, "bm25.hybrid", alpha=0.0, level="turn"), own)
    compared = mr.compare(plain.values("recall@1"), lexical.values("recall@1"))
    assert found.loc["lexical", "difference"] == compared.difference
    assert compared.unit == "conversation"
    # Tables of pandas, in which a field that a row lacks is NaN, are the same.
    tables = map(pd.DataFrame, (TALK, [*ASKED, {"conversation": "ann", "question": "Who?"}]))
    again = mr.try_methods(*tables, "BM25", metric="recall@1", level="turn")
    assert again.index.tolist() == ["BM25"]
    assert again["n"].tolist() == [2]
    for wrong, what in (("has its questions", {"questions": ASKED}), ("level 'x'", {"level": "x"})):
        with pytest.raises(MemreproError, match=wrong):
            mr.try_methods(own, **what)


WRONG = {
    "message 1 has text None: it must be a text; its fields are txt": ([{"txt": "a"}], ASKED),
    "message 1 is a str": (["a"], ASKED),
    "message 2 names no conversation": ([{"conversation": "a", "text": "a"}, {"text": "b"}], ASKED),
    "no message: it needs": ([], ASKED),
    "question 1 asks about the conversation 'eve'": (TALK, [{"conversation": "eve", "question":
        "a"}]),
    "question 1 has gold 'm1'": (TALK, [{"conversation": "ann", "question": "a", "gold": "m1"}]),
    "question 2 has the id 'q1'": ([{"text": "a"}], [{"question": "a"}, {"question": "b", "id":
        "q1"}]),
    "no question: give": ([{"text": "a"}], []),
    "comes without questions": ([{"text": "a"}], None),
    "unknown method 'bm26': the nearest of .* are 'BM25'": ("x", "x"),
}  # fmt: skip


@pytest.mark.parametrize("sentence", WRONG)
def test_errors_of_own_files(sentence):
    messages, asked = WRONG[sentence]
    with pytest.raises(MemreproError, match=sentence):
        if messages == "x":
            mr.try_methods([{"text": "a"}], [{"question": "a"}], ["bm26"])
        mr.load(messages, asked)
