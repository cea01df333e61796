"""RF-Mem's gate on the familiarity signal: the mean and the entropy of a list of scores."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memrepro.errors import MemreproError


@dataclass(frozen=True)
class Gate:
    """Which path a query takes, by the mean and the entropy of its probe scores (Eqs. 1-3).

    Attributes:
        sharpness: the paper's λ (30 on PersonaBench).
        entropy_threshold: the paper's τ.
        mean_high: the paper's θ_high (0.6 in the paper, 0.5 in the released code).
        mean_low: the paper's θ_low (0.0 in the paper, 0.2 in the released code).
        entropy_form: 'mean' over the K probabilities (released code) or 'sum' (Eq. 2).
    """

    sharpness: float
    entropy_threshold: float
    mean_high: float
    mean_low: float
    entropy_form: str = "mean"

    def __post_init__(self) -> None:
        """Refuse an unknown form of the entropy."""
        if self.entropy_form not in ("mean", "sum"):
            raise MemreproError(
                f"unknown entropy_form {self.entropy_form!r}: known are 'mean' and 'sum'"
            )

    def entropy(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """H(p) of lists of probe scores, shape (…, K), in nats, shape (…) (Eqs. 1-2)."""
        logits = self.sharpness * (scores.astype(np.float64) - scores.max(-1, keepdims=True))
        p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        terms = -p * np.log(np.maximum(p, np.finfo(np.float64).tiny))
        merge = np.mean if self.entropy_form == "mean" else np.sum
        found: NDArray[np.float64] = merge(terms, axis=-1)
        return found

    def passes(
        self, mean: float | NDArray[np.float64], entropy: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Eq. 3 on signals of one shape (the released code asks H < τ, the paper H ≤ τ)."""
        certain = (np.asarray(mean) > self.mean_low) & (entropy < self.entropy_threshold)
        return np.asarray(mean >= self.mean_high) | certain

    def is_familiar(self, scores: NDArray[np.floating]) -> bool:
        """True for the familiarity path of one list of scores, shape (K,); an empty one is not."""
        return bool(len(scores) and self.passes(float(scores.mean()), self.entropy(scores)))
