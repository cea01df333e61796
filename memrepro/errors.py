"""The one error that this package raises on purpose."""

import re

_PATH, _WORD, _LONGEST = 200, 80, 1000  # characters of a word with and without /, and in all
_QUOTED = re.compile(rf"(?<!\w)(['\"])(?=.{{{_WORD}}})(?:(?!\1).)+\1(?!\w)")


class MemreproError(Exception):
    """One sentence that names the item, what was found, and what to do.

    The command line prints it without a traceback and exits with status 1. Whatever an item holds,
    the sentence stays one: a character that does not print (a control code, one that turns the
    direction of writing) shows as its escape, and what is too long is cut in its middle: a path of
    more than 200 characters, another word or quotation of more than 80, and a sentence of more
    than 1,000.
    """

    def __str__(self) -> str:
        said = printable(super().__str__())
        if len(said) > _WORD:
            said = _QUOTED.sub(lambda quoted: cut(quoted[0], _WORD), said)
            words = said.split(" ")
            said = " ".join(cut(word, _PATH if "/" in word else _WORD) for word in words)
        return cut(said, _LONGEST)


def printable(text: str) -> str:
    """A line that changes no terminal: what does not print is its escape, white space a blank."""
    return text if text.isprintable() else "".join(map(_printed, text))


def cut(text: object, longest: int = 120) -> str:
    """What an item says, without its middle where it is longer than so many characters."""
    text, half = str(text), longest // 2 - 2
    return text if len(text) <= longest else f"{text[:half]} … {text[-half:]}"


def _printed(character: str) -> str:
    if character.isspace():
        return " "
    return character if character.isprintable() else ascii(character)[1:-1]
