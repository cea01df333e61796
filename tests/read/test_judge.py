"""Judging: what a judge is shown, what counts as a verdict, and the rules."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.data.gold import Gold
from memrepro.errors import MemreproError
from memrepro.files.atomic import read_yaml
from memrepro.llm.model import REFUSED, Answer
from memrepro.read import judge
from memrepro.read.judge import FILE, by_rule, judge_prompt, read_rubrics, verdict

BOAT = Gold("q1", "single-session-user", "Who sold the boat?", "2024-01-02T10:00", "Ada")
# A lone surrogate is no text that a model takes (`prompt_key` refuses it).
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def answered(text, finish="stop"):
    return Answer(text, 9, 2, 0.1, "judge", "1", finish, "")


@given(said=TEXTS, question=TEXTS, right=TEXTS)
def test_what_others_wrote_stays_data(said, question, right):
    gold = BOAT._replace(question=question, answer=right)
    system, user = judge_prompt(gold, said, read_rubrics("strict")).messages
    shown = json.loads(user.content)
    assert (shown["question"], shown["right_answer"], shown["answer_to_grade"]) == (
        question, right, said,
    )  # fmt: skip
    assert system == judge_prompt(BOAT, "Ada", read_rubrics("strict")).messages[0]


@pytest.mark.parametrize("family", ["strict", "lenient"])
def test_each_kind_has_its_rubric_and_its_reference(family):
    entries = read_yaml(FILE)
    assert set(entries["families"][family].values()) <= set(entries["rubrics"])
    told = {}
    for kind, name in entries["families"][family].items():
        gold = BOAT._replace(kind=kind, abstains=kind == "abstention")
        system, user = judge_prompt(gold, "Bob", read_rubrics(family)).messages
        assert entries["rubrics"][name]["says"] in system.content
        assert json.loads(user.content)[entries["rubrics"][name]["reference"]] == "Ada"
        told[kind] = system.content
    # What cannot be told is judged so, whatever the question's kind is.
    gold = BOAT._replace(kind="temporal", abstains=True, wrong="Bob")
    system, user = judge_prompt(gold, "Bob", read_rubrics(family)).messages
    assert system.content == told["abstention"] != told["temporal"]
    assert json.loads(user.content)["a_wrong_answer"] == "Bob"


def test_unused_rubrics_and_unknown_families():
    entries = read_yaml(FILE)
    used = {name for family in entries["families"].values() for name in family.values()}
    assert used == set(entries["rubrics"])
    with pytest.raises(MemreproError, match="'kind'.*strict, lenient"):
        read_rubrics("kind")


def test_likelihood_asks_for_one_of_two_words_that_are_verdicts():
    prompt = judge_prompt(BOAT, "Ada", read_rubrics("strict", by_likelihood=True))
    yes, no = prompt.parameters.options
    assert (verdict(answered(yes))[0], verdict(answered(no))[0]) == (True, False)
    assert not judge_prompt(BOAT, "Ada", read_rubrics("strict")).parameters.options


@pytest.mark.parametrize(
    ("text", "right"), [("Yes", True), (" **yes**.\n", True), ("NO!", False), ('"_no_"', False)]
)
def test_one_word_is_a_verdict(text, right):
    assert verdict(answered(text)) == (right, "answered")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("No doubt it is right", judge.MORE),
        ("Yes, but no", judge.BOTH),
        ("Correct", judge.NEITHER),
        ("Yesterday", judge.NEITHER),
        ("None", judge.NEITHER),
        ("ja", judge.NEITHER),
        ("...", judge.NEITHER),
    ],
)
def test_all_else_is_none_under_its_name(text, name):
    assert verdict(answered(text)) == (None, name)


def test_what_is_no_answer_is_no_verdict():
    ends = [("", "stop"), ("Yes", "length"), ("", f"{REFUSED}content_filter")]
    found = [verdict(answered(*end)) for end in ends]
    assert [right for right, _ in found] == [None] * 3
    assert len({name for _, name in found} | {"answered"}) == 4


def test_rules():
    gold = BOAT._replace(answer="a red boat", kind="single-hop")
    scores = by_rule(gold, "The boat, red")
    # Without articles: {boat, red} against {red, boat}, in another order.
    assert scores == (1.0, False, False)
    assert by_rule(gold, "it was a red boat") == (pytest.approx(2 * 2 / (4 + 2)), False, True)
    unknown = gold._replace(abstains=True, wrong="a red boat")
    assert by_rule(unknown, "That was not mentioned.") == (1.0, True, True)
    assert by_rule(unknown, "I don\u2019t know") == (0.0, False, True)
    assert by_rule(unknown, "a red boat") == (0.0, False, False)
