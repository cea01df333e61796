"""A NomicBert encoder in a GGUF file, written as what transformers loads: each number as it is."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memrepro.errors import MemreproError

# GGUF's name → transformers', of the whole model and of each of its layers.
_WHOLE = {
    "token_embd.weight": "embeddings.word_embeddings.weight",
    "token_types.weight": "embeddings.token_type_embeddings.weight",
    "token_embd_norm.weight": "embeddings.LayerNorm.weight",
    "token_embd_norm.bias": "embeddings.LayerNorm.bias",
}
_LAYER = {
    "attn_output.weight": "self_attn.o_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
    "attn_output_norm.weight": "post_attention_layernorm.weight",
    "attn_output_norm.bias": "post_attention_layernorm.bias",
    "layer_output_norm.weight": "post_mlp_layernorm.weight",
    "layer_output_norm.bias": "post_mlp_layernorm.bias",
}
_STORED = ("F32", "F16")


def write_nomic(gguf: Path, folder: Path) -> None:
    """Write `model.safetensors` and `config.json` of a GGUF file's model into a folder.

    Nothing is computed: 16 bits stay 16 bits until the model is loaded, and queries, keys and
    values are thirds of one matrix there.

    Raises:
        MemreproError: if the file is of another architecture, has a tensor that this does not know,
            or one of fewer bits.
    """
    from gguf import GGUFReader
    from safetensors.numpy import save_file

    reader = GGUFReader(gguf)
    fields = {name: field.contents() for name, field in reader.fields.items() if field.types}
    if (found := fields["general.architecture"]) != "nomic-bert":
        raise MemreproError(
            f"{gguf.name} holds a {found!r} model: only nomic-bert is read from GGUF as an encoder"
        )
    tensors: dict[str, NDArray[Any]] = {}
    for tensor in reader.tensors:
        if tensor.tensor_type.name not in _STORED:
            raise MemreproError(
                f"{gguf.name}: {tensor.name} is stored as {tensor.tensor_type.name}: only "
                f"{' and '.join(_STORED)} are read, since fewer bits make another model"
            )
        tensors |= _renamed(tensor.name, tensor.data, gguf.name)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(_config(fields, tensors), indent=2) + "\n")


def _renamed(name: str, data: NDArray[Any], file: str) -> dict[str, NDArray[Any]]:
    """Name in transformers → the tensor, or its three thirds."""
    if name in _WHOLE:
        return {_WHOLE[name]: data}
    _, number, inside = [*name.split(".", 2), "", ""][:3]
    if inside == "attn_qkv.weight":
        thirds = zip("qkv", np.split(data, 3), strict=True)
        # safetensors writes a view as the whole that it is of.
        return {f"layers.{number}.self_attn.{k}_proj.weight": x.copy() for k, x in thirds}
    if inside in _LAYER:
        return {f"layers.{number}.{_LAYER[inside]}": data}
    raise MemreproError(f"{file} has the tensor {name}, which a nomic-bert encoder here has not")


def _config(fields: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> dict[str, Any]:
    stated = {
        name.removeprefix("nomic-bert."): value
        for name, value in fields.items()
        if name.startswith("nomic-bert.")
    }
    return {
        "architectures": ["NomicBertModel"],
        "model_type": "nomic_bert",
        "hidden_act": "silu",
        "hidden_size": stated["embedding_length"],
        "intermediate_size": stated["feed_forward_length"],
        "layer_norm_eps": stated["attention.layer_norm_epsilon"],
        "max_position_embeddings": stated["context_length"],
        "num_attention_heads": stated["attention.head_count"],
        "num_hidden_layers": stated["block_count"],
        "rope_parameters": {"rope_theta": stated["rope.freq_base"], "rope_type": "default"},
        # As many as there are: the file's own count of token types is one too few.
        "type_vocab_size": len(tensors["embeddings.token_type_embeddings.weight"]),
        "vocab_size": len(tensors["embeddings.word_embeddings.weight"]),
    }
