"""Facts that cannot help: what a key gains by being longer, or by words of its conversation alone.

A key that is expanded by facts is longer than the plain one, and facts repeat the conversation's
names. Both can move a ranking without any fact being of the doc. Two controls take these apart.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import cycle, islice

from memrepro.core.extractions import Extracted, Extraction
from memrepro.core.memory import Dataset

_FACT = "fact"


def moved(dataset: Dataset, texts: Iterable[Extraction]) -> list[Extraction]:
    """Each round's facts are those of a round half the conversation away, in another session.

    As many rounds have facts as before, of the same conversation and made by the same source.
    """
    facts = _by_round(texts)
    found: dict[tuple[str, str], list[str]] = {}
    for memory in dataset.memories.values():
        places = [
            (session.key, r.round_id)
            for session in memory.sessions
            for r in session.rounds
            if (session.key, r.round_id) in facts
        ]
        for number, place in enumerate(places):
            away = len(places) // 2
            others = (places[(number + away + step) % len(places)] for step in range(len(places)))
            other = next((one for one in others if one[0] != place[0]), None)
            if other is not None:
                found.setdefault(place, facts[other])
    return [
        Extraction(key, round_id, "moved", _FACT, text)
        for (key, round_id), some in found.items()
        for text in some
    ]


def echoed(dataset: Dataset, texts: Iterable[Extraction]) -> list[Extraction]:
    """Each round's facts are its own words again, as many words as its facts have."""
    facts = _by_round(texts)
    return [
        Extraction(session.key, r.round_id, "echoed", _FACT, " ".join(islice(cycle(own), length)))
        for session in dataset.sessions
        for r in session.rounds
        if (own := " ".join(r.fields.values()).split())
        and (length := sum(len(t.split()) for t in facts.get((session.key, r.round_id), ())))
    ]


def _by_round(texts: Iterable[Extraction]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for one in texts:
        if one.kind == _FACT and one.round_id:
            found.setdefault((one.session_key, one.round_id), []).append(one.text)
    return found


CONTROLS: Mapping[str, Callable[[Dataset, Iterable[Extraction]], list[Extraction]]] = {
    "moved": moved,
    "echoed": echoed,
}


def control(source: str, dataset: Dataset, of: Extracted) -> Extracted:
    """A control of another source's facts."""
    return Extracted("control 1", CONTROLS[source](dataset, of.texts), [], [], [])
