"""Words of scripts that write none apart: Chinese, Japanese, Korean and Thai as pairs of signs.

An index over words finds "成语接龙" in "今天玩成语接龙游戏" only where both are cut alike.
Neighbouring signs, two by two, are what Lucene's `CJKAnalyzer` indexes; they need no dictionary.
"""

import re

# Kana, ideographs, Hangul, and the scripts of Thai, Lao, Khmer and Burmese, which have no blanks
# between words; vowel signs and tone marks go with them.
_SIGNS = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_RUN = re.compile(f"[{_SIGNS}]+")
# A sign, or a run of other characters without a blank.
_PIECE = re.compile(f"[{_SIGNS}]|[^\\s{_SIGNS}]+")
_WORD = re.compile(rf"[{_SIGNS}]+|[^\W{_SIGNS}]+")


def sign_pairs(text: str) -> str:
    """The text with each run of such signs as its pairs, blanks between; other text as it is.

    A single sign stays itself.

    Example:
        >>> sign_pairs("玩成语 well")
        ' 玩成 成语  well'
    """
    return text if text.isascii() else _RUN.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", text)


def words_and_pairs(text: str) -> list[str]:
    """The words of a text in lower case; of the scripts above, pairs of signs."""
    found: list[str] = []
    for word in _WORD.findall(text.lower()):
        found += _pairs(word) if _RUN.fullmatch(word) else [word]
    return found


def is_sign(word: str) -> bool:
    """Whether a word is a single sign of the scripts above."""
    return len(word) == 1 and bool(_RUN.fullmatch(word))


def windows(text: str, size: int) -> list[str]:
    """A text in windows of `size` words or signs, each with a fifth of the one before.

    A text of no more is one window; so is any where the size is 0.
    """
    found = [piece.span() for piece in _PIECE.finditer(text)] if size else []
    if len(found) <= size:
        return [text]
    step = max(1, size * 4 // 5)
    starts = range(0, len(found) - size + step, step)
    return [text[found[at][0] : found[min(at + size, len(found)) - 1][1]] for at in starts]


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]
