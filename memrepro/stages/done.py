"""What every stage returns: a summary to show, and the digests of what it read and wrote."""

import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from memrepro import __version__
from memrepro.errors import MemreproError
from memrepro.store import root, sha256

SENTINEL = "memrepro stage complete"
_STARTED = time.time()


@dataclass(frozen=True)
class Done:
    """A stage that ended well.

    Attributes:
        stage: its name and argument, such as `retrieve sample-dense-user`.
        summary: what a reader of the notebook sees.
        inputs: the files read.
        outputs: the files written.
    """

    stage: str
    summary: pd.DataFrame
    inputs: Sequence[Path]
    outputs: Sequence[Path]

    def footer(self) -> None:
        """Print the provenance footer; its last line tells the runner that nothing was cut short.

        No time and no host, so that an executed notebook changes only with its content.

        Raises:
            MemreproError: if a module in use was edited since the start.
        """
        _refuse_edited_modules()
        print(f"memrepro {__version__}, Python {platform.python_version()}: {self.stage}")
        for what, paths in (("read", self.inputs), ("wrote", self.outputs)):
            for path in paths:
                print(f"{what:>5}  {sha256(path)[:16]}  {path.relative_to(root()).as_posix()}")
        print(SENTINEL)


def _refuse_edited_modules() -> None:
    """DVC hashes dependencies after a run: an edit meanwhile would give a lock that lies."""
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.startswith("memrepro") and file and Path(file).stat().st_mtime > _STARTED:
            raise MemreproError(
                f"{name} was edited while this stage ran: run the same command again "
                "(what was embedded is kept)"
            )
