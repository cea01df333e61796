"""A NomicBert in GGUF: a tiny made one, number by number; the real one against published values."""

import json
import os

import gguf
import numpy as np
import pytest
import torch
from transformers import AutoModel, NomicBertConfig, NomicBertModel

from memrepro.encode import gguf_weights
from memrepro.encode.load import load_encoder
from memrepro.encode.models import cache_folder
from memrepro.errors import MemreproError

NAME = "nomic-embed-text-v1.5-f16"
SIZES = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "vocab_size": 40, "max_position_embeddings": 16, "layer_norm_eps": 1e-6,
}  # fmt: skip


# The maker's own names, which gguf's converter maps → transformers' names of the same.
WHOLE = {
    "embeddings.word_embeddings": "embeddings.word_embeddings",
    "embeddings.token_type_embeddings": "embeddings.token_type_embeddings",
    "emb_ln": "embeddings.LayerNorm",
}
LAYER = {
    "attn.out_proj": "self_attn.o_proj", "mlp.fc11": "mlp.up_proj", "mlp.fc12": "mlp.gate_proj",
    "mlp.fc2": "mlp.down_proj", "norm1": "post_attention_layernorm",
    "norm2": "post_mlp_layernorm",
}  # fmt: skip


def write_gguf(path, model, architecture="nomic-bert", kind=np.float16, **more):
    """As llama.cpp's converter does: queries, keys and values in one; vectors in 32 bits."""
    config, writer = model.config, gguf.GGUFWriter(path, architecture)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    writer.add_layer_norm_eps(config.layer_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    layers = range(config.num_hidden_layers)
    renamed = WHOLE | {
        f"encoder.layers.{n}.{maker}": f"layers.{n}.{ours}"
        for n in layers
        for maker, ours in LAYER.items()
    }
    state = {name: x.numpy() for name, x in model.state_dict().items()}
    tensors = {
        f"{maker}.{part}": state[f"{ours}.{part}"]
        for maker, ours in renamed.items()
        for part in ("weight", "bias")
        if f"{ours}.{part}" in state
    }
    for n in layers:
        fused = [state[f"layers.{n}.self_attn.{k}_proj.weight"] for k in "qkv"]
        tensors[f"encoder.layers.{n}.attn.Wqkv.weight"] = np.concatenate(fused)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.NOMIC_BERT, len(layers))
    suffixes = (".weight", ".bias")
    named = {names.get_name(name, suffixes): x for name, x in tensors.items()} | more
    for name, x in named.items():
        matrix = x.ndim == 2 and name != "token_types.weight"
        writer.add_tensor(name, x.astype(kind) if matrix else x)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def tiny():
    """A model of which every number is drawn, and is one that 16 bits hold."""
    torch.manual_seed(1)
    model = NomicBertModel(NomicBertConfig(**SIZES))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, 0.1, 0.4)
        parameter.data = parameter.data.half().float()
    return model.eval()


def test_a_tiny_model_comes_back_with_all_its_numbers_and_settings(tiny, tmp_path):
    gguf_weights.write_nomic(write_gguf(tmp_path / "tiny.gguf", tiny), tmp_path)
    loaded, info = AutoModel.from_pretrained(
        tmp_path, dtype=torch.float32, output_loading_info=True
    )
    assert not any(info.values()), info
    for name, want in tiny.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], want), name
    ids = torch.arange(24).reshape(2, 12) % SIZES["vocab_size"]
    with torch.no_grad():
        torch.testing.assert_close(loaded(ids)[0], tiny(ids)[0], rtol=0, atol=1e-6)
    config = json.loads((tmp_path / "config.json").read_text())
    assert {name: config[name] for name in SIZES} == pytest.approx(SIZES, rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"architecture": "bert"}, r"x\.gguf holds a 'bert' model: only nomic-bert is read"),
        ({"kind": np.float64}, r"x\.gguf: token_embd\.weight is stored as F64: only F32 and F16"),
        ({"blk.0.attn_qkv.bias": np.zeros(96, np.float32)}, r"has the tensor blk\.0\.attn_qkv\.b"),
    ],
)
def test_what_is_another_model_is_refused(tiny, tmp_path, changes, says):
    path = write_gguf(tmp_path / "x.gguf", tiny, **changes)
    with pytest.raises(MemreproError, match=says):
        gguf_weights.write_nomic(path, tmp_path)
    assert not (tmp_path / "model.safetensors").exists()


