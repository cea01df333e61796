"""The words of judgement, each defined once; see `glossary.yaml`."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from memrepro.errors import MemreproError
from memrepro.files.atomic import read_yaml

GLOSSARY = Path(__file__).with_name("glossary.yaml")


@cache
def words(path: Path = GLOSSARY) -> Mapping[str, str]:
    """Word → what it means, in the order of the file.

    Raises:
        MemreproError: if a word is defined twice.
    """
    found: dict[str, str] = {}
    for about, group in read_yaml(path).items():
        if again := found.keys() & group.keys():
            raise MemreproError(f"{path.name} defines {min(again)!r} twice, again under {about!r}")
        found |= group
    return found


def word_of(text: str) -> str:
    """The word of judgement of a table's text: what stands before its first colon."""
    return text.partition(":")[0].strip()


def as_markdown() -> str:
    """The glossary as one table a group."""
    parts = []
    for about, group in read_yaml(GLOSSARY).items():
        rows = "".join(f"| *{word}* | {meaning} |\n" for word, meaning in group.items())
        parts.append(f"| {about} | |\n| --- | --- |\n{rows}")
    return "\n".join(parts).strip()
