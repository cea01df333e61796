"""RF-Mem's theory by numbers (Appendix F): what of it holds, and on which score lists it binds.

Each function takes the probe scores of many queries, shape (n_queries, K). F.2 and F.3 are about
the sum form of the entropy (Eq. 2); the released code's mean form is that divided by K.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import entr, softmax

from memrepro.core.similarity import Doubles
from memrepro.errors import MemreproError

_SLACK = 1e-9  # of rounding, where a bound is met with equality
_LEVEL = 0.05  # a probability bounded by more says little


def _lists(scores: Doubles) -> Doubles:
    if scores.ndim != 2 or scores.shape[0] < 1 or scores.shape[1] < 2:
        raise MemreproError(
            f"scores of shape {scores.shape}: Appendix F needs (n_queries, K) with K of at least 2"
        )
    if not np.isfinite(scores).all():
        raise MemreproError(
            f"{int((~np.isfinite(scores)).sum())} of {scores.size} scores are not finite: give "
            "whole lists of K scores"
        )
    return scores.astype(np.float64)


def probabilities(scores: Doubles, sharpness: float) -> Doubles:
    """The paper's p of each list, shape (n_queries, K) (Eqs. 1 and 11; λ is the sharpness)."""
    p: Doubles = softmax(sharpness * _lists(scores), axis=1)
    return p


def greatest_entropy(top: Doubles, k: int) -> Doubles:
    """The right side of Eq. 20, h₂(x) + (1−x)·log(K−1): the greatest H where p_max is `top`.

    It holds for every p (Fano's inequality), and falls in x from log K at 1/K to 0 at 1.
    """
    ceiling: Doubles = entr(top) + entr(1 - top) + (1 - top) * np.log(k - 1)
    return ceiling


def least_entropy(top: Doubles) -> Doubles:
    """The least H where p_max is `top`: ⌊1/x⌋ probabilities are x, one has the rest; it falls."""
    times = np.floor(1 / top * (1 + 1e-12))  # 1/(1/3) may come out just below 3
    floor: Doubles = times * entr(top) + entr(np.maximum(1 - times * top, 0.0))
    return floor


def printed_certificate(entropy_threshold: float, k: int) -> float:
    """φ_K(τ) of Eq. 21 as printed: the greatest x with h₂(x) + (1−x)·log(K−1) ≤ τ.

    The left side is 0 at x = 1, so that it is 1 whatever τ ≥ 0 and K are. Lemma 2 then says that
    H(p) ≤ τ makes p_max = 1: p = (0.9, 0.1) with τ = 0.4 refutes it.
    """
    return 1.0


def meant_certificate(entropy_threshold: float, k: int) -> float:
    """Eq. 21 with the least such x in place of the greatest, which 'inverse' suggests.

    Lemma 2 does not hold so either: Eq. 20 bounds p_max from above by H, where a certificate needs
    it from below. p = (½, ½, 0, …) with τ = log 2 and K = 10 has p_max = 0.5; this is 0.866.
    """
    return _inverse(lambda x: greatest_entropy(x, k), entropy_threshold, k)


def right_certificate(entropy_threshold: float, k: int) -> float:
    """The greatest bound that makes Lemma 2 true: the x whose least entropy is τ.

    It is e^−τ or a little more, and is reached; from τ = log K on it is 1/K, which says nothing.
    """
    return _inverse(least_entropy, entropy_threshold, k)


def _inverse(falling: Callable[[Doubles], Doubles], level: float, k: int) -> float:
    """The x in [1/K, 1] at which a function falling from log K to 0 is at a level."""
    if level < 0 or k < 2:
        raise MemreproError(
            f"an entropy threshold of {level} over {k} scores: it must be at least 0, over at "
            "least 2 scores"
        )
    if level >= np.log(k):
        return 1 / k
    return float(brentq(lambda x: falling(np.array([x]))[0] - level, 1 / k, 1.0, xtol=1e-15))


CERTIFICATES: dict[str, Callable[[float, int], float]] = {
    "printed": printed_certificate,
    "least x": meant_certificate,
    "right": right_certificate,
}


def entropy_certificate(
    scores: Doubles, sharpness: float, entropy_threshold: float
) -> pd.DataFrame:
    """Eqs. 20 and 21 and Lemma 2 on score lists, a row a list.

    Proposition 1 adds nothing that a list could show: p_i is defined for the K items of Top-K
    alone, which are all returned; and a great p_max is not that of a relevant item.

    Returns:
        `entropy` (sum form), `top` (p_max), `ceiling_holds` (Eq. 20); `premise` (H ≤ τ); the bounds
        on p_max by their names in `CERTIFICATES`, each with `… holds` (true too where the premise
        is not met); `binds`: the premise is met and 'right' exceeds 1/K.
    """
    p = probabilities(scores, sharpness)
    k = p.shape[1]
    entropy, top = entr(p).sum(axis=1), p.max(axis=1)
    table = pd.DataFrame({"entropy": entropy, "top": top})
    table["ceiling_holds"] = entropy <= greatest_entropy(top, k) + _SLACK
    table["premise"] = entropy <= entropy_threshold
    for name, certificate in CERTIFICATES.items():
        table[name] = certificate(entropy_threshold, k)
        table[f"{name} holds"] = ~table["premise"] | (top >= table[name] - _SLACK)
    table["binds"] = table["premise"] & (table["right"] > 1 / k + _SLACK)
    return table


