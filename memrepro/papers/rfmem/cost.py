"""RF-Mem's cost: time, tokens and docs returned, routing (Tables 1, 2, 13 and 17).

What the paper's reader costs or answers is not here: no reader has been recorded. The paper's times
are of one A100 and include encoding the query, and its tokens are those of a whole prompt; what
compares is how the three paths stand to each other.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_IN_PAPER
from memrepro.core.prepared import load_qrels
from memrepro.files import paths
from memrepro.papers.rfmem.cells import (
    file_of,
    judged,
    missing,
    numeric,
    printed_rows,
    row_cells,
    share,
)
from memrepro.papers.rfmem.traces import Costs, Family, or_none
from memrepro.report.profile import Metrics, difference
from memrepro.report.sources import RunSource, Source, write_sources
from memrepro.report.tables import Cell, number, write_cells
from memrepro.text.lengths import TOKENISER

_MACHINE = "another machine; as in the paper, with encoding the query"
_TOKENS = (
    f"tokens by {TOKENISER}, of the question and the docs; the paper's are those of a reader's "
    "whole prompt, with the instruction and the options"
)
_UNTIMED = "no latency of it has been measured"
_UNKNOWN = "not run, or its data set's lengths are not there"
_SAME = (
    "ratios to familiarity on the same queries; a search is one branch's in one round, the gate's "
    "probe is one more, and familiarity is one; printed times include encoding the query"
)
_CONTEXTS = (
    "'asked': the memory ends at the question; 'whole': as the released code has it, with the "
    "turns after the question; 'later': of the docs returned from the whole, those that the "
    f"memory up to the question does not hold; tokens by {TOKENISER}"
)
_ELSEWHERE = (
    "not in the paper; differences with their 95 % paired bootstrap intervals and the questions "
    "won and lost, not corrected for their number"
)
# The encoders of PersonaMem's experiments; the paper's is the first.
PERSONAMEM = {
    "multi-qa-MiniLM": "multiqa",
    "all-MiniLM-L6-v2": "minilm",
    "mpnet": "mpnet",
}
PATHS = {
    "Dense Retrieval": "familiarity",
    "Recol. (ours)": "recollection",
    "RF-Mem (ours)": "gated",
}
# Table 2's names of the encoders whose experiments are timed, and of the paths.
TIMED = {"mpnet": "mpnet", "multi-qa-MiniLM": "multiqa", "bge-base": "bge"}
TABLE2 = {"Famili.": "familiarity", "Recol.": "recollection-k{k}", "RF-Mem": "gated-k{k}"}
_TRAINED = 400  # of PersonaMem 32k's questions, the first (D.6)


def milliseconds(value: float | None) -> str:
    """A time as the paper prints it; '' where it was not measured."""
    return "" if value is None else f"{value:.2f}ms"


def _beside(
    row: str, column: str, metric: str, shown: str, text: str, n: int, note: str,
    sources: list[Source],
) -> Cell:  # fmt: skip
    """A measurement beside a printed one, which it cannot be held against."""
    label = NOT_COMPARABLE if shown else NOT_IN_PAPER
    return Cell(row, column, metric, shown, text, n, label, "", note, write_sources(sources))


def time_cell(row: str, column: str, shown: str, costs: Costs, name: str, note: str = "") -> Cell:
    """The time to encode and search of an experiment beside a printed one."""
    value = costs.time(name, "encode", "search")
    if value is None:
        return missing(row, column, "time", "; ".join(filter(None, (note, _UNTIMED))), shown)
    n = costs.times[name, "search"].n
    return _beside(row, column, "time", shown, milliseconds(value), n, _MACHINE, costs.timed(name))


def table2_times(costs: Costs) -> dict[tuple[str, str], Cell]:
    """Table 2's cells of time, by row and column."""
    printed = printed_rows("table2")
    return {
        (row, column): time_cell(row, column, printed[row][column], costs,
                                 f"rfmem-{stem}-{ending.format(k=k)}")
        for encoder, stem in TIMED.items()
        for path, ending in TABLE2.items()
        for k in (5, 10)
        for row, column in [(f"{encoder} {path}", f"R@{k} Time")]
    }  # fmt: skip


