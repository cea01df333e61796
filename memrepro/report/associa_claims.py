"""What Associa claims of its parts, as comparisons of runs on the data that are here.

Source: Associa §4.1, §5.3 and §5.5. All comparisons on a data set are one family: p-values are of
paired sign flips, corrected by Holm's method. A claim of better 'holds here' where each comparison
is above 0 by its interval and after the correction; it 'does not hold here' where one is below 0
so; otherwise it is 'undecided'.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import isnan, nan
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN
from memrepro.numerics.bootstrap import Interval, paired_difference
from memrepro.numerics.multiple import holm, sign_flip
from memrepro.report import figures
from memrepro.report.associa_here import (
    APART,
    ASSOCIA,
    BASELINES,
    BM25,
    BY_RULES,
    CLUSTERED,
    COLUMNS,
    DELIBERATED,
    DENSE,
    FACTS,
    FILTERED,
    INCREMENTAL,
    NO_ASSOCIATION,
    NO_IMPORTANCE,
    SEGMENTS,
    WORDS,
    Runs,
)
from memrepro.report.associa_printed import text
from memrepro.report.profile import difference
from memrepro.report.tables import Cell

_LEVEL = 0.05
HOLDS, FAILS, UNDECIDED = "holds here", "does not hold here", "undecided"


class Claim(NamedTuple):
    """A claim that a row is better than others, or equal to them.

    Attributes:
        row: of the table of claims.
        said: the row of the claims as printed, in `associa.yaml`; '' for a claim of a table.
        pairs: (the better row, the worse one) each.
        equal: whether the claim is that they are the same.
    """

    row: str
    said: str
    pairs: tuple[tuple[str, str], ...]
    equal: bool = False


_ABLATION = "§5.5: every variant loses (Table 3)"
CLAIMS = (
    Claim(
        "§5.3: Associa (max_iter = 2) beats every baseline",
        "§5.3: max_iter=2 is best (Table 1)",
        tuple((DELIBERATED, rival) for rival in BASELINES),
    ),
    Claim(
        "§5.3: Associa (max_iter = 1) beats every baseline",
        "§5.3: max_iter=1 improves (Table 1)",
        tuple((ASSOCIA, rival) for rival in BASELINES),
    ),
    Claim(
        "§5.3: Associa beats the dense retriever that it uses",
        "§5.3: Associa exceeds Contriever (Table 1)",
        ((ASSOCIA, DENSE),),
    ),
    Claim(
        "§5.3: user facts help the dense retriever",
        "§5.3: user facts help (Table 1)",
        ((FACTS, DENSE),),
    ),
    Claim(
        "§5.3: user facts and the time filter beat BM25 and the dense retriever",
        "§5.3: Longmemeval with UF and TF improves over BM25 and Contriever (Table 1)",
        ((FILTERED, BM25), (FILTERED, DENSE)),
    ),
    Claim("§5.5: association helps", _ABLATION, ((ASSOCIA, NO_ASSOCIATION),)),
    Claim(
        "§5.5: association helps, events by rules alone", _ABLATION, ((BY_RULES, NO_ASSOCIATION),)
    ),
    Claim("§5.5: importance ranking helps", _ABLATION, ((ASSOCIA, NO_IMPORTANCE),)),
    Claim("§5.5: deliberation helps", _ABLATION, ((DELIBERATED, ASSOCIA),)),
    Claim(
        "§5.5: more is lost without association than without importance ranking",
        "§5.5: association matters most (Table 3)",
        ((NO_IMPORTANCE, NO_ASSOCIATION),),
    ),
    Claim(
        "§4.1: deduplication helps retrieval",
        "§4.1: deduplication helps",
        ((INCREMENTAL, ASSOCIA), (CLUSTERED, ASSOCIA)),
    ),
    Claim(
        "not in the paper: a graph of the facts beats the facts as keys of their own",
        "",
        ((ASSOCIA, APART), (DELIBERATED, APART)),
    ),
    Claim(
        "not in the paper: Associa beats BM25 with words in lower case",
        "",
        ((ASSOCIA, WORDS), (DELIBERATED, WORDS)),
    ),
    Claim(
        "not in the paper: Associa beats a hybrid search of segments without a graph",
        "",
        ((ASSOCIA, SEGMENTS), (DELIBERATED, SEGMENTS)),
    ),
    Claim(
        "Table 3: w/o AM is the dense retriever alone", "", ((NO_ASSOCIATION, DENSE),), equal=True
    ),
)


class Compared(NamedTuple):
    """One row less another on the same questions, by one metric.

    Attributes:
        better: the row that a claim calls better.
        worse: the other.
        metric: with its k.
        shown: the difference, its interval and the questions won and lost.
        interval: of the difference.
        n: questions.
        p: of paired sign flips, two-sided; NaN where the claim is of equality and not tested.
        corrected: p after Holm's correction.
    """

    better: str
    worse: str
    metric: str
    shown: str
    interval: Interval
    n: int
    p: float
    corrected: float = nan

    @property
    def sign(self) -> int:
        """1 or −1 where the difference is told from chance, else 0."""
        if not self.corrected < _LEVEL:
            return 0
        return int(self.interval.low > 0) - int(self.interval.high < 0)


def compare(runs: Runs) -> list[Compared]:
    """Every comparison of a claim whose rows were both run; those of equality are not tested."""
    pairs = dict.fromkeys(pair for claim in CLAIMS if not claim.equal for pair in claim.pairs)
    tested = [one for pair in pairs for one in _of_pair(runs, *pair)]
    corrected = holm([one.p for one in tested])
    same = [pair for claim in CLAIMS if claim.equal for pair in claim.pairs]
    return [
        *(one._replace(corrected=p) for one, p in zip(tested, corrected, strict=True)),
        *(one._replace(p=nan) for pair in same for one in _of_pair(runs, *pair)),
    ]


def _of_pair(runs: Runs, better: str, worse: str) -> Iterator[Compared]:
    """Two rows by each of the paper's four metrics; nothing where one was not run."""
    if runs.why_not(better) or runs.why_not(worse):
        return
    for metric, k in COLUMNS:
        before, now = (runs.values(row, metric, k) for row in (worse, better))
        shown = difference(before, now)
        both = before.merge(now, on="query_id", suffixes=(" before", " now"))
        old, new = (both[f"value {when}"].to_numpy() for when in ("before", "now"))
        interval, name = paired_difference(old, new), f"{metric}@{k}"
        yield Compared(better, worse, name, shown, interval, len(both), sign_flip(new - old))


