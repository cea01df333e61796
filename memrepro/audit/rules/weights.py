"""Wholes whose parts' sizes are not stated: within their parts, and by one set of weights."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from memrepro.audit.finding import CERTAIN, FAILS, HOLDS, LIKELY, TELLS, WEAK, Finding
from memrepro.audit.rules.wholes import NEAR, Whole, in_rows, number_of
from memrepro.audit.tables import Table

_ROWS = 3  # whose whole lies between its parts, from which on a name is believed
_FEW = 8  # of which one may not


def searched(table: Table) -> Iterator[Finding]:
    """Wholes against their parts' least and most, and against weights that explain all rows."""
    groups: dict[tuple[str, ...], list[Whole]] = {}
    for whole in in_rows(table):
        if not whole.sizes and len(whole.parts) > 1:
            groups.setdefault(tuple(whole.parts), []).append(whole)
    for parts, wholes in groups.items():
        outside = [w for w in wholes if not _between(w)]
        # By its name alone it is a mean only where the other rows' are.
        few = len(outside) <= max(1, len(wholes) // _FEW)
        sure = LIKELY if few and len(wholes) - len(outside) >= _ROWS else WEAK
        for whole in outside if 2 * len(outside) <= len(wholes) or not wholes[0].assumed else []:
            yield Finding(
                table.document, table.name, "whole and parts", whole.name, whole.shown,
                "a value between the least and the most of its parts", whole.shown, FAILS,
                sure if whole.assumed else CERTAIN, "a mean lies between its parts", 1,
            )  # fmt: skip
        inside = [w for w in wholes if w not in outside]
        if len(inside) > len(parts):
            yield from _by_weights(table, parts, inside)


def _between(whole: Whole) -> bool:
    numbers, number = [number_of(s) for s in whole.parts.values()], number_of(whole.shown)
    return min(x.low for x in numbers) <= number.high and number.low <= max(
        float(x.value + x.step) for x in numbers
    )


def _by_weights(table: Table, parts: Sequence[str], wholes: Sequence[Whole]) -> Iterator[Finding]:
    """One set of weights for all rows; the row that is furthest off is left out until it fits."""
    kept, weights = list(wholes), np.zeros(len(parts))
    while len(kept) > len(parts):
        weights, gaps = _weights(kept)
        if gaps.max() <= NEAR:
            break
        kept.pop(int(gaps.argmax()))
    off = [whole for whole in wholes if whole not in kept]
    shown = ", ".join(f"{p} {x:.3f}" for p, x in zip(parts, weights, strict=True))
    sure = LIKELY if len(kept) > len(parts) + len(off) else WEAK
    why = f"{len(parts)} weights were chosen to fit {len(kept)} rows"
    yield Finding(
        table.document, table.name, "whole and parts", "all wholes", "",
        "one set of weights for all rows", f"{len(kept)} of {len(wholes)} with {shown}",
        TELLS if off else HOLDS, sure, why, len(wholes),
    )  # fmt: skip
    for whole in off:
        fitted = float(_values([whole])[0] @ weights)
        yield Finding(
            table.document, table.name, "whole and parts", whole.name, whole.shown,
            f"{fitted:.4f} by the weights that explain the other rows", whole.shown, FAILS, sure,
            why, 1,
        )  # fmt: skip


def _values(wholes: Sequence[Whole]) -> NDArray[np.float64]:
    return np.array([[float(number_of(s).value) for s in w.parts.values()] for w in wholes])


def _weights(wholes: Sequence[Whole]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The weights of least total deviation beyond rounding, and how far each whole is off."""
    values = _values(wholes)
    targets = np.array([float(number_of(w.shown).value) for w in wholes])
    step = max(float(number_of(w.shown).step) for w in wholes)
    rows, columns = values.shape
    # Variables: a weight a part, and how far each row is off, the sum of which is least.
    cost = np.concatenate([np.zeros(columns), np.ones(rows)])
    bounds = np.vstack([np.hstack([values, -np.eye(rows)]), np.hstack([-values, -np.eye(rows)])])
    limits = np.concatenate([targets + step, -targets + step])
    equal = np.concatenate([np.ones(columns), np.zeros(rows)])[None]
    solved = linprog(cost, A_ub=bounds, b_ub=limits, A_eq=equal, b_eq=[1.0], bounds=(0, None))
    return solved.x[:columns], solved.x[columns:]
