"""Tables and sentences for the rules that are not of shares: as papers print them, or one slip in.

Each draws what most papers do and, now and then, what a rule's assumption does not fit: a macro F1,
a deviation over n, marks of another level, a one-sided p, a row that is bold throughout.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import stats

from memrepro.audit.tables import Table, table_of

Rng = np.random.Generator
Rows = dict[str, list[str]]
Made = Table | list[Table] | str


def _table(columns: list[str], rows: Rows, name: str = "table", **reading: Any) -> Table:
    return table_of("made", name, {"columns": columns, "rows": rows, **reading})


def _names(rng: Rng) -> list[str]:
    return [f"method {r + 1}" for r in range(int(rng.integers(4, 10)))]


def _digit(rng: Rng, rows: Rows, columns: list[int]) -> None:
    """One digit of one cell of some columns becomes another."""
    cells = rows[str(rng.choice(list(rows)))]
    at = int(rng.choice(columns))
    old = cells[at]
    places = [i for i, c in enumerate(old) if c.isdigit() and not (i == 0 and c == "0")]
    i = int(rng.choice(places))
    other = (int(old[i]) + int(rng.integers(1, 10))) % 10
    cells[at] = f"{old[:i]}{other}{old[i + 1 :]}"


def _shown(rng: Rng) -> Callable[[float], str]:
    percent, digits = bool(rng.random() < 0.5), int(rng.integers(2, 5))
    return lambda p: f"{100 * p:.{digits - 2}f}" if percent else f"{p:.{digits}f}"


def f1(rng: Rng, slip: bool) -> Table:
    """P, R and F1: of counts, or one time in five means over classes."""
    shown, rows, macro = _shown(rng), {}, bool(rng.random() < 0.2)
    for name in _names(rng):
        ease = rng.normal(0.5, 0.8, (2, 5 if macro else 1))
        p, r = 1 / (1 + np.exp(-ease))
        rows[name] = [shown(float(one.mean())) for one in (p, r, 2 * p * r / (p + r))]
    if slip:
        _digit(rng, rows, [0, 1, 2])
    return _table(["P", "R", "F1"], rows)


def harmonic(rng: Rng, slip: bool) -> Table:
    """Two accuracies and their harmonic mean, beside a third."""
    shown, rows = _shown(rng), {}
    for name in _names(rng):
        a, b, c = rng.uniform(0.2, 0.95, 3)
        rows[name] = [shown(one) for one in (a, b, 2 * a * b / (a + b), c)]
    if slip:
        _digit(rng, rows, [0, 1, 2])
    return _table(["Seen", "Unseen", "HM", "Speed"], rows)


def deviations(rng: Rng, slip: bool) -> Table:
    """Means and deviations of ratings from 1 to 5; one time in ten the deviation is over n.

    Every second table prints both in one cell.
    """
    n, rows, over = int(rng.integers(8, 60)), {}, int(rng.random() >= 0.1)
    for name in _names(rng):
        rated = rng.integers(1, 6, n)
        rows[name] = [f"{rated.mean():.2f}", f"{rated.std(ddof=over):.2f}"]
    if slip:
        _digit(rng, rows, [0, 1])
    if rng.random() < 0.5:
        both = {name: [" ± ".join(cells)] for name, cells in rows.items()}
        return _table(["Rating, mean ± SD"], both, n=n)
    return _table(["Rating mean", "Rating SD"], rows, n=n)


def intervals(rng: Rng, slip: bool) -> Table:
    """Shares with an interval: Wald's, Wilson's, Clopper and Pearson's; at 90 % one time in ten."""
    n, rows = int(rng.integers(30, 600)), {}
    level = 0.9 if rng.random() < 0.1 else 0.95
    method = str(rng.choice(["wald", "wilson", "exact"]))
    for name in _names(rng):
        k = int(rng.binomial(n, rng.uniform(0.2, 0.9)))
        if method == "wald":
            half = stats.norm.ppf((1 + level) / 2) * np.sqrt(k / n * (1 - k / n) / n)
            low, high = k / n - half, k / n + half
        else:
            low, high = stats.binomtest(k, n).proportion_ci(level, method)
        rows[name] = [f"{k / n:.3f} [{low:.3f}, {high:.3f}]"]
    if slip:
        _digit(rng, rows, [0])
    return _table(["Accuracy"], rows, n=n)


