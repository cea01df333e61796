"""A real small chat model in process: SmolLM2-135M-Instruct, greedy, in float32 on a CPU."""

import json

import pytest
from pydantic import BaseModel

from memrepro.llm.in_process import InProcess
from memrepro.llm.model import Parameters, Prompt
from memrepro.llm.recorded import Recorded, Recording
from memrepro.llm.records import AnswerStore
from memrepro.llm.shipping import export_records, import_records
from memrepro.llm.structured import parse_all
from tests.llm.smollm2 import smollm2_folder

# The wheel is 90 MB and its conversion a minute: not for every run of the tests.
pytestmark = [pytest.mark.slow, pytest.mark.network]

SHORT = Parameters(maximum_tokens=16)
QUESTIONS = [
    "What is the capital of France?",
    "What colour is the sky on a clear day? Answer in one word.",
    "Hello!",
]
PROMPTS = [Prompt.of(question, parameters=SHORT) for question in QUESTIONS]


@pytest.fixture(scope="module")
def live():
    return InProcess(smollm2_folder(), "SmolLM2-135M-Instruct", device="cpu", batch_size=4)


def test_it_knows_a_capital_and_is_replayed_without_it(live, tmp_path):
    with AnswerStore(tmp_path / "a.sqlite") as store, AnswerStore(tmp_path / "b.sqlite") as other:
        answers = Recording(store, live, progress=False).answer(PROMPTS)
        done = export_records(store, tmp_path / "out.jsonl")
        assert import_records(other, tmp_path / "out.jsonl", done.sha256).new == 3
        assert Recorded(other, live.identity, "e").answer(PROMPTS) == answers
    assert "Paris" in answers[0].text
    assert {a.finish_reason for a in answers} <= {"stop", "length"}
    for answer in answers:
        assert 0 < answer.answer_tokens <= 16
        assert "<|" not in answer.text


def test_a_batch_changes_no_answer(live):
    together = {p: (a.text, a.answer_tokens) for p, a in live.stream(PROMPTS)}
    alone = {p: (a.text, a.answer_tokens) for one in PROMPTS for p, a in live.stream([one])}
    assert together == alone


def test_its_json_is_used_or_refused_and_all_is_counted(live):
    class Fact(BaseModel):
        subject: str
        object: str

    said = ["Ines bought a red kayak.", "Tom lives in Oslo.", "Is it late?", "我喜欢茶。"]
    example = json.dumps({"subject": "Ana", "object": "a blue car"})
    prompts = {
        text: Prompt.of(
            f'Sentence: "Ana sold a blue car."\nJSON: {example}\nSentence: "{text}"\nJSON:',
            "Reply with one JSON object and nothing else.",
            Parameters(maximum_tokens=32),
        )
        for text in said
    }
    answers = dict(live.stream(prompts.values()))
    got = parse_all([(text, answers[prompt]) for text, prompt in prompts.items()], Fact)
    assert len(got.values) + len(got.refused) == 4
    assert got.counts.total() == 4
    print({text: answers[prompt].text for text, prompt in prompts.items()})
    print(dict(got.counts), got.values, got.refused)
