"""LoRA on a tiny random Qwen2: what is learnt, what changes, and going on after a kill."""

import json
import shutil

import pytest

pytest.importorskip("peft")

import torch
from safetensors.torch import load_file
from transformers import AutoTokenizer, TrainerCallback

from memrepro.errors import MemreproError
from memrepro.files.atomic import sha256
from memrepro.llm.in_process import InProcess
from memrepro.llm.model import Message, Parameters, Prompt
from memrepro.llm.weights import folder_digest
from memrepro.papers.associa.tuning import training
from memrepro.papers.associa.tuning.examples import Example, write_examples
from memrepro.papers.associa.tuning.lora import RECORD, Base, fine_tune, load_adapter, merge_adapter
from memrepro.papers.associa.tuning.samples import Sample
from memrepro.papers.associa.tuning.training import Settings, tokenise
from tests.llm.tiny import make_model

SHORT = Settings(
    rank=4, alpha=8, dropout=0.1, learning_rate=0.02, warmup_steps=2, epochs=4, batch_size=4,
    device_batch_size=2, maximum_tokens=120, dtype="float32", seed=3,
)  # fmt: skip
STEPS = 8


def prompt(query, evidence):
    return (Message("user", f"{' '.join(evidence)} {query}"),)


def answer(missing, irrelevant):
    return " ".join(missing) or "{}"


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = make_model(tmp_path_factory.mktemp("models") / "tiny")
    return Base("made/tiny", "0" * 40, folder)


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    path = tmp_path_factory.mktemp("examples") / "examples.jsonl"
    words = ["cat", "mat", "rain", "moss"]
    samples = [Sample(f"{w}-sufficient", "the", (w,), ()) for w in words]
    samples += [Sample(f"{w}-missing", w, ("hills",), (), ("green", w)) for w in words]
    write_examples(path, samples, prompt, answer)
    return path


@pytest.fixture(scope="module")
def tuned(base, examples, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuned")
    return fine_tune(examples, base, SHORT, folder / "adapter", folder / "kept", device="cpu")


def weights(adapter):
    return load_file(adapter / "adapter_model.safetensors")


def logits(model, base):
    ids = AutoTokenizer.from_pretrained(base.folder)("the cat sat on moss", return_tensors="pt")
    with torch.inference_mode():
        return model(ids["input_ids"]).logits


def test_the_loss_falls(tuned):
    assert list(tuned.losses["step"]) == list(range(1, STEPS + 1))
    first, last = tuned.losses["loss"].head(3).mean(), tuned.losses["loss"].tail(3).mean()
    assert last < 0.7 * first
    # Up to its highest in the steps of warmup, then down to nearly 0.
    rates = tuned.losses["learning_rate"]
    assert rates.idxmax() == SHORT.warmup_steps
    assert rates.max() == pytest.approx(SHORT.learning_rate)


def test_the_adapter_is_in_safetensors_with_a_record(tuned, base, examples):
    assert sorted(path.name for path in tuned.adapter.iterdir()) == [
        "adapter_config.json", "adapter_model.safetensors", RECORD,
    ]  # fmt: skip
    record = json.loads((tuned.adapter / RECORD).read_text())
    assert record["base"] == {
        "repository": "made/tiny", "revision": "0" * 40, "digest": folder_digest(base.folder),
    }  # fmt: skip
    assert record["data"] == {"sha256": sha256(examples), "examples": 8, "left out": 0}
    assert record["settings"]["targets"] == list(SHORT.targets)
    assert record["settings"]["rank"] == 4
    assert record["steps"] == STEPS
    assert record["sha256"] == sha256(tuned.adapter / "adapter_model.safetensors")
    config = json.loads((tuned.adapter / "adapter_config.json").read_text())
    assert (config["base_model_name_or_path"], config["revision"]) == ("made/tiny", "0" * 40)
    # Two matrices for each of seven layers in each of two blocks.
    found = weights(tuned.adapter)
    assert len(found) == 2 * 7 * 2
    assert all("lora_A" in name or "lora_B" in name for name in found)
    assert {min(value.shape) for value in found.values()} == {SHORT.rank}


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
    once = Settings(**{**vars(SHORT), "epochs": 2})
    done = fine_tune(examples, base, once, tmp_path / "a", tmp_path / "kept", device="cpu")
    assert folder_digest(base.folder) == digest
    assert all("lora_" in name for name in seen["changed"])
    assert len(seen["changed"]) == 28
    assert seen["same"]
    reloaded = load_adapter(base, done.adapter)
    assert torch.equal(logits(reloaded, base), seen["logits"])
    plain = InProcess(base.folder, "tiny", device="cpu")._model
    assert not torch.allclose(logits(plain, base), seen["logits"], atol=1e-3)


def test_the_same_seed_gives_the_same_weights_and_another_one_others(
    base, examples, tuned, tmp_path
):
    torch.manual_seed(99)
    again = fine_tune(examples, base, SHORT, tmp_path / "a", tmp_path / "kept", device="cpu")
    assert sha256(again.adapter / "adapter_model.safetensors") == tuned_digest(tuned)
    assert again.losses.equals(tuned.losses)
    other = Settings(**{**vars(SHORT), "seed": 4, "epochs": 1})
    moved = fine_tune(examples, base, other, tmp_path / "b", tmp_path / "kept", device="cpu")
    assert sha256(moved.adapter / "adapter_model.safetensors") != tuned_digest(tuned)


def tuned_digest(tuned):
    return sha256(tuned.adapter / "adapter_model.safetensors")


class _Kill(TrainerCallback):
    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **_):
        if state.global_step == self.step:
            raise KeyboardInterrupt