PLANTS = ["Plants create oxygen.", "Photosynthesis is a process where plants create oxygen."]
SAID = [
    "The cat sits outside", "A man is playing guitar", "I love pasta", "The new movie is awesome",
    "The cat plays in the garden", "A woman watches TV", "The new movie is so great",
    "Do you like pizza?",
]  # fmt: skip


@pytest.fixture(scope="module")
def real():
    """The real encoder, and text → its last states and mask; skips where it is not in the cache."""
    built = cache_folder() / "models" / NAME
    if not built.is_dir() and not os.environ.get("MEMREPRO_DOWNLOAD"):
        pytest.skip(f"{NAME} is not in the cache; MEMREPRO_DOWNLOAD=1 fetches 284 MB")
    encoder = load_encoder(NAME, device="cpu")
    transformer = encoder._models[0][0]

    def states(texts):
        given = transformer.tokenizer(texts, return_tensors="pt", padding=True)
        mask = given["attention_mask"]
        with torch.no_grad():
            return transformer.auto_model(given["input_ids"], attention_mask=mask)[0], mask

    return encoder, states


@pytest.mark.slow
def test_the_real_one_has_the_states_that_transformers_tests_its_maker_s_for(real):
    # tests/models/nomic_bert/test_modeling_nomic_bert.py there; 16 bits of weights move 1e-3.
    want = torch.tensor([
        [[1.7039, -4.5610, 1.5236], [1.8685, -3.6936, 1.6641], [0.53303, -4.2081, 2.3375]],
        [[0.0026867, -3.7496, 0.9082], [0.018297, -3.3884, 0.3530], [-0.14282, -3.6776, -0.35079]],
    ])  # fmt: skip
    torch.testing.assert_close(real[1](PLANTS)[0][:, 1:4, 1:4], want, rtol=0, atol=2e-3)


@pytest.mark.slow
def test_the_real_one_has_the_similarities_that_candle_publishes(real):
    # candle-examples/examples/nomic-bert/README.md: no prompt, no layer norm, all 768 entries.
    states, mask = real[1](SAID)
    mean = (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
    mean = torch.nn.functional.normalize(mean)
    found = (mean @ mean.T).triu(1)
    best = found.flatten().topk(5).indices.tolist()
    want = {(3, 6): 0.9664, (0, 4): 0.7377, (2, 7): 0.5764, (1, 5): 0.5031, (1, 4): 0.4781}
    assert [divmod(one, len(SAID)) for one in best] == list(want)
    assert [float(found[pair]) for pair in want] == pytest.approx(list(want.values()), abs=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "want"),
    [
        (128, [0.05569458, 0.057922363, -0.30126953, -0.09832764, 0.05947876]),
        (256, [0.044708252, 0.04650879, -0.24182129, -0.07897949, 0.04776001]),
    ],
)
def test_the_real_one_has_the_entries_that_its_maker_s_service_gives(real, size, want):
    # LlamaIndex' notebook of Nomic's embeddings: as a document, layer norm, cut, length one.
    found = real[0].encode(["Nomic Embeddings"], "document")[0][:size]
    assert found[:5] / np.linalg.norm(found) == pytest.approx(want, abs=5e-4)
    other = real[0].encode(["Nomic Embeddings"], "query")[0][:size]
    assert abs(other[:5] / np.linalg.norm(other) - want).max() > 0.01
