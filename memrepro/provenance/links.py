"""From a cell to the run behind it, and how that was found out.

Four ways, each named in the answer. *read*: the report read this run for the cell, and its mean is
the number. *difference*: the same of two runs. *computed*: the report read these runs for the cell,
and makes the number of them in a way of its own. *value*: the report was not seen reading anything
for it, and the number equals the mean of these places among all of the profile, which is no proof.

One number may equal a mean by chance; a row seldom does. So a run is taken for a cell's only if it
gives all cells of the row that have the same metric, each over all questions or over one kind.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from memrepro.errors import MemreproError
from memrepro.evaluate.metrics import METRICS
from memrepro.provenance import watched
from memrepro.provenance.places import Place, catalogue, means, places, stated, values
from memrepro.provenance.tables import cells
from memrepro.provenance.watched import Read, Source
from memrepro.report.profile import difference
from memrepro.report.tables import DIGITS, Cell, number

READ, DIFFERENCE, COMPUTED, VALUE, NONE = "read", "difference", "computed", "value", "none"
_WATCHED = "the report was watched while it built the table: it read"
_WAYS = {
    READ: f"{_WATCHED} this run for this cell, and the mean of its values is the number",
    DIFFERENCE: "the report was watched while it built its tables: it read these two runs, and the "
    "mean of the second less that of the first is the number",
    COMPUTED: f"{_WATCHED} these runs for it, and computes the number from them (see its note); it "
    "is the mean of none",
    VALUE: "found by its value: the report was not seen reading anything for it; of all means of "
    "the profile, these give the row's numbers, which is no proof that they are meant",
}
_NEAR = 8  # of what was read above, how much is tried for a difference


@dataclass(frozen=True)
class Link:
    """Where a cell's number comes from.

    Attributes:
        way: READ, DIFFERENCE, COMPUTED, VALUE or NONE.
        text: the same as a sentence.
        places: the run; of a difference before and after; several of a READ or a VALUE all fit.
        tried: how many means were compared, by VALUE.
    """

    way: str
    text: str
    places: tuple[Place, ...] = ()
    tried: int = 0


def link(profile: str, paper: str, table: str, cell: Cell) -> Link:
    """Where the number of a cell comes from."""
    if not cell.reproduced:
        return Link(NONE, cell.note or f"{cell.verdict}: nothing was computed here")
    every = cells(profile, paper, table)
    seen = {key: watched.source(profile, paper, table, *key) for key in _row(every, cell)}
    source = seen[cell.row, cell.column]
    reads = _fitting(source.reads, cell) if source.own else ()
    siblings = [every[key] for key, other in seen.items() if other.reads == source.reads]
    if found := _means(map(_place, reads), cell, siblings):
        return Link(READ, _with_others(_read_text(len(reads)), found), found)
    if pair := _difference(reads, source, cell):
        return Link(DIFFERENCE, _WAYS[DIFFERENCE], pair)
    if reads and _is_of_row(profile, paper, table, cell, source):
        return Link(COMPUTED, _WAYS[COMPUTED], tuple(map(_place, reads)))
    searched = _search(profile, cell, [every[key] for key in seen])
    if searched.places:
        return searched
    return Link(
        NONE,
        f"no mean of one run: a {cell.metric or 'number'} that the report computes, from runs that "
        "it reads for several tables or from its other inputs, which are listed with its stage",
    )


def _row(every: Mapping[tuple[str, str], Cell], cell: Cell) -> list[tuple[str, str]]:
    """The cells of a cell's row that have its metric, itself among them."""
    return [
        key
        for key, one in every.items()
        if (one.row, one.metric) == (cell.row, cell.metric) and one.reproduced
    ]


def _read_text(reads: int) -> str:
    if reads == 1:
        return _WAYS[READ]
    return f"{_WATCHED} {reads} runs for this cell, and the mean of this one's values is the number"


def _is_of_row(profile: str, paper: str, table: str, cell: Cell, source: Source) -> bool:
    """Whether what was read was read for the cell's row, and is of what the cell shows."""
    first = next(
        row
        for row, column in cells(profile, paper, table)
        if watched.source(profile, paper, table, row, column) == source
    )
    shown = _at(cell) in {read[3:] for read in source.reads} or cell.reproduced[0] in "+-"
    return shown and first == cell.row


def _with_others(text: str, found: Sequence[Place]) -> str:
    """The text, and where several fit, that all are given, and whether they are the same."""
    if len(found) == 1:
        return text
    if any(place.protocol != stated() for place in found):  # their values are not kept
        return f"{text}; {len(found)} fit, all are given: they are equal in the mean"
    first, *rest = (values(place).set_index("query_id")["value"] for place in found)
    same = all(first.equals(other.reindex(first.index)) for other in rest)
    how = "question by question the same" if same else "equal in the mean, not in every question"
    return f"{text}; {len(found)} fit, all are given: they are {how}"


def _place(read: Read) -> Place:
    experiment, setting, level, metric, k = read
    return Place(experiment, setting, level, stated(), metric, k)