def _tokens(
    row: str, column: str, shown: str, values: pd.Series | None, sources: list[Source]
) -> Cell:
    if values is None:
        return missing(row, column, "tokens", _UNKNOWN, shown)
    text = f"{values.mean():.1f}"
    return _beside(row, column, "tokens", shown, text, len(values), _TOKENS, sources)


def _of_questions(costs: Costs) -> pd.Series | None:
    """Tokens of each of PersonaMem's questions."""
    asked = costs.memories("personamem-32k")
    return None if asked is None else asked["tokens"]


def _of_memories(costs: Costs) -> pd.Series | None:
    """Tokens of each question and all that it may search."""
    asked, docs = costs.memories("personamem-32k"), costs.docs("personamem-32k", "round")
    if asked is None or docs is None:
        return None
    whole = docs.groupby("memory_id")["tokens"].sum()
    tokens: pd.Series = asked["tokens"] + whole.reindex(asked["memory_id"]).to_numpy()
    return tokens


def tokens_of_memories(costs: Costs, shown: str) -> Cell:
    """Table 7's average tokens of PersonaMem's memories of 32k, each query's counted."""
    asked, both = _of_questions(costs), _of_memories(costs)
    values = None if asked is None or both is None else both - asked
    sources: list[Source] = [costs.measured("personamem-32k")]
    return _tokens("Avg tokens of memory", "32k", shown, values, sources)


def table1(costs: Costs) -> Iterator[Cell]:
    """Table 1's times and tokens of 32K, and the same of encoders that it does not have."""
    printed, column = printed_rows("table1"), "Avg. Tokens"
    asked, lengths = _of_questions(costs), costs.measured("personamem-32k")
    for row, values in (
        ("32K, Zero Memory", asked),
        ("32K, Full Context", _of_memories(costs)),
    ):
        yield _tokens(row, column, printed[row][column], values, [lengths])
    for encoder, stem in PERSONAMEM.items():
        for path, ending in PATHS.items():
            name, ours = f"personamem-{stem}-{ending}", stem != "multiqa"
            if name not in costs.plan.experiments or (ours and not costs.is_planned(name)):
                continue
            shown = {} if ours else printed[f"32K, {path}"]
            row = f"32K, {path}" + (f", {encoder}" if ours else "")
            note = "" if ours else "multi-qa-MiniLM comes from a model hub"
            yield time_cell(row, "Retri Time", shown.get("Retri Time", ""), costs, name, note)
            found = costs.returned(name, costs.depth(name))
            values = None if found is None or asked is None else asked + found["tokens"]
            yield _tokens(row, column, shown.get(column, ""), values, costs.counted(name))


def table13(costs: Costs) -> Iterator[Cell]:
    """Table 13's routing: how the gate sends the test questions, all after the first 400."""
    printed = printed_rows("table13")["RF-Mem"]
    for encoder, stem in PERSONAMEM.items():
        for dataset, title in (("personamem", ""), ("personamem-whole", ", whole context")):
            name, ours = f"{dataset}-{stem}-gated", stem != "multiqa" or bool(title)
            if name not in costs.traces.found:
                continue
            one = costs.traces.found[name]
            qrels = paths.qrels("open", costs.entry(name).dataset)
            order = list(load_qrels(qrels, "session")[0])
            tested = one.queries.set_index("query_id")["path"].reindex(order[_TRAINED:])
            row = "RF-Mem" + (f", {encoder}{title}" if ours else "")
            sources = [*one.sources("queries"), file_of(qrels, "open")]
            for path, short in (("familiarity", "Famili."), ("recollection", "Recol.")):
                value, column = int((tested == path).sum()), f"Num. of {short}"
                shown = "" if ours else printed[column]
                yield judged(row, column, "routing", shown, str(value), value, len(tested),
                             f"the last {len(tested)} questions; τ = 0.2", sources)  # fmt: skip


