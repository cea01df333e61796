"""Sentences of chat text, by sentencex (Wikimedia's rules for English).

LongMemEval extracts with a language model and needs no splitter (7be397bb177bc8b7, Appendix D);
the extractors that stand in for it here work on sentences.
"""

import re

import sentencex

# sentencex ends a sentence after a list's number ("2. Call Mum.").
_NUMBER = re.compile(r"\s*\(?\d{1,3}[.)]\s*")
# Words that it takes for abbreviations (Maine, article) and so ends no sentence at.
_WORD_END = re.compile(r"\b((?i:me|no|ok|art|may|etc)\.\s+)(?=[A-Z])")


def sentences(text: str) -> list[str]:
    """The sentences in order, without white space around them; a line break ends one.

    Nothing but white space is lost, save that a lone surrogate, which no UTF-8 text can hold,
    becomes "?". The time grows in step with the length: under 1 s per million characters.
    """
    found = []
    # Line by line, as chat users end a message or a list's entry without a full stop.
    for line in text.encode("utf-8", "replace").decode("utf-8").splitlines():
        number = ""
        for piece in sentencex.segment("en", line):
            if not number and _NUMBER.fullmatch(piece):
                number = piece
                continue
            found += _WORD_END.sub("\\1\n", number + piece).splitlines()
            number = ""
        found.append(number)
    return [sentence for piece in found if (sentence := piece.strip())]
