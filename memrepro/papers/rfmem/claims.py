"""What RF-Mem claims of its two paths and its hyper-parameters, against the runs on PersonaBench.

Source: RF-Mem §3.3 and Appendices D.2 to D.5. All comparisons of one path with another are one
family: their p-values are of paired sign flips, corrected by Holm's method.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_IN_PAPER
from memrepro.core.similarity import Doubles
from memrepro.evaluate.bootstrap import Interval, paired_difference
from memrepro.evaluate.multiple import holm, sign_flip
from memrepro.papers.rfmem.grid import TAUS, Bools, Grid, signed, within
from memrepro.papers.rfmem.routing import GATE
from memrepro.report.tables import Cell

_LEVEL = 0.05
WORDS = {
    "exact": "holds",
    "direction only": "in this direction only: not all can be told from chance",
    "not reproduced": "does not hold here",
}
_MIXED = "not shown: the signs are mixed, and none can be told from chance"


class Arm(NamedTuple):
    """One path against another on the same questions: recall less the rival's, shape (n,)."""

    encoder: str
    k: int
    path: str
    rival: str
    differences: Doubles


class Compared(NamedTuple):
    """An arm on the questions of one column of Table 2."""

    arm: Arm
    column: str
    n: int
    interval: Interval
    won: int
    lost: int
    p: float
    corrected: float


def compare(arms: Sequence[Arm], masks: Mapping[str, Bools]) -> list[Compared]:
    """Every arm on every column's questions, as one family; columns without any are left out."""
    places = [(arm, column) for arm in arms for column, mask in masks.items() if mask.any()]
    parts = [arm.differences[masks[column]] for arm, column in places]
    values = [sign_flip(part) for part in parts]
    return [
        Compared(
            arm, column, len(part), paired_difference(np.zeros(len(part)), part),
            int((part > 0).sum()), int((part < 0).sum()), p, corrected,
        )
        for (arm, column), part, p, corrected in zip(
            places, parts, values, holm(values), strict=True
        )
    ]  # fmt: skip


def comparisons(compared: Sequence[Compared]) -> Iterator[Cell]:
    """Each comparison with its interval and its p-value before and after the correction."""
    note = (
        f"p: paired sign flips, two-sided; Holm's correction over all {len(compared)} comparisons"
    )
    for one in compared:
        arm = one.arm
        row = f"{arm.encoder} {arm.path} less {arm.rival}, R@{arm.k} {one.column}"
        for column, text in {
            "difference": signed(one.interval.mean),
            "95 % interval": within(one.interval),
            "won, lost": f"{one.won}, {one.lost}",
            "p": f"{one.p:.4f}",
            "p after Holm": f"{one.corrected:.4f}",
        }.items():
            yield Cell(row, column, f"recall@{arm.k}", "", text, one.n, NOT_IN_PAPER, note=note)


class Claim(NamedTuple):
    """A claim that one path is better than another, on some columns."""

    row: str
    said: str
    path: str
    rivals: tuple[str, ...]
    columns: tuple[str, ...]
    sign: int = 1
    ties: bool = False


CLAIMS = (
    Claim("§3.3: recollection improves over familiarity", "Recollection is stronger", "Recol.",
          ("Famili.",), ("Overall",)),
    Claim("§3.3: recollection is for Preference Hard and Social",
          "proves highly effective on context-heavy tasks such as Preference Hard and Social "
          "queries", "Recol.", ("Famili.",), ("Pref Hard", "Social")),
    Claim("§3.3: familiarity is for Basic Information and Preference Easy",
          "excels on fact-centric queries such as Basic Information and Preference Easy", "Recol.",
          ("Famili.",), ("Basic", "Pref Easy"), sign=-1),
    Claim("§3.3: RF-Mem at τ = 0.2 is no worse than either path",
          "either matches or surpasses the best baseline in overall Recall@5 and Recall@10",
          "RF-Mem", ("Famili.", "Recol."), ("Overall",), ties=True),
    Claim("§3.3: RF-Mem at the printed row's τ is no worse than either path",
          "either matches or surpasses the best baseline in overall Recall@5 and Recall@10",
          "RF-Mem, τ as printed", ("Famili.", "Recol."), ("Overall",), ties=True),
)  # fmt: skip


def plain_words(compared: Sequence[Compared], grids: Sequence[Grid]) -> Iterator[Cell]:
    """The paper's claims, one a row: how many comparisons, how they came out, and a verdict.

    A claim of better 'holds' if all its comparisons do after the correction; 'in this direction
    only' if all have its sign. One of robustness holds if recall is below familiarity's at no
    setting and the settings differ by no more than the gain; in direction only if the former is so.
    """
    for claim in CLAIMS:
        found = [
            one
            for one in compared
            if one.arm.path == claim.path
            and one.arm.rival in claim.rivals
            and one.column in claim.columns
        ]
        if found:
            yield from _of_paths(claim, found, len(compared))
    for robust in ROBUST:
        yield from _robust(robust, grids)
    yield from _trends(grids)