def returned_cells(costs: Costs) -> Iterator[Cell]:
    """What each path gives a reader, and how often it searches for it."""
    note = f"means a query; tokens by {TOKENISER}; searches as in the traces"
    seen = set[str]()
    for family in costs.traces.families():
        base = costs.returned(family.familiarity, family.k)
        for name in family[:3]:
            row = f"{name}, K = {family.k}"
            if row in seen:
                continue
            seen.add(row)
            found, searches = costs.returned(name, family.k), costs.searches(name)
            if found is None or base is None:
                yield missing(row, "docs", "returned", _UNKNOWN)
                continue
            ratio = f"{found['tokens'].mean() / base['tokens'].mean():.3f}"
            texts = _amounts(found) | {"tokens by familiarity's": ratio}
            sources = costs.counted(family.familiarity, name)
            yield from row_cells(row, "returned", texts, len(found), note, sources)
            texts = {"searches": "" if searches is None else f"{searches:.2f}"}
            yield from row_cells(row, "returned", texts, len(found), note, costs.traced(name))


def _amounts(found: pd.DataFrame) -> dict[str, str]:
    """The docs, words and tokens that are returned, on average."""
    digits = {"docs": 2, "words": 1, "tokens": 1}
    return {column: f"{found[column].mean():.{places}f}" for column, places in digits.items()}


def latency_cells(costs: Costs) -> Iterator[Cell]:
    """Encoding and searching apart and together, a query at a time; mean, median and tail."""
    note = "one query at a time, encoding never from a cache; see the file of latencies"
    for entry in costs.plan.latency.values():
        for name in entry.experiments if entry.profile in costs.traces.profiles else ():
            encode, search = (costs.times.get((name, part)) for part in ("encode", "search"))
            if encode is None or search is None:
                yield missing(name, "search", "time", _UNTIMED)
                continue
            texts = {
                f"{part}{which}": milliseconds(value)
                for part, one in (("search", search), ("encoding", encode))
                for which, value in zip(("", ", median", ", 95th percentile"), one[1:4],
                                        strict=True)
            }  # fmt: skip
            together = encode.mean + search.mean
            texts["together"] = milliseconds(together)
            texts["share of encoding"] = f"{encode.mean / together:.1%}"
            yield from row_cells(name, "time", texts, search.n, note, costs.timed(name))


def printed_ratio(family: Family, name: str) -> str:
    """A printed time over familiarity's, at two digits; '' where the paper has none."""
    rows = printed_rows("table2")
    for encoder, stem in TIMED.items():
        for path, ending in TABLE2.items():
            if name == f"rfmem-{stem}-{ending.format(k=family.k)}":
                own, base = rows[f"{encoder} {path}"], rows[f"{encoder} Famili."]
                return _over(own, base, f"R@{family.k} Time")
    rows = printed_rows("table1")
    for path, ending in PATHS.items():
        if name in (f"personamem-multiqa-{ending}", f"personamem-whole-multiqa-{ending}"):
            return _over(rows[f"32K, {path}"], rows["32K, Dense Retrieval"], "Retri Time")
    return ""


def _over(cells: Mapping[str, str], base: Mapping[str, str], column: str) -> str:
    return f"{numeric(cells[column]) / numeric(base[column]):.2f}"


def ratio_cells(costs: Costs) -> Iterator[Cell]:
    """Recollection and the gate by familiarity: in time, and in what no machine decides."""
    for family in costs.traces.families():
        for name in (family.recollection, family.gated):
            shown, row = printed_ratio(family, name), f"{name} by familiarity"
            for column, parts, said in (
                ("time, encoding and search", ("encode", "search"), shown),
                ("time, search alone", ("search",), ""),
            ):
                ours, base = (costs.time(one, *parts) for one in (name, family.familiarity))
                if ours is None or base is None:
                    yield missing(row, column, "ratio", _UNTIMED, said)
                    continue
                n, sources = costs.times[name, "search"].n, costs.timed(family.familiarity, name)
                text = f"{ours / base:.2f}×"
                yield _beside(row, column, "ratio", said, text, n, _SAME, sources)
            if (searches := costs.searches(name)) is not None:
                n = len(costs.traces.found[name].queries)
                texts = {"searches": f"{searches:.2f}×"}
                yield from row_cells(row, "ratio", texts, n, _SAME, costs.traced(name))


