"""The sample's temporal questions: their forms, and those that name the month of one event."""

import calendar
import re
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memrepro.data import sample
from memrepro.files import atomic
from memrepro.text.dates import TimeRange
from memrepro.text.temporal import dated_events, time_range

MONTHS = list(calendar.month_name)
FORMS = (
    ("days", "How many days passed between "), ("first", "Which came first, "),
    ("order", "In which order "), ("month", "Which "),
)  # fmt: skip


class Asked(NamedTuple):
    """A question that names a month: its two events, their sessions, and all days by session."""

    instance: dict[str, Any]
    events: list[str]  # in the order of the question
    name: str
    gold: str
    decoy: str
    sessions: dict[str, list[dict[str, Any]]]
    days: dict[str, date]


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
    compiled = sample.compile_benchmark(seed=3, questions=800, sessions=12)
    return [i for i in compiled if i["question_type"] == "temporal-reasoning"]


@pytest.fixture(scope="module")
def asked(temporal, says):
    """Each event is told in one session, and that of the answer is the gold."""
    found = []
    for instance in (i for i in temporal if form(i) == "month"):
        ids, answer = instance["haystack_session_ids"], instance["answer"]
        sessions = dict(zip(ids, instance["haystack_sessions"], strict=True))
        days = dict(zip(ids, map(day, instance["haystack_dates"]), strict=True))
        events = re.search(r", (.*)\?$", instance["question"])[1].split(" or ")
        told = {}
        for event in events:
            (told[event],) = (
                i for i, turns in sessions.items() if says[event] in [t.get("fact") for t in turns]
            )
        (name,) = (event for event in events if event[0].upper() + event[1:] == answer)
        (other,) = {*events} - {name}
        assert [told[name]] == instance["answer_session_ids"] != [told[other]]
        found.append(Asked(instance, events, name, told[name], told[other], sessions, days))
    assert len(found) > 30
    return found


def test_the_range_has_the_gold_session_and_not_the_decoy(asked):
    for one in asked:
        when = day(one.instance["question_date"])
        span = time_range(one.instance["question"], when)
        assert span == whole(one.days[one.gold].month)
        assert span.start <= one.days[one.gold] <= span.end
        assert not span.start <= one.days[one.decoy] <= span.end
        assert span.start != when


def test_neither_place_nor_order_nor_an_empty_month_gives_the_answer_away(asked):
    for first in (
        [a.events[0] == a.name for a in asked],
        [a.days[a.gold] < a.days[a.decoy] for a in asked],
    ):
        assert 0.3 < sum(first) / len(asked) < 0.7
    months = [one.days[one.gold].month for one in asked]
    assert len(set(months)) >= 9
    phrasings = {
        one.instance["question"].split(MONTHS[month])[0]
        for one, month in zip(asked, months, strict=True)
    }
    assert len(phrasings) >= 5
    inside = [
        sum((d.year, d.month) == (2023, month) for d in one.days.values())
        for one, month in zip(asked, months, strict=True)
    ]
    assert sum(inside) / len(asked) > 2


def test_every_phrasing_names_its_month_whatever_the_events(texts, says):
    names = list(says)
    for number in range(1, 12):
        for phrasing in texts["in_month"]:
            for name, after in zip(names, [*names[1:], names[0]], strict=True):
                question = phrasing.format(month=MONTHS[number], events=f"{name} or {after}")
                assert time_range(question, date(2023, number + 1, 1)) == whole(number), question


def test_a_date_in_what_is_told_is_that_of_its_session(says):
    """Else a dated sentence might put an event into another month."""
    said = date(2023, 5, 1)
    for say in says.values():
        for event in dated_events(say, said):
            assert event.date_start == said
