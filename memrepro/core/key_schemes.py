"""Keyings: which texts of a doc are its keys, and how extractions expand them.

A keying is a base, the fields that are keys, and perhaps an expansion of them by what was
extracted from the doc, written `base+mode:extraction`, such as `user_only+merge:nlp-fact`.
A key remembers the field that it was made of, so that a rule may weigh the fields.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memrepro.core.extractions import KINDS, Extractions
from memrepro.core.memory import GRANULARITIES, Round, Session
from memrepro.errors import MemreproError

# A doc's keys: (field, text), each field at most once.
Keying = Callable[[Round], Sequence[tuple[str, str]]]
EXPANSION = "expansion"  # the field of a key that was extracted


def only(field: str) -> Keying:
    """One field's words alone (max-sim document, Eq. 1; LongMemEval §5.1: the user's)."""
    return lambda doc: [(field, doc.fields[field])] if field in doc.fields else []


def concat(doc: Round) -> Sequence[tuple[str, str]]:
    """All fields in order, joined by one space, as one key (max-sim document, Eq. 2)."""
    return [("all", " ".join(doc.fields.values()))] if doc.fields else []


def fielded(doc: Round) -> Sequence[tuple[str, str]]:
    """One key a field (max-sim document, Eq. 3: the doc's score is the best of its keys)."""
    return list(doc.fields.items())


# LoCoMo's two fields are its two speakers.
KEYINGS: Mapping[str, Keying] = {
    "user_only": only("user"),
    "assistant_only": only("assistant"),
    "speaker_a_only": only("speaker_a"),
    "speaker_b_only": only("speaker_b"),
    "concat": concat,
    "fielded": fielded,
}


def merge(keys: Sequence[tuple[str, str]], extracted: Sequence[str]) -> Sequence[tuple[str, str]]:
    """Each extracted text and a space before each key (LongMemEval §5.3, `K = V + fact`).

    Where nothing was extracted the keys stay as they are. (The released code drops a doc whose list
    of facts is empty, and keeps one whose extraction failed.)
    """
    if not extracted:
        return keys
    return [(name, f"{text} {key}") for name, key in keys for text in extracted]


def substitute(
    keys: Sequence[tuple[str, str]], extracted: Sequence[str]
) -> Sequence[tuple[str, str]]:
    """The extracted texts alone (LongMemEval Table 3, `K = fact`); no key where there is none."""
    return [(EXPANSION, text) for text in extracted]


def separate(
    keys: Sequence[tuple[str, str]], extracted: Sequence[str]
) -> Sequence[tuple[str, str]]:
    """The extracted texts as further keys of the doc (released code's `separate`)."""
    return [*keys, *((EXPANSION, text) for text in extracted)]


_MODES = {"merge": merge, "replace": substitute, "separate": separate}
# Joined by one space, all that was extracted is one text; split, each piece is one.
MODES = (*_MODES, *(f"split-{mode}" for mode in _MODES))


@dataclass(frozen=True)
class KeySpec:
    """A keying's parts: the base, and the mode and name of its expansion ('' without one)."""

    base: str
    mode: str = ""
    extraction: str = ""

    @staticmethod
    def parse(keying: str) -> "KeySpec":
        """Read `base` or `base+mode:source-kind`.

        Raises:
            MemreproError: if the base, the mode or the kind is unknown.
        """
        base, plus, expansion = keying.partition("+")
        mode, colon, extraction = expansion.partition(":")
        if base not in KEYINGS:
            raise MemreproError(f"unknown keying {base!r}: known are {', '.join(KEYINGS)}")
        if plus and (mode not in MODES or not colon or not is_extraction(extraction)):
            raise MemreproError(
                f"keying {keying!r} has the expansion {expansion!r}: write mode:source-kind, with "
                f"a mode of {', '.join(MODES)} and a kind of {', '.join(KINDS)}"
            )
        return KeySpec(base, mode, extraction)

    def keys(
        self, doc: Round, session: Session, extractions: Extractions
    ) -> Sequence[tuple[str, str]]:
        """The (field, text) pairs of a doc of a session."""
        keys = KEYINGS[self.base](doc)
        if not self.mode:
            return keys
        extracted = extractions.of_doc(self.extraction, session, doc)
        split = self.mode.startswith("split-")
        if extracted and not split:
            extracted = (" ".join(extracted),)
        return _MODES[self.mode.removeprefix("split-")](keys, extracted)


def is_extraction(name: str) -> bool:
    """Whether a name is one of an extraction, `<source>-<kind>`."""
    source, _, kind = name.rpartition("-")
    return bool(source) and kind in KINDS


def check_granularity(granularity: str, keying: str) -> None:
    """Refuse a granularity or keying that is unknown, or two that do not go together."""
    mode = KeySpec.parse(keying).mode
    if granularity not in GRANULARITIES and not is_extraction(granularity):
        raise MemreproError(
            f"unknown granularity {granularity!r}: known are {', '.join(GRANULARITIES)}, and an "
            f"extraction's name such as 'nlp-fact'"
        )
    if is_extraction(granularity) and keying != "concat":
        raise MemreproError(
            f"granularity {granularity!r} under the keying {keying!r}: an extraction has no "
            "speaker; choose the keying 'concat'"
        )
    if granularity == "turn" and mode:
        raise MemreproError(
            f"granularity 'turn' under the keying {keying!r}: extractions are of rounds and "
            "sessions, not of turns; choose a keying without expansion"
        )
