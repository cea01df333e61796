"""What documents add to other rooms: modules in their folders, found by name at run time."""

import importlib
import pkgutil
from collections.abc import Iterator
from importlib.util import find_spec
from types import ModuleType


def document_parts(part: str) -> Iterator[ModuleType]:
    """The documents' own modules of a name, such as `explain`, of those folders that have one."""
    papers = importlib.import_module("memrepro.papers")
    for folder in pkgutil.iter_modules(papers.__path__):
        name = f"memrepro.papers.{folder.name}.{part}"
        if folder.ispkg and find_spec(name):
            yield importlib.import_module(name)
