"""For a number that is not reproduced: which named switches land on the printed value.

Nothing is retrieved. Every run of the same method and encoder that is at hand is evaluated as its
number could have been meant: another metric, cut-off, level or protocol, other kinds of question,
another denominator, another noise level, variant or setting, up to three of these at once. With
many tries some land by chance, so that their number is given with what landed, and all of it is
found after the fact.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from memrepro.audit.verdicts import NOT_RUN
from memrepro.core.prepared import load_qrels
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.cached import until_changed
from memrepro.provenance.links import link
from memrepro.provenance.places import Place, entry, evaluated, plan, variant
from memrepro.provenance.tables import cells
from memrepro.report.modules import document_parts
from memrepro.report.tables import Cell
from memrepro.study.plan import Experiment

AFTER = "found after the fact"
# How a switch names an interval of its values.
_INTERVAL = re.compile(r"(?P<name>.+) in \((?P<low>[\w.]+), (?P<high>[\w.]+)\]")
MOST = 3  # switches at once: with more, some mean or other equals any number
_NOT_SWITCHES = (
    "profile", "encoder", "method", "vary", "values", "group", "study", "traced", "parameters",
)  # fmt: skip


class Try(NamedTuple):
    """One way to mean a number.

    Attributes:
        switches: what differs from the cell's own place, as `name: from → to`.
        place: the values.
        value: what comes out.
        n: the denominator.
        also: of the other printed cells of the row, how many the same switches give too.
    """

    switches: tuple[str, ...]
    place: Place
    value: float
    n: int
    also: int = 0

    @property
    def key(self) -> tuple[Place, tuple[str, ...]]:
        """What it is but for the kind of question: the same for all cells of a row."""
        kept = tuple(switch for switch in self.switches if not switch.startswith("kind: "))
        return self.place._replace(kind=""), kept


class Explanation(NamedTuple):
    """What was tried for a cell, and what landed.

    Attributes:
        own: the cell's own place.
        already: whether that gives the printed value, at its digits, without a switch.
        others: how many other printed cells the row has on the same run, metric and cut-off.
        tried: how many ways were tried.
        distinct: how many different values they gave at the printed digits.
        chance: the share of the values between their least and greatest, at these digits, that some
            try gave: how likely a number printed at random in that range would be hit.
        by_switches: number of switches → how many were tried.
        landed: the tries that give the printed value at its digits; those that give the most other
            cells of the row too stand first, then those with the fewest switches.
    """

    own: Place
    already: bool
    others: int
    tried: int
    distinct: int
    chance: float
    by_switches: Mapping[int, int]
    landed: tuple[Try, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        landed = [
            {**one._asdict(), "place": one.place._asdict(), "value": round(one.value, 6)}
            for one in self.landed
        ]
        own, chance = self.own._asdict(), round(self.chance, 4)
        return {"mark": AFTER, **self._asdict(), "own": own, "chance": chance, "landed": landed}


def explain(profile: str, paper: str, table: str, cell: Cell) -> Explanation:
    """Try every named switch on a cell.

    Raises:
        MemreproError: if the cell was not run, has no printed number, or no run is behind it.
    """
    if cell.verdict == NOT_RUN or not cell.reproduced:
        raise MemreproError(f"it was not run, so there is nothing to explain: {cell.note}")
    if _digits(cell.reported) is None:
        raise MemreproError(f"its printed value {cell.reported!r} is no number to land on")
    found = link(cell)
    if not found.places:
        raise MemreproError(f"no run is behind it, so there is nothing to switch: {found.text}")
    own = found.places[0]
    tries = list(_tries(profile, own))
    others = list(_others(profile, paper, table, cell, own))
    also = Counter(
        key
        for place, printed in others
        for key in {one.key for one in _landing(_tries(profile, place), printed)}
    )
    landed = _merged(one._replace(also=also[one.key]) for one in _landing(tries, cell.reported))
    landed.sort(key=lambda one: (-one.also, len(one.switches), one.switches))
    digits = _digits(cell.reported) or 0
    shown = [round(one.value, digits) for one in tries]
    steps = round((max(shown) - min(shown)) * 10**digits) + 1
    counts = Counter(len(one.switches) for one in tries)
    already = round(float(cell.reproduced), digits) == float(cell.reported)
    return Explanation(
        own, already, len(others), len(tries), len(set(shown)), len(set(shown)) / steps,
        dict(sorted(counts.items())), tuple(landed),
    )  # fmt: skip


def _digits(printed: str) -> int | None:
    """The digits after the point of a printed number; None if it is none."""
    try:
        return -int(Decimal(printed).as_tuple().exponent)
    except (ArithmeticError, ValueError):
        return None


def _landing(tries: Iterable[Try], printed: str) -> list[Try]:
    """The tries that give a printed value at its digits."""
    digits = _digits(printed)
    return [one for one in tries if round(one.value, digits) == float(printed)]


def _merged(landed: Iterable[Try]) -> list[Try]:
    """Tries in their order, those of neighbouring intervals that give the same as one interval."""
    kept: list[Try] = []
    for one in landed:
        before = kept[-1] if kept else one
        spans = [_INTERVAL.fullmatch(each.switches[-1]) for each in (before, one)]
        same = before[1:] == one[1:] and before.switches[:-1] == one.switches[:-1]
        if kept and same and spans[0] and spans[1] and spans[0]["high"] == spans[1]["low"]:
            text = f"{spans[0]['name']} in ({spans[0]['low']}, {spans[1]['high']}]"
            kept[-1] = before._replace(switches=(*before.switches[:-1], text))
        else:
            kept.append(one)
    return kept


def _others(
    profile: str, paper: str, table: str, cell: Cell, own: Place
) -> Iterator[tuple[Place, str]]:
    """The row's other printed cells of the same run, metric and cut-off: place, printed value."""
    for other in cells(profile, paper, table).values():
        if (other.row, other.metric) != (cell.row, cell.metric) or other.column == cell.column:
            continue
        if not other.reproduced or _digits(other.reported) is None:
            continue
        places_of = link(other).places
        if places_of and places_of[0]._replace(kind=own.kind) == own:
            yield places_of[0], other.reported


