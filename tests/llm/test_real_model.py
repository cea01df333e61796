"""A real small chat model in process: SmolLM2-135M-Instruct, greedy, on a CPU."""

import json
import random

import pytest
from pydantic import BaseModel

from memrepro.llm.choose import backend
from memrepro.llm.in_process import InProcess
from memrepro.llm.model import Parameters, Prompt
from memrepro.llm.recorded import Recorded, Recording
from memrepro.llm.records import AnswerStore
from memrepro.llm.shipping import export_records, import_records
from memrepro.llm.structured import parse_all
from memrepro.study.params import load_plan
from tests.llm.smollm2 import smollm2_folder

# The wheel is 90 MB and its conversion a minute: not for every run of the tests.
pytestmark = [pytest.mark.slow, pytest.mark.network]

SHORT = Parameters(maximum_tokens=16)
QUESTIONS = [
    "What is the capital of France?",
    "What colour is the sky on a clear day? Answer in one word.",
    "Hello!",
]
PROMPTS = [Prompt.from_user(question, parameters=SHORT) for question in QUESTIONS]


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


def test_a_batch_in_float32_changes_no_answer(live):
    together = {p: (a.text, a.answer_tokens) for p, a in live.stream(PROMPTS)}
    alone = {p: (a.text, a.answer_tokens) for one in PROMPTS for p, a in live.stream([one])}
    assert together == alone


def test_the_embedded_default_chooses_and_no_prompt_changes_anothers_answer():
    name, entry = "smollm2", load_plan().models["smollm2"]
    live, draw = backend(name, entry), random.Random(2)
    letters = Parameters(options=("A", "B", "C"))
    choices = [
        Prompt.from_user(
            f"{question}\nA. {a}\nB. {b}\nC. {c}\nAnswer with a letter.", parameters=letters
        )
        for question, a, b, c in [
            ("What is the capital of France?", "Oslo", "Paris", "Rome"),
            ("What is the capital of Norway?", "Oslo", "Paris", "Rome"),
            ("Which is a colour?", "seven", "Tuesday", "red"),
        ]
    ]
    words = Parameters(options=("Paris", "the old town of Reykjavik"))
    asked = [*PROMPTS, *choices, Prompt.from_user(QUESTIONS[0], parameters=words)]
    whole = {prompt: (a.text, a.scores) for prompt, a in live.stream(asked)}
    assert whole[asked[-1]][0] == "Paris"
    print([whole[prompt] for prompt in choices])
    for _ in range(3):
        order, cut = draw.sample(asked, len(asked)), draw.randrange(1, len(asked))
        for part in (order[:cut], order[cut:]):
            assert {p: (a.text, a.scores) for p, a in live.stream(part)}.items() <= whole.items()


def test_its_json_is_used_or_refused_and_all_is_counted(live):
    class Fact(BaseModel):
        subject: str
        object: str

    said = ["Ines bought a red kayak.", "Tom lives in Oslo.", "Is it late?", "我喜欢茶。"]
    example = json.dumps({"subject": "Ana", "object": "a blue car"})
    prompts = {
        text: Prompt.from_user(
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
