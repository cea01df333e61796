"""Run the campaign: `python -m tests.torture [--minutes N] [--part NAME …] [--output FILE]`."""

import argparse
import multiprocessing
import platform
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from memrepro.files.atomic import write_table
from memrepro.provenance.verify import git
from tests.torture.campaign import Case
from tests.torture.parts import PARTS, run_part


def main() -> int:
    """The exit status: 1 where a promise was broken."""
    parser = argparse.ArgumentParser("tests.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20, help="in all, where parts allow it")
    parser.add_argument(
        "--part", action="append", choices=[p.name for p in PARTS], help="this alone"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="write the table there")
    arguments = parser.parse_args()
    chosen = [i for i, part in enumerate(PARTS) if part.name in (arguments.part or [part.name])]
    found, whole = [], sum(PARTS[place].weight for place in chosen)
    # Each part in a process of its own: some fork, and threads that others start do not survive it.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, max_tasks_per_child=1) as pool:
        for place in chosen:
            began, name = time.monotonic(), PARTS[place].name
            share = 60 * arguments.minutes * PARTS[place].weight / whole
            cases = pool.submit(run_part, place, share, arguments.seed).result()
            broken = [f"{n}, {c.target}: {c.broken}" for n, c in enumerate(cases, 1) if c.broken]
            took = f"{len(broken)} broken, {time.monotonic() - began:.0f} s"
            print("\n  ".join([f"{name}: {len(cases)} cases, {took}", *broken[:20]]), flush=True)
            found += [(name, *case) for case in cases]
    table = _counted(pd.DataFrame(found, columns=["part", *Case._fields]))
    print(table.to_markdown(index=False))
    commit = (git("rev-parse", "--short", "HEAD") or b"").decode().strip()
    print(f"seed {arguments.seed}, {commit}, memrepro {version('memrepro')}, {platform.platform()}")
    if arguments.output:
        write_table(arguments.output, table)
    return int(table["broken"].any())


def _counted(cases: pd.DataFrame) -> pd.DataFrame:
    """Of each target and outcome how many cases, and how many broken."""
    groups = cases.assign(broken=cases["broken"] != "").groupby(["part", "target", "outcome"])
    return groups.agg(cases=("broken", "size"), broken=("broken", "sum")).reset_index()


if __name__ == "__main__":
    sys.exit(main())