def _tries(profile: str, own: Place) -> Iterator[Try]:
    """Every way to mean a number with the runs of the own place's method and encoder."""
    base = entry(own.experiment)
    kept = [
        name
        for name, one in {**plan().experiments, **plan().sweeps}.items()
        if (one.method, one.encoder) == (base.method, base.encoder)
        and _family(one.dataset) == _family(base.dataset)
    ]
    known: dict[tuple[str, str], tuple[str, ...]] = {}
    same: dict[str, tuple[float, int]] = {}  # of the own run and metric: kind → mean, n
    for place, mean, n in evaluated(profile, kept):
        run = (place.experiment, place.setting)
        if run not in known:
            known[run] = tuple(_run_switches(variant(own), variant(place)))
        if place._replace(kind=own.kind) == own:
            same[place.kind] = (mean, n)
        switches = (*known[run], *_switches(own, place))
        if len(switches) > MOST:
            continue
        if switches:
            yield Try(switches, place, mean, n)
        if len(switches) < MOST and place.kind == own.kind and (whole := _asked(place)) > n:
            text = f"denominator: {n} → {whole}, those left out count as 0"
            yield Try((*switches, text), place, mean * n / whole, whole)
    yield from _without_a_kind(own, same)
    for part in document_parts("explain"):
        for tried in part.further_tries(own):
            yield Try(tried[0], own, *tried[1:])


def _family(dataset: str) -> str:
    """What the editions and noise levels of a data set share: the module that reads them."""
    return plan().dataset(dataset).module


def _run_switches(own: Experiment, other: Experiment) -> Iterator[str]:
    """In what a run differs from the cell's own: the entries' fields, then the parameters.

    Another variant lacks some of the parameters; that is no switch of its own. The length of the
    list is none either: the cut-off decides.
    """
    for f in fields(Experiment):
        old, new = getattr(own, f.name), getattr(other, f.name)
        if f.name not in _NOT_SWITCHES and old != new:
            yield f"{f.name}: {old or 'none'} → {new or 'none'}"
    for name in [n for n in own.parameters if n in other.parameters and n != "k"]:
        old, new = own.parameters[name], other.parameters[name]
        if old != new:
            yield f"{name}: {old} → {new}"


def _switches(own: Place, other: Place) -> Iterator[str]:
    """In what the evaluation of a place differs from the cell's own."""
    for name in ("level", "protocol", "metric", "k", "kind"):
        old, new = getattr(own, name), getattr(other, name)
        if old != new:
            yield f"{name}: {old or 'all'} → {new or 'all'}"


def _without_a_kind(own: Place, same: Mapping[str, tuple[float, int]]) -> Iterator[Try]:
    """The own run's number over all questions but those of one kind."""
    mean, n = same.get("", (0.0, 0))
    for kind, (of_kind, size) in same.items():
        if kind and size < n:
            value = (mean * n - of_kind * size) / (n - size)
            switch = f"kind: {own.kind or 'all'} → all but {kind}"
            yield Try((switch,), own._replace(kind=""), value, n - size)


def _asked(place: Place) -> int:
    """How many questions of a place's kinds the data set has, counted or not."""
    dataset = variant(place).dataset
    kinds = _kinds(paths.qrels(plan().dataset(dataset).profile, dataset))
    return kinds[place.kind] if place.kind else kinds.total()


@until_changed(16)
def _kinds(qrels: Path) -> Counter[str]:
    """Kind of question → how many the data set has."""
    return Counter(load_qrels(qrels, "session")[0].values())
