"""What this machine does: the two rates that estimates are scaled by, its cores, memory and GPU."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pandas as pd

SECONDS = 8.0  # of each of the two measurements


@dataclass(frozen=True)
class Rates:
    """How fast a machine is.

    Attributes:
        matrix: operations a second of float32 matrix products, on all cores (`matrix_rate`).
        python: rounds a second of `_chores`, on one.
    """

    matrix: float
    python: float


def calibrate(seconds: float = SECONDS) -> Rates:
    """Measure the CPU for so long twice; other work on it counts, as it will for the stages."""
    return Rates(matrix_rate("cpu", seconds), _per_second(_chores, seconds))


def matrix_rate(device: str, seconds: float = SECONDS) -> float:
    """Operations a second of float32 products, by the library that runs encoders there.

    OpenVINO's of 1,024 squares ('cpu'), as other libraries know other instructions of a processor
    (on one with AVX-512, torch reached half of it), or torch's of 8,192 ('cuda').
    """
    side = 1024 if device == "cpu" else 8192
    product = _product_by_openvino(side) if device == "cpu" else _product_by_torch(side, device)
    return 2 * side**3 * _per_second(product, seconds)


def _product_by_openvino(side: int) -> Callable[[], Any]:
    import openvino
    from openvino import opset13 as ops

    left, right = np.random.default_rng(0).random((2, side, side), np.float32)
    given = ops.parameter([side, side], np.float32)
    model = openvino.Model([ops.matmul(given, ops.constant(right), False, False)], [given])
    # Whatever OMP_NUM_THREADS says, it takes all cores, as encoders do.
    compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return partial(compiled.create_infer_request().infer, [left], share_inputs=True)


def _product_by_torch(side: int, device: str) -> Callable[[], Any]:
    import torch

    left, right = (torch.rand(side, side, device=device) for _ in range(2))

    def product() -> None:
        torch.mm(left, right)
        torch.cuda.synchronize()

    return product


def has_gpu() -> bool:
    """Whether torch sees one."""
    import torch

    return torch.cuda.is_available()


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int:
    """The machine's, in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _per_second(work: Callable[[], Any], seconds: float) -> float:
    work()  # loads what it needs
    began, times = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        work()
        times += 1
    return times / (time.perf_counter() - began)


def _chores() -> None:
    """What most stages do: texts into rows, rows by groups and joins, all as JSON and back."""
    random = Random(13)
    rows = [{"name": f"d{random.randrange(500)}", "score": random.random()} for _ in range(4000)]
    words = {row["name"]: str(row["score"]).split(".") for row in json.loads(json.dumps(rows))}
    frame = pd.DataFrame(rows)
    sums = frame.groupby("name", as_index=False)["score"].agg(["mean", "max"])
    frame.merge(sums, on="name").sort_values(["mean", "score"])["name"].map(words).to_list()
