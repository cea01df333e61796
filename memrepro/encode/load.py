"""An encoder of the registry, from its checked files."""

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
