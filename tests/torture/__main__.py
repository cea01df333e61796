"""Run the campaign: `python -m tests.torture [--minutes N] [--part NAME …] [--output FILE]`."""

import argparse
import multiprocessing
import platform
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from memrepro.files.atomic import write_table
from memrepro.provenance.verify import git
from tests.torture import flipped, killed, mutated
from tests.torture.campaign import Part, run

PARTS = (
    Part("mutated input", mutated.cases, 1000),
    Part("flipped bits", flipped.cases, 500),
    Part("kills: tiered store", killed.memory, 240),
    Part("kills: embedding", killed.embedding, 150),
    Part("kills: answers", killed.answers, 80),
    Part("kills: download", killed.download, 60),
    Part("kills: pipeline and site", killed.commands, 12),
)


def _run(place: int, seconds: float, seed: int) -> tuple[Counter[tuple[str, str]], list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        return run(PARTS[place], Path(folder), seconds, seed)


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
            counts, broken = pool.submit(_run, place, share, arguments.seed).result()
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
