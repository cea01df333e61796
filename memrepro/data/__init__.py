"""Data sets: one module each, and `downloads.yaml`, the registry of their files.

Every module has `stream(folder, name) -> Iterator[Piece]`, which reads the files that `download`
put into `folder`; one that makes its own files (the sample) has `compile_files(folder, parameters)`
too. What else either takes are the data set's `parameters` in params.yaml.
"""

import importlib
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memrepro.core.memory import Piece
from memrepro.errors import MemreproError


def read_pieces(
    module: str, folder: Path, name: str, parameters: Mapping[str, Any]
) -> Iterator[Piece]:
    """The data set piece by piece.

    Raises:
        MemreproError: for an unknown parameter, or what the module refuses.
    """
    loaded = importlib.import_module(f"memrepro.data.{module}")
    options = {} if hasattr(loaded, "compile_files") else dict(parameters)
    known = list(inspect.signature(loaded.stream).parameters)[2:]
    if strange := sorted(set(options) - set(known)):
        raise MemreproError(
            f"params.yaml: data set {name!r} has the unknown parameter {strange[0]!r}: known are "
            f"{', '.join(known) or 'none'}"
        )
    yield from loaded.stream(folder, name, **options)
