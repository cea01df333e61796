"""RF-Mem's cost: time, tokens and docs returned, routing (Tables 1, 2, 13 and 17).

What the paper's reader, GPT-4.1-mini, costs or answers is not here. The paper's times
are of one A100 and include encoding the query, and its tokens are those of a whole prompt; what
compares is how the three paths stand to each other.
"""

from collections.abc import Iterator, Sequence

import pandas as pd

from memrepro.audit.tables import join_references, reference
from memrepro.core.prepared import load_qrels
from memrepro.files import paths
from memrepro.papers.rfmem.cells import (
    file_of,
    judged,
    missing,
    numeric,
    printed_rows,
    row_cells,
)
from memrepro.papers.rfmem.grid import CUTOFFS, OPEN
from memrepro.papers.rfmem.traces import Recorded, Records, records_of
from memrepro.report.runs import Runs
from memrepro.report.sources import Source
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell
from memrepro.text.lengths import TOKENISER

_MACHINE = "another machine; as in the paper, with encoding the query"
_TOKENS = (
    f"tokens by {TOKENISER}, of the question and the docs; the paper's are those of a reader's "
    "whole prompt, with the instruction and the options"
)
_UNTIMED = "no latency of it has been measured"
_UNKNOWN = "not run, or its data set's lengths are not there"
# The encoders of PersonaMem's experiments; the paper's is the first.
PERSONAMEM = {"multi-qa-MiniLM": "multiqa", "all-MiniLM-L6-v2": "minilm", "mpnet": "mpnet"}
PATHS = {
    "Dense Retrieval": "familiarity",
    "Recol. (ours)": "recollection",
    "RF-Mem (ours)": "gated",
}
_LENGTHS = "personamem-minilm-familiarity"  # whose data set is PersonaMem's 32k
# Row and column of Table 2 → the experiment that is timed.
TIMED = {
    (f"{encoder} {path}", f"R@{k} Time"): f"rfmem-{stem}-{ending.format(k=k)}"
    for encoder, stem in (("mpnet", "mpnet"), ("multi-qa-MiniLM", "multiqa"), ("bge-base", "bge"))
    for path, ending in (
        ("Famili.", "familiarity"), ("Recol.", "recollection-k{k}"), ("RF-Mem", "gated-k{k}"))
    for k in CUTOFFS
}  # fmt: skip
_TRAINED = 400  # of PersonaMem 32k's questions, the first (D.6)


def _milliseconds(value: float | None) -> str:
    """A time as the paper prints it; '' where it was not measured."""
    return "" if value is None else f"{value:.2f}ms"


def _note(table: Spec) -> str:
    return str(table["note"]).format(tokeniser=TOKENISER)


def time_cell(row: str, column: str, shown: str, one: Recorded | None, note: str = "") -> Cell:
    """The time to encode and search of an experiment beside a printed one."""
    if one is None or not one.times:
        return missing(row, column, "time", "; ".join(filter(None, (note, _UNTIMED))), shown)
    text = _milliseconds(one.time("encode", "search"))
    return judged(row, column, "time", shown, text, None, one.n_timed, _MACHINE, one.timed)


def times(runs: Runs, _: Spec) -> Iterator[Cell]:
    """Table 2's times that were measured."""
    printed, every = printed_rows("table2"), records_of(runs.profile).experiments
    for (row, column), name in TIMED.items():
        yield time_cell(row, column, printed[row][column], every.get(name))


def _tokens(
    row: str, column: str, shown: str, values: pd.Series | None, sources: Sequence[Source]
) -> Cell:
    if values is None:
        return missing(row, column, "tokens", _UNKNOWN, shown)
    text = f"{values.mean():.1f}"
    return judged(row, column, "tokens", shown, text, None, len(values), _TOKENS, sources)


def _of_memories(one: Recorded) -> pd.Series:
    """Tokens of all that each question may search."""
    whole = one.lengths["round"].groupby("memory_id")["tokens"].sum()
    tokens: pd.Series = whole.reindex(one.asked["memory_id"]).set_axis(one.asked.index)
    return tokens


def tokens_of_memories(records: Records, shown: str) -> Cell:
    """Table 7's average tokens of PersonaMem's memories of 32k, each query's counted."""
    one = records.experiments[_LENGTHS]
    values = _of_memories(one) if one.is_counted else None
    return _tokens("Avg tokens of memory", "32k", shown, values, [one.measured])


