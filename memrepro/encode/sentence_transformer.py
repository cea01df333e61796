"""The sentence-transformers encoder: a checked local folder, run by torch."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from memrepro.cluster.spread import in_threads
from memrepro.encode.encoder import (
    Role,
    Vectors,
    about_tokens,
    check_vectors,
    encode_in_batches,
)  # fmt: skip
from memrepro.encode.models import ModelCard
from memrepro.encode.placement import Placement
from memrepro.errors import MemreproError
from memrepro.files.progress import quietly


class SentenceTransformerEncoder:
    """A sentence-transformers model in a local folder, run by torch."""

    def __init__(self, card: ModelCard, folder: Path, placed: Placement) -> None:
        """Load the model, on each device once; no network is used.

        Args:
            card: what the folder must hold.
            folder: the files, checked by `models.model_folder`.
            placed: where it runs, from `placement.placement`.

        Raises:
            MemreproError: if the model is not what the card says, or a device fails.
        """
        self._models = []
        for device in placed.devices:
            with quietly(), _explained(card.name, device):
                self._models.append(load_model(card, folder, device, placed.dtype))
        self._placed, self.tokens = placed, placed.tokens
        self.dimension = card.dimension
        self.prompts = card.prompts
        self.identity = placed.identity(card)

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Texts → (n, d) float32, in order.

        A text's vector depends on its batch by about 1e-7 (padding changes the order of sums).

        Raises:
            MemreproError: as of `stream`.
        """
        return encode_in_batches(self, texts, role)

    def stream(
        self, batches: Iterable[list[str]], role: Role
    ) -> Iterator[tuple[list[str], Vectors]]:
        """Each batch with its vectors, in order; several GPUs take batches side by side.

        Raises:
            MemreproError: if a vector is not finite, one text alone has no room in a device's
                memory, or a device fails.
        """

        def encoded(place: int, batch: list[str]) -> Vectors:
            vectors = self._batch([self.prompts[role] + text for text in batch], place)
            check_vectors(vectors, batch, self.identity, self.dimension)
            return vectors

        return in_threads(batches, [partial(encoded, n) for n in range(len(self._models))])

    def _batch(self, texts: list[str], place: int) -> Vectors:
        """The vectors of a batch by one device; where its memory is full, in halves."""
        import torch

        name, device = self.identity.model, self._placed.devices[place]
        try:
            with _explained(name, device):
                raw = self._models[place].encode(
                    texts,
                    prompt="",
                    batch_size=len(texts),
                    show_progress_bar=False,
                    normalize_embeddings=self.identity.normalise,
                )
        except torch.OutOfMemoryError as error:
            if len(texts) == 1:
                raise MemreproError(
                    f"encoder {name!r}: a text of {len(texts[0])} characters alone has no room in "
                    f"the memory of {device}: free some; batches before it are kept"
                ) from error
        else:
            vectors: Vectors = np.asarray(raw, np.float32)
            if self.identity.dtype != "float32" and self.identity.normalise:
                # Half precision leaves lengths off by 1e-3, which would tilt inner products.
                vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            return vectors
        # Out of the handler, whose traceback holds the tensors of the failed batch.
        if device != "cpu":
            torch.cuda.empty_cache()
        if self.tokens:
            self.tokens = min(self.tokens, len(texts) * max(map(about_tokens, texts)) // 2)
        half = len(texts) // 2
        return np.vstack([self._batch(texts[:half], place), self._batch(texts[half:], place)])


@contextmanager
def _explained(name: str, device: str) -> Iterator[None]:
    """Say in a sentence that a GPU failed; memory that is full stays torch's own error."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        if not isinstance(error, torch.AcceleratorError) and "CUDA" not in str(error):
            raise
        raise MemreproError(
            f"encoder {name!r}: {device} failed ({str(error).strip().splitlines()[0][:120]}): run "
            "the same command again, without that GPU by CUDA_VISIBLE_DEVICES if it is gone; "
            "batches before this one are kept"
        ) from error


def load_model(card: ModelCard, folder: Path, device: str, dtype: str) -> Any:
    """sentence-transformers' own layers in the card's order; what the folder says must agree.

    Raises:
        MemreproError: naming what the folder has and what the card says.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import (
        LayerNorm,
        Normalize,
        Pooling,
    )

    transformer = _transformer(card, folder, getattr(torch, dtype))
    hidden = transformer.get_embedding_dimension()
    layers: list[Any] = [Pooling(hidden, card.pooling)]
    if (folder / "1_Pooling/config.json").is_file():
        stated = Pooling.load(str(folder), subfolder="1_Pooling", local_files_only=True)
        if (stated.pooling_mode, stated.embedding_dimension) != (card.pooling, hidden):
            pooled = f"{folder} pools by {stated.pooling_mode} to {stated.embedding_dimension}"
            raise _disagrees(card, f"{pooled} entries", f"{card.pooling} of {hidden}")
    if card.head is not None:
        layers.append(_head(card, folder, hidden))
    dimension = layers[-1].get_embedding_dimension()
    if dimension != card.dimension and not (card.truncate_to and dimension > card.truncate_to):
        found = f"the layers in {folder} end in {dimension} entries"
        raise _disagrees(card, found, f"{card.dimension}")
    if card.layer_norm:
        layers.append(LayerNorm(dimension))
    if card.normalise:
        layers.append(Normalize())
    layers.insert(0, transformer)
    # `encode` truncates, and normalises (once more), in the order that Matryoshka vectors ask; the
    # layer above is what the first encoders have on the hub, and keeps their vectors to the bit.
    model = SentenceTransformer(modules=layers, device=device, truncate_dim=card.truncate_to)
    model.max_seq_length = card.maximum_length
    return model.eval()


def _disagrees(card: ModelCard, found: str, said: str) -> MemreproError:
    return MemreproError(
        f"encoder {card.name!r}: {found}, and encoders.yaml says {said}: repair the entry"
    )


def _transformer(card: ModelCard, folder: Path, dtype: Any) -> Any:
    from sentence_transformers.sentence_transformer.modules import Transformer

    class Whole(Transformer):
        """Refuses weights that lack a tensor, which transformers would draw at random."""

        def _load_model(self, *args: Any, **kwargs: Any) -> Any:
            loaded: Any = super()._load_model(*args, output_loading_info=True, **kwargs)
            model, info = loaded
            # No vector here comes from BERT's pooler, and Contriever has none.
            lacking = sorted(key for key in info["missing_keys"] if "pooler." not in key)
            if lacking:
                raise MemreproError(
                    f"encoder {card.name!r}: the weights in {folder} lack {len(lacking)} tensors "
                    f"of a {type(model).__name__}, first {lacking[0]}: they are another model's"
                )
            return model

    try:
        transformer = Whole.load(
            str(folder),
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"dtype": dtype, "use_safetensors": True},
        )
    except RuntimeError as error:
        raise MemreproError(
            f"encoder {card.name!r}: the weights in {folder} do not fit its config.json "
            f"({str(error).strip().splitlines()[0]})"
        ) from error
    transformer.tokenizer.padding_side = card.padding_side
    _end(card, folder, transformer.tokenizer)
    if card.bidirectional:
        _look_both_ways(card, transformer.auto_model)
    return transformer


