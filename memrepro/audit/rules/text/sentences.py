"""Sentences that compute: 'rises from 0.483 to 0.583 (+20.7 %)', '34 of 40 questions (85 %)'."""

import re
from collections.abc import Iterator

from memrepro.audit.finding import FAILS, LIKELY, WEAK, Finding
from memrepro.audit.printed import parse
from memrepro.audit.rules.text.plain import place, plain
from memrepro.audit.rules.text.pvalues import p_values

_NUMBER = r"\d+(?:\.\d+)?(?![\d.]*\d)"
_VERB = re.compile(
    r"\b(?:ris|rais|rose|increas|improv|grow|grew|gain|jump|climb|boost|lift|fall|fell|drop|decreas"
    r"|declin|reduc|lower|shr[iau]nk|go(?:es|ne)?\b|went|mov|chang|advanc|degrad)\w*[^.!?]{0,80}$",
    re.I | re.S,
)
_CHANGE = re.compile(
    rf"\bfrom\s+(?P<old>{_NUMBER})\s*(?P<u1>%?)\s+(?:up\s+|down\s+)?to\s+(?P<new>{_NUMBER})\s*(?P<u2>%?)"
    rf"(?P<between>\s*[(,;]\s*(?:(?:i\.e\.|that is|or|an?|by|about|roughly)[\s,]*){{0,3}}"
    rf"(?:(?:absolute|relative|total|net)\s+)?(?:(?:increase|gain|improvement|rise|drop|decrease"
    rf"|reduction|change|decline)\s+of\s+)?|\s+by\s+)"
    rf"(?P<sign>[+−-])?\s*(?P<by>{_NUMBER})\s*(?P<unit>%|points?|pp|percent(?:age)?(?:\s+points?)?)"
    rf"(?P<after>[^.;)\n]{{0,30}})[)\]]?"
)
_SHARE = re.compile(
    r"(?<![\w.,/-])(?<![Ll]ayer )(?<![Ll]ayers )(?P<right>\d[\d,]*)\s*(?:/|of|out of)\s*"
    r"(?:the\s+|all\s+)?(?P<all>\d[\d,]*)\b"
    r"(?!\.\d)(?:\s+[A-Za-z-]+){0,3}\s*[(\[,]\s*(?:or\s+)?(?P<part>\d+(?:\.\d+)?)\s*%[)\]]?"
    r"|(?<![\d.])(?P<part2>\d+(?:\.\d+)?)\s*%\s*[(\[]\s*(?P<right2>\d[\d,]*)\s*(?:/|of|out of)\s*"
    r"(?:the\s+|all\s+)?(?P<all2>\d[\d,]*)\b(?!\.\d)[)\]]?"
)
_YEAR = range(1900, 2100)


def changes_in_words(document: str, name: str, text: str) -> Iterator[Finding]:
    """'from 0.483 to 0.583 (+20.7 %)': the change as a part of the old value, or in points.

    Only where a verb says that something changed, and the change stands directly behind.
    """
    said = plain(text, name)
    for found in _CHANGE.finditer(said):
        old, new, by = (parse(found[key]) for key in ("old", "new", "by"))
        verb = _VERB.search(said[max(0, found.start() - 120) : found.start()])
        if old is None or new is None or by is None or old.low <= 0 or not verb:
            continue
        if found["u1"] and not found["u2"]:
            continue
        if re.search(r"\b(?:over|than|vs|relative to|compared|confidence|CI)\b", found["after"]):
            continue
        moved = [abs(b - a) / a * 100 for a, b in
                 ((old.low, new.high), (old.high, new.low))]  # fmt: skip
        factor = 1 if found["u1"] or found["u2"] or new.value > 1 else 100
        points = float(abs(new.value - old.value)) * factor
        room = float(old.step) * factor
        either = (moved, [points - room, points + room])
        if not any(min(ends) <= by.high and max(ends) >= by.low for ends in either):
            part = float(abs(new.value - old.value) / old.value) * 100
            yield Finding(
                document, name, "change in words", place(said, found), found[0][:80],
                f"{part:.3g}% of the old value, or {points:.3g} points",
                f"{found['by']}{found['unit']}",
                FAILS, LIKELY if by.step < 1 else WEAK, "arithmetic on the sentence", 3,
            )  # fmt: skip


def shares_in_words(document: str, name: str, text: str) -> Iterator[Finding]:
    """'34 of 40 questions (85 %)' and '85 % (34/40)': the percentage, rounded or cut off."""
    said = plain(text, name)
    for found in _SHARE.finditer(said):
        part = parse(found["part"] or found["part2"])
        right, every = (
            int((found[key] or found[f"{key}2"]).replace(",", "")) for key in ("right", "all")
        )
        if part is None or not 0 < right <= every or (every in _YEAR and "/" in found[0]):
            continue
        made = 100 * right / every
        if abs(made - float(part.value)) >= float(part.step) + 1e-9:
            yield Finding(
                document, name, "share in words", place(said, found), found[0][:80],
                f"{made:.4g}%", f"{part.value}%", FAILS, LIKELY, "arithmetic on the sentence", 2,
            )  # fmt: skip


OF_TEXT = (p_values, changes_in_words, shares_in_words)
