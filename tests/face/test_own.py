"""One's own files: every form that people have, what is odd in them, and all methods tried."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import memrepro as mr
from memrepro.encode.encoder import HashEncoder
from memrepro.errors import MemreproError
from memrepro.face import searcher
from memrepro.face.defaults import tried
from memrepro.face.own.noticed import sentences
from memrepro.face.trial.files import read_rankings
from memrepro.face.trial.trying import run_trial
from memrepro.pipeline.cli import main
from tests.data.gathered import in_mirror
from tests.memory.test_exchange import CHATGPT, CLAUDE, LOCOMO, LONGMEMEVAL

HYBRIDS = ["BM25", "dense", "plain hybrid", "hybrid: facts in the key"]
ASKED = [{"question": "Where do I fly?", "gold": ["a"]}]


@pytest.fixture
def hashed(monkeypatch, tmp_path):
    """An encoder that hashes words, and an empty folder far from any repository."""
    monkeypatch.setattr(searcher, "loaded", lambda name: HashEncoder())
    monkeypatch.setenv("MEMREPRO_CACHE", str(tmp_path / "cache"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def talks(conversations, messages=12):
    """Messages and questions: each statement names things that no other one names."""
    said, asked = [], []
    for c in range(conversations):
        for m in range(messages):
            word = f"thing{c}x{m}"
            text = (
                f"I bought a {word} with ben{c}x{m} at the market."
                if m % 2 == 0
                else f"How is your {word} today?"
            )
            at = f"2025-{1 + m // 4:02d}-03T10:{m:02d}"
            who = "user" if m % 2 == 0 else "assistant"
            said.append({"conversation": f"c{c}", "session": f"s{m // 4}", "at": at, "role": who,
                         "text": text, "id": f"m{m}"})  # fmt: skip
            if m % 4 == 0:
                asked.append({"conversation": f"c{c}", "question": f"Who was at the {word}?",
                              "gold": [f"m{m}"], "kind": "who"})  # fmt: skip
    return said, asked


FORMS = {
    "chatgpt": (CHATGPT, ["a", "c"]),
    "claude": (CLAUDE, ["a", "c"]),
    "locomo": ([{**LOCOMO[0], "qa": [{"question": "Where?", "category": 1, "evidence": ["D1:1"]}]}],
               ["D1:1", "D1:2"]),
    "longmemeval": ([{**LONGMEMEVAL[0], "question": "Where?", "question_type": "multi-session",
                      "question_date": "2023/05/09 (Tue) 10:00", "answer_session_ids": ["s"]}],
                    ["s_1", "s_2"]),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_files_of_programs_and_data_sets_are_read(tmp_path, form):
    content, ids = FORMS[form]
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(content))
    program = form in ("chatgpt", "claude")
    own = mr.load(path, questions=lines(tmp_path / "q.jsonl", ASKED) if program else None)
    assert own.turns["text"].iloc[0] == "I fly to Oslo"
    assert own.turns["text"].iloc[1].startswith("Enjoy!")
    assert len(own.questions) == 1
    assert own.labels["session"]
    if form != "longmemeval":  # its turns have no ids of their own
        assert own.turns["turn_id"].tolist() == ids
    assert own.turns["at"].iloc[0].startswith("2023-05-08")


ODD = {
    "empty message": ([{"text": " "}, {"text": None}], []),
    "empty question": ([], [{"question": " "}]),
    "message that came twice": ([{"id": "x", "text": "same"}, {"id": "x", "text": "same"}], []),
    "id of two messages": ([{"id": "x", "text": "one"}, {"id": "x", "text": "two"}], []),
    "same text as a message before it": ([{"text": "same"}, {"text": "same"}], []),
    "time that cannot be read": ([{"text": "b", "at": "03/04/2025"}], []),
    "form of time": ([{"text": "b", "at": "2025-01-01"}, {"text": "c", "at": 1735800000}], []),
    "time before that of the message above it": (
        [{"text": "b", "at": "2025-02-01"}, {"text": "c", "at": "2025-01-01"}], []),
    "session without a time": ([{"text": "b", "session": "2"}], []),
    "question without evidence": ([], [{"question": "Why?"}]),
    "evidence that names no message": ([], [{"question": "Why?", "gold": ["a", "nine"]}]),
    "question of a kind that is not counted": (
        [], [{"question": "Why?", "gold": ["a"], "kind": "abstention"}]),
    "conversation with one speaker": ([], []),
    "conversation that does not read like English": (
        [{"text": "Heute habe ich mit meinem Bruder ein altes Fahrrad repariert. " * 4}], []),
    "field that is not read": ([{"text": "b", "colour": "red"}], []),
}  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
def test_what_is_odd_is_named_counted_and_kept_apart(kind):
    said, asked = ODD[kind]
    own = mr.load([{"id": "a", "text": "I fly to Oslo."}, *said], [*ASKED, *asked])
    told = [one for one in sentences(own.noticed) if one.startswith(f"{kind}: ")]
    assert len(told) == 1, own.noticed
    values = mr.run(mr.search(own, None, "bm25.bm25"), own).values("recall@1")
    assert values.index.get_level_values("query_id").tolist() == ["q1"]  # the others do not count
    ordinary = mr.load([{"id": "a", "text": "I fly to Oslo.", "at": "2025-01-01"},
                        {"text": "And you?", "role": "Ben"}], ASKED)  # fmt: skip
    assert not ordinary.noticed


def test_a_frames_whole_numbers_stay_so_where_one_is_missing():
    said = pd.DataFrame({"id": [7, None, 9], "text": ["I fly to Oslo.", "And you?", "I stay."]})
    own = mr.load(said, pd.DataFrame({"question": ["Where?"], "gold": [[9.0]]}))
    assert own.turns["turn_id"].tolist() == ["7", "1:2", "9"]
    assert own.labels["turn"] == {"q1": (("9",),)}
    with pytest.raises(MemreproError, match="message 2 has id 1.23.*, which may stand for another"):
        mr.load(said.assign(id=[7, 1234567890123456789, None]), ASKED)


def test_questions_are_made_and_never_mixed_with_real_ones():
    said, asked = talks(3)
    said += [{"conversation": "c0", "session": "s9", "role": "user", "id": "late",
              "text": "Does the thing0x2 fit beside the thing0x2bis and Ben's kayak?"},
             {"conversation": "c0", "session": "s0", "role": "user", "id": "early",
              "text": "I bought a thing0x2bis, a kayak and a lamp."}]  # fmt: skip
    made = mr.load(said, make_questions=9)
    again = mr.load(said, make_questions=9)
    assert len(made.questions) == 9
    assert made.questions.equals(again.questions)
    assert set(made.questions["memory_id"]) == {"c0", "c1", "c2"}
    assert all(kind.startswith("made: ") for kind in made.questions["kind"])
    # Each finds the one message that it was made of, by its words.
    values = mr.run(mr.search(made, None, "bm25.bm25", level="turn"), made, level="turn")
    assert values.values("recall@10").mean() == 1.0
    with pytest.raises(MemreproError, match="never compared with real ones"):
        mr.load(said, asked, make_questions=3)


class Model:
    """Words a question by the message that it was shown."""

    def answer(self, prompts):
        said = [prompt.messages[-1].content for prompt in prompts]
        return [SimpleNamespace(text=f"What of {one[-30:]}") for one in said]


def test_a_setting_is_chosen_on_other_conversations(hashed):
    """By a plain loop over conversations, as the definition has it."""
    said, asked = talks(4)
    data = mr.load(said, asked)
    metric, changes = "ndcg@3", [{"alpha": 0.0}, {"alpha": 1.0}]
    mine = {"mixed": {"method": "bm25.hybrid", "alpha": 0.5, "tuned": changes}}
    trial = run_trial(data, mine, metric=metric)
    tuned = next(one for one in trial.outcomes if one.name == "mixed, tuned").values
    each = [
        mr.run(mr.search(data, None, "bm25.hybrid", alpha=a, encoder="x", k=3), data).values(metric)
        for a in (0.5, 0.0, 1.0)
    ]
    conversations = tuned.index.get_level_values("conversation")
    for one in set(conversations):
        inside = conversations == one
        means = [round(values[~inside].mean(), 9) for values in each]
        best = each[means.index(max(means))]
        assert tuned[inside].tolist() == best[inside].tolist()


def test_the_whole_session_from_an_empty_folder(hashed, capsys):
    said, asked = talks(3)
    lines(hashed / "chats.jsonl", said)
    lines(hashed / "q.jsonl", asked)
    named = [f"--methods={name}" for name in HYBRIDS]
    run = ["try", "chats.jsonl", "--questions", "q.jsonl", "--metric", "recall_all@3", *named]
    assert main([*run, "--out", "trial"]) == 0
    out = capsys.readouterr().out
    assert "cannot show anything: with 3 conversations" in out
    trial = Path("trial")
    page = (trial / "index.html").read_text()
    assert not re.search(r"(src|href)=\"(http|//)|@import|url\(", page)  # works offline
    results = pd.read_csv(trial / "results.csv")
    sizes = results.groupby("row").size()
    assert sizes.nunique() == 1
    assert sizes.iloc[0] == len(asked)
    # What best.yaml holds is what was run; nothing can be shown, so it is the hybrid.
    assert "so this is the plain hybrid" in (trial / "best.yaml").read_text()
    data = mr.load("chats.jsonl", "q.jsonl")
    found = mr.search(data, None, trial / "best.yaml", k=3)
    wanted = read_rankings(trial)["plain hybrid"]
    assert found[["query_id", "doc_id"]].values.tolist() == (
        wanted[["query_id", "doc_id"]].values.tolist()
    )
    # One's own system, by the ids of one's own files, beside all rows.
    rows = [f"q{n} Q0 {one['gold'][0]} 1 1.0 mine" for n, one in enumerate(asked, start=1)]
    Path("mine.trec").write_text("\n".join(rows))
    Path("worse.trec").write_text("\n".join(rows[:1]))
    assert main([*run, "--run", "mine.trec", "--run", "worse.trec", "--out", "trial"]) == 0
    page = (trial / "index.html").read_text()
    assert "bought a thing0x4" in page  # a question that worse loses
    assert re.search(r"not found by worse, place \d by plain hybrid", page)
    assert {"mine", "worse"} < set(pd.read_csv(trial / "methods.csv")["row"])
    # What a full disk cut short can be run again.
    with pytest.MonkeyPatch.context() as patched, pytest.raises(ZeroDivisionError):
        patched.setattr("memrepro.face.trial.files.write_method", lambda *_: 1 / 0)
        main([*run, "--out", "cut"])
    assert main([*run, "--out", "cut"]) == 0
    shutil.rmtree("cut")
    capsys.readouterr()
    score = ["score", "mine.trec", "--dataset", "trial", "--k", "3"]
    assert main([*score, "--fail-below", "recall_all@3=0.99"]) == 0
    assert "with the rows of the trial" in capsys.readouterr().out
    beside = pd.read_csv(trial / "score" / "beside.csv")
    assert set(beside["level"]) == {"round"}  # the rows are lists of rounds, too short for sessions
    assert main([*score, "--fail-below", "recall_all@3=nan"]) == 1
    assert main([*score, "--level", "turn"]) == 1
    assert "--level is for a data set" in capsys.readouterr().err
    each = pd.read_csv(trial / "score" / "each_question.csv")
    assert each[each["level"] == "round"]["recall_all"].tolist() == [1.0] * len(asked)
    kinds = pd.read_csv(trial / "score" / "kinds.csv")
    assert set(kinds["kind"]) == {"who"}
    assert main(["score", "mine.trec", "--dataset", "trial"]) == 1  # at k = 10
    assert "give --k 3, or try again with --metric recall_all@10" in capsys.readouterr().err
    worse = ["score", "worse.trec", "--dataset", "trial", "--k", "3"]
    assert main([*worse, "--fail-below", "recall_all@3=0.60"]) == 1
    assert "recall_all@3 is 0.1111, below 0.6" in capsys.readouterr().err
    assert main([*worse, "--against", "mine.trec"]) == 1  # 8 questions of 9 have no ranking
    assert "worse against mine, recall_all@3: -0.8889" in capsys.readouterr().out
    assert main(["export", "trial", "beir", "--level", "round"]) == 0
    corpora = list(Path("beir").glob("*/corpus.jsonl"))
    assert len(corpora) == 3
    lines(hashed / "q.jsonl", asked[1:])
    assert main(score) == 1  # the rankings are of other questions
    assert "q.jsonl is another file than the one that trial was made of" in capsys.readouterr().err
    # Nothing else was written here.
    assert {path.name for path in hashed.iterdir()} == {
        "chats.jsonl", "q.jsonl", "trial", "mine.trec", "worse.trec", "beir",
    }  # fmt: skip
    with pytest.raises(MemreproError, match="holds other files"):
        mr.try_methods(data, methods=["BM25"], out="beir")


def test_a_memory_takes_the_method(hashed):
    Path("best.yaml").write_text("method: bm25.bm25\nlevel: turn\n")
    with mr.Memory("mem", user="ann", method="best.yaml", encoder=HashEncoder(64)) as memory:
        memory.add([
            {"content": "I adopted a grey cat called Miso.", "at": "2025-01-01T10:00", "id": "cat"},
            {"content": "The train to Bern was late.", "at": "2025-01-05T10:00", "id": "train"},
            {"content": "I live in Oslo", "at": "2025-01-06T10:00", "id": "m", "source": "phone"},
        ])  # fmt: skip
        found = memory.search("Which train was late?", k=1)
        assert [hit.id for hit in found] == ["train"]
        (oslo,) = memory.search("Oslo", k=1)
        assert (oslo.facts, oslo.metadata) == (("I live in Oslo",), {"source": "phone"})
        memory.forget("m")
        assert found.certain
        assert "train" in memory.context("late train")
        memory.forget("train")
        assert [hit.id for hit in memory.search("late train")] == ["cat"]
    wrong = {"method: bm26\n": "best.yaml has the method 'bm26'", "- a\n": "yaml is no mapping",
             "method: bm25.bm25\nalfa: 1\n": "best.yaml has the unknown key 'alfa'"}  # fmt: skip
    for text, sentence in wrong.items():
        Path("best.yaml").write_text(text)
        with pytest.raises(MemreproError, match=sentence):
            mr.search(["a"], ["a"], "best.yaml")


def test_locomo_as_a_file_of_ones_own_gives_the_studys_values():
    """Where no text is embedded; that vectors give them too is tested on the sample."""
    own = mr.load(in_mirror("locomo") / "locomo" / "locomo10.json")
    found = mr.run(mr.search(own, None, "bm25.bm25", k=10), own).values("recall_all@10")
    committed = mr.run("locomo-bm25-words").values("recall_all@10")
    pd.testing.assert_series_equal(found, committed, check_names=False)


def test_every_document_has_a_method_that_is_tried(capsys):
    assert main(["try", "--methods", "list"]) == 0
    assert capsys.readouterr().out.splitlines() == list(tried())
    assert main(["try"]) == 1
    assert "name their file" in capsys.readouterr().err
    ideas = {name.partition(":")[0] for name in tried()}
    assert ideas >= {"LongMemEval", "Max-sim", "Associa", "RF-Mem", "Tiered", "hybrid"}
