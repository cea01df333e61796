"""RF-Mem's cost: time, tokens and docs returned, routing (Tables 1, 2, 13, 14 and 17).

What the paper's reader costs or answers is not here: no reader has been recorded. The paper's times
are of one A100 and include encoding the query, and its tokens are those of a whole prompt; what
compares is how the three paths stand to each other.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_IN_PAPER, NOT_RUN, judge
from memrepro.core.prepared import load_qrels
from memrepro.files import paths
from memrepro.papers.rfmem.measured import Costs, Family
from memrepro.papers.rfmem.printed import numeric, printed_rows
from memrepro.papers.rfmem.traces import or_none
from memrepro.report.tables import Cell, write_cells
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
# Table 2's names of the encoders whose experiments are timed.
TABLE2 = {"mpnet": "mpnet", "multi-qa-MiniLM": "multiqa", "bge-base": "bge"}
_TRAINED = 400  # of PersonaMem 32k's questions, the first (D.6)


def milliseconds(value: float | None) -> str:
    """A time as the paper prints it; '' where it was not measured."""
    return "" if value is None else f"{value:.2f}ms"


def time_cell(row: str, column: str, shown: str, costs: Costs, name: str, note: str = "") -> Cell:
    """The time to encode and search of an experiment beside a printed one."""
    value = costs.time(name, "encode", "search")
    if value is None:
        why = "; ".join(filter(None, (note, _UNTIMED)))
        return Cell(row, column, "time", shown, "", 0, NOT_RUN, note=why)
    n, verdict = costs.times[name, "search"].n, NOT_COMPARABLE if shown else NOT_IN_PAPER
    return Cell(row, column, "time", shown, milliseconds(value), n, verdict, note=_MACHINE)


def table2_times(costs: Costs) -> dict[tuple[str, int], Cell]:
    """Table 2's cells of time, by row and K."""
    printed = printed_rows("table2")
    suffixes = {"Famili.": "familiarity", "Recol.": "recollection-k{k}", "RF-Mem": "gated-k{k}"}
    return {
        (f"{encoder} {path}", k): time_cell(
            f"{encoder} {path}", f"R@{k} Time", printed[f"{encoder} {path}"][f"R@{k} Time"], costs,
            f"rfmem-{stem}-{suffix.format(k=k)}",
        )
        for encoder, stem in TABLE2.items()
        for path, suffix in suffixes.items()
        for k in (5, 10)
    }  # fmt: skip


def table1(costs: Costs) -> Iterator[Cell]:
    """Table 1's times and tokens of 32K, and the same of encoders that it does not have."""
    printed = printed_rows("table1")
    for row, column, values in (
        ("32K, Zero Memory", "Avg. Tokens", _of_questions(costs)),
        ("32K, Full Context", "Avg. Tokens", _of_memories(costs)),
    ):
        yield _tokens(row, column, printed[row][column], values)
    for encoder, stem in PERSONAMEM.items():
        for path, ending in PATHS.items():
            name = f"personamem-{stem}-{ending}"
            ours = stem != "multiqa"
            if name not in costs.plan.experiments:
                continue
            if ours and costs.entry(name).profile not in costs.profiles:
                continue
            shown = {} if ours else printed[f"32K, {path}"]
            row = f"32K, {path}" + (f", {encoder}" if ours else "")
            note = "" if ours else "multi-qa-MiniLM comes from a model hub"
            yield time_cell(row, "Retri Time", shown.get("Retri Time", ""), costs, name, note)
            k = int(costs.entry(name).parameters["k"])
            found, asked = costs.returned(name, k), _of_questions(costs)
            values = None if found is None or asked is None else asked + found["tokens"]
            yield _tokens(row, "Avg. Tokens", shown.get("Avg. Tokens", ""), values)


def _of_questions(costs: Costs) -> pd.Series | None:
    """Tokens of each of PersonaMem's questions."""
    asked = costs.memories("personamem-32k")
    return None if asked is None else asked["tokens"]


def tokens_of_memories(costs: Costs, shown: str) -> Cell:
    """Table 7's average tokens of PersonaMem's memories of 32k, each query's counted."""
    asked, both = _of_questions(costs), _of_memories(costs)
    values = None if asked is None or both is None else both - asked
    return _tokens("Avg tokens of memory", "32k", shown, values)


def _of_memories(costs: Costs) -> pd.Series | None:
    """Tokens of each question and all that it may search."""
    asked, docs = costs.memories("personamem-32k"), costs.docs("personamem-32k", "round")
    if asked is None or docs is None:
        return None
    whole = docs.groupby("memory_id")["tokens"].sum()
    tokens: pd.Series = asked["tokens"] + whole.reindex(asked["memory_id"]).to_numpy()
    return tokens


def _tokens(row: str, column: str, shown: str, values: pd.Series | None) -> Cell:
    if values is None:
        return Cell(row, column, "tokens", shown, "", 0, NOT_RUN, note=_UNKNOWN)
    verdict = NOT_COMPARABLE if shown else NOT_IN_PAPER
    text = f"{values.mean():.1f}"
    return Cell(row, column, "tokens", shown, text, len(values), verdict, note=_TOKENS)


