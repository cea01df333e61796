"""What heads and names of rows tell: which metric, which way is better, which rows are compared."""

import re
from collections.abc import Sequence
from functools import cache

from memrepro.audit.printed import parse
from memrepro.audit.tables import Table

# Metrics of which each question counts 0 or 1.
COUNTED = re.compile(
    r"\bacc\b|accurac|\brecall\b|\bR@|\bhits?\b|\bsuccess|\bpass@|\bEM\b|exact match|\bsolved\b"
    r"|\bhit rate\b|\bHR@|\bagreement\b|\bcorrect\b",
    re.I,
)
# What is no share of questions, whatever it looks like: settings, sizes, times, changes.
NO_LEVEL = re.compile(
    r"Δ|[↑↓](?=\s*\d)|\bdrop|\bgain|\bchange|improve|\bdiff|token|time\b|cost|latenc|memory|\(ms\)"
    r"|\(s\)|#|_pct\b|pct\b|crop|\bratio\b|param|\blr\b|learning rate|threshold|temperature"
    r"|\balpha\b|\bbeta\b|\blambda\b|dropout|\bepochs?\b|\bsteps?\b|batch|\bseeds?\b|\bseconds?\b",
    re.I,
)
_LOWER = re.compile(
    r"\b(?:loss|errors?|err|perplexity|ppl|[wct]er|fid|kid|lpips|n?rmse|mse|mae|mape|nll|bpc|bpb|eer"
    r"|ece|brier|latency|time|seconds|cost|flops|memory|distance|deviation|aic|bic|regret)\b",
    re.I,
)
_HIGHER = re.compile(
    r"\b(?:acc(?:uracy)?|f-?1|recall|precision|bleu|rouge|auc|auroc|map|mrr|ndcg|r@\d+|em|miou|iou"
    r"|psnr|ssim|meteor|chrf|comet|kappa|spearman|pearson|success|score|pass@\d+|hits?@\d+)\b",
    re.I,
)
_APART = re.compile(
    r"\b(?:human|oracle|upper[ -]?bound|lower[ -]?bound|topline|ceiling|floor|chance"
    r"|ground[ -]truth|gold|full[ -]?supervis\w*)\b",
    re.I,
)
HIGH, LOW = "high", "low"
_SAME_NAMES = 0.6  # of rows that are columns too: a matrix


def direction(*names: str) -> str:
    """Which end is the better by names of a row and a column: 'high', 'low', '' for none."""
    for text in names:
        if "↑" in text or "↓" in text:
            return HIGH if "↑" in text else LOW
    for text in names:
        if _LOWER.search(text):
            return LOW
        if _HIGHER.search(text):
            return HIGH
    return ""


def is_apart(row: str) -> bool:
    """Whether a row is no competitor: people, an oracle, an upper bound."""
    return _APART.search(row) is not None


def counts_questions(*names: str) -> bool:
    """Whether heads or a caption name a metric of which each question counts 0 or 1."""
    return any(COUNTED.search(name) for name in names)


def group_of(row: str) -> str:
    """The part of a row's name that it has in common with its group: what its last part leaves."""
    return row.rpartition(", ")[0]


@cache
def _is_matrix(rows: tuple[str, ...], columns: tuple[str, ...]) -> bool:
    own = {name.split(", ")[-1].lower() for name in rows}
    heads = {name.split(", ")[-1].lower() for name in columns}
    numbered = {str(i) for i in range(1, len(columns) + 1)}
    both = len(own & heads)
    of_numbers = len({h.strip("(). ") for h in heads} & numbered) == len(heads) > 2
    first = sum(bool(re.match(rf"\(?{i}[.)]?\s", name)) for i, name in enumerate(rows, 1))
    return (both >= 3 and both >= _SAME_NAMES * len(own)) or (of_numbers and first > len(rows) / 2)


def is_matrix(table: Table) -> bool:
    """Whether rows and columns are the same things: correlations, a confusion, distances."""
    if _is_matrix(tuple(table.rows), tuple(table.columns)):
        return True
    # Or a triangle of numbers below ones, whatever its heads are.
    shown = [[parse(text) for text in cells.values()] for cells in table.rows.values()]
    square = len(shown) >= 4 and abs(len(table.columns) - len(shown)) <= 1
    return square and _ones_on_the_diagonal(shown)


def _ones_on_the_diagonal(shown: Sequence[Sequence[object]]) -> bool:
    ones = [getattr(row[i], "value", None) == 1 for i, row in enumerate(shown) if i < len(row)]
    return len(ones) >= 4 and all(ones)