def discordant_pairs(first: Doubles, second: Doubles) -> float:
    """Of the pairs of queries that both signals tell apart, the share ordered against each other.

    Lemma 1 has the familiarity error fall in the mean score and rise in the entropy, since
    'smaller H(p) implies larger p_max'. Neither follows from its assumption. (0.5, 0.5, 0, 0, 0)
    has a smaller H than (0.6, 0.1, 0.1, 0.1, 0.1), and a smaller p_max. Where π(s) = 1 from 0.8 on
    and 0 below, the scores 0.9 and 0.1 never miss and 0.6 and 0.6, of a greater mean, always do.
    So Theorem 1, which stands on it, is not shown.

    Returns:
        The share, of signals of shape (n_queries,); NaN where no pair is told apart by both.
    """
    below = first[:, None] < first  # each pair once
    told = np.count_nonzero(below & (second[:, None] != second))
    against = np.count_nonzero(below & (second[:, None] > second))
    return against / told if told else float("nan")


def concentration(scores: Doubles, mean_low: float, mean_high: float) -> pd.DataFrame:
    """Proposition 2 (Eq. 22) on score lists, a row a list.

    Its premise is that the true mean μ lies at least δ > 0 outside [θ_low, θ_high]; the list's own
    mean stands in for μ, and δ is its distance from the nearer threshold. The inequality is
    Hoeffding's, for independent scores of one mean; probe scores are the K greatest of all, and
    share the query. K equal scores of ±1 with even chances refute it from K = 2 on.

    Returns:
        `premise`; `delta` (0 without the premise); `bound`, e^(−Kδ²/2σ²) with the list's own
        variance for the unknown σ²; `sure_bound`, the same with σ² = 1, the one proxy that scores
        in [−1, 1] are certain to have; `binds`: `sure_bound` ≤ 0.05.
    """
    lists = _lists(scores)
    mean = lists.mean(axis=1)
    delta = np.maximum(np.maximum(mean - mean_high, mean_low - mean), 0.0)
    table = pd.DataFrame({"premise": delta > 0, "delta": delta})
    table["bound"] = _sub_gaussian(delta, lists.var(axis=1, ddof=1), lists.shape[1])
    table["sure_bound"] = _sub_gaussian(delta, np.ones_like(delta), lists.shape[1])
    table["binds"] = table["sure_bound"] <= _LEVEL
    return table


def _sub_gaussian(delta: Doubles, variance: Doubles, k: int) -> Doubles:
    # Where all scores are equal, any δ > 0 is impossible by Eq. 22, and δ = 0 is certain.
    with np.errstate(divide="ignore", invalid="ignore"):
        exponent = np.where(delta > 0, k * delta**2 / (2 * variance), 0.0)
    bound: Doubles = np.exp(-exponent)
    return bound


def design_effect(scores: Doubles) -> float:
    """K times the variance of the lists' means over that of all scores; NaN if all are equal.

    Eq. 22's σ²/K is the variance of a mean of K independent scores: then it is 1; of lists of one
    score repeated K times it is K.
    """
    lists = _lists(scores)
    variance = lists.var()
    return float(lists.shape[1] * lists.mean(axis=1).var() / variance) if variance else float("nan")


def tails(scores: Doubles, deltas: Doubles) -> pd.DataFrame:
    """Eq. 22 against the lists: how many means lie δ or more from the mean of all.

    That takes one μ for all queries, as thresholds for all of them do (of a μ for each query one
    list could show nothing). σ² is the variance of all scores, the least that a proxy can be.

    Returns:
        `delta`, `below` and `above` (the shares of lists), `bound`, `holds`; a row a δ.
    """
    lists = _lists(scores)
    away = lists.mean(axis=1) - lists.mean()
    bound = _sub_gaussian(deltas, np.full_like(deltas, lists.var()), lists.shape[1])
    below, above = ((sign * away >= deltas[:, None]).mean(axis=1) for sign in (-1, 1))
    table = pd.DataFrame({"delta": deltas, "below": below, "above": above, "bound": bound})
    return table.assign(holds=np.maximum(below, above) <= bound)


def cost(beam_width: int, fanout: int, rounds: int, n_docs: int) -> dict[str, int]:
    """Proposition 3 (Eq. 23) counted: what recollection does at most, without early stop.

    Eq. 23's sum over R rounds is of order F·(R·B + R²), not R·B·F, and not B·F + R·F: with
    B = F = 1 it is R(R+1)/2 against R and R + 1. It leaves out the B branches of a round (one in
    round 0). And a search by inner products over M docs costs M similarities, not N_r (nor K, for
    familiarity), so that neither path costs less than the O(M) it is compared with, short of an
    approximate index. F.4 says nothing of coverage, its title's other half, that could be checked.
    """
    if min(beam_width, fanout, rounds, n_docs) < 1:
        raise MemreproError(
            f"B={beam_width}, F={fanout}, R={rounds}, M={n_docs}: each must be at least 1"
        )
    sizes = [(beam_width + r) * fanout for r in range(rounds)]
    return {
        "similarities": n_docs * (1 + beam_width * (rounds - 1)),
        "candidates of one path, Σ N_r": sum(sizes),
        "candidates of all branches": sizes[0] + beam_width * sum(sizes[1:]),
        "R·B·F": rounds * beam_width * fanout,
        "B·F + R·F": (beam_width + rounds) * fanout,
    }