def _of_paths(claim: Claim, found: Sequence[Compared], family: int) -> Iterator[Cell]:
    means = [claim.sign * one.interval.mean for one in found]
    # Equal recalls may differ by a last bit.
    right = [mean > -1e-9 if claim.ties else mean > 1e-9 for mean in means]
    sure = [mean > 0 and one.corrected < _LEVEL for mean, one in zip(means, found, strict=True)]
    against = sum(
        mean < 0 and one.corrected < _LEVEL for mean, one in zip(means, found, strict=True)
    )
    clear = sum(
        (one.interval.low > 0) if claim.sign > 0 else (one.interval.high < 0) for one in found
    )
    label = "exact" if all(sure) else "direction only" if all(right) else "not reproduced"
    count, n = len(found), min(one.n for one in found)
    shown = "; ".join(
        f"{o.arm.encoder} R@{o.arm.k}{_what(o, claim)} {signed(o.interval.mean)} "
        f"{within(o.interval)}, won {o.won}, lost {o.lost}, n {o.n}"
        for o in found
    )
    sizes, raw = sorted({one.n for one in found}), [one.p for one in found]
    yield from _row(
        claim.row, claim.said, label, n,
        {
            "questions": ", ".join(map(str, sizes)),
            "comparisons": f"{count} of the family's {family}",
            "in this direction": f"{sum(right)} of {count}",
            "95 % interval clear of 0": f"{clear} of {count}",
            "p < 0.05 before correction": f"{sum(o.p < _LEVEL for o in found)} of {count}",
            "least p, after Holm among these, among all": " → ".join(
                f"{min(values):.4f}"
                for values in (raw, holm(raw), [one.corrected for one in found])
            ),
            "after Holm": f"{sum(sure)} for, {against} against",
            "what came out": shown,
        },
        _MIXED if label == "not reproduced" and not any(sure) and not against else "",
    )  # fmt: skip


def _what(one: Compared, claim: Claim) -> str:
    column = f" {one.column}" if len(claim.columns) > 1 else ""
    return column + (f" over {one.arm.rival}" if len(claim.rivals) > 1 else "")


_ROBUST_SAID = "hyperparameter sensitivity analyses in Appendix D to illustrate robustness"
_BALANCE = "small beam width and low fanout (B = 2 or 3, F = 1 or 2) offer the best balance"


class Robust(NamedTuple):
    """A claim that the gain stands whatever a hyper-parameter is, between two values of it."""

    row: str
    said: str
    parameter: str
    low: float = -np.inf
    high: float = np.inf


# The seed of k-means is not in the paper.
ROBUST = (
    Robust("recollection gains at every α", _ROBUST_SAID, "α"),
    Robust("recollection gains at α from 0.3 to 0.6", "moderate α (around 0.3–0.6) yields the best "
           "results", "α", 0.3, 0.6),
    Robust("RF-Mem gains at every τ", _ROBUST_SAID, "τ"),
    Robust("RF-Mem gains at τ from 0.2 to 0.25", "highest values when τ is set around 0.2–0.25",
           "τ", 0.2, 0.25),
    Robust("recollection gains at every B", _ROBUST_SAID, "B"),
    Robust("recollection gains at B = 2 and 3", _BALANCE, "B", 2, 3),
    Robust("recollection gains at every F", _ROBUST_SAID, "F"),
    Robust("recollection gains at F = 1 and 2", _BALANCE, "F", 1, 2),
    Robust("recollection gains at every seed of k-means", "", "seed"),
)  # fmt: skip


def settings_of(grid: Grid, robust: Robust) -> Doubles:
    """Recall at the settings of a claim: recollection's, and for τ RF-Mem's; (settings, n)."""
    if robust.parameter == "τ":
        inside = [r for r in grid.routings if r.high > robust.low and r.low < robust.high]
        return np.stack([grid.gated(grid.recollection, r.high) for r in inside])
    values = grid.sweeps[robust.parameter].items()
    return np.stack([recall for v, recall in values if robust.low <= float(v) <= robust.high])


