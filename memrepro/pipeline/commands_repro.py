"""The commands that run a profile, and that say which keys its runs embed."""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memrepro.pipeline.printing import Add

if TYPE_CHECKING:
    from memrepro.study.params import Plan


def _repro(arguments: argparse.Namespace) -> int:
    from memrepro.cluster.workers import VARIABLE, address, opened
    from memrepro.files import paths
    from memrepro.files.atomic import root
    from memrepro.pipeline import dvc
    from memrepro.pipeline.plan.stages import last_stage
    from memrepro.study.embedding import write_keys
    from memrepro.study.params import load_plan

    plan = load_plan()
    write_keys(plan)
    # Stages call `python`: the one that runs this command comes first.
    environment = dict(os.environ)
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    # Else each stage compiles all that it imports, which takes longer than the stage.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    cluster = opened(arguments.cluster or address() or plan.cluster)
    with _encoders_ahead(plan, arguments.profile), cluster as environment[VARIABLE]:
        status = dvc.repro(last_stage(arguments.profile), environment)
    if status != 0:
        print(
            f"memrepro: the profile {arguments.profile!r} is not complete; see the error above "
            "(what was done is kept: run the same command again)",
            file=sys.stderr,
        )
        return 1
    for paper in plan.papers(arguments.profile):
        page = paths.build_folder(arguments.profile) / f"{paper}.html"
        tables = paths.results(arguments.profile) / paper
        print(f"report: {page.relative_to(root())}   tables: {tables.relative_to(root())}/")
    return 0


@contextmanager
def _encoders_ahead(plan: "Plan", profile: str) -> Iterator[None]:
    """Load the sample's encoders while its data are prepared, so that their graphs are kept.

    The embedding waits for a graph that is being made, and tells what is wrong with an encoder. In
    the other profiles this saves seconds of hours, and their models fill the memory.
    """
    from memrepro.files import paths

    names = {
        one.encoder
        for one in plan.runs.values()
        if one.encoder
        and one.profile == profile == "sample"
        and not paths.vectors(profile, one.dataset, one.encoder).exists()
    }
    if not names:
        yield
        return
    code = "import sys, memrepro.encode.load as load; [*map(load.load_encoder, sys.argv[1:])]"
    command = [sys.executable, "-c", code, *sorted(names)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as loading:
        try:
            yield
        finally:
            loading.terminate()


def _keys(arguments: argparse.Namespace) -> int:
    from memrepro.study.embedding import keys_file, write_keys
    from memrepro.study.params import load_plan

    changed = write_keys(load_plan())
    print(f"{keys_file().name} {'is written anew' if changed else 'follows from the runs'}")
    return 0


def add_to(add: Add) -> None:
    """Add the commands to the command line's."""
    from memrepro.study.plan import PROFILES

    repro = add("repro", _repro, False)
    repro.add_argument("profile", choices=PROFILES)
    repro.add_argument(
        "--cluster", default="", metavar="ADDRESS",
        help="embed, extract and ask models in process on Ray: host:port, or local:N to try it",
    )  # fmt: skip
    add("keys", _keys, False)