def stars(rng: Rng, slip: bool) -> Table:
    """Changes with intervals and marks; the marks are of another level one time in ten."""
    rows, starred = {}, []
    level = 0.01 if rng.random() < 0.1 else 0.05
    for name in _names(rng):
        se, change = rng.uniform(0.005, 0.02), rng.normal(0.01, 0.03)
        rows[name] = [f"{change:+.3f} [{change - 1.96 * se:+.3f}, {change + 1.96 * se:+.3f}]"]
        if 2 * stats.norm.sf(abs(change) / se) < level:
            starred.append(name)
    if slip:
        name = str(rng.choice(list(rows)))
        starred = [one for one in starred if one != name] + [name] * (name not in starred)
    return _table(["Δ"], rows, starred={name: ["Δ"] for name in starred})


def bold(rng: Rng, slip: bool) -> Table:
    """The best of each column in bold, ties all or one; one row in bold throughout at times."""
    shown, names = _shown(rng), _names(rng)
    columns = [f"Task {c + 1}" for c in range(int(rng.integers(3, 7)))] + ["Latency ms"]
    values = np.round(rng.uniform(0.2, 0.9, (len(names), len(columns))), 3)
    values[:, -1] = rng.integers(10, 900, len(names))
    rows = {
        name: [*map(shown, own[:-1]), f"{own[-1]:.0f}"]
        for name, own in zip(names, values, strict=True)
    }
    one_of_ties, marked = bool(rng.random() < 0.3), dict[str, list[str]]()
    for c, column in enumerate(columns):
        numbers = [float(rows[name][c]) for name in names]
        best = min(numbers) if column == "Latency ms" else max(numbers)
        found = [name for name, number in zip(names, numbers, strict=True) if number == best]
        for name in found[:1] if one_of_ties else found:
            marked.setdefault(name, []).append(column)
    if slip:
        column = str(rng.choice(columns[:-1]))
        other = str(rng.choice([name for name in names if column not in marked.get(name, ())]))
        marked = {name: [c for c in own if c != column] for name, own in marked.items()}
        marked.setdefault(other, []).append(column)
    elif rng.random() < 0.1:
        marked[names[-1]] = columns
    return _table(columns, rows, bold={name: own for name, own in marked.items() if own})


def second(rng: Rng, slip: bool) -> Table:
    """The second best of each column underlined, where no two are equal."""
    names, columns = _names(rng), [f"Task {c + 1} ↑" for c in range(int(rng.integers(3, 7)))]
    values = np.stack([rng.choice(9000, len(names), replace=False) for _ in columns], axis=1)
    rows = {n: [f"{v / 1e4:.4f}" for v in own] for n, own in zip(names, values, strict=True)}
    order = np.argsort(-values, axis=0)
    places = [1] * len(columns)
    if slip:
        places[int(rng.integers(len(columns)))] = int(rng.integers(2, len(names)))
    marked: dict[str, list[str]] = {}
    for c, place in enumerate(places):
        marked.setdefault(names[order[place, c]], []).append(columns[c])
    return _table(columns, rows, underlined=marked)


def statistics_of_sets(rng: Rng, slip: bool) -> Table:
    """Counts of splits with their sums; the last row is their sum, mean or another set's."""
    names = _names(rng)
    counts = np.exp(rng.uniform(3, 11, (len(names), 3))).astype(int)
    shown = (lambda n: f"{n:,}") if rng.random() < 0.5 else str
    whole = np.column_stack([counts, counts.sum(axis=1)])
    rows = {n: [shown(int(k)) for k in own] for n, own in zip(names, whole, strict=True)}
    last = str(rng.choice(["Total", "Average", "none"]))
    if last == "Total":
        rows[last] = [shown(int(n)) for n in whole.sum(axis=0)]
    elif last == "Average":
        rows[last] = [f"{n:.1f}" for n in whole.mean(axis=0)]
    if slip:
        _digit(rng, rows, [0, 1, 2, 3])
    return _table(["Train", "Dev", "Test", "Total"], rows)


