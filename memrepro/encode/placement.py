"""Where an encoder runs and how much at once: one decision, from the model and what GPUs there are.

A CPU takes batches of 32 texts. A GPU takes batches of so many tokens, padding included, and each
GPU that has room for the model holds a replica of it.
"""

import runpy
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from math import prod
from pathlib import Path

from memrepro.encode.encoder import EncoderIdentity
from memrepro.encode.models import ModelCard
from memrepro.errors import MemreproError

BYTES_OF = {"float32": 4, "bfloat16": 2, "float16": 2}
# What the openvino route knows: recipes of `models.ModelCard`.
ONLY_POOLED = ("mean", "cls")
# A layer holds about 20 numbers a token for each entry of its width (states, queries, keys, values,
# a gated feed-forward); half as much again for what the allocator cannot use.
_NUMBERS_A_TOKEN = 32
# Of a GPU's free memory: the rest is for kernels' workspaces and other processes.
_SHARE = 0.8
# More do not make a GPU faster.
_MOST_TOKENS = 1 << 16


@dataclass(frozen=True)
class Gpu:
    """A GPU: torch's name of it ('cuda:0'), its free bytes, whether it computes in bfloat16."""

    name: str
    free: int
    bfloat16: bool


@dataclass(frozen=True)
class Placement:
    """Where an encoder runs, and how much at once.

    Attributes:
        devices: 'cpu', or GPUs, each with a replica of the model.
        runtime: 'openvino' or 'torch'.
        dtype: of the weights, one of `BYTES_OF`.
        tokens: to a batch, padding included; None for a CPU's 32 texts.
    """

    devices: tuple[str, ...] = ("cpu",)
    runtime: str = "torch"
    dtype: str = "float32"
    tokens: int | None = None

    def identity(self, card: ModelCard) -> EncoderIdentity:
        """Of an encoder that runs so."""
        device = self.devices[0].partition(":")[0]
        return EncoderIdentity(
            model=card.name,
            revision=card.revision,
            maximum_length=card.maximum_length,
            pooling=card.recipe,
            normalise=card.normalise,
            dtype=self.dtype,
            runtime=f"{self.runtime} {version(self.runtime)} {device}",
        )


def placement(
    card: ModelCard,
    weights: int,
    gpus: Sequence[Gpu],
    *,
    device: str | None = None,
    runtime: str | None = None,
    dtype: str | None = None,
) -> Placement:
    """Decide; what is asked for is taken or refused, never replaced.

    Args:
        card: the model.
        weights: how many numbers its weights are.
        gpus: all that this process may use.
        device: 'cpu' or 'cuda'; GPUs where there are any, if it is None.
        runtime: 'openvino' (on a CPU, not in float16) or 'torch'; on a CPU openvino for models that
            only pool, if it is None.
        dtype: one of `BYTES_OF`; the card's, if it is None.

    Returns:
        On GPUs: those that hold the weights and one longest text, and the tokens that the one with
        the least room takes. It is a power of two, so that like machines make like batches.

    Raises:
        MemreproError: if the model cannot run so.
    """
    device = device or ("cuda" if gpus else "cpu")
    dtype = dtype or card.dtype
    if runtime is None:
        plain = card.recipe in ONLY_POOLED and dtype != "float16"
        runtime = "openvino" if device == "cpu" and plain else "torch"
    if runtime not in {"openvino", "torch"} or dtype not in BYTES_OF:
        raise MemreproError(
            f"encoder {card.name!r} was asked for runtime {runtime!r} with {dtype!r}: the "
            f"runtimes are openvino and torch, the dtypes {', '.join(BYTES_OF)}"
        )
    if runtime == "openvino" and (device != "cpu" or dtype == "float16"):
        raise MemreproError(
            f"encoder {card.name!r}: openvino runs here on a CPU in float32 or bfloat16, not on "
            f"{device!r} in {dtype}; use runtime='torch'"
        )
    if device == "cpu":
        return Placement(runtime=runtime, dtype=dtype)
    if device != "cuda" or not gpus:
        raise MemreproError(
            f"encoder {card.name!r} was asked for on {device!r}, and there are "
            f"{len(gpus)} GPUs: the devices are cpu, and cuda where torch sees a GPU"
        )
    unable = [gpu.name for gpu in gpus if dtype == "bfloat16" and not gpu.bfloat16]
    if unable:
        raise MemreproError(
            f"encoder {card.name!r}: {', '.join(unable)} cannot compute in bfloat16: write dtype: "
            "float16 or float32 into encoders.yaml, or leave it out by CUDA_VISIBLE_DEVICES"
        )
    a_token = _NUMBERS_A_TOKEN * card.dimension * BYTES_OF[dtype]
    needed = weights * BYTES_OF[dtype] + card.maximum_length * a_token
    able = [gpu for gpu in gpus if gpu.free * _SHARE >= needed]
    if not able:
        free = max(gpu.free for gpu in gpus)
        raise MemreproError(
            f"encoder {card.name!r} needs {needed / _SHARE / 1e9:.1f} GB of a GPU's memory in "
            f"{dtype}, and at most {free / 1e9:.1f} GB are free: free some, or write dtype: "
            "bfloat16 into encoders.yaml"
        )
    room = min(gpu.free for gpu in able) * _SHARE - weights * BYTES_OF[dtype]
    tokens = 1 << (int(min(_MOST_TOKENS, room // a_token)).bit_length() - 1)
    names = tuple(gpu.name for gpu in able)
    return Placement(names, runtime, dtype, max(tokens, card.maximum_length))


def found_gpus() -> list[Gpu]:
    """What torch sees: `CUDA_VISIBLE_DEVICES` says which those are."""
    # A build for CPUs alone sees none, and its import takes a second.
    spec = find_spec("torch")
    built = runpy.run_path(str(Path(str(spec and spec.origin)).with_name("version.py")))
    if not built["cuda"] and not built["hip"]:
        return []
    import torch

    return [
        Gpu(
            f"cuda:{n}",
            torch.cuda.mem_get_info(n)[0],
            # Before compute capability 8 torch emulates it, slowly.
            torch.cuda.get_device_capability(n) >= (8, 0),
        )
        for n in range(torch.cuda.device_count())
    ]


def count_weights(card: ModelCard, folder: Path) -> int:
    """How many numbers the card's safetensors files hold."""
    from safetensors import safe_open

    total = 0
    for path in card.files:
        if path.endswith(".safetensors"):
            with safe_open(folder / path, "np") as file:
                total += sum(prod(file.get_slice(key).get_shape()) for key in file.keys())  # noqa: SIM118
    return total
