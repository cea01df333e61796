"""Every comparison in one run: ours and a peer alternating, on one core, and this machine's limits.

    make bench                                  # all, into results/bench.{json,md,svg}
    python benchmarks/bench.py [--only NAME …] [--turns 5] [--output FOLDER] [--go-on]

Each comparison (`compared.py`) at each size is a process of its own, pinned to one core with one
thread. What both give is compared before anything is timed. A turn times both, the first of them
changing from turn to turn; the ratio is of a turn, so that what slows the machine slows both. The
limits are measured in the same run: the matrix product, copying in memory, and writing to the disk.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.metadata import version
from io import StringIO
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from memrepro.errors import MemreproError

ROOT = Path(__file__).parents[1]
# After the environment's own packages, of which none is to be another.
sys.path.append(str(ROOT / "build/peers"))
TURNS = 5
NAN = float("nan")
SHORTEST = 0.02  # seconds of one measurement: what takes less is done again until it has


class Work(NamedTuple):
    """What is timed at one size.

    Attributes:
        ours, peer: do it, and give what `apart` compares; no peer where only a limit is asked.
        apart: the largest difference between what both give; nan where only the work is the same.
        part: how much of the work the peer does, whose time is scaled by it.
        flops: of the matrix product that the work needs, 0 for none.
        kind: of that product, as `limits` names it: NumPy's by its precision, or OpenVINO's.
        clock: of the processor, or of the wall where a disk is waited for.
    """

    ours: Callable[[], Any]
    peer: Callable[[], Any] | None = None
    apart: Callable[[Any, Any], float] = lambda *_: NAN
    part: float = 1.0
    flops: float = 0.0
    kind: str = "float64"
    clock: Callable[[], float] = time.process_time


class Comparison(NamedTuple):
    """What is compared with what.

    Attributes:
        sizes: how many of `unit` the work is made of.
        target: how many times as fast ours is to be; 0 for no target.
        needs: packages that may be missing.
        within: size → milliseconds that ours may take.
        share: of the matrix product's rate that ours is to reach; 0 for no target.
        turns: where more are needed than are asked for.
        quantile: of the turns' times, that is ours.
    """

    name: str
    peer: str
    unit: str
    sizes: tuple[int, ...]
    make: Callable[[int], Work]
    target: float = 0.0
    needs: tuple[str, ...] = ()
    within: Mapping[int, float] = MappingProxyType({})
    share: float = 0.0
    turns: int = 0
    quantile: float = 0.5


def pin() -> None:
    """One core, one thread."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    threadpool_limits(1)


def limits() -> dict[str, float]:
    """This machine's rates, the best of three, on one core."""
    pin()
    found = {}
    for kind in (np.float32, np.float64):
        a = np.random.default_rng(0).random((1536, 1536)).astype(kind)
        found[f"{np.dtype(kind).name} product, GFLOP/s"] = 2e-9 * 1536**3 / best(lambda a=a: a @ a)
    # NumPy's library may know fewer of the processor's instructions.
    product = product_by_openvino(1024)
    took = best(lambda: [product() for _ in range(10)], time.perf_counter) / 10
    found["OpenVINO float32 product, GFLOP/s"] = 2e-9 * 1024**3 / took
    big = np.ones(1 << 25)
    found["memory copied, GB/s"] = 2e-9 * big.nbytes / best(big.copy)
    with tempfile.TemporaryDirectory() as folder:
        found["disk written and synced, MB/s"] = (
            64e-6 * (1 << 20) / best(lambda: write(folder), time.perf_counter)
        )
    return {name: round(rate, 1) for name, rate in found.items()}


def product_by_openvino(side: int) -> Callable[[], Any]:
    """A product of two float32 matrices, square."""
    import openvino
    from openvino import opset13 as ops

    left, right = np.random.default_rng(0).random((2, side, side), np.float32)
    given = ops.parameter([side, side], np.float32)
    model = openvino.Model([ops.matmul(given, ops.constant(right), False, False)], [given])
    compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return partial(compiled.create_infer_request().infer, [left], share_inputs=True)