def scores(rng: Rng, slip: bool) -> Table:
    """Scores of tasks with their average, which one time in five is over tasks not shown too."""
    names, tasks = _names(rng), int(rng.integers(3, 7))
    values = np.round(rng.uniform(5, 60, (len(names), tasks)), 2)
    more = (
        values if rng.random() > 0.2 else np.hstack([values, rng.uniform(5, 60, (len(names), 2))])
    )
    rows = {n: [*(f"{v:.2f}" for v in own), f"{mean:.2f}"]
            for n, own, mean in zip(names, values, more.mean(axis=1), strict=True)}  # fmt: skip
    if slip:
        _digit(rng, rows, [tasks])
    return _table([*(f"BLEU {c + 1}" for c in range(tasks)), "Average"], rows)


def ranked(rng: Rng, slip: bool) -> Table:
    """Recall, NDCG and hits at two cut-offs, of questions with one right document or up to four."""
    n, rows = int(rng.integers(100, 900)), {}
    most = int(rng.choice([1, 4]))
    gold, gains = rng.integers(1, most + 1, n), 1 / np.log2(np.arange(2, 12))
    for name in _names(rng):
        found = rng.random((n, 10)) < rng.uniform(0.05, 0.5) * np.linspace(1.6, 0.4, 10)
        found &= np.cumsum(found, axis=1) <= gold[:, None]
        own = []
        for k in (5, 10):
            best = np.cumsum(gains)[np.minimum(gold, k) - 1]
            own += [(found[:, :k].sum(axis=1) / gold).mean(), found[:, :k].any(axis=1).mean(),
                    ((found[:, :k] * gains[:k]).sum(axis=1) / best).mean()]  # fmt: skip
        rows[name] = [f"{x:.4f}" for x in own]
    if slip:
        cells = rows[str(rng.choice(list(rows)))]
        one = int(rng.integers(3))
        # Two cut-offs, or recall and NDCG at both, change places.
        for a, b in [(one, one + 3)] if most > 1 else [(0, 2), (3, 5)]:
            cells[a], cells[b] = cells[b], cells[a]
    heads = [f"{metric}@{k}" for k in (5, 10) for metric in ("Recall", "Hit", "NDCG")]
    return _table(heads, rows)


def told_beside(rng: Rng, slip: bool) -> Table:
    """Shares with their counts in one cell, and the change against the first row beside them."""
    n, names, rows = int(rng.integers(20, 200)), _names(rng), {}
    right = rng.integers(0, n + 1, len(names))
    for name, k in zip(names, right.tolist(), strict=True):
        change = f"{(k - int(right[0])) / n:+.2f}" if name != names[0] else "-"
        rows[name] = [f"{k / n:.2f} ({k}/{n})", f"{k / n:.2f}", change]
    if slip:
        _digit(rng, {name: rows[name] for name in names[1:]}, [0, 1, 2])
    return _table(["Rate", "Score", "Δ"], rows)


def twice(rng: Rng, slip: bool) -> list[Table]:
    """A main table and an ablation, which repeats the method's row and a baseline's."""
    shown, names = _shown(rng), _names(rng)
    columns = [f"{part} accuracy" for part in ("Single", "Multi", "Temporal", "Update", "Other")]
    columns = columns[: int(rng.integers(3, 6))]
    rows = {n: [shown(p) for p in rng.uniform(0.2, 0.9, len(columns))] for n in names}
    other = {n: list(rows[n]) for n in names[:2]}
    for one in range(int(rng.integers(2, 5))):
        other[f"without {one + 1}"] = [shown(p) for p in rng.uniform(0.2, 0.9, len(columns))]
    if slip:
        cells = other[names[int(rng.integers(2))]]
        kept = {names[0]: cells}
        _digit(rng, kept, list(range(len(columns))))
    return [_table(columns, rows), _table(columns, other, name="ablation")]


