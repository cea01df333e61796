"""Key schemes: which texts of a doc are its keys, and how extractions expand them.

A key scheme is a base, the fields that are keys, and perhaps an expansion of them by what was
extracted from the doc, written `base+mode:extraction`, such as `user_only+merge:nlp-fact`. With
`+windows:160` behind it each of these keys is cut into windows of at most 160 words, so that an
encoder reads all of a text that is longer than its limit.
A key remembers the field that it was made of, so that a rule may weigh the fields.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memrepro.core.extractions import KINDS, Extractions
from memrepro.core.memory import GRANULARITIES, Round, Session
from memrepro.errors import MemreproError

# A doc's keys: (field, text), each field at most once.
Pairs = Sequence[tuple[str, str]]
KeyScheme = Callable[[Round], Pairs]
EXPANSION = "expansion"  # the field of a key that was extracted
_WINDOWS = "+windows:"


def only(field: str) -> KeyScheme:
    """One field's words alone (max-sim document, Eq. 1; LongMemEval §5.1: the user's)."""
    return lambda doc: [(field, doc.fields[field])] if field in doc.fields else []


def concat(doc: Round) -> Pairs:
    """All fields in order, joined by one space, as one key (max-sim document, Eq. 2)."""
    return [("all", " ".join(doc.fields.values()))] if doc.fields else []


def fielded(doc: Round) -> Pairs:
    """One key a field (max-sim document, Eq. 3: the doc's score is the best of its keys)."""
    return list(doc.fields.items())


# LoCoMo's two fields are its two speakers; PersonaBench's, whose memory it is and who answers.
KEY_SCHEMES: Mapping[str, KeyScheme] = {
    "user_only": only("user"),
    "assistant_only": only("assistant"),
    "speaker_a_only": only("speaker_a"),
    "speaker_b_only": only("speaker_b"),
    "own_only": only("own"),
    "other_only": only("other"),
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
    """The extracted texts as further keys of the doc, which stands by the best of its keys.

    In LongMemEval's released code, which has the mode's name, each text takes a place of the
    ranking: `retrieve.dense.retrievers.EachKey`.
    """
    return [*keys, *((EXPANSION, text) for text in extracted)]


def windows(keys: Pairs, words: int) -> Pairs:
    """Each key in as few windows as have at most so many words, one after the other.

    Windows of a key differ by one word at most, so that none is a short rest; they do not overlap.
    """
    cut = []
    for name, text in keys:
        said = text.split()
        n = -(-len(said) // words)
        ends = [len(said) * i // n for i in range(n + 1)] if n > 1 else []
        parts = [" ".join(said[a:b]) for a, b in pairwise(ends)]
        cut += [(name, part) for part in parts or [text]]
    return cut


_MODES = {"merge": merge, "replace": substitute, "separate": separate}
# Joined by one space, all that was extracted is one text; split, each piece is one.
MODES = (*_MODES, *(f"split-{mode}" for mode in _MODES))


@dataclass(frozen=True)
class KeySpec:
    """A key scheme's parts: the base, the mode and name of its expansion, and its windows.

    Attributes:
        base: of `KEY_SCHEMES`.
        mode: of `MODES`; '' without an expansion.
        extraction: `<source>-<kind>`; '' without an expansion.
        words: the most words of a window; 0 for keys that are not cut.
    """

    base: str
    mode: str = ""
    extraction: str = ""
    words: int = 0

    @staticmethod
    def parse(key_scheme: str) -> "KeySpec":
        """Read `base` or `base+mode:source-kind`, perhaps with `+windows:words` behind it.

        Raises:
            MemreproError: if the base, the mode or the kind is unknown, or words is no number.
        """
        whole, cut, words = key_scheme.partition(_WINDOWS)
        if cut and not re.fullmatch("[1-9][0-9]*", words):
            raise MemreproError(
                f"key scheme {key_scheme!r} has windows of {words!r} words: write a whole number "
                f"from 1 behind {_WINDOWS!r}, and nothing after it"
            )
        base, plus, expansion = whole.partition("+")
        mode, colon, extraction = expansion.partition(":")
        if base not in KEY_SCHEMES:
            raise MemreproError(f"unknown key scheme {base!r}: known are {', '.join(KEY_SCHEMES)}")
        if plus and (mode not in MODES or not colon or not is_extraction(extraction)):
            raise MemreproError(
                f"key scheme {key_scheme!r} has the expansion {expansion!r}: "
                f"write mode:source-kind, with a mode of {', '.join(MODES)} "
                f"and a kind of {', '.join(KINDS)}"
            )
        return KeySpec(base, mode, extraction, int(words or 0))

    def keys(self, doc: Round, session: Session, extractions: Extractions) -> Pairs:
        """The (field, text) pairs of a doc of a session."""
        keys = KEY_SCHEMES[self.base](doc)
        if self.mode:
            keys = self._expanded(keys, doc, session, extractions)
        return windows(keys, self.words) if self.words else keys

    def _expanded(
        self, keys: Pairs, doc: Round, session: Session, extractions: Extractions
    ) -> Pairs:
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
