"""The ledger: every printed number of the documents as one list, with where it stands."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

import pandas as pd

from memrepro.audit.documents import documents, patterns, tables
from memrepro.audit.printed import KINDS, kind_of
from memrepro.audit.tables import Table

_METRICS = {
    "recall": r"(?<!deliberating )recall|\bR@",
    "ndcg": r"ndcg",
    "accuracy": r"accuracy|\bTop-\d",
    "tokens": r"\btokens?\b",
    "time": r"\btime\b|latency|\(ms\)",
}
_K = re.compile(r"(?:@|\bTop-)(\d+)", re.I)


@cache
def _known() -> re.Pattern[str]:
    """What is no setting, since it has a place of its own."""
    own = [r"\b(?:recall|ndcg|r|top)[@-]\d+", r"\boverall\b", *_METRICS.values()]
    named = [*patterns("datasets").values(), *patterns("encoders").values()]
    return re.compile("|".join([*own, *named]), re.I)


class Entry(NamedTuple):
    """One cell of a table, or one number of the prose.

    Attributes:
        document: stem of the paper.
        where: table or section, for people.
        table: name in the document's `printed.yaml`.
        row: as in that file.
        column: the same.
        printed: the string as printed.
        kind: of `printed.KINDS`.
        metric: 'recall', 'ndcg', …; '' where neither head nor caption tells, as in all that follow.
        k: cut-off.
        dataset: on which.
        encoder: or lexical retriever.
        setting: what row and column say besides, sorted.
        n: how many questions are stated, or 0.
    """

    document: str
    where: str
    table: str
    row: str
    column: str
    printed: str
    kind: str
    metric: str
    k: str
    dataset: str
    encoder: str
    setting: str
    n: int


def entries(found: Iterable[Table]) -> Iterator[Entry]:
    """The cells of tables, in their order; an empty cell and a dash print nothing."""
    for table in found:
        for row, column, shown in table.cells():
            if shown.strip() not in ("", "-", "–", "—"):
                yield entry_of(table, row, column, shown)


def entry_of(table: Table, row: str, column: str, shown: str) -> Entry:
    """One cell with what its row, its column and its table tell of it."""
    renamed = (_renamed(table, row), _renamed(table, column))
    heads, given = " | ".join(reversed(renamed)), table.reading
    beside = f"{heads} | {given.get('setting', '')}"
    found_k = _K.search(heads)
    metric = _first("metrics", heads) or str(given.get("metric", ""))
    dataset = _first("datasets", beside) or str(given.get("dataset", ""))
    encoder = _first("encoders", heads) or str(given.get("encoder", ""))
    return Entry(
        table.document,
        table.source,
        table.name,
        row,
        column,
        shown,
        kind_of(shown, table.unit_in(column, heads)),
        metric,
        found_k[1] if found_k else "",
        dataset,
        encoder,
        _setting(renamed, str(given.get("setting", ""))),
        table.size(row, column) or 0,
    )


def _renamed(table: Table, name: str) -> str:
    for old, new in table.reading.get("names", {}).items():
        name = name.replace(str(old), str(new))
    return name


@cache  # here and below: each rule of the audit reads every table again
def _first(what: str, text: str) -> str:
    known = _METRICS if what == "metrics" else patterns(what)
    return next((name for name, p in known.items() if re.search(p, text, re.I)), "")


@cache
def _setting(heads: tuple[str, ...], given: str) -> str:
    """The parts of row and column that name neither metric, cut-off, data set nor encoder."""
    parts = set()
    for part in ", ".join([*heads, given]).split(", "):
        left = re.sub(r"\s+", " ", _known().sub(" ", part)).strip(" _-@").lower()
        # What a name of a model leaves, such as a version, is no setting.
        if left not in ("", "printed") and not re.fullmatch(r"v?\d[\w. ]*", left):
            parts.add(left)
    return "; ".join(sorted(parts))


@cache
def printed_entries() -> tuple[Entry, ...]:
    """Every printed number and word of the documents."""
    printed = [t for d in documents() for t in tables(d) if not t.reading.get("beside")]
    return tuple(entries(printed))


def ledger() -> pd.DataFrame:
    """The same as a table, columns as in `Entry`."""
    return pd.DataFrame(printed_entries(), columns=list(Entry._fields))


def counts() -> pd.DataFrame:
    """How many cells of each kind a table has: `document, table, <kinds>, numbers`.

    `numbers` are all but words.
    """
    frame = ledger()
    wide = frame.groupby(["document", "table"], sort=False)["kind"].value_counts().unstack()
    wide = wide.reindex(columns=list(KINDS)).fillna(0).astype(int)
    wide["numbers"] = wide.sum(axis=1) - wide["word"]
    order = frame[["document", "table"]].drop_duplicates()
    return order.merge(wide.reset_index(), on=["document", "table"])
