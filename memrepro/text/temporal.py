"""Dates that questions and chats mention: a time range to search in, and dated sentences.

LongMemEval asks a language model for both (7be397bb177bc8b7, §5.4, Figure 12, Appendix E.4); here
dateparser reads a mention's date and its grain, and `text.dates` makes a range of them. This
module finds the mentions, as dateparser's own search takes verbs, names and ages for dates ("may",
"sat on the", "am 32 years") and misses weekends and seasons. English; 3/5 is 5 March.

A duration, a count ("how many days ago"), a repeated day ("every Tuesday", "Tuesdays") and a day
relative to an undated event are no mentions; a weekday needs "on", "last" or the like. Nothing
depends on the clock, the locale or the time zone.
"""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from memrepro.errors import MemreproError
from memrepro.text import dates
from memrepro.text.dates import TimeRange
from memrepro.text.sentences import sentences

# Texts that are not read again for the next day on which they may have been said.
_REMEMBERED = 1 << 12
# The years that a mention, or the day on which it is made, may have.
YEARS = range(1900, 2100)

_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_MONTHS = "january|february|july|september|october|november|december"
# These are names, verbs or short forms too: with no day or year they need a preposition.
_SHORT = "march|april|may|june|august|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec"
_HOLIDAYS = {
    "valentine's day": "14 february", "halloween": "31 october", "christmas eve": "24 december",
    "christmas": "25 december", "new year's eve": "31 december", "new year's": "1 january",
}  # fmt: skip
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 3, "four": 4,
           "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
           "twelve": 12}  # fmt: skip
# The first months of the northern seasons.
_SEASONS = {"spring": "march", "summer": "june", "fall": "september", "autumn": "september",
            "winter": "december"}  # fmt: skip
# A count of units is a rounded number: half a unit either side.
_HALF = {"day": 0, "week": 3, "month": 15, "year": 182}

