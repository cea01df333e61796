"""Where tables stand on a page of a PDF: between rules of one width; and their captions."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from memrepro.audit.read.pdf.words import SAME, Drawn, Rule, Word, lines_of

_NUMBERED = re.compile(r"(?:\d+(?:\.\d+)*|[A-Z]\.?\d*(?:\.\d+)?|[IVX]+)[.:]?")
_DOTS = re.compile(r"(?:\. ?){5}")
_CAPTIONS = {
    "Table", "TABLE", "Tab.", "Tabelle", "Tabla", "Cuadro", "Tableau", "Tabella", "Tabela", "Tabel",
    "Tabell", "Tabulka", "Taulukko", "Bảng", "Таблица", "表",
}  # fmt: skip
_SHORTEST, FAR = 60.0, 400.0  # points: a rule, and how far a caption is from its table


class Region(NamedTuple):
    """What stands between the first and the last of several rules, from the top, of one width."""

    left: float
    right: float
    rules: tuple[float, ...]


def caption_at(line: Sequence[Word]) -> int | None:
    """Where in a line a table's caption begins; not in a list of tables, by its dots."""
    if _DOTS.search(" ".join(word.text for word in line)):
        return None
    for i, word in enumerate(line[:-1]):
        starts = i == 0 or word.left - line[i - 1].right > 8
        named = word.text in _CAPTIONS
        if starts and named and _NUMBERED.fullmatch(line[i + 1].text):
            # 'Table 3 shows …' begins a sentence.
            said = run_of(line, i)
            goes_on = len(said) > 2 and not said[2].text[:1].isupper()
            if len(said) > 1 and (said[1].text[-1] in ".:" or not goes_on):
                return i
    return None


def run_of(line: Sequence[Word], at: int) -> list[Word]:
    """The words from a place up to a gap."""
    made = [line[at]]
    for word in line[at + 1 :]:
        if word.left - made[-1].right > 12:
            break
        made.append(word)
    return made


def regions(across: Sequence[Rule], captions: Sequence[Sequence[Word]]) -> Iterator[Region]:
    """What stands between several rules of one width, with no caption in it."""
    groups: list[list[Rule]] = []
    for rule in sorted(across):
        if rule.end - rule.begin < _SHORTEST:
            continue
        for group in groups:
            last = group[-1]
            alike = abs(last.begin - rule.begin) < SAME and abs(last.end - rule.end) < SAME
            tops = _tops_within(captions, rule.begin, rule.end)
            between = any(last.at < top < rule.at for top in tops)
            if alike and not between and rule.at - last.at < FAR:
                group.append(rule)
                break
        else:
            groups.append([rule])
    for group in groups:
        tops = [group[0].at]
        tops += [rule.at for rule in group if rule.at - tops[-1] > SAME]
        if len(tops) > 1:
            yield Region(group[0].begin, group[0].end, tuple(tops))


def _tops_within(captions: Sequence[Sequence[Word]], left: float, right: float) -> list[float]:
    """Where captions begin that are not of another column of the page."""
    return [run[0].top for run in captions if run[0].left < right and run[-1].right > left]


def opened(page: Drawn, region: Region, captions: Sequence[Sequence[Word]]) -> Region:
    """A region with the lines below its last rule, as of a table that goes on on the next page."""
    last = region.rules[-1]
    tops = _tops_within(captions, region.left, region.right)
    end = min((top for top in tops if top > last), default=float("inf"))
    below = [w for w in page.words if last < w.top < end]
    for line in lines_of(below):
        inside = [w for w in line if w.right > region.left and w.left < region.right]
        if not inside:
            continue
        high = inside[0].bottom - inside[0].top
        strays = any(w.left < region.left - SAME or w.right > region.right + SAME for w in inside)
        if strays or inside[0].top - last > 1.5 * high:
            break
        last = inside[0].bottom
    return region._replace(rules=(*region.rules, last + 1))


def outer(found: Iterable[Region]) -> list[Region]:
    """Regions that are no part of a wider one, as what bars under heads make."""
    made = list(found)
    return [
        one for one in made
        if not any(
            other.left <= one.left + SAME and one.right - SAME <= other.right
            and other.right - other.left > one.right - one.left + SAME
            and other.rules[0] - 1 < one.rules[0] < other.rules[-1]
            for other in made
        )
    ]  # fmt: skip
