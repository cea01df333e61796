import hashlib
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from memrepro.encode.compiled import _kept
from memrepro.encode.encoder import EncoderIdentity, HashEncoder, check_vectors
from memrepro.encode.load import load_encoder
from memrepro.encode.models import model_card, model_folder
from memrepro.encode.vectors import vector_key
from memrepro.errors import MemreproError

NAME = "all-minilm-l6-v2"
TEXTS = [
    "A cat sleeps on the sofa.",
    "A kitten naps on the couch.",
    "The central bank raised its interest rate.",
    "",
    "word " * 600,  # beyond 256 tokens
    "naïve café ☕ 日本語",
    *(" ".join(f"item{i}-{j}" for j in range(i)) for i in range(1, 40, 10)),
]


@pytest.fixture(scope="module")
def first_load(openvino, tmp_path_factory):
    """What is said where a graph is made and there is no network; the graph, and what it must be.

    A byte of the one that was kept is another.
    """
    code = f"""
import os, socket
def refuse(*_, **__):
    os.write(2, b"network used")  # OpenVINO reports itself from a process that hides its errors
    raise OSError
socket.socket.connect = refuse; socket.getaddrinfo = refuse
from memrepro.encode.load import load_encoder
print(load_encoder({NAME!r}, device="cpu").encode(["hello"], "query").shape)
"""
    kept, cache = _kept(model_card(NAME), model_folder(NAME)), tmp_path_factory.mktemp("cache")
    weights = shutil.copytree(kept, cache / "graphs" / kept.name) / "graph.bin"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    # Libraries that report themselves are quiet where CI is set.
    environment = {k: v for k, v in os.environ.items() if k not in ("HF_HUB_OFFLINE", "CI")}
    environment["MEMREPRO_CACHE"] = str(cache)
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    return run, weights, whole


@pytest.fixture(scope="module")
def openvino():
    return load_encoder(NAME, device="cpu")


@pytest.fixture(scope="module")
def torch_cpu():
    return load_encoder(NAME, device="cpu", runtime="torch")


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("all-minilm-l6-v2", "9f74e17a348fb21f3100217f265fa924912a88ae5de93ba86ae2d37400d7b6c9"),
        ("all-mpnet-base-v2", "d9f8e41191083fc5185a6ef5d294c0e8b756917ec4fd1056c4c1f352a81c7a99"),
    ],
)
def test_vectors_made_before_there_were_heads_keep_their_key(name, key):
    # As the first release of this module made it, with the runtime 'torch x cpu'.
    card = model_card(name)
    identity = EncoderIdentity(
        card.name, card.revision, card.maximum_length, card.recipe, card.normalise,
        "float32", "torch x cpu",
    )  # fmt: skip
    assert vector_key(identity, "query", "", "hello").hex() == key


def test_vectors_are_float32_of_length_one_and_like_texts_are_near(openvino):
    vectors = openvino.encode(TEXTS, "document")
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert openvino.encode([], "query").shape == (0, 384)
    cat, kitten, bank = vectors[:3]
    assert cat @ kitten > 0.5 > cat @ bank
    assert cat @ kitten > kitten @ bank


def test_openvino_equals_torch(openvino, torch_cpu):
    difference = np.abs(openvino.encode(TEXTS, "document") - torch_cpu.encode(TEXTS, "document"))
    print(f"largest difference between torch and openvino: {difference.max():.2e}")
    assert difference.max() < 1e-5


@pytest.mark.parametrize("runtime", ["openvino", "torch_cpu"])
def test_a_role_has_its_prompt_and_a_vector_that_is_no_number_is_refused(
    runtime, request, monkeypatch
):
    encoder = request.getfixturevalue(runtime)
    monkeypatch.setattr(encoder, "prompts", {"query": "ask: ", "document": "say: "})
    asked, said = encoder.encode(TEXTS[:1], "query"), encoder.encode(TEXTS[:1], "document")
    monkeypatch.setattr(encoder, "prompts", {"query": "", "document": ""})
    plain = encoder.encode(["ask: " + TEXTS[0], "say: " + TEXTS[0]], "document")
    np.testing.assert_allclose(np.vstack([asked, said]), plain, atol=1e-6)
    assert not np.allclose(asked, said, atol=1e-3)
    monkeypatch.setattr(encoder, "_batch", lambda texts, *_: np.full((len(texts), 384), np.nan))
    with pytest.raises(MemreproError, match=NAME):
        encoder.encode(TEXTS[:1], "query")


