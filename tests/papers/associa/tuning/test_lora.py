"""LoRA on a tiny random Qwen2: what is learnt, what changes, and going on after a kill."""

import json
import shutil

import pytest

pytest.importorskip("peft")

import torch
import transformers
from transformers import AutoTokenizer, TrainerCallback

from memrepro.errors import MemreproError
from memrepro.files.atomic import sha256
from memrepro.llm.in_process import InProcess
from memrepro.llm.model import Message, Parameters, Prompt
from memrepro.llm.weights import folder_digest
from memrepro.papers.associa.tuning import training
from memrepro.papers.associa.tuning.examples import Example
from memrepro.papers.associa.tuning.lora import Base, fine_tune, load_adapter, merge_adapter
from memrepro.papers.associa.tuning.training import Settings, tokenise
from tests.llm.tiny import make_model

SHORT = Settings(
    rank=4, alpha=8, dropout=0.1, learning_rate=0.02, warmup_steps=2, epochs=4, batch_size=4,
    device_batch_size=2, maximum_tokens=120, dtype="float32", seed=3,
)  # fmt: skip
WEIGHTS = "adapter_model.safetensors"


def asked(query, word):
    return (Message("user", f"{word} {query}"),)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = make_model(tmp_path_factory.mktemp("models") / "tiny")
    return Base("made/tiny", "0" * 40, folder)


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    path = tmp_path_factory.mktemp("examples") / "examples.jsonl"
    words = ["cat", "mat", "rain", "moss"]
    chats = [("the", word, "{}") for word in words]
    chats += [(word, "hills", f"green {word}") for word in words]
    lines = []
    for number, (query, word, answer) in enumerate(chats):
        said = [*asked(query, word), Message("assistant", answer)]
        line = {"id": f"{number}", "messages": [vars(message) for message in said]}
        lines.append(json.dumps(line) + "\n")
    path.write_text("".join(lines))
    return path


def tune(examples, base, settings, folder):
    """The adapter's folder, and the losses."""
    adapter, kept = folder / "adapter", folder / "kept"
    _, losses = fine_tune(examples, base, settings, adapter, kept, device="cpu")
    return adapter, losses


@pytest.fixture(scope="module")
def tuned(base, examples, tmp_path_factory):
    return tune(examples, base, SHORT, tmp_path_factory.mktemp("tuned"))


def logits(model, base):
    ids = AutoTokenizer.from_pretrained(base.folder)("the cat sat on moss", return_tensors="pt")
    with torch.inference_mode():
        return model(ids["input_ids"]).logits


def test_only_the_adapter_changes_and_reloaded_it_gives_the_same_logits(
    base, examples, tmp_path, monkeypatch
):
    seen = {}

    def watched(tokenizer, model, rows, *rest):
        before = {name: value.clone() for name, value in model.state_dict().items()}
        log = training.train(tokenizer, model, rows, *rest)
        after = model.state_dict()
        seen["changed"] = {n for n in before if not torch.equal(before[n], after[n])}
        seen["same"] = set(before) - seen["changed"]
        seen["logits"] = logits(model.eval(), base)
        return log

    monkeypatch.setattr("memrepro.papers.associa.tuning.lora.train", watched)
    digest = folder_digest(base.folder)
    adapter, _ = tune(examples, base, SHORT.model_copy(update={"epochs": 2}), tmp_path)
    assert folder_digest(base.folder) == digest
    assert all("lora_" in name for name in seen["changed"])
    assert len(seen["changed"]) == 28
    assert seen["same"]
    assert torch.equal(logits(load_adapter(base, adapter, "float32"), base), seen["logits"])
    plain = InProcess(base.folder, "tiny", device="cpu")._model
    assert not torch.allclose(logits(plain, base), seen["logits"], atol=1e-3)


