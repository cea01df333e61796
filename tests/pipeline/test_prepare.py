"""prepare: which tables it writes besides the data, and topics and checks of modules with them."""

import csv
import json
from itertools import accumulate

import pytest

from memrepro.data.registry import registration
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.pipeline.stages.data import prepare
from memrepro.study.params import load_plan
from memrepro.text.lengths import count_tokens

NAME = "personamem-32k"


@pytest.fixture
def personamem(tmp_path, monkeypatch):
    """PersonaMem's two files with three questions of our own."""
    plan = load_plan()
    monkeypatch.setattr("memrepro.pipeline.stages.data.prepare.load_plan", lambda: plan)
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    monkeypatch.setattr("memrepro.pipeline.stages.data.prepare.check_before_use", lambda *_: None)
    questions, contexts = (paths.raw(NAME) / f.path for f in registration(NAME).files)
    if "context" in questions.name:
        questions, contexts = contexts, questions
    questions.parent.mkdir(parents=True)
    turns = [
        {"role": "system", "content": "a persona"},
        {"role": "user", "content": "User: I like tea"},
        {"role": "assistant", "content": "Assistant: Tea is fine"},
    ]
    contexts.write_text(json.dumps({"c": turns}) + "\n")
    before = [0, *accumulate(count_tokens(turn["content"]) for turn in turns)]
    rows = [
        {
            "persona_id": 7, "question_id": f"q{n}", "question_type": "kind", "topic": topic,
            "user_question_or_message": "which drink?", "shared_context_id": "c",
            "end_index_in_shared_context": 3, "context_length_in_tokens": before[3] + 4,
            "distance_to_ref_in_tokens": before[3] + 4 - before[1],
            "context_length_in_letters": sum(len(turn["content"]) for turn in turns),
            "distance_to_ref_in_blocks": 0, "correct_answer": "(a)",
            "all_options": str(["(a) tea", "(b) milk"]),
        }
        for n, topic in enumerate(("therapy", "bookRecommendation", "therapy"))
    ]  # fmt: skip
    with questions.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_personamem_has_topics_and_lengths(personamem):
    done = prepare.run(NAME)
    topics = read_table(paths.topics("open", NAME))
    assert topics.values.tolist() == [["therapy", "2"], ["bookRecommendation", "1"]]
    lengths = read_table(paths.lengths("open", NAME))
    assert lengths["level"].tolist() == ["session", "round", "query", "query", "query"]
    assert lengths["doc_id"].tolist() == ["s1", "s1:t1", "q0", "q1", "q2"]
    assert set(lengths["memory_id"]) == {"c@3"}
    checks = read_table(paths.evidence("open", NAME))
    assert set(checks["of"]) == {"3"}
    # 'which drink?' has three tokens, and the file says four.
    assert checks["met"].tolist()[:5] == ["0", "3", "3", "3", "3"]
    assert read_table(paths.persons("open", NAME)).values.tolist() == [["c", "7"]]
    written = (paths.topics, paths.lengths, paths.evidence, paths.persons)
    assert {path("open", NAME) for path in written} <= set(done.outputs)
    assert all(path.is_file() for path in done.outputs)