def context_cells(costs: Costs) -> Iterator[Cell]:
    """PersonaMem with and without the turns after the question, side by side."""
    for encoder, stem in PERSONAMEM.items():
        for path, ending in PATHS.items():
            names = {
                "asked": f"personamem-{stem}-{ending}",
                "whole": f"personamem-whole-{stem}-{ending}",
            }
            if not all(map(costs.is_planned, names.values())):
                continue
            row, runs = f"{encoder}, {path}", {}
            for which, name in names.items():
                dataset, k = costs.entry(name).dataset, costs.depth(name)
                found, docs = costs.returned(name, k), costs.docs(dataset, "round")
                asked, run = costs.memories(dataset), costs.run(name, k)
                if found is None or docs is None or asked is None or run is None:
                    yield missing(row, f"docs, {which}", "cost", _UNKNOWN)
                    continue
                sizes = docs.groupby("memory_id").size().reindex(asked["memory_id"])
                texts = {"docs in memory": f"{sizes.mean():.1f}", **_amounts(found)}
                texts["time"] = milliseconds(costs.time(name, "encode", "search"))
                if one := costs.traces.found.get(name):
                    texts["recollected"] = share(len(one.recollected), len(one.queries))
                texts = {f"{column}, {which}": text for column, text in texts.items()}
                sources = [*costs.counted(name), *costs.timed(name), *costs.traced(name)]
                yield from row_cells(row, "cost", texts, len(found), _CONTEXTS, sources)
                runs[which] = run
            if len(runs) == 2:
                yield from _later(row, runs, names, costs)


def _later(
    row: str, runs: Mapping[str, pd.DataFrame], names: Mapping[str, str], costs: Costs
) -> Iterator[Cell]:
    """What of the docs from the whole context came after the question, and how many stay."""
    whole, asked = runs["whole"], runs["asked"]
    held, memories = costs.docs("personamem-32k", "round"), costs.memories("personamem-32k")
    if held is None or memories is None:
        return
    pairs = whole[["doc_id"]].assign(
        memory_id=memories["memory_id"].reindex(whole["query_id"]).to_numpy()
    )
    known = pairs.merge(held[["memory_id", "doc_id"]], how="left", indicator=True)
    keys = ["query_id", "doc_id"]
    texts = {
        "later": share(int((known["_merge"] == "left_only").sum()), len(whole)),
        "docs in both": share(len(asked[keys].merge(whole[keys])), len(asked)),
    }
    sources = costs.counted(*names.values())
    yield from row_cells(row, "cost", texts, len(memories), _CONTEXTS, sources)


def recall_cells(costs: Costs, metrics: Metrics, dataset: str) -> Iterator[Cell]:
    """Recall of the three paths on a data set that the paper lacks, and their differences."""
    seen = set[str]()
    for family in costs.traces.families():
        entry, names = costs.entry(family.recollection), family[:3]
        if entry.dataset != dataset:
            continue
        if absent := [name for name in names if name not in metrics.experiments]:
            why = f"{', '.join(absent)} not evaluated: run `dvc repro`"
            yield missing(family.recollection, "R@5 overall", "recall", why)
            continue
        for k in (5, 10):
            found = {one: metrics.values(one, entry.granularity, "recall", k) for one in names}
            of = {one: RunSource(one, "", entry.granularity, "recall", k) for one in names}
            for name in names:
                kinds = found[name].groupby("kind", sort=True)["value"]
                for kind, part in [("", found[name]["value"]), *kinds] if name not in seen else ():
                    texts = {f"R@{k} {kind or 'overall'}": number(part.mean())}
                    yield from row_cells(
                        name,
                        f"recall@{k}",
                        texts,
                        len(part),
                        _ELSEWHERE,
                        [of[name]._replace(kind=str(kind))],
                        NOT_COMPARABLE,
                    )
            for name, rival, path in (
                (family.recollection, family.familiarity, "familiarity"),
                (family.gated, family.familiarity, "familiarity"),
                (family.gated, family.recollection, "recollection"),
            ):
                texts = {f"R@{k} less {path}'s": difference(found[rival], found[name])}
                yield from row_cells(name, "difference", texts, len(found[name]), _ELSEWHERE,
                                     [of[rival], of[name]], NOT_COMPARABLE)  # fmt: skip
        seen |= set(names)


def build(costs: Costs, folder: Path) -> list[Path]:
    """Write what each path returns and how long it takes; return the paths."""
    tables = {
        "cost_returned": or_none(returned_cells(costs), "docs"),
        "cost_latency": or_none(latency_cells(costs), "search"),
        "cost_ratios": or_none(ratio_cells(costs), "searches"),
    }
    return [path for name, cells in tables.items() for path in write_cells(cells, folder, name)]