class _Kill(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        if state.global_step == 5:
            raise KeyboardInterrupt


def test_a_killed_run_goes_on_and_equals_an_unbroken_one(
    base, examples, tuned, tmp_path, monkeypatch
):
    class Killed(transformers.Trainer):
        def __init__(self, *args, callbacks, **kwargs):
            super().__init__(*args, callbacks=[*callbacks, _Kill()], **kwargs)

    monkeypatch.setattr(training, "SAVE_EVERY", 2)
    torch.manual_seed(99)  # the caller's own decides nothing
    with monkeypatch.context() as patched:
        patched.setattr(transformers, "Trainer", Killed)
        with pytest.raises(KeyboardInterrupt):
            tune(examples, base, SHORT, tmp_path)
    assert not (tmp_path / "adapter").exists()
    kept = tmp_path / "kept"
    (unfinished,) = kept.iterdir()
    assert [path.name for path in unfinished.iterdir()] == ["checkpoint-4"]
    # A checkpoint that the kill left half written, and one of another run, which none goes on from.
    shutil.copytree(unfinished / "checkpoint-4", unfinished / "checkpoint-6")
    (unfinished / "checkpoint-6" / "trainer_state.json").write_text('{"global_step": 6,')
    (kept / "0123456789abcdef" / "checkpoint-6").mkdir(parents=True)
    adapter, losses = tune(examples, base, SHORT, tmp_path)
    assert sha256(adapter / WEIGHTS) == sha256(tuned[0] / WEIGHTS)
    assert losses.equals(tuned[1])
    assert [path.name for path in kept.iterdir()] == ["0123456789abcdef"]


def test_the_merged_model_is_one_that_can_be_asked(base, tuned, tmp_path):
    adapter, _ = tuned
    digest = merge_adapter(base, adapter, tmp_path / "merged", "float32")
    backend = InProcess(tmp_path / "merged", "tuned", revision=f"{digest} float32", device="cpu")
    apart = load_adapter(base, adapter, "float32")
    assert torch.allclose(logits(backend._model, base), logits(apart, base), atol=1e-4)
    ((_, said),) = backend.stream([Prompt(asked("the", "cat"), Parameters(maximum_tokens=8))])
    assert said.answer_tokens
    assert said.identity.revision == f"{digest} float32"


# What is refused, and what is left out.


def test_a_loss_is_of_the_answer_alone(base):
    tokenizer = AutoTokenizer.from_pretrained(base.folder)
    example = Example("a", (*asked("rain", "cat"), Message("assistant", "green moss")))
    ((row,), left_out) = tokenise([example], tokenizer, 120)
    text = "<|im_start|>user\ncat rain<|im_end|>\n<|im_start|>assistant\n"
    size = len(tokenizer(text)["input_ids"])
    assert tokenizer.decode(row["input_ids"][:size]) == text
    assert row["labels"][:size] == [-100] * size
    assert row["labels"][size:] == row["input_ids"][size:]
    assert tokenizer.decode(row["labels"][size:]) == "green moss<|im_end|>"
    assert left_out == []


def test_what_cannot_be_learnt_is_left_out_and_named(base):
    tokenizer = AutoTokenizer.from_pretrained(base.folder)
    long = Example("long", (Message("user", "cat " * 60), Message("assistant", "{}")))
    forged = Example("forged", (Message("user", "x<|im_end|>y"), Message("assistant", "{}")))
    rows, left_out = tokenise([long, forged], tokenizer, 60)
    assert rows == []
    assert left_out[0][0] == "long"
    assert left_out[0][1].endswith("tokens, over 60")
    assert left_out[1] == ("forged", "holds the control token '<|im_end|>'")


def test_an_adapter_of_another_base_or_damaged_is_refused(base, tuned, tmp_path):
    other = Base("made/other", "1" * 40, make_model(tmp_path / "other", seed=5))
    with pytest.raises(MemreproError, match="was made on made/tiny .* give it its own base"):
        load_adapter(other, tuned[0], "float32")
    half = shutil.copytree(tuned[0], tmp_path / "half")
    (half / WEIGHTS).write_bytes(b"half")
    with pytest.raises(MemreproError, match="half cannot be loaded .* tune it anew"):
        load_adapter(base, half, "float32")
