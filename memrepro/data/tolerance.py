"""How many of a data set's questions may be unusable before its file is taken for damaged.

The released files hold single faults that are theirs, and each is skipped with its reason; many at
once mean a damaged file. The rule is this project's own.
"""

from collections.abc import Sequence

from memrepro.errors import MemreproError

SHARE = 0.01
COUNT = 5


def check_skipped(skipped: Sequence[tuple[str, str]], total: int, where: str) -> None:
    """Refuse too many unusable questions: more than 1 % of them and more than 5.

    Args:
        skipped: (question, reason), in the file's order.
        total: how many questions there are, the skipped ones too.
        where: the file.

    Raises:
        MemreproError: if there are too many; it names the first of them.
    """
    if len(skipped) > COUNT and len(skipped) > SHARE * total:
        item, reason = skipped[0]
        raise MemreproError(
            f"{where}: {len(skipped)} of {total} questions cannot be used, the first is {item!r}: "
            f"{reason}; at most {COUNT} or {SHARE:.0%} may be skipped: the file is not of this "
            "edition or is damaged: delete it and fetch it anew"
        )
