"""The sample's temporal questions: their forms, and those that name the month of one event."""

import calendar
import re
from collections import Counter
from datetime import date, datetime
from pathlib import Path

import pytest

from memrepro.data import sample
from memrepro.files import atomic
from memrepro.text.dates import TimeRange
from memrepro.text.temporal import dated_events, starts_when_asked, time_range

MONTHS = list(calendar.month_name)
FORMS = (
    ("days", "How many days passed between "),
    ("first", "Which came first, "),
    ("order", "In which order "),
    ("month", "Which "),
)


def day(stamp):
    return datetime.strptime(stamp, "%Y/%m/%d (%a) %H:%M").date()


def form(instance):
    return next(name for name, start in FORMS if instance["question"].startswith(start))


def whole(number):
    return TimeRange(
        date(2023, number, 1), date(2023, number, calendar.monthrange(2023, number)[1])
    )


@pytest.fixture(scope="module")
def texts():
    return atomic.read_yaml(Path(sample.__file__).with_name("sample_texts.yaml"))


@pytest.fixture(scope="module")
def says(texts):
    """What a user says of an event, by the event's name."""
    return {e["name"]: e["say"] for topic in texts["topics"] for e in topic.get("events", ())}


@pytest.fixture(scope="module")
def temporal():
    compiled = sample.compile_benchmark(seed=3, questions=1500, sessions=12)
    return [i for i in compiled if i["question_type"] == "temporal-reasoning"]


@pytest.fixture(scope="module")
def asked(temporal):
    """The questions that name a month: names in the order asked, gold and decoy, ids and days."""
    found = []
    for instance in temporal:
        if form(instance) != "month":
            continue
        names = re.split(" or ", re.search(r", (.*)\?$", instance["question"])[1])
        (gold,) = instance["answer_session_ids"]
        sessions = dict(
            zip(instance["haystack_session_ids"], instance["haystack_sessions"], strict=True)
        )
        days = dict(
            zip(instance["haystack_session_ids"], map(day, instance["haystack_dates"]), strict=True)
        )
        found.append((instance, names, gold, sessions, days))
    assert len(found) > 60
    return found


def other(names, answer):
    (name,) = [name for name in names if name.lower() != answer.lower()]
    return name


def told_in(sessions, say):
    return [i for i, turns in sessions.items() if any(t.get("fact") == say for t in turns)]


def test_the_forms_have_their_shares(temporal):
    plain = [form(i) for i in temporal if "_abs" not in i["question_id"]]
    counts = Counter(plain)
    for name, share in (("days", 35), ("first", 25), ("order", 20), ("month", 20)):
        assert abs(100 * counts[name] / len(plain) - share) < 7
    assert {form(i) for i in temporal if "_abs" in i["question_id"]} == {"days"}


def test_no_other_question_gets_a_range(temporal):
    for instance in temporal:
        if form(instance) != "month":
            assert time_range(instance["question"], day(instance["question_date"])) is None


def test_each_event_is_told_in_one_session_and_the_one_asked_for_is_the_gold(asked, says):
    for instance, names, gold, sessions, _ in asked:
        answer = instance["answer"]
        decoy = other(names, answer)
        (name,) = set(names) - {decoy}
        assert answer == name[0].upper() + name[1:]
        assert told_in(sessions, says[name]) == [gold]
        (elsewhere,) = told_in(sessions, says[decoy])
        assert elsewhere != gold


def test_the_range_has_the_gold_session_and_not_the_decoy(asked, says):
    for instance, names, gold, sessions, days in asked:
        when = day(instance["question_date"])
        (decoy,) = told_in(sessions, says[other(names, instance["answer"])])
        span = time_range(instance["question"], when)
        assert span == whole(days[gold].month)
        assert MONTHS[days[gold].month] in instance["question"]
        assert span.start <= days[gold] <= span.end
        assert not span.start <= days[decoy] <= span.end
        assert not starts_when_asked(span, when)


def test_the_question_is_asked_in_a_later_month_of_the_same_year(asked, says):
    for instance, names, gold, sessions, days in asked:
        (decoy,) = told_in(sessions, says[other(names, instance["answer"])])
        when = day(instance["question_date"])
        assert days[gold].year == days[decoy].year == when.year == 2023
        assert max(days[gold].month, days[decoy].month) < when.month


def test_the_decoy_looks_like_a_simulated_filler(asked, says):
    decoys = set()
    for instance, names, gold, sessions, _ in asked:
        (decoy,) = told_in(sessions, says[other(names, instance["answer"])])
        assert re.fullmatch(r"[0-9a-f]{8}_1", decoy)
        assert re.fullmatch(r"answer_[0-9a-f]{8}", gold)
        assert not any("has_answer" in turn for turn in sessions[decoy])
        assert sum(turn["has_answer"] for turn in sessions[gold]) == 1
        # Of 11 sessions that are no evidence, 5 are simulated, the decoy included.
        assert sum(not i.startswith(("answer", "sharegpt", "ultrachat")) for i in sessions) == 5
        decoys.add(decoy)
    assert len(decoys) == len(asked)


def test_a_decoys_id_is_of_no_other_session(asked, temporal, says):
    held = Counter(i for instance in temporal for i in instance["haystack_session_ids"])
    for instance, names, _, sessions, _ in asked:
        (decoy,) = told_in(sessions, says[other(names, instance["answer"])])
        assert held[decoy] == 1


def test_neither_place_nor_order_gives_the_answer_away(asked, says):
    named, earlier, months, phrasings = Counter(), Counter(), set(), set()
    for instance, names, gold, sessions, days in asked:
        decoy_name = other(names, instance["answer"])
        (decoy,) = told_in(sessions, says[decoy_name])
        named[names[0] == decoy_name] += 1
        earlier[days[gold] < days[decoy]] += 1
        months.add(days[gold].month)
        phrasings.add(instance["question"].split(MONTHS[days[gold].month])[0])
    for counts in (named, earlier):
        assert 0.3 < counts[True] / len(asked) < 0.7
    assert len(months) >= 9
    assert len(phrasings) >= 5


def test_the_month_is_not_empty_but_for_the_gold(asked):
    """A range that holds the gold session alone would answer by itself."""
    inside = [
        sum(d.month == days[gold].month and d.year == 2023 for d in days.values())
        for _, _, gold, _, days in asked
    ]
    assert sum(inside) / len(inside) > 2


@pytest.mark.parametrize("number", range(1, 12))
def test_every_phrasing_names_its_month_whatever_the_events(texts, says, number):
    names = list(says)
    for phrasing in texts["in_month"]:
        for name, after in zip(names, [*names[1:], names[0]], strict=True):
            question = phrasing.format(month=MONTHS[number], events=f"{name} or {after}")
            for when in (date(2023, number + 1, 1), date(2023, 12, 28)):
                assert time_range(question, when) == whole(number), question


def test_a_date_in_what_is_told_is_that_of_its_session(says):
    """Else a dated sentence might put an event into another month."""
    said = date(2023, 5, 1)
    for say in says.values():
        for event in dated_events(say, said):
            assert event.date_start == said