def _robust(robust: Robust, grids: Sequence[Grid]) -> Iterator[Cell]:
    above = below = total = 0
    small, texts = True, []
    for grid in grids:
        base = float(grid.familiarity.mean())
        over = settings_of(grid, robust).mean(axis=1) - base
        own = grid.recollection
        if robust.parameter == "τ":
            own = grid.gated(own, GATE.entropy_threshold)
        gain, width = float(own.mean()) - base, float(np.ptp(over))
        # Equal recalls may differ by a last bit.
        up, down = int((over > 1e-9).sum()), int((over < -1e-9).sum())
        above, below, total = above + up, below + down, total + len(over)
        small = small and width <= gain + 1e-9
        texts.append(
            f"{grid.encoder} R@{grid.k}: {up} of {len(over)} above, {down} below, "
            f"{signed(over.min())} to {signed(over.max())}, at Table 2's setting {signed(gain)}"
        )
    label = "not reproduced" if below else "exact" if small else "direction only"
    n = len(grids[0].questions)
    yield from _row(
        f"D.2 to D.5: {robust.row}", robust.said, label, n,
        {
            "questions": str(n),
            "comparisons": f"{total} settings, none tested",
            "in this direction": f"{above} of {total}, {below} against",
            "what came out": "; ".join(texts),
        },
        _ROBUST_WORDS[label],
    )  # fmt: skip


_ROBUST_WORDS = {
    "exact": "holds",
    "direction only": "never below familiarity, but settings differ by more than the gain",
    "not reproduced": "does not hold here: the gain's sign hangs on the setting",
}


def _trends(grids: Sequence[Grid]) -> Iterator[Cell]:
    """What D.2 to D.4 say of single hyper-parameters; the data of D.3 and D.4 are LongMemEval."""
    n = len(grids[0].questions)
    peaks, routed = [], []
    for grid in grids:
        pairs, recalls = grid.over_alpha_and_tau()
        means = np.round(recalls.mean(axis=1), 9)
        tops = [pairs[place][0] for place in np.flatnonzero(means == means.max())]
        alphas = list(dict.fromkeys(tops))
        peaks.append((grid, alphas))
        most = TAUS[[bool(grid.familiar(float(tau)).all()) for tau in TAUS]]
        first = f"from τ = {most.min():.2f}" if len(most) else "at no τ tried"
        routed.append(f"{grid.encoder} R@{grid.k}: all questions take familiarity {first}")
    early = [(g, a) for g, a in peaks if g.k == 5]
    inside = [any(0.3 <= float(alpha) <= 0.6 for alpha in alphas) for _, alphas in early]
    yield from _row(
        "D.2: α of 0.3 to 0.6 is best at Recall@5", "moderate α (around 0.3–0.6) yields the best",
        "exact" if all(inside) else "not reproduced", n,
        {
            "questions": str(n),
            "comparisons": f"{len(early)} encoders, none tested",
            "in this direction": f"{sum(inside)} of {len(inside)}",
            "what came out": "; ".join(
                f"{g.encoder} R@{g.k}: best at α {', '.join(a)}" for g, a in early
            ),
        },
    )  # fmt: skip
    late = [bool(grid.familiar(0.35).all()) for grid in grids]
    yield from _row(
        "D.2: from τ = 0.35 all is familiarity", "overly high thresholds (τ ≥ 0.35) reduce "
        "adaptivity, as retrieval defaults prematurely to Familiarity",
        "exact" if all(late) else "not reproduced", n,
        {
            "questions": str(n),
            "comparisons": f"{len(late)} grids, none tested",
            "in this direction": f"{sum(late)} of {len(late)}",
            "what came out": "; ".join(routed),
        },
    )  # fmt: skip
    for row, said, parameter in (
        ("D.3: Recall@5 falls as F grows", "increasing F generally reduces recall@5", "F"),
        ("D.4: Recall@5 falls as α grows", "decreases steadily as α grows", "α"),
    ):
        steps = {
            f"{g.encoder} R@5": np.diff(g.stacked(parameter).mean(axis=1))
            for g in grids
            if g.k == 5
        }
        down = sum(int((s < -1e-9).sum()) for s in steps.values())
        count = sum(map(len, steps.values()))
        yield from _row(
            f"{row} (LongMemEval in the paper)", said, NOT_COMPARABLE, n,
            {
                "questions": str(n),
                "comparisons": f"{count} steps, none tested",
                "in this direction": f"{down} of {count}",
                "what came out": "; ".join(
                    f"{name}: {(s < -1e-9).sum()} of {len(s)} steps fall, {signed(s.sum())} in all"
                    for name, s in steps.items()
                ),
            },
            "another data set",
        )  # fmt: skip


def _row(
    row: str, said: str, label: str, n: int, texts: Mapping[str, str], words: str = ""
) -> Iterator[Cell]:
    verdict = words or WORDS[label]
    term = texts.get("in this direction", "")
    yield Cell(row, "verdict", "claim", said, verdict, n, label, term, _NOTE)
    for column, text in texts.items():
        yield Cell(row, column, "claim", "", text, n, "", note=_NOTE)


_NOTE = (
    "all on PersonaBench, noise 0.0; all-MiniLM-L6-v2 is not in the paper; Holm's correction over "
    "the whole family of comparisons; a claim of better 'holds' where every comparison stands "
    "after it; one of robustness where recall is below familiarity's at no setting and the "
    "settings differ by no more than the gain"
)