def test_a_killed_run_goes_on_and_equals_an_unbroken_one(
    base, examples, tuned, tmp_path, monkeypatch
):
    import transformers

    class Killed(transformers.Trainer):
        def __init__(self, *args, callbacks, **kwargs):
            super().__init__(*args, callbacks=[*callbacks, _Kill(5)], **kwargs)

    target, kept = tmp_path / "adapter", tmp_path / "kept"
    with monkeypatch.context() as patched:
        patched.setattr(transformers, "Trainer", Killed)
        with pytest.raises(KeyboardInterrupt):
            fine_tune(examples, base, SHORT, target, kept, device="cpu", save_every=2)
    assert not target.exists()
    (unfinished,) = kept.iterdir()
    assert [path.name for path in unfinished.iterdir()] == ["checkpoint-4"]
    # A checkpoint that the kill left half written.
    shutil.copytree(unfinished / "checkpoint-4", unfinished / "checkpoint-6")
    (unfinished / "checkpoint-6" / "trainer_state.json").write_text('{"global_step": 6,')
    done = fine_tune(examples, base, SHORT, target, kept, device="cpu", save_every=2)
    assert sha256(done.adapter / "adapter_model.safetensors") == tuned_digest(tuned)
    assert done.losses.equals(tuned.losses)
    assert not list(kept.iterdir())


def test_another_run_does_not_go_on_from_a_killed_ones_checkpoint(base, examples, tuned, tmp_path):
    short = Settings(**{**vars(SHORT), "epochs": 1})
    kept = tmp_path / "kept"
    (kept / "0123456789abcdef" / "checkpoint-6").mkdir(parents=True)
    done = fine_tune(examples, base, short, tmp_path / "a", kept, device="cpu")
    assert list(done.losses["step"]) == [1, 2]
    assert (kept / "0123456789abcdef" / "checkpoint-6").is_dir()


