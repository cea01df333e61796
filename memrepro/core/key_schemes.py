"""Key schemes: which texts of a doc are its keys, and how extractions expand them.

A key scheme is a base, the fields that are keys, and perhaps an expansion of them by what was
extracted from the doc, written `base+mode:extraction`, such as `user_only+merge:nlp-fact`.
A key remembers the field that it was made of, so that a rule may weigh the fields.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memrepro.core.extractions import KINDS, Extractions
from memrepro.core.memory import GRANULARITIES, Round, Session
from memrepro.errors import MemreproError

# A doc's keys: (field, text), each field at most once.
Pairs = Sequence[tuple[str, str]]
KeyScheme = Callable[[Round], Pairs]
EXPANSION = "expansion"  # the field of a key that was extracted


def only(field: str) -> KeyScheme:
    """One field's words alone (max-sim document, Eq. 1; LongMemEval §5.1: the user's)."""
    return lambda doc: [(field, doc.fields[field])] if field in doc.fields else []


def concat(doc: Round) -> Pairs:
    """All fields in order, joined by one space, as one key (max-sim document, Eq. 2)."""
    return [("all", " ".join(doc.fields.values()))] if doc.fields else []


def fielded(doc: Round) -> Pairs:
    """One key a field (max-sim document, Eq. 3: the doc's score is the best of its keys)."""
    return list(doc.fields.items())


# LoCoMo's two fields are its two speakers.
KEY_SCHEMES: Mapping[str, KeyScheme] = {
    "user_only": only("user"),
    "assistant_only": only("assistant"),
    "speaker_a_only": only("speaker_a"),
    "speaker_b_only": only("speaker_b"),
    "concat": concat,
    "fielded": fielded,
}


def merge(keys: Pairs, extracted: Sequence[str]) -> Pairs:
    """Each extracted text and a space before each key (LongMemEval §5.3, `K = V + fact`).

    Where nothing was extracted the keys stay as they are. (The released code drops a doc whose list
    of facts is empty, and keeps one whose extraction failed.)
    """
    if not extracted:
        return keys
    return [(name, f"{text} {key}") for name, key in keys for text in extracted]


def substitute(keys: Pairs, extracted: Sequence[str]) -> Pairs:
    """The extracted texts alone (LongMemEval Table 3, `K = fact`); no key where there is none."""
    return [(EXPANSION, text) for text in extracted]


def separate(keys: Pairs, extracted: Sequence[str]) -> Pairs:
    """The extracted texts as further keys of the doc (released code's `separate`)."""
    return [*keys, *((EXPANSION, text) for text in extracted)]


_MODES = {"merge": merge, "replace": substitute, "separate": separate}
# Joined by one space, all that was extracted is one text; split, each piece is one.
MODES = (*_MODES, *(f"split-{mode}" for mode in _MODES))


@dataclass(frozen=True)
class KeySpec:
    """A key scheme's parts: the base, and the mode and name of its expansion ('' without one)."""

    base: str
    mode: str = ""
    extraction: str = ""

    @staticmethod
    def parse(key_scheme: str) -> "KeySpec":
        """Read `base` or `base+mode:source-kind`.

        Raises:
            MemreproError: if the base, the mode or the kind is unknown.
        """
        base, plus, expansion = key_scheme.partition("+")
        mode, colon, extraction = expansion.partition(":")
        if base not in KEY_SCHEMES:
            raise MemreproError(f"unknown key scheme {base!r}: known are {', '.join(KEY_SCHEMES)}")
        if plus and (mode not in MODES or not colon or not is_extraction(extraction)):
            raise MemreproError(
                f"key scheme {key_scheme!r} has the expansion {expansion!r}: "
                f"write mode:source-kind, with a mode of {', '.join(MODES)} "
                f"and a kind of {', '.join(KINDS)}"
            )
        return KeySpec(base, mode, extraction)

    def keys(self, doc: Round, session: Session, extractions: Extractions) -> Pairs:
        """The (field, text) pairs of a doc of a session."""
        keys = KEY_SCHEMES[self.base](doc)
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


def check_granularity(granularity: str, key_scheme: str) -> None:
    """Refuse a granularity or key scheme that is unknown, or two that do not go together."""
    mode = KeySpec.parse(key_scheme).mode
    if granularity not in GRANULARITIES and not is_extraction(granularity):
        raise MemreproError(
            f"unknown granularity {granularity!r}: known are {', '.join(GRANULARITIES)}, and an "
            f"extraction's name such as 'nlp-fact'"
        )
    if is_extraction(granularity) and key_scheme != "concat":
        raise MemreproError(
            f"granularity {granularity!r} under the key scheme {key_scheme!r}: an extraction has "
            "no speaker; choose the key scheme 'concat'"
        )
    if granularity == "turn" and mode:
        raise MemreproError(
            f"granularity 'turn' under the key scheme {key_scheme!r}: extractions are of rounds "
            "and sessions, not of turns; choose a key scheme without expansion"
        )