def table13(costs: Costs) -> Iterator[Cell]:
    """Table 13's routing: how the gate sends the test questions, all after the first 400."""
    printed = printed_rows("table13")["RF-Mem"]
    for encoder, stem in PERSONAMEM.items():
        for dataset, title in (("personamem", ""), ("personamem-whole", ", whole context")):
            name = f"{dataset}-{stem}-gated"
            ours = stem != "multiqa" or bool(title)
            if name not in costs.traces.found:
                continue
            queries = costs.traces.found[name].queries.set_index("query_id")
            order = list(load_qrels(paths.qrels("open", costs.entry(name).dataset), "session")[0])
            tested = queries["path"].reindex(order[_TRAINED:])
            for path, column in (("familiarity", "Num. of Famili."), ("recollection", "Num. of Recol.")):  # fmt: skip # noqa: E501
                value = int((tested == path).sum())
                shown = "" if ours else printed[column]
                label, term = judge(shown, value) if shown else (NOT_IN_PAPER, "")
                row = "RF-Mem" + (f", {encoder}{title}" if ours else "")
                yield Cell(row, column, "routing", shown, str(value), len(tested), label, term,
                           note=f"the last {len(tested)} questions; τ = 0.2")  # fmt: skip


def computed(costs: Costs) -> dict[str, Iterable[Cell]]:
    """Table → what of it a run has, for `report.checks.build`."""
    return {"table1": table1(costs), "table13": table13(costs)}


def returned_cells(costs: Costs) -> Iterator[Cell]:
    """What each path gives a reader, and how often it searches for it."""
    seen = set[str]()
    for family in costs.families():
        base = costs.returned(family.familiarity, family.k)
        for name in family[:3]:
            row = f"{name}, K = {family.k}"
            if row in seen:
                continue
            seen.add(row)
            found, searches = costs.returned(name, family.k), costs.searches(name)
            if found is None or base is None:
                yield Cell(row, "docs", "returned", "", "", 0, NOT_RUN, note=_UNKNOWN)
                continue
            n = len(found)
            for column, text in {
                "docs": f"{found['docs'].mean():.2f}",
                "words": f"{found['words'].mean():.1f}",
                "tokens": f"{found['tokens'].mean():.1f}",
                "tokens by familiarity's": f"{found['tokens'].mean() / base['tokens'].mean():.3f}",
                "searches": "" if searches is None else f"{searches:.2f}",
            }.items():
                note = f"means a query; tokens by {TOKENISER}; searches as in the traces"
                yield Cell(row, column, "returned", "", text, n, NOT_IN_PAPER, note=note)


def latency_cells(costs: Costs) -> Iterator[Cell]:
    """Encoding and searching apart and together, a query at a time; mean, median and tail."""
    for entry in costs.plan.latency.values():
        if entry.profile not in costs.profiles:
            continue
        for name in entry.experiments:
            parts = [costs.times.get((name, part)) for part in ("encode", "search")]
            encode, search = parts
            if encode is None or search is None:
                yield Cell(name, "search", "time", "", "", 0, NOT_RUN, note=_UNTIMED)
                continue
            together = encode.mean + search.mean
            texts = {
                "search": milliseconds(search.mean),
                "search, median": milliseconds(search.p50),
                "search, 95th percentile": milliseconds(search.p95),
                "encoding": milliseconds(encode.mean),
                "encoding, median": milliseconds(encode.p50),
                "encoding, 95th percentile": milliseconds(encode.p95),
                "together": milliseconds(together),
                "share of encoding": f"{encode.mean / together:.1%}",
            }
            for column, text in texts.items():
                note = "one query at a time, encoding never from a cache; see the file of latencies"
                yield Cell(name, column, "time", "", text, search.n, NOT_IN_PAPER, note=note)


def printed_ratio(family: Family, name: str) -> str:
    """A printed time over familiarity's, at two digits; '' where the paper has none."""
    for encoder, stem in TABLE2.items():
        column = f"R@{family.k} Time"
        names = {f"rfmem-{stem}-recollection-k{family.k}": f"{encoder} Recol.",
                 f"rfmem-{stem}-gated-k{family.k}": f"{encoder} RF-Mem"}  # fmt: skip
        if name in names:
            rows = printed_rows("table2")
            base = numeric(rows[f"{encoder} Famili."][column])
            return f"{numeric(rows[names[name]][column]) / base:.2f}"
    for path, ending in PATHS.items():
        if name in (f"personamem-multiqa-{ending}", f"personamem-whole-multiqa-{ending}"):
            rows = printed_rows("table1")
            base = numeric(rows["32K, Dense Retrieval"]["Retri Time"])
            return f"{numeric(rows[f'32K, {path}']['Retri Time']) / base:.2f}"
    return ""


