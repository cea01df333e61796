"""What every stage returns: a summary to show, and the digests of what it read and wrote."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from memrepro import __version__
from memrepro.files import paths
from memrepro.files.atomic import root, sha256

SENTINEL = "memrepro stage complete"


def data_files(dataset: str) -> list[Path]:
    """The files of a prepared data set and of what was extracted from it."""
    folders = (paths.prepared(dataset), paths.extracted(dataset))
    return [path for folder in folders for path in sorted(folder.glob("*.parquet"))]


@dataclass(frozen=True)
class StageResult:
    """A stage that ended well.

    Attributes:
        stage: its name and argument, such as `retrieve sample-rfmem`.
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

        No time, no host and no version of Python, so that a notebook changes only with its content.
        """
        print(f"memrepro {__version__}: {self.stage}")
        for what, files in (("read", self.inputs), ("wrote", self.outputs)):
            for path in files:
                print(f"{what:>5}  {sha256(path)[:16]}  {path.relative_to(root()).as_posix()}")
        print(SENTINEL)
