"""Days, weeks, months, years, weekends and seasons around a day, with dateparser's arithmetic."""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache

from dateparser.date import DateDataParser

UNITS = ("day", "week", "month", "year")
# dateparser takes a millisecond a phrase, and most phrases are of these kinds.
_COUNTED = re.compile(r"(?P<ahead>in )?(?P<count>\d{1,3}) (?P<unit>day|week|month|year)(?(1)| ago)")
_NEAR = {"yesterday": "1 day ago", "today": "0 day ago", "tomorrow": "in 1 day",
         "day before yesterday": "2 day ago", "day after tomorrow": "in 2 day"}  # fmt: skip
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True)
class TimeRange:
    """The days from `start` to `end`, both included."""

    start: date
    end: date


def look(phrase: str, base: date, future: bool = False) -> tuple[date, str] | None:
    """A day of what a phrase names, and its grain: day, week, month or year; as dateparser has it.

    With a grain other than day it may be any day of that month or year.
    """
    if match := _COUNTED.fullmatch(_NEAR.get(phrase, phrase)):
        count = int(match["count"]) * (1 if match["ahead"] else -1)
        return _moved(base, match["unit"], count), match["unit"]
    # What names its year is the same on any day.
    return _parsed(phrase, *((date(2000, 1, 1), False) if _YEAR.search(phrase) else (base, future)))


def _moved(base: date, unit: str, count: int) -> date:
    if unit in ("day", "week"):
        return base + timedelta(**{f"{unit}s": count})
    months = base.year * 12 + base.month - 1 + count * (12 if unit == "year" else 1)
    year, month = months // 12, months % 12 + 1
    return date(year, month, min(base.day, monthrange(year, month)[1]))


@lru_cache(maxsize=1 << 17)
def _parsed(phrase: str, base: date, future: bool) -> tuple[date, str] | None:
    settings = {
        "RELATIVE_BASE": datetime(base.year, base.month, base.day),
        "PREFER_DATES_FROM": "future" if future else "past",
        "DATE_ORDER": "MDY",
        # Else it asks the machine for its zone.
        "TIMEZONE": "UTC",
    }
    found = DateDataParser(languages=["en"], settings=settings).get_date_data(phrase)
    return (found.date_obj.date(), found.period) if found.date_obj else None


def back(unit: str, count: int, base: date) -> TimeRange | None:
    """The weekday, weekend, week, month or year that was `count` of them before."""
    if unit in UNITS:
        found = look(f"{count} {unit} ago", base)
        if found and unit == "week":
            return TimeRange(found[0], found[0] + timedelta(days=6))
        return found and whole(*found)
    weekend = unit == "weekend"
    # On a Sunday the last weekend is not the one that is just ending.
    since = base - timedelta(days=1) if weekend and base.weekday() == 6 else base
    found = look("saturday" if weekend else unit, since)
    if found is None:
        return None
    day = found[0] - timedelta(weeks=count - 1)
    return TimeRange(day, day + timedelta(days=int(weekend)))


def period(unit: str, which: str, base: date, past: bool) -> TimeRange | None:
    """The last, this or next week, weekend, month or year."""
    if which in ("next", "coming", "upcoming"):
        found = look(f"in 1 {'week' if unit == 'weekend' else unit}", base)
    elif which == "this" and not (unit == "weekend" and past and base.weekday() < 5):
        found = base, unit
    else:
        return back(unit, 1, base)
    if found and unit == "weekend":
        saturday = whole(found[0], "week").end - timedelta(days=1)
        return TimeRange(saturday, saturday + timedelta(days=1))
    return found and whole(found[0], unit)


def season(month: str, year: str | None, which: str, base: date) -> TimeRange | None:
    """The season that a month opens: that of the year, or the next, or the last to have begun.

    With "last" it is the last that is over.
    """
    found = look(f"{month} {year or ''}".strip(), base, which in ("next", "coming", "upcoming"))
    if found is None:
        return None
    start = found[0].replace(day=1)
    end = whole(start + timedelta(days=75), "month").end
    if which == "last" and not year and end >= base:
        start = start.replace(year=start.year - 1)
        end = whole(start + timedelta(days=75), "month").end
    return TimeRange(start, end)


def whole(day: date, grain: str) -> TimeRange:
    """The calendar day, week (from Monday), month or year that a day lies in."""
    if grain == "week":
        monday = day - timedelta(days=day.weekday())
        return TimeRange(monday, monday + timedelta(days=6))
    if grain == "month":
        return TimeRange(day.replace(day=1), day.replace(day=monthrange(day.year, day.month)[1]))
    if grain == "year":
        return TimeRange(date(day.year, 1, 1), date(day.year, 12, 31))
    return TimeRange(day, day)


def part_of(span: TimeRange, part: str) -> TimeRange:
    """The first, last or middle half of a range, or all of it."""
    quarter = (span.end - span.start) / 4
    if part.startswith(("early", "beginning", "start")):
        return TimeRange(span.start, span.end - 2 * quarter)
    if part.startswith(("late", "end")):
        return TimeRange(span.start + 2 * quarter, span.end)
    if part.startswith("mid"):
        return TimeRange(span.start + quarter, span.end - quarter)
    return span
