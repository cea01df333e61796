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
    rows, all_broken = [], []
    # Each part in a process of its own: some fork, and threads that others start do not survive it.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, max_tasks_per_child=1) as pool:
        for place in chosen:
            began = time.monotonic()
            share = 60 * arguments.minutes / len(chosen)
            counts, broken = pool.submit(run_part, place, share, arguments.seed).result()
            took = f"{len(broken)} broken, {time.monotonic() - began:.0f} s"
            print(f"{PARTS[place].name}: {counts.total()} cases, {took}", flush=True)
            for one in broken[:20]:
                print(f"  {one}", flush=True)
            all_broken += broken
            rows += [(PARTS[place].name, *key, n) for key, n in sorted(counts.items())]
    table = pd.DataFrame(rows, columns=["part", "target", "outcome", "cases"])
    print(table.to_markdown(index=False))
    commit = (git("rev-parse", "--short", "HEAD") or b"").decode().strip()
    print(f"seed {arguments.seed}, {commit}, memrepro {version('memrepro')}, {platform.platform()}")
    if arguments.output:
        write_table(arguments.output, table)
    return int(bool(all_broken))


if __name__ == "__main__":
    sys.exit(main())