_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?:[12]\d|3[01]|0?[1-9])"
_COMMA = r"(?:\s*,\s*|\s+)"
_MONTH = rf"(?:(?:{_MONTHS}|{_SHORT})\b\.?)"
_COUNT = rf"(?:(?:a\s+)?(?:few|couple)(?:\s+of)?|\d{{1,3}}|{'|'.join(_COUNTS)})"
# "The last week of May", "the Sunday before the fair": not relative to the day of speaking.
_OTHER = r"\s+(?:of|before)\b"
_HOLIDAY = "|".join(_HOLIDAYS).replace(" ", r"\s+")
_MENTION = re.compile(
    rf"""(?<![\w/.$-])
    (?:(?P<lead>in|on|at|during|over|around|throughout|since|after|before|by|until|till|through
        |from(?=\s+\S+\s+(?:to|until|till|through)\b)|between|month\s+of|back\s+in)\s+)?
    (?P<the>the\s+)?
    (?:(?P<part>early|late|mid|(?:beginning|start|middle|end)\s+of)[\s-]+(?:the\s+)?)?
    (?:(?P<which>this\s+past|this\s+coming|this|last|past|previous|next|coming|upcoming)\s+)?
    (?:
      (?P<ago>(?:(?P<ago_day>{_DAYS})\s+(?:(?:night|morning|afternoon|evening)\s+)?)?
          (?P<ago_count>{_COUNT})\s+(?P<ago_unit>day|week|month|year|weekend|{_DAYS})s?\s+ago)
    | (?P<before_last>(?P<before_unit>{_DAYS}|weekend|week|month|year)\s+before\s+last)
    | (?P<rolling>(?P<count>{_COUNT})\s+(?P<unit>day|week|month|year)s?(?!{_OTHER}))
    | (?P<near>day\s+before\s+yesterday|day\s+after\s+tomorrow|yesterday|today|tonight|tomorrow)
    | (?P<part_of_day>night|morning|afternoon|evening)
    | (?P<period>weekend|week|month|year)(?!{_OTHER})
    | (?:(?:{_DAYS}),?\s+(?:the\s+)?)?(?P<date>
          {_YEAR}-{_DAY}-{_DAY} | {_YEAR}/{_DAY}/{_DAY} | {_DAY}/{_DAY}/(?:20)?\d\d
        | (?<=on\s){_DAY}/{_DAY}
        | {_MONTH}\s+(?:the\s+)?{_DAY}(?:st|nd|rd|th)?(?:{_COMMA}{_YEAR})?
        # Not "Option 2 may be better".
        | {_DAY}(?:(?:st|nd|rd|th)(?:\s+of)?\s+|\s+(?-i:(?!may\b|march\b)))
              {_MONTH}(?:{_COMMA}{_YEAR})?
        | {_MONTH}{_COMMA}(?:of\s+)?{_YEAR})
    | (?P<month>{_MONTH})
    | (?P<year>{_YEAR})(?!\s+(?:words|people|steps|calories|dollars|miles))
    | (?P<season>{"|".join(_SEASONS)})(?:\s+(?:of\s+)?(?P<season_year>{_YEAR}))?
    | (?P<holiday>{_HOLIDAY})
    | (?P<weekday>{_DAYS})(?!\s+(?:night|morning|afternoon|evening)s|{_OTHER})
    )(?![\w/-])(?!['.,]\d)""",
    # ASCII, as "\u017f" would match "s" and "\u0661" would match a digit.
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
# Every mention has one of these words or signs, and most sentences have none.
_HINTS = (
    rf"\d|day|ago|last|past|previous|this|next|coming|tonight|tomorrow|weekend|new\s+year|halloween"
    rf"|christmas|{_SHORT}|{_MONTHS}|{'|'.join(_SEASONS)}"
)
_HINT, _HINT_IN_LOWER_CASE = re.compile(_HINTS, re.IGNORECASE), re.compile(_HINTS)
_RELATIVE = ("ago", "before_last", "rolling", "near", "part_of_day", "period", "weekday")
_KINDS = (*_RELATIVE, "date", "month", "year", "season", "holiday")
_OPEN = ("before", "by", "until", "till", "through")
_WITHIN = ("in", "back in", "during", "since", "after", "throughout", "between", "from", "month of")
_AHEAD = ("next", "coming", "upcoming")
_JOINT = re.compile(r"[\s,&–-]*(?:(?:and|or|to)\b)?\s*", re.IGNORECASE)
_REPEATED = re.compile(r"\b(?:every|each)\s*\Z", re.IGNORECASE)
# The time between two events: the date of one of them would hide the other.
_HOW_LONG = re.compile(r"\bhow (?:long|many (?:days|weeks|months|years))\b", re.IGNORECASE)
_BETWEEN = re.compile(
    r"\b(?:ago|before|after|between|passed|elapsed|since|until|till)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class DatedEvent:
    """A sentence, and the days (both included) between which what it tells took or takes place."""

    date_start: date
    date_end: date
    sentence: str


def time_range(question: str, asked: date) -> TimeRange | None:
    """The days that a question about past events refers to, or None if it names none.

    It spans all mentions. What could be past or future is past. A weekday, a weekend or a count of
    days may be wrong by one: it gets a day on either side, as in the released code's examples.

    Raises:
        MemreproError: if the year of `asked` is not in `YEARS`.
    """
    _check(asked)
    how_long = _HOW_LONG.search(question)
    if how_long and _BETWEEN.search(question, how_long.end()):
        return None
    mentions = _mentions(question, asked, past=True)
    # "Last week, as told on 6 May 2023" was before that day, not before the question.
    if any(re.search(_YEAR, match[0]) for match, _ in mentions):
        mentions = [(match, span) for match, span in mentions if _kind(match) not in _RELATIVE]
    found = []
    for match, span in mentions:
        slack = timedelta(days=int(_is_rough(match)))
        found.append(TimeRange(span.start - slack, span.end + slack))
    if not found:
        return None
    return TimeRange(min(span.start for span in found), max(span.end for span in found))


def dated_events(text: str, said: date) -> list[DatedEvent]:
    """The sentences that mention a date, in order, one event a mention.

    What could be past or future is past, save with "this" ("this Friday").

    Raises:
        MemreproError: if the year of `said` is not in `YEARS`.
    """
    _check(said)
    found = [
        DatedEvent(span.start, span.end, sentence)
        for sentence in _hinted(text)
        for _, span in _mentions(sentence, said, past=False)
    ]
    return list(dict.fromkeys(found))


@lru_cache(_REMEMBERED)
def _hinted(text: str) -> tuple[str, ...]:
    """The sentences that may mention a date."""
    # The second is six times as fast, and sees the same in ASCII.
    if not (_HINT_IN_LOWER_CASE.search(text.lower()) if text.isascii() else _HINT.search(text)):
        return ()
    return tuple(sentence for sentence in sentences(text) if _HINT.search(sentence))


def _check(day: date) -> None:
    if day.year not in YEARS:
        raise MemreproError(
            f"the day of reference is {day.isoformat()}, not of the years {YEARS[0]} to "
            f"{YEARS[-1]}: no date can be relative to it; repair the data set's times"
        )


def _mentions(text: str, base: date, past: bool) -> list[tuple[re.Match[str], TimeRange]]:
    """The mentions in a text, in order, and the days that each refers to."""
    found: list[tuple[re.Match[str], TimeRange]] = []
    for match in reversed(_matches(text)):
        # "From March to May" is one stretch: this March is the last one before that May.
        joined = bool(found) and _joined(match, found[-1][0])
        span = _span(match, found[-1][1].start if joined else base, past)
        if span and span.start.year in YEARS and span.end.year in YEARS:
            # An event that has lasted since a date began on it.
            if past and _word(match, "lead") in ("since", "after"):
                span = TimeRange(span.start, max(span.end, base))
            found.append((match, span))
    return found[::-1]


@lru_cache(_REMEMBERED)
def _matches(text: str) -> tuple[re.Match[str], ...]:
    """The mentions in a text, in order, whatever days they refer to."""
    text = text.replace("’", "'").replace("\xa0", " ")
    matches: list[re.Match[str]] = []
    for match in _MENTION.finditer(text):
        joined = bool(matches) and _joined(matches[-1], match)
        if _fits(match, joined) and not _REPEATED.search(text[: match.start()][-20:]):
            matches.append(match)
    return tuple(matches)


def _joined(first: re.Match[str], second: re.Match[str]) -> bool:
    """Whether two calendar dates follow each other as in "March and April"."""
    calendar = {_kind(first), _kind(second)} <= {"date", "month", "year"}
    return calendar and bool(_JOINT.fullmatch(first.string, first.end(), second.start()))


def _fits(match: re.Match[str], joined: bool) -> bool:
    """Whether the words around its date make this match a mention."""
    kind, lead, which = _kind(match), _word(match, "lead"), _which(match)
    word, part = _word(match, kind), bool(match["part"])
    if lead in _OPEN and not joined:
        return False
    if kind == "rolling":
        return which in ("past", "last", "previous")
    if kind == "part_of_day":
        return which == "this" or (which, word) == ("last", "night")
    if kind == "period":
        return bool(which) or (word == "weekend" and lead in ("on", "at", "over"))
    if kind == "month":
        # Not "this may help".
        verb = word in ("may", "march") and match[kind].islower()
        sure = word in _MONTHS.split("|") or lead in _WITHIN or part or which in ("last", *_AHEAD)
        return sure or (not verb and (joined or bool(which)))
    if kind == "year":
        return lead in _WITHIN or part or joined
    if kind == "season":
        # "In summer" may be any.
        return bool(which or match["season_year"]) or part or bool(lead and match["the"])
    return kind not in ("holiday", "weekday") or bool(lead or which)


def _is_rough(match: re.Match[str]) -> bool:
    if match["ago"]:
        return not match["ago_day"] and _word(match, "ago_unit") not in ("week", "month", "year")
    return "weekend" in (match["period"] or "").lower() or bool(match["weekday"])


def _span(match: re.Match[str], base: date, past: bool) -> TimeRange | None:
    """The days that a mention refers to, or None where there are none (30 February)."""
    kind, which = _kind(match), _which(match)
    word = _word(match, kind)
    if kind == "ago":
        return _ago(match, base)
    if kind == "before_last":
        return dates.back(_word(match, "before_unit"), 2, base)
    to_now = which == "past" or (which == "last" and bool(match["the"]))
    if kind == "rolling" or (kind == "period" and word != "weekend" and to_now):
        count = _number(match["count"] or "a")
        begun = dates.look(f"{count} {_word(match, 'unit') or word} ago", base)
        return begun and TimeRange(begun[0], base)
    if kind == "part_of_day":
        word = "yesterday" if which == "last" else "today"
    ahead = which in _AHEAD or (which == "this" and not past)
    if kind == "period":
        span = dates.period(word, which, base, past)
    elif kind == "season":
        year = match["season_year"] or (str(base.year) if ahead and which == "this" else None)
        span = dates.season(_SEASONS[word], year, which, base)
    else:
        phrase = _HOLIDAYS.get(word, "today" if word == "tonight" else word)
        found = dates.look(phrase, base, ahead)
        span = found and dates.whole(*found)
    return span and dates.part_of(span, _word(match, "part"))


def _ago(match: re.Match[str], base: date) -> TimeRange | None:
    count, unit = _number(match["ago_count"]), _word(match, "ago_unit")
    if unit not in _HALF:
        return dates.back(unit, count, base)
    found = dates.look(f"{count} {unit} ago", base)
    if found is None:
        return None
    day, half = found[0], _HALF[unit]
    if re.search("few|couple", match["ago_count"], re.IGNORECASE):
        half = 2 * half + 1
    if match["ago_day"]:
        # The nearest such weekday; the speaker may mean its neighbour.
        off = _DAYS.split("|").index(_word(match, "ago_day")) - day.weekday()
        day += timedelta(days=(off + 3) % 7 - 3)
        half = min(half, 7)
    return TimeRange(day - timedelta(days=half), day + timedelta(days=half))


def _kind(match: re.Match[str]) -> str:
    return next(kind for kind in _KINDS if match[kind])


def _word(match: re.Match[str], group: str) -> str:
    return " ".join((match[group] or "").lower().replace(".", "").split())


def _which(match: re.Match[str]) -> str:
    """The last word of it: "past" of "this past"."""
    return _word(match, "which").rpartition(" ")[2]


def _number(words: str) -> int:
    words = words.lower()
    return int(words) if words.isdigit() else max(_COUNTS.get(word, 1) for word in words.split())
