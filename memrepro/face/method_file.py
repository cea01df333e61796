"""A method in a file, as `memrepro try` writes `best.yaml`: read by `search` and by `Memory`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml

from memrepro.errors import MemreproError, cut
from memrepro.face.defaults import methods
from memrepro.files.atomic import read_yaml, write_text

SUFFIX = ".yaml"


@dataclass(frozen=True)
class MethodFile:
    """A method with all that a search needs.

    Attributes:
        method: `family.retriever`.
        parameters: of the retriever.
        key_scheme: which texts are searched; '' for the method's own.
        level: what a doc was, 'session', 'round' or 'turn'.
        encoder: of `encode/encoders.yaml`.
    """

    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    key_scheme: str = ""
    level: str = ""
    encoder: str = ""


def is_method_file(method: str | Path) -> bool:
    """Whether a method is named by its file."""
    return str(method).endswith(SUFFIX)


def read_method(path: str | Path) -> MethodFile:
    """The method that a file holds.

    Raises:
        MemreproError: naming the file, what is wrong and the rule.
    """
    where = Path(path).expanduser()
    found, known = read_yaml(where), tuple(MethodFile.__dataclass_fields__)
    if not isinstance(found, Mapping):
        raise MemreproError(f"{where} is no mapping: write {', '.join(known)}")
    if strange := [str(key) for key in found if key not in known]:
        raise MemreproError(f"{where} has the unknown key {strange[0]!r}: known are {known}")
    if found.get("method") not in methods():
        raise MemreproError(
            f"{where} has the method {cut(repr(found.get('method')), 40)}: known are "
            f"{', '.join(methods())}"
        )
    for name in known:
        wanted = Mapping if name == "parameters" else str
        if name in found and not isinstance(found[name], wanted):
            what = "a mapping from name to value" if name == "parameters" else "a text"
            raise MemreproError(
                f"{where} has {name} {cut(repr(found[name]), 40)}: it must be {what}"
            )
    return MethodFile(**found)


def write_method(path: Path, method: MethodFile, comment: str) -> None:
    """Write a method, with what is to be known of it above."""
    said = "".join(f"# {line}\n" for line in comment.splitlines())
    plain = {name: value for name, value in asdict(method).items() if value}
    write_text(path, said + yaml.safe_dump(plain, sort_keys=False, allow_unicode=True))