def digits(rng: Rng, slip: bool) -> Table:
    """Scores of so many digits: zeros dropped at times, a row of another source, three digits."""
    names, columns = _names(rng), ["BLEU", "chrF", "COMET"]
    after, drop, three = int(rng.integers(1, 4)), rng.random() < 0.2, rng.random() < 0.1
    values = rng.uniform(2, 70, (len(names), len(columns)))
    rows = {n: [f"{v:#.3g}" if three else f"{v:.{after}f}" for v in own]
            for n, own in zip(names, values, strict=True)}  # fmt: skip
    if drop:
        rows = {n: [c.rstrip("0").rstrip(".") for c in own] for n, own in rows.items()}
    if rng.random() < 0.2:
        rows[names[-1]] = [f"{float(c):.{after - 1}f}" for c in rows[names[-1]]]
    if slip:
        cells = rows[str(rng.choice(names))]
        at = int(rng.integers(len(columns)))
        cells[at] = cells[at][:-1].rstrip(".")
    return _table(columns, rows)


def share_sentence(rng: Rng, slip: bool) -> str:
    """A count with its percentage, rounded or cut off."""
    n = int(rng.integers(20, 900))
    k, after = int(rng.integers(1, n + 1)), int(rng.integers(0, 3))
    part = 100 * k / n
    if rng.random() < 0.1:
        part = np.floor(part * 10**after) / 10**after
    if slip:
        part = abs(part + float(rng.choice([-1, 1])) * rng.uniform(2, 20))
    told = f"{part:.{after}f}%"
    return str(
        rng.choice([f"It answers {k} of {n} questions ({told}).", f"It is {told} ({k}/{n})."])
    )


def p_sentence(rng: Rng, slip: bool) -> str:
    """A statistic with its p, to the digit or as a bound; one time in twenty one-sided."""
    kind, df = str(rng.choice(["t", "F", "z", "r"])), int(rng.integers(8, 120))
    p = float(10 ** rng.uniform(-3, -0.2))
    value, words = {
        "t": (stats.t.isf(p / 2, df), f"t({df})"),
        "F": (stats.f.isf(p, 2, df), f"F(2, {df})"),
        "z": (stats.norm.isf(p / 2), "z"),
        "r": ((t := stats.t.isf(p / 2, df)) / np.sqrt(df + t * t), f"r({df})"),
    }[kind]
    if rng.random() < 0.05 and kind != "F":
        p /= 2
    if slip:
        p = min(0.99, p * float(rng.choice([0.1, 0.3, 3, 10])))
    bounds = [one for one in (0.001, 0.01, 0.05) if p < one]
    told = f"p < {bounds[0]}" if bounds and rng.random() < 0.4 else f"p = {p:.3f}"
    return f"The difference is significant, {words} = {value:.2f}, {told}."


def change_sentence(rng: Rng, slip: bool) -> str:
    """A rise in words, by its share of the old value or in points."""
    old, new = np.sort(rng.uniform(0.2, 0.9, 2))
    by = 100 * (new - old) / (old if rng.random() < 0.5 else 1)
    if slip:
        by *= float(rng.choice([0.5, 0.8, 1.25, 2, 10]))
    return f"Recall rises from {100 * old:.1f}% to {100 * new:.1f}% (+{by:.1f}%)."


# A family of tables or sentences → what draws it.
DRAWN: Mapping[str, Callable[[Rng, bool], Made]] = {
    "F1 of P and R": f1,
    "harmonic mean": harmonic,
    "mean and deviation": deviations,
    "interval and n": intervals,
    "marked significant": stars,
    "marked best": bold,
    "marked second best": second,
    "sums of counts": statistics_of_sets,
    "mean of scores": scores,
    "ranks at two cut-offs": ranked,
    "counts and changes beside": told_beside,
    "a row in two tables": twice,
    "mixed digits": digits,
    "share in words": share_sentence,
    "p of its statistic": p_sentence,
    "change in words": change_sentence,
}
