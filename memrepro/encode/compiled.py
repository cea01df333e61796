"""Encoders that only pool, by OpenVINO on a CPU, from a graph that is made once and kept.

To load a model by sentence-transformers and to trace it takes ten seconds of the processor, most
of them imports; its kept graph takes a third of one, and gives the same vectors to the bit.
"""

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from memrepro.encode.encoder import Role, Vectors, check_vectors, encode_in_batches
from memrepro.encode.models import ModelCard, cache_folder
from memrepro.encode.placement import ONLY_POOLED, Placement
from memrepro.encode.sentence_transformer import load_model
from memrepro.encode.wheels import build_whole
from memrepro.errors import MemreproError
from memrepro.files.atomic import read_json, sha256, write_json
from memrepro.files.progress import quietly

_ARCHITECTURES = ("bert", "mpnet", "xlm-roberta")
# What decides a graph and the ids that go into it, besides the model.
_MAKERS = ("openvino", "sentence-transformers", "tokenizers", "torch", "transformers")
# dtype → OpenVINO's name of it. Left to itself it takes bfloat16 where a CPU has it.
_PRECISIONS = {"float32": "f32", "bfloat16": "bf16"}
_GRAPH, _TOKENIZER, _SUMS = "graph.xml", "tokenizer.json", "sha256.json"


class CompiledEncoder:
    """A model that only pools, on a CPU.

    OpenVINO is a CPU's default. Measured in one run, interleaved, 96 PersonaBench documents, 2
    cores, texts a second: MiniLM torch 42-47, openvino 54, onnxruntime 31; mpnet torch 3.3,
    openvino 5.3, onnxruntime 4.4. Its vectors differ from torch's by at most 5.5e-7 over 527
    documents. In bfloat16 it takes about half the time (`benchmarks/README.md`).
    """

    def __init__(self, card: ModelCard, folder: Path, placed: Placement) -> None:
        """Load the kept graph; it is made first where it is not there or damaged.

        Args:
            card: what the folder must hold.
            folder: the files, checked by `models.model_folder`.
            placed: where it runs, from `placement.placement`.

        Raises:
            MemreproError: if OpenVINO cannot run this model, the processor does not compute in its
                dtype, the model is not what the card says, or the graph cannot be written.
        """
        import openvino
        from tokenizers import Tokenizer

        kept = _kept(card, folder)
        self._tokenizer = Tokenizer.from_file(str(kept / _TOKENIZER))
        core = openvino.Core()
        if placed.dtype == "bfloat16" and "BF16" not in _capabilities(core):
            # OpenVINO would take float32 without a word.
            raise MemreproError(
                f"encoder {card.name!r}: this processor does not compute in bfloat16: write dtype: "
                "float32 into encoders.yaml"
            )
        settings = {"INFERENCE_PRECISION_HINT": _PRECISIONS[placed.dtype]}
        compiled = core.compile_model(str(kept / _GRAPH), "CPU", settings)
        self._request, self._hidden = compiled.create_infer_request(), compiled.output(0)
        self.dimension = card.dimension
        self.prompts = card.prompts
        self.tokens = placed.tokens
        self.identity = placed.identity(card)

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Texts → (n, d) float32, in order.

        A text's vector depends on its batch by about 1e-7 (padding changes the order of sums).

        Raises:
            MemreproError: if a vector is not finite.
        """
        return encode_in_batches(self, texts, role)

    def stream(
        self, batches: Iterable[list[str]], role: Role
    ) -> Iterator[tuple[list[str], Vectors]]:
        """Each batch with its vectors, in order.

        Raises:
            MemreproError: if a vector is not finite.
        """
        for batch in batches:
            vectors = self._batch([self.prompts[role] + text for text in batch])
            check_vectors(vectors, batch, self.identity, self.dimension)
            yield batch, vectors

    def _batch(self, texts: list[str]) -> Vectors:
        encoded = self._tokenizer.encode_batch_fast(texts)
        ids = np.array([one.ids for one in encoded], np.int64)
        mask = np.array([one.attention_mask for one in encoded], np.int64)
        given = {"input_ids": ids, "attention_mask": mask}
        hidden = np.asarray(self._request.infer(given)[self._hidden], np.float32)
        if self.identity.pooling == "cls":
            vectors = hidden[:, 0]
        else:
            # Padded tokens weigh 0; every text has at least its two special tokens.
            weight = mask[:, :, None].astype(np.float32)
            vectors = (hidden * weight).sum(1) / weight.sum(1)
        if self.identity.normalise:
            vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors, np.float32)


def _capabilities(core: Any) -> list[str]:
    """What the processor computes in, by OpenVINO's names."""
    found: list[str] = core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return found


def _kept(card: ModelCard, folder: Path) -> Path:
    """The folder of a model's graph, its tokenizer and their sums."""
    made_by = [(name, version(name)) for name in _MAKERS]
    decides = [1, sorted(card.files.items()), card.maximum_length, card.padding_side, made_by]
    name = hashlib.sha256(json.dumps(decides).encode()).hexdigest()[:16]
    kept = cache_folder() / "graphs" / f"{card.name}-{name}"
    if kept.is_dir() and not _whole(kept):
        shutil.rmtree(kept)
    if not kept.is_dir():
        size = f"{sum(one.stat().st_size for one in folder.glob('*.safetensors')) / 1e6:.0f} MB"
        what = f"the graph of encoder {card.name!r}"
        build_whole(kept, partial(_make, card, folder), what, size)
    return kept


def _whole(kept: Path) -> bool:
    try:
        return all(sha256(kept / name) == one for name, one in read_json(kept / _SUMS).items())
    except MemreproError:
        return False


def _make(card: ModelCard, folder: Path, into: Path) -> None:
    """Trace (ids, mask), both (n, t) → the last hidden states (n, t, d), and write what is kept."""
    with quietly():
        import openvino
        import torch

        model: Any = load_model(card, folder, "cpu", "float32")
        kind = model[0].auto_model.config.model_type
        if kind not in _ARCHITECTURES or card.recipe not in ONLY_POOLED:
            raise MemreproError(
                f"encoder {card.name!r} is a {kind!r} with {card.recipe}, which the openvino route "
                f"does not know ({', '.join(_ARCHITECTURES)}; {', '.join(ONLY_POOLED)}): use "
                "runtime='torch'"
            )

        class Hidden(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = model[0].auto_model

            def forward(self, input_ids: Any, attention_mask: Any) -> Any:
                return self.inner(
                    input_ids=input_ids, attention_mask=attention_mask, return_dict=False
                )[0]

        # Of unequal length: the trace sees padding, and the tokenizer keeps how it cut and padded.
        features = model.preprocess(["hello there, world", "a"])
        example = {name: features[name] for name in ("input_ids", "attention_mask")}
        traced = openvino.convert_model(Hidden(), example_input=example)
        openvino.save_model(traced, str(into / _GRAPH), compress_to_fp16=False)
    model.tokenizer.backend_tokenizer.save(str(into / _TOKENIZER))
    write_json(into / _SUMS, {path.name: sha256(path) for path in sorted(into.iterdir())})
