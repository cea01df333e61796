"""Where a cell's number comes from: the runs and files that it was computed from.

A source is written as text in a table's column `sources`, several joined by ' + ', so that a reader
of the csv sees it and `memrepro why` needs no other record:

    run <name>[<setting>] <level> <metric>@<k> <kind>     the values of one ranking, all or one kind
    file <path below results/<profile>>                   any other table

A number with one run and no file is the mean of its values; a difference names the run before
first and the run after second; all else is computed from its sources, and the note says how.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from memrepro.errors import MemreproError

_RUN = re.compile(r"run (\S+?)\[([^\]]*)\] (\S+) (\w+)@(\d+)(?: (.+))?")


class RunSource(NamedTuple):
    """The values of one ranking under the first protocol.

    Attributes:
        run: the experiment's name.
        setting: in a sweep; '' otherwise.
        level: what was counted, 'session' or 'round'.
        metric: such as 'recall_all'.
        k: the cut-off.
        kind: the kind of question; '' for all.
    """

    run: str
    setting: str
    level: str
    metric: str
    k: int
    kind: str = ""

    @property
    def name(self) -> str:
        """The metric with its k."""
        return f"{self.metric}@{self.k}"

    def __str__(self) -> str:
        place = f"run {self.run}[{self.setting}] {self.level} {self.name}"
        return f"{place} {self.kind}" if self.kind else place


class FileSource(NamedTuple):
    """Another table of the results, by its path below `results/<profile>`."""

    path: str

    def __str__(self) -> str:
        return f"file {self.path}"


Source = RunSource | FileSource


def write_sources(sources: Iterable[Source]) -> str:
    """Sources as the text of a table's column, each once, in order."""
    return " + ".join(dict.fromkeys(map(str, sources)))


def read_sources(text: str) -> list[Source]:
    """The sources that a table's column names.

    Raises:
        MemreproError: if one is neither a run nor a file.
    """
    found: list[Source] = []
    for part in text.split(" + ") if text else []:
        if part.startswith("file "):
            found.append(FileSource(part.removeprefix("file ")))
        elif match := _RUN.fullmatch(part):
            run, setting, level, metric, k, kind = match.groups()
            found.append(RunSource(run, setting, level, metric, int(k), kind or ""))
        else:
            raise MemreproError(
                f"source {part!r}: it must read 'run NAME[SETTING] LEVEL METRIC@K KIND' or "
                "'file PATH'"
            )
    return found
