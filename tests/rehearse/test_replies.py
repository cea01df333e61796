"""The endpoint's answers, by the project's own prompts and what reads them."""

import json

from memrepro.core.memory import Memory, Round
from memrepro.data.gold import Gold
from memrepro.llm.model import Answer
from memrepro.llm.structured import parse
from memrepro.papers.associa.llm.extractor import prompt_of, read
from memrepro.read.judge import judge_prompt, read_rubrics, verdict
from memrepro.read.prompts import Prompts, parse_option
from memrepro.rehearse.replies import reply
from memrepro.retrieve.associa.deliberation import QueryEvidence
from memrepro.retrieve.associa.model_deliberator import ModelDeliberator, _Missing, ask

BOAT = Gold("q1", "single-session-user", "Who sold the boat?", "2024-01-02T10:00", "Ada Lovelace")
HISTORY = "> user: Ada sold the old boat in May. I like tea.\n> user: Bert bought a red kite."


def said(prompt):
    text = reply([{"role": m.role, "content": m.content} for m in prompt.messages])
    return Answer(text, 1, 1, 0.0, "m", "1", "stop", "")


def test_a_reader_answers_from_the_history():
    prompts = Prompts()
    for name in ("open", "noted", "from_notes", "short", "note"):
        told = said(prompts.prompt(name, HISTORY, "Who sold the boat?")).text
        assert told == "> user: Ada sold the old boat in May."
    assert said(prompts.prompt("note", HISTORY, "Why?")).text == "empty"
    options = ["Cycling uphill at dawn", "A red kite for Bert", "Chess"]
    asked = prompts.prompt("options", HISTORY, "What next?", options=options)
    assert parse_option(said(asked).text, options) == 1


def test_a_judge_tells_right_from_wrong():
    rubrics = read_rubrics("strict")
    for answer, right in (("It was Ada.", True), ("It was Bert.", False)):
        assert verdict(said(judge_prompt(BOAT, answer, rubrics))) == (right, "answered")


def test_a_deliberator_names_what_the_evidence_lacks():
    for evidence, missing in ((("Ada sold it",), ["boat"]), (("Ada sold the boat",), [])):
        found = said(ask(BOAT.question, evidence))
        assert parse(found, _Missing).missing == missing
    model = type("M", (), {"answer": staticmethod(lambda prompts: [said(p) for p in prompts])})()
    asked = [QueryEvidence(BOAT.question, ())]
    assert ModelDeliberator(model).missing(asked) == [("sold boat",)]


def test_an_extractors_events_are_used_whole():
    rounds = [
        Round.from_texts("r1", user="I joined a choir in Paris. It is fun.", assistant="Nice."),
        Round.from_texts("r2", user="User?", assistant="Yes."),
        Round.from_texts("r3", user="…", assistant="Hm."),
    ]
    memory = Memory.from_rounds(
        "m", *(("s", one) for one in rounds), times={"s": "2023-05-08T10:00"}
    )
    (session,) = memory.sessions
    told = read(said(prompt_of(session)), session)
    assert [one.round_id for one in told] == ["r1", "r2", "r3"]
    assert told[0].event.text == "I joined a choir in Paris."
    assert json.loads(said(prompt_of(session)).text)["events"][0]["relations"]