def _end(card: ModelCard, folder: Path, tokenizer: Any) -> None:
    """Close every text with the end token where the model was trained so.

    transformers 5 ignores tokenizer_config.json's `add_eos_token` without a word where there is
    a tokenizer.json (embeddings-benchmark/mteb pull request 5237), and last-token pooling then
    takes another token.
    """
    path = folder / "tokenizer_config.json"
    stated = path.is_file() and bool(json.loads(path.read_bytes()).get("add_eos_token"))
    if stated != card.end_token:
        found = f"{path} says {stated} to add_eos_token"
        raise _disagrees(card, found, f"{card.end_token} to end_token")
    if card.end_token:
        tokenizer.add_eos_token = True
        if tokenizer("a")["input_ids"][-1] != tokenizer.eos_token_id:
            found = f"the tokenizer in {folder} has no end token to add"
            raise _disagrees(card, found, "end_token")


def _look_both_ways(card: ModelCard, model: Any) -> None:
    """Lift the causal mask, as the remote code of these models does, with no remote code.

    transformers takes `is_causal` from the configuration, for its masks and for torch's attention,
    but ignores it as an argument of loading: it has to be set on what was loaded.
    """
    if not any(getattr(module, "is_causal", False) for module in model.modules()):
        found = f"it is a {model.config.model_type!r} with no causal attention"
        raise _disagrees(card, found, "bidirectional")
    model.config.is_causal = False


def _head(card: ModelCard, folder: Path, hidden: int) -> Any:
    import torch
    from sentence_transformers.sentence_transformer.modules import Dense

    where = folder / str(card.head)
    for name in ("config.json", "model.safetensors"):
        if not (where / name).is_file():
            raise MemreproError(
                f"encoder {card.name!r} needs its head's {where / name}: it is missing"
            )
    try:
        head = Dense.load(str(folder), subfolder=str(card.head), local_files_only=True)
    except RuntimeError as error:
        raise MemreproError(
            f"encoder {card.name!r}: the weights of its head in {where} have another shape than "
            f"its config.json says ({str(error).strip().splitlines()[-1].strip()})"
        ) from error
    plain = isinstance(head.activation_function, torch.nn.Identity) and not head.use_residual
    if head.in_features != hidden or not plain:
        raise MemreproError(
            f"encoder {card.name!r}: its head in {where} takes {head.in_features} entries, with "
            f"{type(head.activation_function).__name__}; it must take the transformer's {hidden} "
            "and be linear"
        )
    return head
