"""The command that rehearses the full profile."""

import argparse
import sys
from fractions import Fraction
from pathlib import Path

import pandas as pd

from memrepro.errors import MemreproError
from memrepro.files.atomic import root
from memrepro.pipeline.printing import Add, print_table


def add_to(add: Add) -> None:
    """Add the command to the parser."""
    command = add(
        "rehearse", _rehearse,
        more="It runs in a clone of the last commit, against a server on this machine; no number "
        "of it is a result. One of the same commit and scale goes on where it was. Exit status 1: "
        "something did not pass.",
    )  # fmt: skip
    command.add_argument(
        "--scale", default="1/50", help="of the data: 1 is the true size (default: 1/50)"
    )
    command.add_argument(
        "--folder", type=Path, default=Path("build/rehearsal"), help="of the scratch checkout"
    )
    command.add_argument(
        "--stages", nargs="+", default=[], metavar="STAGE", help="these stages of dvc.yaml alone"
    )
    command.add_argument(
        "--without-encoders", action="store_true",
        help="random vectors of the true dimension in place of the encoders'",
    )  # fmt: skip


def _rehearse(arguments: argparse.Namespace) -> int:
    from memrepro.rehearse import scratch
    from memrepro.rehearse.run import rehearse
    from memrepro.rehearse.stages import PASSED, Step

    try:
        scale = float(Fraction(arguments.scale))
    except (ValueError, ZeroDivisionError):
        scale = 0.0
    if not 0 < scale <= 1:
        raise MemreproError(
            f"--scale is {arguments.scale!r}: give a number above 0 and at most 1, such as 1/50"
        )
    if changed := scratch.uncommitted():
        print(
            f"memrepro: {len(changed)} changes are not committed, and so not rehearsed: the first "
            f"is {changed[0].strip()}",
            file=sys.stderr,
        )

    def show(step: Step) -> None:
        print(
            f"memrepro: {step.stage}: {step.outcome}, {step.seconds:.1f} s, "
            f"{step.peak / 1e6:.0f} MB",
            file=sys.stderr, flush=True,
        )  # fmt: skip

    folder = (root() / arguments.folder).resolve()
    steps = rehearse(
        folder, scale, arguments.stages, encoders=not arguments.without_encoders, done=show
    )
    table = pd.DataFrame(
        [
            (s.stage, s.outcome, round(s.seconds, 1), round(s.cpu, 1), round(s.peak / 1e6))
            for s in steps
        ],
        columns=["stage", "outcome", "seconds", "CPU seconds", "peak MB"],
    )
    sums = table[["seconds", "CPU seconds"]].sum().round(1)
    table.loc[len(table)] = ["total", "", *sums, table["peak MB"].max()]
    print_table(table, arguments.json)
    if lost := [step.stage for step in steps if step.outcome != PASSED]:
        print(
            f"memrepro: {len(lost)} of {len(steps)} steps did not pass, the first {lost[0]}: what "
            f"was printed stands in {folder / 'log.txt'}",
            file=sys.stderr,
        )
    return 1 if lost else 0
