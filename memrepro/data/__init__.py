"""Data sets: one module each, and `downloads.yaml`, the registry of their files.

Every module has `load(folder, name) -> Dataset`, which reads the files that `download` put into
`folder`, or `stream(folder, name) -> Iterator[Piece]` where the files are too large for that; one
that makes its own files (the sample) has `compile_files(folder, parameters)` too. What else either
takes are the data set's `parameters` in params.yaml.
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
    read = getattr(loaded, "stream", None) or loaded.load
    options = {} if hasattr(loaded, "compile_files") else dict(parameters)
    known = list(inspect.signature(read).parameters)[2:]
    if strange := sorted(set(options) - set(known)):
        raise MemreproError(
            f"params.yaml: data set {name!r} has the unknown parameter {strange[0]!r}: known are "
            f"{', '.join(known) or 'none'}"
        )
    found = read(folder, name, **options)
    yield from found if isinstance(found, Iterator) else found.pieces()