def test_the_merged_model_is_one_that_can_be_asked(base, tuned, tmp_path):
    digest = merge_adapter(base, tuned.adapter, tmp_path / "merged", "float32")
    backend = InProcess(tmp_path / "merged", "tuned", revision=f"{digest} float32", device="cpu")
    merged, apart = logits(backend._model, base), logits(load_adapter(base, tuned.adapter), base)
    assert torch.allclose(merged, apart, atol=1e-4)
    asked = Prompt((*prompt("the", ("cat",)),), Parameters(maximum_tokens=8))
    ((_, said),) = backend.stream([asked])
    assert said.answer_tokens
    assert said.identity.revision == f"{digest} float32"


# What is refused, and what is left out.


def test_a_missing_gpu_is_one_sentence(base, examples, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(MemreproError, match="made/tiny needs a GPU, and torch .* sees none: run"):
        fine_tune(examples, base, SHORT, tmp_path / "a", tmp_path / "kept")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(MemreproError, match="sees 2: name one in CUDA_VISIBLE_DEVICES"):
        fine_tune(examples, base, SHORT, tmp_path / "a", tmp_path / "kept")
    with pytest.raises(MemreproError, match="must be 'cuda' or 'cpu'"):
        fine_tune(examples, base, SHORT, tmp_path / "a", tmp_path / "kept", device="tpu")


def test_a_loss_is_of_the_answer_alone(base):
    tokenizer = AutoTokenizer.from_pretrained(base.folder)
    example = Example("a", (*prompt("rain", ("cat",)), Message("assistant", "green moss")))
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


def test_no_example_that_fits_is_refused(base, examples, tmp_path):
    tiny = Settings(**{**vars(SHORT), "maximum_tokens": 5})
    with pytest.raises(MemreproError, match="none of the 8 examples of .* raise maximum_tokens"):
        fine_tune(examples, base, tiny, tmp_path / "a", tmp_path / "kept", device="cpu")


def test_a_template_that_hides_the_answer_is_refused(tmp_path):
    folder = make_model(tmp_path / "odd", template="{{ messages | length }}")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    example = Example("a", (Message("user", "x"), Message("assistant", "y")))
    with pytest.raises(MemreproError, match="does not put the answer of example 'a' right behind"):
        tokenise([example], tokenizer, 60)


def test_layers_that_the_base_has_not_are_refused(base, examples, tmp_path):
    strange = Settings(**{**vars(SHORT), "targets": ("c_attn",)})
    with pytest.raises(MemreproError, match="made/tiny has none of the layers c_attn"):
        fine_tune(examples, base, strange, tmp_path / "a", tmp_path / "kept", device="cpu")


def test_an_adapter_of_another_base_or_damaged_is_refused(base, tuned, tmp_path):
    other = Base("made/other", "1" * 40, make_model(tmp_path / "other", seed=5))
    with pytest.raises(MemreproError, match="was made on made/tiny .* give it its own base"):
        load_adapter(other, tuned.adapter)
    half = shutil.copytree(tuned.adapter, tmp_path / "half")
    (half / "adapter_model.safetensors").write_bytes(b"half")
    with pytest.raises(MemreproError, match="half cannot be loaded .* tune it anew"):
        load_adapter(base, half)


@pytest.mark.parametrize(
    ("setting", "rule"),
    [
        ({"rank": 0}, "rank is 0: it must be a whole number from 1"),
        ({"batch_size": True}, "batch_size is True"),
        ({"device_batch_size": 0}, "device_batch_size is 0"),
        ({"device_batch_size": 3}, "device_batch_size is 3: it must be a divisor of batch_size"),
        ({"dropout": 1.0}, "dropout is 1.0: it must be from 0 to below 1"),
        ({"learning_rate": 0}, "learning_rate is 0"),
        ({"warmup_steps": -1}, "warmup_steps is -1"),
        ({"targets": ()}, "targets is"),
        ({"dtype": "int8"}, "dtype is 'int8': it must be float32 or bfloat16"),
    ],
)
def test_settings_out_of_range_are_refused(setting, rule):
    with pytest.raises(MemreproError, match=rule):
        Settings(**setting)
