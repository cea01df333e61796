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


def _table(columns: list[str], rows: Rows, **reading: Any) -> Table:
    return table_of("made", "table", {"columns": columns, "rows": rows, **reading})


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
    """Means and deviations of ratings from 1 to 5; one time in ten the deviation is over n."""
    n, rows, over = int(rng.integers(8, 60)), {}, int(rng.random() >= 0.1)
    for name in _names(rng):
        rated = rng.integers(1, 6, n)
        rows[name] = [f"{rated.mean():.2f}", f"{rated.std(ddof=over):.2f}"]
    if slip:
        _digit(rng, rows, [0, 1])
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


# The rule that is meant → what draws for it.
DRAWN: Mapping[str, Callable[[Rng, bool], Table | str]] = {
    "F1 of P and R": f1,
    "harmonic mean": harmonic,
    "mean and deviation": deviations,
    "interval and n": intervals,
    "marked significant": stars,
    "marked best": bold,
    "p of its statistic": p_sentence,
    "change in words": change_sentence,
}