def _at(cell: Cell) -> tuple[str, int]:
    """The metric and cut-off that a cell's metric names; ('', 0) if it names none."""
    metric, _, k = cell.metric.partition("@")
    return (metric, int(k)) if metric in METRICS and k.isdigit() else ("", 0)


def _fitting(reads: Sequence[Read], cell: Cell) -> tuple[Read, ...]:
    """The reads of the metric and cut-off that a cell names, if it names any; else all."""
    words = f"{cell.metric} {cell.column}".replace(",", " ").split()
    named = tuple(r for r in reads if f"{r[3]}@{r[4]}" in words)
    return named or tuple(reads)


def _equals(value: float, shown: float) -> bool:
    """Whether a value is what a table shows, whichever way a tie is rounded."""
    return abs(value - shown) <= 0.5 * 10.0**-DIGITS + 1e-9


def _is_number(text: str) -> bool:
    try:
        return number(float(text)) == text
    except ValueError:
        return False


def _kinds(place: Place, cell: Cell) -> list[str]:
    """The kinds of question ('' is all) over which a place gives a cell's value and n."""
    if place.protocol != stated():  # of these the sum over all questions alone is kept
        return [""]
    found = [
        kind
        for kind, (value, n) in means(place).items()
        if n == cell.n and _equals(value, float(cell.reproduced))
    ]
    return [""] if "" in found else found


def _means(found: Iterable[Place], cell: Cell, siblings: Sequence[Cell]) -> tuple[Place, ...]:
    """Of some places those that give a cell and all its siblings, those named in it first."""
    if not _is_number(cell.reproduced):
        return ()
    others = [one for one in siblings if _is_number(one.reproduced)]
    fitting = [
        replace(place, kind=kind)
        for place in found
        if all(_kinds(place, one) for one in others)
        for kind in _kinds(place, cell)
    ]
    return _named(fitting, cell)


def _named(found: Sequence[Place], cell: Cell) -> tuple[Place, ...]:
    """Those that the cell's row, column and note name most of."""
    text = " ".join([cell.row, cell.column, cell.note]).casefold()
    words = text.split()

    def score(place: Place) -> int:
        parts = (place.experiment, place.setting, place.level, place.protocol, place.kind)
        # 'Pref Easy' is short for the kind 'Preference easy'.
        begun = sum(any(k.startswith(w) for w in words) for k in place.kind.casefold().split())
        return 4 * sum(bool(p) and p.casefold() in text for p in parts) + begun

    best = max(map(score, found), default=0)
    return tuple(place for place in found if score(place) == best)


def _difference(reads: Sequence[Read], source: Source, cell: Cell) -> tuple[Place, ...]:
    """The two places, before and after, whose difference is what the cell says; or none.

    A table often reads what it compares with once, above all of its rows. A text with interval and
    counts tells two runs apart among all that the report has read.
    """
    if cell.reproduced[0] not in "+-":
        return ()
    earlier = _fitting(source.earlier, cell)
    first = dict.fromkeys([*earlier[:_NEAR], *reads, *reversed(earlier)])
    second = dict.fromkeys([*reads, *earlier[-_NEAR:]])
    if "won" in cell.reproduced:
        every = _fitting((*source.reads, *source.earlier, *source.before), cell)
        first, second = (dict.fromkeys([*some, *every]) for some in (first, second))
    elif not 1 <= len(reads) <= _NEAR:
        return ()
    try:
        least = float(cell.reproduced.split()[0])
    except ValueError:
        return ()
    olds, news = ([(p, means(p)) for p in map(_place, reads)] for reads in (first, second))
    for before, old in olds:
        for after, new in news:
            for kind, (value, n) in new.items() if before != after else ():
                was, n_before = old.get(kind, (0.0, 0))
                # The interval takes longer.
                if n == n_before == cell.n and _equals(value - was, least):
                    pair = replace(before, kind=kind), replace(after, kind=kind)
                    if _says(cell, *pair):
                        return pair
    return ()


def _says(cell: Cell, before: Place, after: Place) -> bool:
    """Whether the paired difference of two places is the cell's text, or its first number."""
    try:
        text = difference(values(before), values(after))
    except MemreproError:  # not of the same questions
        return False
    return cell.reproduced in (text, text.split()[0])


def _search(profile: str, cell: Cell, siblings: Sequence[Cell]) -> Link:
    """The places of a profile that have a cell's metric, cut-off, n and value."""
    metric, k = _at(cell)
    if not (metric and cell.n and _is_number(cell.reproduced)):
        return Link(NONE, "")
    every = catalogue(profile)
    every = every[(every["metric"] == metric) & (every["k"] == k) & (every["n"] == cell.n)]
    away = (every["value"] - float(cell.reproduced)).abs()
    equal = list(places(every[away <= 0.5 * 10.0**-DIGITS + 1e-9]))
    found = _means(equal, cell, siblings)
    if not found:
        return Link(NONE, "")
    text = f"{_WAYS[VALUE]}; {len(every)} were compared, {len(equal)} equal it"
    if len(found) < len(equal):
        text += f", of which {len(found)} fit its row and are what it names most"
    return Link(VALUE, _with_others(text, found), found, len(every))
