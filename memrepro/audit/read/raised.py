"""What a raised text prints, whatever the format: a power, a sign, a deviation, or no more."""

import re

SCRIPT_MARK = re.compile(r"\s*(?:[a-z]|[A-Z]{1,2}|\d{1,2})(?:\s*,\s*(?:[a-z]|[A-Z]|\d{1,2}))*\s*")
_TEXT_UNIT = re.compile(r"(?:^|[\s(/])(?:R|[kcm]?m|CO|H|r|χ|η|η[a-z]?|ω|s)$")
_TEN = re.compile(r"(?:^|[×·⋅*x(<>=≤≥~≈\s])10$")
_WHOLE = re.compile(r"[-−–+]?\d{1,3}")


def raised(text: str, before: str) -> str:
    """A raised text as it is read behind another; '' for the mark of a footnote."""
    text, before = text.strip(), before.rstrip()
    if text in ("th", "st", "nd", "rd"):
        return text
    if _TEN.search(before) and _WHOLE.fullmatch(text):
        return f"^{text}"
    if SCRIPT_MARK.fullmatch(text):
        return text if text.isdigit() and _TEXT_UNIT.search(before) else ""
    return text if re.search(r"[*†‡±+\-−–∗⋆()\d]", text) else ""
