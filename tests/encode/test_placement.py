"""Where an encoder runs: decided from described GPUs, and driven by models that fail like GPUs."""

from dataclasses import replace
from functools import partial

import numpy as np
import openvino
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from memrepro.encode import compiled
from memrepro.encode.drift import drift
from memrepro.encode.encoder import HashEncoder, about_tokens, batches_of
from memrepro.encode.load import load_encoder
from memrepro.encode.models import model_card, model_folder
from memrepro.encode.placement import (
    Gpu,
    Placement,
    count_weights,
    placement,
)
from memrepro.encode.sentence_transformer import SentenceTransformerEncoder
from memrepro.encode.vectors import VectorStore, embed, vector_key
from memrepro.errors import MemreproError

NAME = "all-minilm-l6-v2"
CARD = model_card(NAME)
QWEN = model_card("gte-qwen2-7b-instruct")
BILLIONS = 7_613_000_000
GB = 10**9
TEXTS = sorted(
    (f"text {n} " + "some words of it " * (n % 7) for n in range(60)), key=lambda t: (-len(t), t)
)


def gpu(n, free=80 * GB, bfloat16=True):
    return Gpu(f"cuda:{n}", free, bfloat16)


def test_a_cpu_keeps_its_batches_and_computes_in_what_the_entry_says():
    half, other = (replace(CARD, dtype=dtype) for dtype in ("bfloat16", "float16"))
    for card, runtime in ((CARD, "openvino"), (half, "openvino"), (other, "torch")):
        assert placement(card, 0, []) == Placement(("cpu",), runtime, card.dtype, None)
        assert placement(card, 0, [gpu(0)], device="cpu") == placement(card, 0, [])
    assert placement(half, 0, [], dtype="float32").dtype == "float32"
    assert placement(QWEN, 0, []).runtime == "torch"
    assert half.recipe == CARD.recipe  # the key has its own field


