"""An encoder of the registry, from its checked files, or its tokenizer alone."""

from collections.abc import Sequence

from memrepro.encode.encoder import Encoder
from memrepro.encode.models import model_card, model_folder
from memrepro.encode.sentence_transformer import SentenceTransformerEncoder, default_runtime


def load_encoder(
    name: str,
    *,
    device: str | None = None,
    runtime: str | None = None,
    dtype: str = "float32",
    batch_size: int = 32,
) -> Encoder:
    """An encoder of the registry, its files checked; from a wheel it needs no network.

    Args:
        name: a key of `encoders.yaml`.
        device: the first CUDA device where there is one, else 'cpu'.
        runtime: 'openvino' on a CPU for models that only pool, else 'torch'.
        dtype: 'float32' or 'float16': half precision moves the vectors of
            PersonaBench's 527 docs by up to 1.5e-3, and with them 4 of the 20 cells that
            otherwise equal RF-Mem's Table 2 (measured with torch on a CPU).
        batch_size: texts at once.

    Raises:
        MemreproError: if the encoder is unknown, is unavailable offline, or cannot be run so.
    """
    card = model_card(name)
    folder = model_folder(name)
    if device is None:
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
    return SentenceTransformerEncoder(
        card,
        folder,
        device=device,
        runtime=runtime or default_runtime(card, device),
        dtype=dtype,
        batch_size=batch_size,
    )


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