def differences(compared: Sequence[Compared]) -> Iterator[Cell]:
    """Each comparison: its difference, and its p-value before and after the correction."""
    count = sum(not isnan(one.p) for one in compared)
    note = f"p: paired sign flips, two-sided; Holm's correction over all {count} that are tested"
    for one in compared:
        row, name = f"{one.better} less {one.worse}", one.metric
        shown = {name: one.shown}
        if not isnan(one.p):
            shown[f"{name}, p → after Holm"] = f"{one.p:.4f} → {one.corrected:.4f}"
        for column, words in shown.items():
            yield Cell(row, column, name, "", words, one.n, NOT_COMPARABLE, note=note)


def claims(runs: Runs, compared: Sequence[Compared]) -> Iterator[Cell]:
    """The paper's claims, one a row: the verdict here, and how the comparisons came out."""
    by_pair: dict[tuple[str, str], list[Compared]] = {}
    for one in compared:
        by_pair.setdefault((one.better, one.worse), []).append(one)
    for claim in CLAIMS:
        said = text(claim.said, "text_claims") if claim.said else ""
        missing = dict.fromkeys(
            why for pair in claim.pairs for row in pair if (why := runs.why_not(row))
        )
        if missing:
            note = "; ".join(missing)
            yield Cell(claim.row, "verdict", "claim", said, "", 0, NOT_RUN, note=note)
            continue
        found = [one for pair in claim.pairs for one in by_pair[pair]]
        words, texts = _same(found) if claim.equal else _better(found)
        n = found[0].n
        yield Cell(claim.row, "verdict", "claim", said, words, n, NOT_COMPARABLE, note=_NOTE)
        for column, shown in texts.items():
            yield Cell(claim.row, column, "claim", "", shown, n, "", note=_NOTE)


_NOTE = (
    "not the paper's data or encoder; 'holds here': every comparison is above 0 by its 95 % "
    "interval and after Holm's correction; 'does not hold here': one is below 0 so; else "
    "undecided; where rows are compared with several, the least difference is shown"
)


def _better(found: Sequence[Compared]) -> tuple[str, Mapping[str, str]]:
    """The verdict on a claim of better, and by metric the comparison that speaks least for it."""
    signs = [one.sign for one in found]
    words = FAILS if -1 in signs else HOLDS if set(signs) == {1} else UNDECIDED
    shown = {"for, open, against": ", ".join(str(signs.count(sign)) for sign in (1, 0, -1))}
    for metric in dict.fromkeys(one.metric for one in found):
        of_metric = [one for one in found if one.metric == metric]
        least = min(of_metric, key=lambda one: one.interval.mean)
        several = f" ({least.better} less {least.worse})" if len(of_metric) > 1 else ""
        shown[metric] = least.shown + several
    return words, shown


def _same(found: Sequence[Compared]) -> tuple[str, Mapping[str, str]]:
    """The verdict on a claim of equality: no question's value differs."""
    moved = any(one.interval != (0, 0, 0) for one in found)
    return FAILS if moved else HOLDS, {one.metric: one.shown for one in found}


def draw(compared: Sequence[Compared], title: str, folder: Path, name: str) -> list[Path]:
    """Each comparison's difference with its interval, a panel a metric; written with its data."""
    rows = [
        (f"{one.better} less {one.worse}", one.metric, *one.interval, one.n) for one in compared
    ]
    columns = ["comparison", "metric", "difference", "low", "high", "n"]
    data = pd.DataFrame(rows, columns=columns)
    if data.empty:
        return []
    names = list(dict.fromkeys(data["comparison"]))
    figure = Figure(figsize=(15, 0.34 * len(names) + 1.6), layout="constrained")
    axes = figure.subplots(1, len(COLUMNS), sharey=True)
    colours = sns.color_palette("colorblind", 2).as_hex()
    for axis, (metric, k) in zip(axes, COLUMNS, strict=True):
        part = data[data["metric"] == f"{metric}@{k}"].set_index("comparison").loc[names]
        ends = [part["difference"] - part["low"], part["high"] - part["difference"]]
        axis.errorbar(
            part["difference"], range(len(names)), xerr=ends, fmt="o", color=colours[0], capsize=3
        )
        axis.axvline(0, color="0.5", linestyle="--", linewidth=1)
        axis.set_title(f"{metric}@{k}", fontsize=11)
        axis.grid(axis="y", visible=False)
    axes[0].set_yticks(range(len(names)), names, fontsize=9)
    axes[0].invert_yaxis()
    figure.suptitle(f"{title}: differences with 95 % paired bootstrap intervals", fontsize=12)
    return figures.save(figure, data, folder, name)