def ratio_cells(costs: Costs) -> Iterator[Cell]:
    """Recollection and the gate by familiarity: in time, and in what no machine decides."""
    for family in costs.families():
        for name in (family.recollection, family.gated):
            shown, row = printed_ratio(family, name), f"{name} by familiarity"
            for column, parts in (
                ("time, encoding and search", ("encode", "search")),
                ("time, search alone", ("search",)),
            ):
                ours, base = (costs.time(one, *parts) for one in (name, family.familiarity))
                said = shown if len(parts) == 2 else ""
                if ours is None or base is None:
                    yield Cell(row, column, "ratio", said, "", 0, NOT_RUN, note=_UNTIMED)
                    continue
                verdict = NOT_COMPARABLE if said else NOT_IN_PAPER
                n = costs.times[name, "search"].n
                yield Cell(
                    row, column, "ratio", said, f"{ours / base:.2f}×", n, verdict, note=_SAME
                )
            if (searches := costs.searches(name)) is not None:
                n = len(costs.traces.found[name].queries)
                text = f"{searches:.2f}×"
                yield Cell(row, "searches", "ratio", "", text, n, NOT_IN_PAPER, note=_SAME)


def context_cells(costs: Costs) -> Iterator[Cell]:
    """PersonaMem with and without the turns after the question, side by side."""
    note = (
        "'asked': the memory ends at the question; 'whole': as the released code has it, with the "
        "turns after the question; 'later': of the docs returned from the whole, those that the "
        f"memory up to the question does not hold; tokens by {TOKENISER}"
    )
    for encoder, stem in PERSONAMEM.items():
        for path, ending in PATHS.items():
            names = {
                "asked": f"personamem-{stem}-{ending}",
                "whole": f"personamem-whole-{stem}-{ending}",
            }
            entries = [costs.plan.experiments.get(name) for name in names.values()]
            if any(e is None or e.profile not in costs.profiles for e in entries):
                continue
            row = f"{encoder}, {path}"
            runs = {}
            for which, name in names.items():
                k = int(costs.entry(name).parameters["k"])
                found, docs = (
                    costs.returned(name, k),
                    costs.docs(costs.entry(name).dataset, "round"),
                )
                asked = costs.memories(costs.entry(name).dataset)
                if found is None or docs is None or asked is None:
                    yield Cell(row, f"docs, {which}", "cost", "", "", 0, NOT_RUN, note=_UNKNOWN)
                    continue
                sizes = docs.groupby("memory_id").size().reindex(asked["memory_id"])
                texts = {
                    "docs in memory": f"{sizes.mean():.1f}",
                    "docs": f"{found['docs'].mean():.2f}",
                    "words": f"{found['words'].mean():.1f}",
                    "tokens": f"{found['tokens'].mean():.1f}",
                    "time": milliseconds(costs.time(name, "encode", "search")),
                }
                if name in costs.traces.found:
                    queries = costs.traces.found[name].queries
                    deep = int((queries["path"] == "recollection").sum())
                    texts["recollected"] = f"{deep} of {len(queries)} ({deep / len(queries):.1%})"
                for column, text in texts.items():
                    yield Cell(row, f"{column}, {which}", "cost", "", text, len(found),
                               NOT_IN_PAPER, note=note)  # fmt: skip
                runs[which] = costs.run(name, k)
            if len(runs) == 2:
                yield from _later(row, runs, costs, note)


def _later(
    row: str, runs: dict[str, pd.DataFrame | None], costs: Costs, note: str
) -> Iterator[Cell]:
    """What of the docs from the whole context came after the question, and how many stay."""
    whole, asked = runs["whole"], runs["asked"]
    held, memories = costs.docs("personamem-32k", "round"), costs.memories("personamem-32k")
    if whole is None or asked is None or held is None or memories is None:
        return
    pairs = pd.DataFrame(
        {"memory_id": memories["memory_id"].reindex(whole["query_id"]).to_numpy(),
         "doc_id": whole["doc_id"].to_numpy()}
    )  # fmt: skip
    known = pairs.merge(held[["memory_id", "doc_id"]], how="left", indicator=True)
    later = int((known["_merge"] == "left_only").sum())
    keys = ["query_id", "doc_id"]
    common = len(asked[keys].merge(whole[keys]))
    for column, text in {
        "later": f"{later} of {len(whole)} ({later / max(len(whole), 1):.1%})",
        "docs in both": f"{common} of {len(asked)} ({common / max(len(asked), 1):.1%})",
    }.items():
        yield Cell(row, column, "cost", "", text, len(memories), NOT_IN_PAPER, note=note)


def build(costs: Costs, folder: Path) -> list[Path]:
    """Write what each path returns and how long it takes; return the paths."""
    tables = {
        "cost_returned": or_none(returned_cells(costs), "docs"),
        "cost_latency": or_none(latency_cells(costs), "search"),
        "cost_ratios": or_none(ratio_cells(costs), "searches"),
    }
    return [path for name, cells in tables.items() for path in write_cells(cells, folder, name)]