def best(action: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    """The least seconds of three."""
    taken = []
    for _ in range(3):
        began = clock()
        action()
        taken.append(clock() - began)
    return min(taken)


def write(folder: str) -> None:
    with (Path(folder) / "a").open("wb") as file:
        for _ in range(64):
            file.write(bytes(1 << 20))
        os.fsync(file.fileno())


def timed(place: int, size: int, turns: int) -> dict[str, Any]:
    """One comparison at one size, in this process."""
    from compared import COMPARISONS

    pin()
    one = COMPARISONS[place]
    work, turns = one.make(size), max(turns, one.turns)
    before = peak(afresh=True)
    ours = work.ours()
    grown = peak() - before
    apart = work.apart(ours, work.peer()) if work.peer else NAN
    del ours
    mine, theirs = np.empty(turns), np.full(turns, NAN)
    for turn in range(turns):
        for peers_turn in (turn % 2 == 0, turn % 2 == 1):
            if not peers_turn:
                mine[turn] = once(work.ours, work.clock)
            elif work.peer:
                theirs[turn] = once(work.peer, work.clock) / work.part
    ratios = theirs / mine
    return {
        "comparison": one.name, "peer": one.peer, "size": size, "unit": one.unit,
        "ours ms": 1000 * float(np.quantile(mine, one.quantile)),
        "peer ms": 1000 * float(np.median(theirs)),
        "ratio": float(np.median(ratios)), "least": float(ratios.min()),
        "most": float(ratios.max()), "target": one.target,
        "within ms": one.within.get(size, NAN), "difference": apart, "turns": turns,
        "peak MB": grown, "flops": work.flops, "kind": work.kind, "share asked": one.share,
    }  # fmt: skip


def once(action: Callable[[], Any], clock: Callable[[], float]) -> float:
    """The seconds that it takes, the mean of as many times as fill `SHORTEST`."""
    began, times = clock(), 0
    while (passed := clock() - began) < SHORTEST:
        action()
        times += 1
    return passed / times


def peak(*, afresh: bool = False) -> float:
    """The most memory that this process has had, since it was last asked afresh; MiB."""
    if afresh:
        Path("/proc/self/clear_refs").write_text("5")  # Linux
    held = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(held["VmHWM"].split()[0]) / 1024


def growth(rows: pd.DataFrame) -> float:
    """The exponent of time in size, by least squares on logarithms; nan of one size."""
    if len(rows) < 2:
        return float("nan")
    return float(np.polyfit(np.log(rows["size"]), np.log(rows["ours ms"]), 1)[0])


def table_of(rows: list[dict[str, Any]], rates: dict[str, float]) -> pd.DataFrame:
    """A line a comparison and size, with the share of the machine's product, where it has one."""
    table = pd.DataFrame(rows)
    rate = table["kind"].map(lambda kind: rates[f"{kind} product, GFLOP/s"])
    needed = 1e-6 * table["flops"] / rate
    table["share of the product"] = (needed / table["ours ms"]).where(table["flops"] > 0)
    table["share asked"] = table.pop("share asked")  # beside it
    for _, own in table.groupby(["comparison", "peer"]):
        table.loc[own.index, "growth"] = growth(own)
    return table.drop(columns=["flops", "kind"])


def draw(table: pd.DataFrame, path: Path) -> None:
    """The ratios with their least and most, and the targets."""
    from matplotlib.figure import Figure

    table = table[table["ratio"].notna()]
    names = [f"{r['comparison']} ÷ {r['peer']}, {r['size']:,}" for _, r in table.iterrows()]
    figure = Figure(figsize=(9, 0.3 * len(table) + 1), layout="constrained")
    axis, places = figure.subplots(), np.arange(len(table))[::-1]
    spread = [table["ratio"] - table["least"], table["most"] - table["ratio"]]
    axis.errorbar(table["ratio"], places, xerr=spread, fmt="o", color="#2a6f97", label="ratio")
    aimed = (table["target"] > 0).to_numpy()
    axis.plot(table["target"][aimed], places[aimed], "k|", markersize=12, label="target")
    axis.axvline(1, color="grey", linewidth=0.8)
    axis.set(xscale="log", xlabel="the peer's time ÷ ours", yticks=places)
    axis.set_yticklabels(names, fontsize=8)
    axis.legend(loc="lower right")
    figure.savefig(path, metadata={"Date": None})


def said(table: pd.DataFrame) -> str:
    """The outcome in a sentence."""
    compared, slower = table[table["ratio"].notna()], table[table["ratio"] < 1]
    aimed = table[table["target"] > 0]
    good = aimed[aimed["ratio"] >= aimed["target"]]
    limited = table[table["within ms"] > 0]
    kept = limited[limited["ours ms"] <= limited["within ms"]]
    shared = table[table["share asked"] > 0]
    reached = shared[shared["share of the product"] >= shared["share asked"]]
    return (
        f"Of {len(compared)} comparisons ours is the faster one in {len(compared) - len(slower)}; "
        f"{len(good)} of the {len(aimed)} with a target reach it, {len(kept)} of the "
        f"{len(limited)} with a limit in milliseconds keep it, and {len(reached)} of the "
        f"{len(shared)} with a share of the product's rate have it."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", help="comparisons whose names hold this")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--output", type=Path, default=ROOT / "results")
    parser.add_argument("--go-on", action="store_true", help="keep what the last run has measured")
    arguments = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    from importlib.util import find_spec

    from compared import COMPARISONS

    rows: list[dict[str, Any]] = []
    left: list[str] = []
    table = earlier = pd.DataFrame(columns=["comparison", "peer"])
    rates: dict[str, float] = {}
    if arguments.go_on:
        made = json.loads((arguments.output / "bench.json").read_text())
        rates = made["limits"]  # by which its shares are
        table = earlier = pd.read_json(StringIO(json.dumps(made["rows"])), precise_float=True)
    known = set(zip(earlier["comparison"], earlier["peer"], strict=True))
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool,
    ):
        os.environ["BENCH_FOLDER"] = folder  # before the first process is made
        rates = rates or pool.submit(limits).result()
        print(rates, flush=True)
        for place, one in enumerate(COMPARISONS):
            if arguments.only and not any(part in one.name for part in arguments.only):
                continue
            if (one.name, one.peer) in known:
                continue
            if missing := [name for name in one.needs if not find_spec(name)]:
                left.append(f"{one.name} ÷ {one.peer}: {missing[0]} is not installed")
                continue
            for size in one.sizes:
                try:
                    rows.append(pool.submit(timed, place, size, arguments.turns).result())
                except MemreproError as error:  # what this machine cannot do
                    left.append(f"{one.name} ÷ {one.peer}: {error}")
                    break
                shown = {k: rows[-1][k] for k in ("comparison", "size", "ours ms", "ratio")}
                print(shown, flush=True)
            # What was measured is kept, should a later one fail.
            table = pd.concat([earlier, table_of(rows, rates)], ignore_index=True)
            write_all(arguments.output, table, rates, left)
    print(said(table))
    # What is compared must be equal, where it is the same work.
    return int((table["difference"] > 0).any())


def write_all(folder: Path, table: pd.DataFrame, rates: dict[str, float], left: list[str]) -> None:
    """Write the table as JSON, Markdown and a plot."""
    about = f"{platform.machine()}, {os.cpu_count()} cores of which one is used, memrepro "
    about += f"{version('memrepro')}, numpy {np.__version__}"
    text = [said(table), about, ", ".join(f"{k}: {v}" for k, v in rates.items()), *left]
    shown = table.astype(object).where(table.notna(), "").to_markdown(index=False, floatfmt=".4g")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bench.md").write_text("# Speed\n\n" + "\n\n".join([*text, shown]) + "\n")
    records = json.loads(table.to_json(orient="records"))  # what is not a number is null
    made = {"machine": about, "limits": rates, "left out": left, "rows": records}
    (folder / "bench.json").write_text(json.dumps(made, indent=1) + "\n")
    draw(table, folder / "bench.svg")


if __name__ == "__main__":
    sys.exit(main())
