"""Training by transformers' Trainer: which tokens count, how, and going on after a kill."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, NonNegativeInt, PositiveInt, model_validator

from memrepro.errors import MemreproError
from memrepro.files.progress import bar
from memrepro.papers.associa.tuning.examples import Example

SAVE_EVERY = 100  # steps: a kill costs at most as many
_IGNORED = -100  # the label of a token that no loss is of
Rows = list[dict[str, list[int]]]


class Settings(BaseModel, frozen=True, strict=True, extra="forbid"):
    """How it is tuned; every field decides the weights, and none is named by the paper.

    Attributes:
        rank: of the update of each weight.
        alpha: the update is scaled by alpha / rank.
        dropout: of the adapter's input.
        targets: the layers that get an adapter: all linear ones of attention and MLP.
        learning_rate: AdamW's highest; it falls linearly to 0.
        warmup_steps: steps in which it rises.
        epochs: passes over the examples.
        batch_size: examples to a step.
        device_batch_size: of them at once on the device; must divide the former.
        maximum_tokens: of an example; longer ones are left out.
        dtype: of the base's weights; the adapter is in float32.
        seed: of the adapter's first weights, of the order and of dropout.
    """

    rank: PositiveInt = 16
    alpha: PositiveInt = 32
    dropout: float = Field(0.05, ge=0, lt=1)
    targets: tuple[str, ...] = Field(
        ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
        strict=False,  # a list in YAML
        min_length=1,
    )
    learning_rate: float = Field(1e-4, gt=0, lt=1)
    warmup_steps: NonNegativeInt = 20
    epochs: PositiveInt = 2
    batch_size: PositiveInt = 16
    device_batch_size: PositiveInt = 4
    maximum_tokens: PositiveInt = 2048
    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    seed: NonNegativeInt = 0

    @model_validator(mode="after")
    def _divides(self) -> "Settings":
        if self.batch_size % self.device_batch_size:
            raise ValueError("device_batch_size must be a divisor of batch_size")
        return self


def tokenise(
    examples: Sequence[Example], tokenizer: Any, maximum_tokens: int
) -> tuple[Rows, list[tuple[str, str]]]:
    """Examples as tokens and labels: a loss is of the answer and the token that ends it alone.

    Returns:
        `input_ids` and `labels` of each example that can be learnt, and (example, reason) of those
        that cannot: they are too long, or hold one of the tokenizer's control tokens.

    Raises:
        MemreproError: if the chat template does not put the answer behind the prompt.
    """
    control = sorted(tokenizer.get_added_vocab())
    rows, left_out = [], []
    for example in examples:
        said = [{"role": m.role, "content": m.content} for m in example.messages]
        if found := [t for t in control if any(t in m.content for m in example.messages)]:
            left_out.append((example.example_id, f"holds the control token {found[0]!r}"))
            continue
        prompt = tokenizer.apply_chat_template(
            said[:-1], tokenize=False, add_generation_prompt=True
        )
        whole = tokenizer.apply_chat_template(said, tokenize=False)
        answer = whole.removeprefix(prompt).rstrip()
        if not whole.startswith(prompt) or not answer.startswith(said[-1]["content"].strip()):
            raise MemreproError(
                f"the chat template does not put the answer of example {example.example_id!r} "
                "right behind its prompt: it cannot be told which tokens to learn"
            )
        # Apart, since in use the answer's first token comes after a prompt that is already cut.
        asked, answered = (
            tokenizer(text, add_special_tokens=False)["input_ids"] for text in (prompt, answer)
        )
        if len(asked) + len(answered) > maximum_tokens:
            size = len(asked) + len(answered)
            left_out.append((example.example_id, f"has {size} tokens, over {maximum_tokens}"))
            continue
        labels = [_IGNORED] * len(asked) + answered
        rows.append({"input_ids": asked + answered, "labels": labels})
    return rows, left_out


def train(
    tokenizer: Any,
    model: Any,
    rows: Rows,
    settings: Settings,
    unfinished: Path,
    device: str,
) -> list[dict[str, Any]]:
    """Train in place, from the newest whole checkpoint; the log, a row a step."""
    import torch
    from transformers import (
        DataCollatorForSeq2Seq,
        PrinterCallback,
        Trainer,
        TrainerCallback,
        TrainingArguments,
    )

    arguments = TrainingArguments(
        output_dir=str(unfinished),
        per_device_train_batch_size=settings.device_batch_size,
        gradient_accumulation_steps=settings.batch_size // settings.device_batch_size,
        num_train_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        warmup_steps=settings.warmup_steps,
        bf16=settings.dtype == "bfloat16",
        seed=settings.seed,
        use_cpu=device == "cpu",
        dataloader_pin_memory=device != "cpu",
        logging_steps=1,
        save_steps=SAVE_EVERY,
        save_total_limit=1,
        disable_tqdm=True,
        report_to="none",
    )

    class Progress(TrainerCallback):
        """The project's bar, from where the run goes on."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.shown = bar(state.max_steps, "tuning", " steps", done=state.global_step)

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.shown.update()

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.shown.close()

    trainer = Trainer(
        model,
        arguments,
        DataCollatorForSeq2Seq(tokenizer, label_pad_token_id=_IGNORED),
        rows,
        callbacks=[Progress()],
    )
    trainer.remove_callback(PrinterCallback)
    try:
        trainer.train(resume_from_checkpoint=_newest(unfinished))
    except torch.OutOfMemoryError as error:
        raise MemreproError(
            f"tuning ran out of the device's memory on batches of {settings.device_batch_size}: "
            "use a smaller device_batch_size; what was saved is kept"
        ) from error
    log: list[dict[str, Any]] = trainer.state.log_history
    return log


def _newest(unfinished: Path) -> str | None:
    """The newest whole checkpoint; one that a kill left half written is removed."""
    whole: dict[int, Path] = {}
    for folder in unfinished.glob("checkpoint-*"):
        try:
            # The Trainer writes this file last.
            state = json.loads((folder / "trainer_state.json").read_bytes())
            whole[int(state["global_step"])] = folder
        except (OSError, ValueError, KeyError):
            shutil.rmtree(folder)
    return str(whole[max(whole)]) if whole else None