def test_gpus_with_room_share_the_work_in_batches_of_tokens():
    small, large = count_weights(CARD, model_folder(NAME)), BILLIONS
    assert 22e6 < small < 24e6
    one = placement(CARD, small, [gpu(0)])
    assert one == Placement(("cuda:0",), "torch", "float32", 65536)
    assert placement(replace(CARD, dtype="float16"), small, [gpu(0)]).dtype == "float16"
    # The one with least room sets the tokens; one without room for the model is left out.
    tight = placement(CARD, small, [gpu(0), gpu(1, GB // 2), gpu(2, GB // 20)])
    assert tight.devices == ("cuda:0", "cuda:1")
    assert tight.tokens == 4096
    assert tight == placement(CARD, small, [gpu(0), gpu(1, GB // 2 + 10**6)])
    middling = [gpu(0, 48 * GB)]
    whole = placement(QWEN, large, middling)
    half = placement(QWEN, large, middling, dtype="bfloat16")
    assert half.tokens >= 2 * whole.tokens >= 2 * QWEN.maximum_length


@pytest.mark.parametrize(
    ("gpus", "asked", "says"),
    [
        ([gpu(0), gpu(1, bfloat16=False)], {"dtype": "bfloat16"}, r"cuda:1 cannot compute in bf"),
        ([gpu(0, 24 * GB)], {}, r"needs 4\d\.\d GB .* at most 24\.0 GB are free: .*bfloat16"),
        ([], {"device": "cuda"}, "there are 0 GPUs"),
        ([gpu(0)], {"device": "cuda:7"}, "'cuda:7', and there are 1 GPUs"),
    ],
)
def test_what_has_no_place_is_one_sentence(gpus, asked, says):
    with pytest.raises(MemreproError, match=says) as error:
        placement(QWEN, BILLIONS, gpus, **asked)
    assert len(str(error.value)) <= 400


@given(st.lists(st.text(max_size=60)), st.integers(1, 200), st.text(max_size=9), st.integers(1, 40))
def test_batches_of_tokens_hold_all_texts_in_order_and_keep_to_their_size(texts, most, prompt, top):
    encoder = HashEncoder()
    encoder.tokens, encoder.prompts = most, {"query": prompt, "document": ""}
    encoder.identity = replace(encoder.identity, maximum_length=top)
    batches = list(batches_of(texts, encoder))
    assert [text for batch in batches for text in batch] == texts
    for batch in batches:
        longest = max(min(top, about_tokens(prompt) + about_tokens(text)) for text in batch)
        assert len(batch) == 1 or len(batch) * longest <= most


class Failing:
    """A model that fails as a GPU does: by the size of a batch, or from some batch on."""

    def __init__(self, model, most=10**9, dies=10**9, error=None):
        self.model, self.most, self.dies, self.error = model, most, dies, error
        self.sizes = []

    def encode(self, texts, **options):
        self.sizes.append(len(texts))
        if len(texts) > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        if len(self.sizes) > self.dies:
            raise self.error
        return self.model.encode(texts, **options)


@pytest.fixture
def placed():
    def make(tokens=None, devices=("cpu",)):
        where = Placement(devices, tokens=tokens)
        return SentenceTransformerEncoder(CARD, model_folder(NAME), where)

    return make


@pytest.fixture
def store(tmp_path):
    with VectorStore(tmp_path / "e.sqlite") as store:
        yield store


def test_memory_that_is_full_halves_the_batch_and_goes_on(placed, store):
    encoder = placed(512)
    want = encoder.encode(TEXTS, "document")
    first = len(next(batches_of(TEXTS, encoder)))
    model = encoder._models[0] = Failing(encoder._models[0], most=first // 2)
    got = embed(TEXTS, encoder, "document", store)
    assert np.abs(got - want).max() < 1e-5
    # The first batch fails and goes in halves; those after it are made smaller beforehand.
    assert model.sizes[:3] == [first, first // 2, first - first // 2]
    assert model.sizes.count(first) == 1
    assert store.encoded == len(TEXTS)


def test_a_text_that_has_no_room_alone_is_one_sentence_and_what_came_before_is_kept(placed, store):
    encoder = placed()
    kept = embed(TEXTS[40:], encoder, "document", store)
    model = encoder._models[0] = Failing(encoder._models[0], most=0)
    with pytest.raises(MemreproError, match=f"a text of {len(TEXTS[0])} characters alone") as error:
        embed(TEXTS, encoder, "document", store)
    assert len(str(error.value)) <= 400
    assert model.sizes == [32, 16, 8, 4, 2, 1]
    assert len(store) == 20
    np.testing.assert_array_equal(embed(TEXTS[40:], placed(), "document", store), kept)


@pytest.mark.parametrize(
    "error",
    [
        torch.AcceleratorError("CUDA error: unspecified launch failure\nCompile with `TORCH_USE_…"),
        torch.AcceleratorError("CUDA error: device-side assert triggered"),
        RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm`"),
    ],
)
def test_a_gpu_that_disappears_is_one_sentence_and_the_next_run_goes_on(placed, store, error):
    encoder = placed(512)
    whole = encoder._models[0]
    encoder._models[0] = Failing(whole, dies=3, error=error)
    with pytest.raises(MemreproError, match=r"cpu failed \(CUDA error: .*are kept$") as said:
        embed(TEXTS, encoder, "document", store)
    assert len(str(said.value)) <= 400
    assert "\n" not in str(said.value)
    before = len(store)
    assert before == sum(map(len, list(batches_of(TEXTS, encoder))[:3]))
    again = encoder._models[0] = Failing(whole)
    embed(TEXTS, encoder, "document", store)
    assert sum(again.sizes) == len(TEXTS) - before


def test_replicas_share_the_batches_and_give_the_bytes_of_one(placed, store, tmp_path):
    one, two = placed(512), placed(512, ("cpu", "cpu"))
    models = two._models[:] = [Failing(model) for model in two._models]
    with VectorStore(tmp_path / "one.sqlite") as alone:
        want = embed(TEXTS, one, "document", alone)
    assert embed(TEXTS, two, "document", store).tobytes() == want.tobytes()
    taken = [len(model.sizes) for model in models]
    assert sum(taken) == len(list(batches_of(TEXTS, one)))
    assert max(taken) - min(taken) <= 1
    # Where one of them disappears, the batches before its own are kept.
    new = [f"new {text}" for text in TEXTS]
    models[1].dies, models[1].error = len(models[1].sizes) + 1, torch.AcceleratorError("CUDA error")
    with pytest.raises(MemreproError, match="cpu failed"):
        embed(new, two, "document", store)
    assert len(store) == len(TEXTS) + sum(map(len, list(batches_of(new, two))[:3]))


def test_the_drift_of_half_precision_is_measured(store):
    full = load_encoder(NAME, device="cpu")
    documents, queries = TEXTS[:12], TEXTS[57:]
    halves = {
        dtype: load_encoder(NAME, device="cpu", runtime="torch", dtype=dtype)
        for dtype in ("bfloat16", "float16")
    }
    found = {dtype: drift(h, full, documents, queries, store) for dtype, h in halves.items()}
    print(found)
    for one in found.values():
        assert 0 < one["largest difference"] < 0.02
        assert 0.999 < one["least cosine"] < 1
        assert 0.5 < one["top-10 agreement"] <= 1
    # Ten bits of a fraction against seven.
    assert found["float16"]["largest difference"] < found["bfloat16"]["largest difference"] / 3
    same = drift(full, full, documents, queries, store)
    assert (same["largest difference"], same["top-10 agreement"]) == (0, 1)


def test_a_processor_computes_in_bfloat16_or_says_that_it_does_not(store, monkeypatch):
    half = partial(load_encoder, NAME, device="cpu", dtype="bfloat16")
    if "BF16" in compiled._capabilities(openvino.Core()):
        encoder, full = half(), load_encoder(NAME, device="cpu")
        assert encoder.identity.runtime == full.identity.runtime
        assert vector_key(encoder.identity, "query", "", "a") != vector_key(
            full.identity, "query", "", "a"
        )
        found = drift(encoder, full, TEXTS[:50], TEXTS[50:], store)
        assert 1e-4 < found["largest difference"] < 0.02
        assert found["least cosine"] > 0.999
        np.testing.assert_allclose(
            np.linalg.norm(encoder.encode(TEXTS, "query"), axis=1), 1, atol=1e-6
        )
    monkeypatch.setattr(compiled, "_capabilities", lambda core: ["FP32"])
    with pytest.raises(MemreproError, match="does not compute in bfloat16: write dtype: float32"):
        half()
