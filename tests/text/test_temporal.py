"""Time ranges of questions and dated sentences of chats."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.errors import MemreproError
from memrepro.text import dates
from memrepro.text.temporal import (
    DatedEvent,
    dated_events,
    time_range,
)

THURSDAY = date(2023, 4, 20)


def range_of(question, asked=THURSDAY):
    """The range as "month-day..month-day", with the years that are not 2023."""
    found = time_range(question, asked)
    if found is None:
        return None
    return "..".join(str(d).removeprefix("2023-") for d in (found.start, found.end))


def days_of(text, said=THURSDAY):
    return [
        "..".join(str(d).removeprefix("2023-") for d in dict.fromkeys((e.date_start, e.date_end)))
        for e in dated_events(text, said)
    ]


# 7be397bb177bc8b7, Table 11.
@pytest.mark.parametrize(
    ("asked", "question", "expected"),
    [
        ((2023, 5, 28), "How long had I been taking guitar lessons when I bought the new guitar "
         "amp?", None),
        ((2023, 4, 27), "Which airline did I fly with the most in March and April?",
         "03-01..04-30"),
        ((2023, 6, 28), "How many days before the 'Rack Fest' did I participate in the "
         "'Turbocharged Tuesdays' event?", None),
        ((2023, 3, 10), "Which seeds were started first, the tomatoes or the marigolds?", None),
    ],
)  # fmt: skip
def test_the_papers_examples(asked, question, expected):
    assert range_of(question, date(*asked)) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which day was the second picnic in March?", "03-01..03-31"),
        ("What did I plant in May?", "2022-05-01..2022-05-31"),
        ("What did I read in early March?", "03-01..03-16"),
        ("What did I read in mid-February?", "02-07..02-22"),
        ("Which films did I see the week before last?", "04-06..04-12"),
        ("What did I do last night?", "04-19..04-19"),
        ("What did I buy a few weeks ago?", "03-23..04-06"),
        ("How many books did I read in January, February and March?", "01-01..03-31"),
        ("What did I do between 3 March and 10 March?", "03-03..03-10"),
        ("What have I built since February?", "02-01..04-20"),
        ("Which choir did I hear last week?", "04-13..04-19"),
        ("Which lamp did I mend in the last month?", "03-20..04-20"),
        ("Which films did I see in the past two weeks?", "04-06..04-20"),
        ("What did I cook this week?", "04-17..04-23"),
        ("What did I cook last weekend?", "04-14..04-17"),
        ("Where did I ski last year?", "2022-01-01..2022-12-31"),
        ("Whom did I meet last Tuesday?", "04-17..04-19"),
        ("What did I bake two Saturdays ago?", "04-07..04-09"),
        ("What did I order 10 days ago?", "04-09..04-11"),
        ("What did I do the day before yesterday?", "04-18..04-18"),
        ("What did I cook on Sunday, March 5th, 2023?", "03-05..03-05"),
        ("What did I cook on Valentine’s Day?", "02-14..02-14"),
        ("What did I buy two weeks ago?", "04-03..04-09"),
        ("What did I buy six months ago?", "2022-10-05..2022-11-04"),
        ("What did we do on the Sunday two months ago?", "02-12..02-26"),
        ("What broke last week, as told on 6 November, 2022?", "2022-11-06..2022-11-06"),
    ],
)
def test_a_mention_is_a_range_by_its_grain(question, expected):
    assert range_of(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "How many weeks ago did I rent the boat?",
        "How long have I been wearing the Garmin 5?",
        "How many days passed between my visit and yesterday?",
        "What was the rate when I opened the account 3 days after the fair?",
        "What did I own before June?",
        "What do I do every Tuesday, and what on Tuesdays?",
        "What did April and June give May on Black Friday?",
        "We march on; wait a second, was it the second march?",
        "What was the 10 km time, in 2000 steps, with option 2 may be, 24/7, 1/2 cup, 3:1, v3.4.5?",
    ],
)
def test_what_is_no_mention(question):
    assert time_range(question, THURSDAY) is None


def test_events_are_the_sentences_with_a_date():
    text = (
        "Hi! I saw a heron yesterday, or was it last Monday? I like birds.\nTwo weeks ago we were "
        "in Bonn\nWe fly on May 3rd, 2024. I may march for a second."
    )
    heron = "I saw a heron yesterday, or was it last Monday?"
    day = timedelta(days=1)
    assert dated_events(text, THURSDAY) == [
        DatedEvent(THURSDAY - day, THURSDAY - day, heron),
        DatedEvent(THURSDAY - 3 * day, THURSDAY - 3 * day, heron),
        DatedEvent(date(2023, 4, 3), date(2023, 4, 9), "Two weeks ago we were in Bonn"),
        DatedEvent(date(2024, 5, 3), date(2024, 5, 3), "We fly on May 3rd, 2024."),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We met on Thursday.", ["04-13"]),
        ("We meet next Friday.", ["04-21"]),
        ("We meet next week.", ["04-24..04-30"]),
        ("We meet next weekend.", ["04-29..04-30"]),
        ("I have lived here since February.", ["02-01..02-28"]),
        ("I will, some day.", []),
    ],
)
def test_events_past_by_default(text, expected):
    assert days_of(text) == expected


def test_years_out_of_all_use():
    assert dated_events("It was 999 years ago.", THURSDAY) == []
    for call in (time_range, dated_events):
        with pytest.raises(MemreproError, match="0001-01-01, not of the years 1900 to 2099"):
            call("last week", date(1, 1, 1))


WORDS = """
last next this past the in on since before from to and or of , 3 31 999 2000 1/2 3/5 a few two
weeks week ago month months year years day days yesterday today tomorrow night weekend monday
Tuesday May march April jan Sept. 29 February summer winter early mid end christmas 2022 1900 2099
2024-02-30 12/31/2022 3rd every how many long between ’s é ٣ ſ \ud800
"""
DAYS = st.dates(date(1900, 1, 1), date(2099, 12, 31))


@given(
    st.lists(st.sampled_from([*WORDS.split(), "\xa0"]), max_size=12).map(" ".join)
    | st.text(max_size=80),
    DAYS,
)
def test_every_range_starts_before_it_ends(text, day):
    found = time_range(text, day)
    assert found is None or found.start <= found.end
    for event in dated_events(text, day):
        assert event.date_start <= event.date_end
        assert event.sentence


@given(st.text(alphabet="bcdefghijklpqrvwxyz ?!'-\n", max_size=200), DAYS)
def test_no_digit_and_no_word_of_time_is_no_range(text, day):
    assert time_range(text, day) is None
    assert dated_events(text, day) == []


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "how long " * 10_000, "in " + " " * 30_000, "last week " * 2_000, "1/" * 20_000],
    ids=["empty", "blank", "how long", "spaces", "last week", "fractions"],
)
def test_empty_and_very_long_texts(text):
    time_range(text, THURSDAY)
    dated_events(text, THURSDAY)


@given(
    st.dates(date(1901, 1, 1), date(2098, 12, 31)),
    st.sampled_from(["{} {} ago", "in 1 {1}"]).flatmap(
        lambda form: st.builds(form.format, st.integers(0, 999), st.sampled_from(dates.UNITS))
    )
    | st.sampled_from(["today", "day before yesterday", "tomorrow", "2021", "may 2021",
                       "29 feb 2020", "29 feb 2021", "2021-02-30", "3/5/2021"]),
    st.booleans(),
)  # fmt: skip
def test_what_is_read_without_dateparser_is_what_it_reads(base, phrase, future):
    found, parsed = dates.look(phrase, base, future), dates._parsed(phrase, base, future)
    assert (found and dates.whole(*found)) == (parsed and dates.whole(*parsed))
    if not dates._YEAR.search(phrase):
        assert found == parsed
