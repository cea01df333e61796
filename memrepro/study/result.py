"""What every stage returns: a summary to show, and the digests of what it read and wrote."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from memrepro import __version__
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_json, root, sha256, write_json


def data_files(dataset: str) -> list[Path]:
    """The files of a prepared data set and of what was extracted from it."""
    folders = (paths.prepared(dataset), paths.extracted(dataset))
    return [path for folder in folders for path in sorted(folder.glob("*.parquet"))]


@dataclass(frozen=True)
class StageResult:
    """A stage that ended well.

    Attributes:
        stage: its name and arguments, such as `retrieve sample-rfmem`.
        summary: what a reader of the notebook sees.
        inputs: the files read.
        outputs: the files written.
    """

    stage: str
    summary: pd.DataFrame
    inputs: Sequence[Path]
    outputs: Sequence[Path]

    def footer(self) -> None:
        """Print what was read and written, with the first digits of each file's SHA-256 now.

        No time, no host and no version of Python, so that a notebook changes only with its content.
        """
        print(f"memrepro {__version__}: {self.stage}")
        for what, files in (("read", self.inputs), ("wrote", self.outputs)):
            for path in files:
                print(f"{what:>5}  {sha256(path)[:16]}  {path.relative_to(root()).as_posix()}")

    @property
    def table(self) -> pd.DataFrame:
        """The summary with what its rows are called as columns."""
        return self.summary.reset_index(drop=self.summary.index.names == [None])

    def record(self) -> None:
        """Write it into `build/`, where `recorded` finds it."""
        told = {
            "summary": json.loads(self.table.to_json(orient="split", index=False)),
            "inputs": [path.relative_to(root()).as_posix() for path in self.inputs],
            "outputs": [path.relative_to(root()).as_posix() for path in self.outputs],
        }
        write_json(paths.stage_record(self.stage), told)


def recorded(*stage: str) -> StageResult:
    """What a stage returned when it last ran in this checkout.

    Args:
        stage: its name and arguments, such as `"retrieve", "sample-rfmem"`.

    Raises:
        MemreproError: if it has not run here.
    """
    name = " ".join(stage)
    path = paths.stage_record(name)
    if not path.is_file():
        raise MemreproError(
            f"{name!r} has not run in this checkout, so there is nothing to show: "
            f"`memrepro repro` or `memrepro stage` runs it"
        )
    told = read_json(path)
    inputs, outputs = ([root() / one for one in told[key]] for key in ("inputs", "outputs"))
    return StageResult(name, pd.DataFrame(**told["summary"]), inputs, outputs)
