"""extract: which source gives what, what is counted, and what is refused."""

import json

import pytest

from memrepro.core.prepared import load, save
from memrepro.data import sample
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import sha256
from memrepro.memory.language.extract import by_rules
from memrepro.pipeline.stages.data import extract
from memrepro.retrieve.tiered.keys.key_builder import messages_of
from memrepro.retrieve.tiered.keys.segments import cut, segment_text
from memrepro.study.params import DatasetEntry, Evaluation, Plan
from memrepro.text.sources import by_nlp


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    monkeypatch.setattr("memrepro.pipeline.stages.data.extract.root", lambda: tmp_path)
    sample.compile_files(paths.raw("toy"), {"seed": 3, "questions": 2, "sessions": 6})
    list(save(sample.stream(paths.raw("toy"), "toy"), paths.prepared("toy")))
    return load(paths.prepared("toy"), "toy")


def recorded(folder, dataset):
    """A recorded file with one fact of the first round; its options."""
    session = next(iter(dataset.memories.values())).sessions[0]
    line = {"session_id": session.session_id, "kind": "fact", "text": "f"}
    (folder / "llm.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    return {"file": "llm.jsonl", "sha256": sha256(folder / "llm.jsonl")}


def test_kinds_of_texts_are_those_of_all_beside_the_same_dates(dataset):
    whole = by_nlp(dataset)
    some = extract.extract("nlp", {"kinds": ["fact", "event"]}, dataset, "sample")
    assert some.texts == [text for text in whole.texts if text.kind in ("fact", "event")]
    assert {text.kind for text in some.texts} == {"fact", "event"}
    assert (some.dates, some.ranges, some.skipped) == (whole.dates, whole.ranges, whole.skipped)


def test_the_stores_rules_find_by_rounds_what_they_find_by_segments(dataset):
    found = extract.extract("store", {}, dataset, "sample").texts
    assert {text.name for text in found} == {"store-fact"}
    for session in dataset.sessions:
        messages = messages_of(session, 0.0)
        segments = [
            (f"{a}", segment_text(messages[a:b]), 0.0) for a, b in cut(messages)
        ]  # fmt: skip
        by_segments = {fact.text for fact in by_rules(segments, changes=False)}
        assert {text.text for text in found if text.session_key == session.key} == by_segments


@pytest.mark.parametrize(
    ("source", "options", "module", "said"),
    [
        ("llm", {}, "sample", "source of extractions 'llm' with the options {}: write nlp"),
        ("store", {"rules": 1}, "sample", "'store' with the options {'rules': 1}"),
        ("nlp", {"rules": 1}, "sample", "'nlp' with the options {'rules': 1}"),
        ("nlp", {"kinds": ["mood"]}, "sample", "nlp with kinds of fact, keyphrase, summary, event"),
        ("recorded", {}, "sample", "'toy' brings no extractions 'recorded' itself"),
        ("llm", {"file": "none", "sha256": "0"}, "sample", "none is missing"),
    ],
)
def test_what_is_refused(dataset, source, options, module, said):
    with pytest.raises(MemreproError) as error:
        extract.extract(source, options, dataset, module)
    assert said in str(error.value)


def plan(**sources):
    entry = DatasetEntry("sample", "sample", "question", {}, sources)
    return Plan({"toy": entry}, {}, {}, {}, Evaluation((), (), (), (), {}))