def answers(runs: Runs, _: Spec) -> Iterator[Cell]:
    """Table 1's times and tokens of 32K, and the same of encoders that it does not have."""
    records, printed, column = records_of(runs.profile), printed_rows("table1"), "Avg. Tokens"
    some = records.experiments[_LENGTHS]
    asked = some.asked["tokens"] if some.is_counted else None
    whole = None if asked is None else asked + _of_memories(some)
    for row, values in (("32K, Zero Memory", asked), ("32K, Full Context", whole)):
        yield _tokens(row, column, printed[row][column], values, [some.measured])
    for encoder, stem in PERSONAMEM.items():
        for path, ending in PATHS.items():
            name, ours = f"personamem-{stem}-{ending}", stem != "multiqa"
            one = records.experiments.get(name)
            if name not in records.plan.experiments or (ours and one is None):
                continue
            shown = {} if ours else printed[f"32K, {path}"]
            row = f"32K, {path}" + (f", {encoder}" if ours else "")
            note = "" if ours else "multi-qa-MiniLM comes from a model hub"
            yield time_cell(row, "Retri Time", shown.get("Retri Time", ""), one, note)
            counted = one if one is not None and one.is_counted else None
            values = None
            if counted and asked is not None:
                values = asked + counted.returned()["tokens"]
            sources = counted.counted if counted else []
            yield _tokens(row, column, shown.get(column, ""), values, sources)


def routed(runs: Runs, _: Spec) -> Iterator[Cell]:
    """Table 13's routing: how the gate sends the test questions, all after the first 400."""
    printed, records = printed_rows("table13")["RF-Mem"], records_of(runs.profile)
    for encoder, stem in PERSONAMEM.items():
        for dataset, title in (("personamem", ""), ("personamem-whole", ", whole context")):
            one = records.experiments.get(f"{dataset}-{stem}-gated")
            if one is None or one.why_not:
                continue
            ours = stem != "multiqa" or bool(title)
            qrels = paths.qrels(OPEN, one.entry.dataset)
            order = list(load_qrels(qrels, "session")[0])
            tested = one.queries.set_index("query_id")["path"].reindex(order[_TRAINED:])
            row = "RF-Mem" + (f", {encoder}{title}" if ours else "")
            sources = [*one.sources("queries"), file_of(qrels, OPEN)]
            for path, short in (("familiarity", "Famili."), ("recollection", "Recol.")):
                value, column = int((tested == path).sum()), f"Num. of {short}"
                shown = "" if ours else printed[column]
                yield judged(row, column, "routing", shown, str(value), value, len(tested),
                             f"the last {len(tested)} questions; τ = 0.2", sources)  # fmt: skip


def printed_ratio(name: str) -> tuple[str, str]:
    """A printed time over familiarity's, at two digits, and both places; '' without one."""
    for (row, column), timed in TIMED.items():
        if name == timed:
            return _over("table2", row, f"{row.split()[0]} Famili.", column)
    for path, ending in PATHS.items():
        if name in (f"personamem-multiqa-{ending}", f"personamem-whole-multiqa-{ending}"):
            return _over("table1", f"32K, {path}", "32K, Dense Retrieval", "Retri Time")
    return "", ""


def _over(table: str, *rows_and_column: str) -> tuple[str, str]:
    *rows, column = rows_and_column
    one, base = (numeric(printed_rows(table)[row][column]) for row in rows)
    return f"{one / base:.2f}", join_references(reference(table, row, column) for row in rows)


def ratios(runs: Runs, table: Spec) -> Iterator[Cell]:
    """Recollection and the gate by familiarity: in time, and in what no machine decides."""
    note = _note(table)
    for family in records_of(runs.profile).families:
        base = family.familiarity
        for one in family[1:]:
            row = f"{one.name} by familiarity"
            for column, parts, (shown, place) in (
                ("time, encoding and search", ("encode", "search"), printed_ratio(one.name)),
                ("time, search alone", ("search",), ("", "")),
            ):
                ours, direct = one.time(*parts), base.time(*parts)
                if ours is None or direct is None:
                    yield missing(row, column, "ratio", _UNTIMED, shown, place)
                    continue
                text, sources = f"{ours / direct:.2f}×", [*base.timed, *one.timed]
                yield judged(row, column, "ratio", shown, text, None, one.n_timed, note, sources,
                             place)  # fmt: skip
            if one.searches is not None:
                texts, n = {"searches": f"{one.searches:.2f}×"}, len(one.queries)
                yield from row_cells(row, "ratio", texts, n, note, one.traced)
