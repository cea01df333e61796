"""The one error that this package raises on purpose."""

_LONGEST = 400  # of a sentence that a person reads in a terminal


class MemreproError(Exception):
    """One sentence that names the item, what was found, and what to do.

    The command line prints it without a traceback and exits with status 1. Whatever an item holds,
    the sentence stays one: a character that does not print (a control code, one that turns the
    direction of writing) shows as its escape, and what is too long is cut in its middle.
    """

    def __str__(self) -> str:
        said = super().__str__()
        if not said.isprintable():
            said = "".join(map(_printed, said))
        if len(said) > _LONGEST:
            half = (_LONGEST - 3) // 2
            said = f"{said[:half]} … {said[-half:]}"
        return said


def _printed(character: str) -> str:
    if character.isspace():
        return " "
    return character if character.isprintable() else ascii(character)[1:-1]
