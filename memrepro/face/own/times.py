"""When something was said, in the forms that people's files have."""

import re
from datetime import UTC, datetime
from typing import Any

# Form → how it is written, tried in this order.
_FORMS = {
    "clock on day month, year": "%I:%M %p on %d %B, %Y",
    "year/month/day (weekday) and time": "%Y/%m/%d (%a) %H:%M",
    "year/month/day": "%Y/%m/%d",
    "year/month/day and time": "%Y/%m/%d %H:%M",
    "mail's": "%a, %d %b %Y %H:%M:%S %z",
}
_LEAST, _MOST = 1e8, 1e11  # Unix seconds from 1973; above, they are milliseconds


def read_time(given: Any) -> tuple[str, str]:
    """ISO 8601 to the minute, without a zone, and the form that it was in; ('', '') for none.

    A time with a zone counts as it is written, as a person's days are those of their own clock;
    Unix seconds are UTC's. A form that leaves day and month open ('03/04/2025') is not read.
    """
    if isinstance(given, bool) or given in ("", None):
        return "", ""
    text = str(given).strip()
    if re.fullmatch(r"\d{9,13}(\.\d+)?", text):
        value = float(text)
        seconds = value / 1000 if value > _MOST else value
        if seconds >= _LEAST:
            return _minute(datetime.fromtimestamp(seconds, UTC)), "Unix seconds"
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        pass
    else:
        return _minute(found), "ISO 8601" + (" with a zone" if found.tzinfo else "")
    for form, pattern in _FORMS.items():
        try:
            return _minute(datetime.strptime(text, pattern)), form
        except ValueError:
            continue
    return "", ""


def _minute(found: datetime) -> str:
    return found.replace(tzinfo=None).isoformat(timespec="minutes")