@pytest.mark.parametrize("runtime", ["openvino", "torch_cpu"])
def test_the_batch_hardly_matters(runtime, request):
    encoder = request.getfixturevalue(runtime)
    together = encoder.encode(TEXTS, "document")
    alone = np.vstack([encoder.encode([text], "document") for text in TEXTS])
    print(f"largest difference between batches, {runtime}: {np.abs(together - alone).max():.2e}")
    assert np.abs(together - alone).max() < 1e-5
    # The order of a batch's texts is fixed inside, so a permuted input gives the same bits.
    np.testing.assert_array_equal(encoder.encode(TEXTS[::-1], "document")[::-1], together)


def test_a_damaged_graph_is_made_again_with_no_network_and_no_noise(first_load):
    run, weights, whole = first_load
    assert (run.stdout, run.stderr) == ("(1, 384)\n", "")
    assert weights.read_bytes() == whole


def test_a_kept_graph_is_loaded_without_the_libraries_that_made_it(openvino):
    code = f"""
import sys
from memrepro.encode.load import load_encoder
load_encoder({NAME!r}, device="cpu")
print({{"torch", "transformers", "sentence_transformers"}} & set(sys.modules))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"runtime": "onnx"}, "openvino and torch"),
        ({"runtime": "openvino", "dtype": "float16"}, "runtime='torch'"),
        ({"runtime": "openvino", "device": "cuda"}, "runtime='torch'"),
        ({"dtype": "int8"}, "float32, bfloat16, float16"),
    ],
)
def test_what_cannot_run_is_refused_in_words(asked, says):
    with pytest.raises(MemreproError, match=says):
        load_encoder(NAME, **{"device": "cpu", **asked})


def test_a_bad_vector_names_text_and_encoder():
    encoder = HashEncoder(4)
    vectors = encoder.encode(["good", "bad"], "query")
    vectors[1, 2] = np.nan
    digest = hashlib.sha256(b"bad").hexdigest()[:12]
    with pytest.raises(MemreproError, match=f"hash-4.*{digest}.*3 characters"):
        check_vectors(vectors, ["good", "bad"], encoder.identity, 4)
    vectors[1, 2] = np.inf
    with pytest.raises(MemreproError, match="infinity"):
        check_vectors(vectors, ["good", "bad"], encoder.identity, 4)
    with pytest.raises(MemreproError, match="shape"):
        check_vectors(vectors[:, :3], ["good", "bad"], encoder.identity, 4)


def test_hash_encoder_is_deterministic_and_shares_words():
    encoder = HashEncoder(256)
    a, b, c = encoder.encode(["red blue green", "red blue yellow", "one two three"], "document")
    np.testing.assert_array_equal(a, HashEncoder(256).encode(["Red  blue, green"], "query")[0])
    assert a @ b > 0.4 > abs(a @ c)
    odd = encoder.encode(["", "!!", "\ud800", "the"], "query")
    np.testing.assert_allclose(np.linalg.norm(odd, axis=1), 1, atol=1e-6)
    assert isinstance(encoder.identity, EncoderIdentity)
    assert HashEncoder(12).encode(["x"], "query").shape == (1, 12)
    # Pinned: the same bits on every machine.
    assert hash_of(HashEncoder(64).encode(["the quick brown fox"], "query")) == "baea456ee5e210ed"


def hash_of(vectors):
    return hashlib.sha256(vectors.astype("<f4").tobytes()).hexdigest()[:16]


@pytest.mark.gpu
def test_cuda_agrees_with_cpu(torch_cpu):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    want = torch_cpu.encode(TEXTS, "document")
    full = load_encoder(NAME)  # the device is found, the precision is not lowered unasked
    halves = [load_encoder(NAME, dtype=dtype) for dtype in ("float16", "bfloat16")]
    assert [one.identity.dtype for one in (full, *halves)] == ["float32", "float16", "bfloat16"]
    assert all(one.identity.runtime.endswith(" cuda") for one in (full, *halves))
    assert np.abs(full.encode(TEXTS, "document") - want).max() < 1e-3  # TF32 is off by default
    for half in halves:
        got = half.encode(TEXTS, "document")
        np.testing.assert_allclose(np.linalg.norm(got, axis=1), 1, atol=1e-6)
        assert (got * want).sum(axis=1).min() > 0.999
