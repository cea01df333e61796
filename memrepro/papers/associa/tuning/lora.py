"""LoRA fine-tuning of a chat model on examples, and the adapter as files (Appendix A, step 6).

The paper says that Qwen2.5-3B-Instruct was fine-tuned, and names no method and no number of it:
LoRA and all of `training.Settings` are this project's choice. The adapter is peft's.
"""

import hashlib
import json
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from memrepro.errors import MemreproError
from memrepro.files import atomic
from memrepro.files.progress import quietly
from memrepro.llm.in_process import load_chat_model
from memrepro.llm.weights import folder_digest
from memrepro.papers.associa.tuning.examples import read_examples
from memrepro.papers.associa.tuning.training import Rows, Settings, tokenise, train

RECORD = "tuning.json"
_WEIGHTS = "adapter_model.safetensors"


class Base(NamedTuple):
    """The model that is tuned: such as `Qwen/Qwen2.5-3B-Instruct`, its commit, and its files."""

    repository: str
    revision: str
    folder: Path


def fine_tune(
    examples: Path,
    base: Base,
    settings: Settings,
    target: Path,
    checkpoints: Path,
    *,
    device: str | None = None,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Train an adapter on a file of examples and write it; a killed run goes on where it was saved.

    Args:
        examples: of `examples.write_examples`.
        base: the model; safetensors only, no remote code.
        settings: how.
        target: the adapter's folder, with its safetensors, its configuration and `RECORD`; it
            appears whole or not at all.
        checkpoints: where unfinished runs are kept, each under its base, data and settings, so that
            no run goes on from another's; emptied when the run has ended.
        device: 'cuda' or 'cpu'; by default 'cuda', which must then be there.

    Returns:
        What `RECORD` holds: base, data, settings, steps, versions; and a row a step: `step, loss,
        learning_rate`.

    Raises:
        MemreproError: if there is no GPU and none was renounced, there are several, its memory is
            full, the base cannot be loaded or has not the layers, or no example fits.
    """
    device = _device(device, base)
    digest, data = folder_digest(base.folder), atomic.sha256(examples)
    decides = {"base": digest, "data": data, "settings": settings.model_dump()}
    name = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:16]
    unfinished = checkpoints / name
    tokenizer, model, rows, left_out = _prepare(examples, base, settings)
    log = train(tokenizer, model, rows, settings, unfinished, device)
    losses = pd.DataFrame([row for row in log if "loss" in row])[["step", "loss", "learning_rate"]]
    record = {
        "base": {"repository": base.repository, "revision": base.revision, "digest": digest},
        "data": {"sha256": data, "examples": len(rows), "left out": len(left_out)},
        "settings": settings.model_dump(),
        "steps": len(losses),
        "device": device,
        "versions": {name: version(name) for name in ("peft", "torch", "transformers")},
    }
    _write_adapter(model, base, record, target)
    shutil.rmtree(unfinished)
    return record, losses


def load_adapter(base: Base, adapter: Path, dtype: str) -> Any:
    """The base with an adapter on it, on the CPU, ready to be asked.

    Raises:
        MemreproError: if the base is not the one that the adapter was made on, or one of them
            cannot be loaded.
    """
    from peft import PeftModel

    record = atomic.read_json(adapter / RECORD)
    if (found := folder_digest(base.folder)) != record["base"]["digest"]:
        raise MemreproError(
            f"the adapter {adapter} was made on {record['base']['repository']} with the digest "
            f"{record['base']['digest']}, and {base.folder} has {found}: give it its own base"
        )
    with quietly():
        _, model, _ = load_chat_model(base.folder, base.repository, dtype, "cpu")
    try:
        return PeftModel.from_pretrained(model, str(adapter)).eval()
    # peft and safetensors raise errors of many families.
    except Exception as error:
        raise MemreproError(
            f"the adapter {adapter} cannot be loaded ({type(error).__name__}: "
            f"{' '.join(str(error).split())[:200]}): its files are damaged; tune it anew"
        ) from error


def merge_adapter(base: Base, adapter: Path, target: Path, dtype: str) -> str:
    """Write base and adapter as one model, a folder that `llm.in_process` loads.

    Returns:
        The digest of the folder, the first part of the model's revision.

    Raises:
        MemreproError: as `load_adapter`.
    """
    model = load_adapter(base, adapter, dtype).merge_and_unload()
    staging = _staging(target)
    with quietly():
        model.save_pretrained(staging)
    # All but the weights stays as the base has it, also which tokens end an answer.
    for path in base.folder.iterdir():
        if path.is_file() and not path.name.endswith((".safetensors", ".index.json")):
            shutil.copyfile(path, staging / path.name)
    _replace(staging, target)
    return folder_digest(target)


def _prepare(
    examples: Path, base: Base, settings: Settings
) -> tuple[Any, Any, Rows, list[tuple[str, str]]]:
    """Tokenizer, model with a fresh adapter, the examples' tokens, and what is left out."""
    import torch
    from peft import LoraConfig, get_peft_model

    with quietly():
        tokenizer, model, _ = load_chat_model(base.folder, base.repository, settings.dtype, "cpu")
    # As the model reads a batch of finished chats; left is for answering.
    tokenizer.padding_side = "right"
    rows, left_out = tokenise(read_examples(examples), tokenizer, settings.maximum_tokens)
    if not rows:
        raise MemreproError(
            f"none of the {len(left_out)} examples of {examples} can be learnt, the first because "
            f"it {left_out[0][1]}: raise maximum_tokens, or build shorter ones"
        )
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=list(settings.targets),
        task_type="CAUSAL_LM",
    )
    try:
        # The caller's own random numbers stay as they were.
        with torch.random.fork_rng([]):
            torch.manual_seed(settings.seed)
            return tokenizer, get_peft_model(model, config), rows, left_out
    except ValueError as error:
        raise MemreproError(
            f"{base.repository} has none of the layers {', '.join(settings.targets)}: name its own "
            "in targets"
        ) from error


