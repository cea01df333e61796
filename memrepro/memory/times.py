"""Times as people and programs write them."""

import re
from datetime import UTC, date, datetime, tzinfo

from memrepro.errors import MemreproError
from memrepro.text.temporal import YEARS

# Unix seconds of 1973: a smaller number may as well be a date, 20230508, or a year.
_LEAST = 10**8
_DAY = re.compile(r"((?:19|20)\d\d)(\d\d)(\d\d)")
_YEAR = re.compile(r"(?:19|20)\d\d")
_START, _END = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (YEARS[0], YEARS[-1] + 1))


def seconds(when: object, zone: tzinfo = UTC) -> float:
    """Unix seconds of Unix seconds, ISO 8601, `20230508`, `2023`, or a datetime.

    Args:
        when: as text, number or datetime; a day or a year begins.
        zone: of what names no offset.

    Raises:
        MemreproError: if it is none, or may be two: a bare number below 10⁸ that is no date; or is
            of no year that dates can be relative to, or their end, such as Unix milliseconds.
    """
    at = _seconds(when, zone)
    if not _START <= at <= _END:
        raise MemreproError(_out_of_years(f"the time {when!r}"))
    return at


def check_time(at: float, who: str) -> None:
    """Refuse a time in Unix seconds that no date can be relative to."""
    if not isinstance(at, int | float) or not _START <= at < _END:
        raise MemreproError(_out_of_years(f"{who}: its time {at!r}"))


def _out_of_years(what: str) -> str:
    return (
        f"{what} is not in the years {YEARS[0]} to {YEARS[-1]}: it must be finite Unix seconds "
        "(not milliseconds) or ISO 8601"
    )


def _seconds(when: object, zone: tzinfo) -> float:
    if isinstance(when, datetime):
        return (when if when.tzinfo else when.replace(tzinfo=zone)).timestamp()
    if isinstance(when, date):
        return datetime(when.year, when.month, when.day, tzinfo=zone).timestamp()
    text = str(when).strip()
    try:
        if match := _DAY.fullmatch(text):
            year, month, day = map(int, match.groups())
            return datetime(year, month, day, tzinfo=zone).timestamp()
        if _YEAR.fullmatch(text):
            return datetime(int(text), 1, 1, tzinfo=zone).timestamp()
    except ValueError as error:
        raise MemreproError(f"{when!r} is no day: {error}") from error
    try:
        number = float(text)
    except ValueError:
        pass
    else:
        if abs(number) < _LEAST:
            raise MemreproError(
                f"{when!r} may be Unix seconds or a date: write ISO 8601, such as 2023-05-08T13:56"
            )
        return number
    try:
        read = datetime.fromisoformat(text)
    except ValueError as error:
        raise MemreproError(
            f"{when!r} is no time: write ISO 8601, such as 2023-05-08T13:56, or Unix seconds"
        ) from error
    return (read if read.tzinfo else read.replace(tzinfo=zone)).timestamp()


def shown(at: float, zone: tzinfo = UTC) -> str:
    """A time in ISO 8601, to the second."""
    return datetime.fromtimestamp(at, zone).isoformat(timespec="seconds")