def _write_adapter(model: Any, base: Base, record: dict[str, Any], target: Path) -> None:
    staging = _staging(target)
    # A hub's name and commit in place of this machine's folder.
    model.peft_config["default"].base_model_name_or_path = base.repository
    model.peft_config["default"].revision = base.revision
    model.save_pretrained(str(staging), save_embedding_layers=False)
    (staging / "README.md").unlink(missing_ok=True)  # peft's form, not filled in
    atomic.write_json(staging / RECORD, record | {"sha256": atomic.sha256(staging / _WEIGHTS)})
    _replace(staging, target)


def _staging(target: Path) -> Path:
    """An empty folder beside a target."""
    staging = target.with_name(f".{target.name}.part")
    shutil.rmtree(staging, ignore_errors=True)
    try:
        staging.mkdir(parents=True)
    except OSError as error:
        raise MemreproError(atomic.why_not_written(target, error)) from error
    return staging


def _replace(staging: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    staging.rename(target)


def _device(device: str | None, base: Base) -> str:
    import torch

    if device not in {None, "cpu", "cuda"}:
        raise MemreproError(f"tuning was asked for on {device!r}: it must be 'cuda' or 'cpu'")
    if device == "cpu":
        return "cpu"
    if not torch.cuda.is_available():
        raise MemreproError(
            f"tuning {base.repository} needs a GPU, and torch {version('torch')} sees none: run it "
            "where there is one, with torch's CUDA build, or ask for device='cpu', which takes days"
        )
    if (count := torch.cuda.device_count()) > 1:
        # The Trainer would split batches among them, and the weights would depend on their number.
        raise MemreproError(
            f"tuning uses one GPU, and torch sees {count}: name one in CUDA_VISIBLE_DEVICES"
        )
    return "cuda"
