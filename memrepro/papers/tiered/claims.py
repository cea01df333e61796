"""What the tiered document claims: each with a verdict here, or the reason why there is none.

A claim is checked by comparing runs, or by arithmetic and the document's own words
(`tiered_consistency`), or it cannot be checked here. Every row of `numbers` and `claims` in
`tiered.yaml` has exactly one of the three.
"""

from collections.abc import Iterator, Mapping, Sequence

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.tiered.compare import Compares, Pair
from memrepro.papers.tiered.consistency import UNCHECKED, checks
from memrepro.papers.tiered.here import (
    BUCKETS,
    CONTEXT,
    DESIGN,
    FLAT,
    KEYWORD,
    MEMORY_BANK,
    MINILM,
    NO_COLD,
    NO_DECAY,
    NO_FLOOR,
    NO_HOT,
    NO_WINDOW,
    PRINTED_ALPHA,
    REINFORCED,
    SEGMENT,
    SEGMENT_S,
    SEMANTIC,
    TOP5,
    TURN,
    TURN_S,
    UNDATED,
    WEIGHTED,
    WHOLE,
    WHOLE_MEMORY,
    WHOLE_S,
    Runs,
    Study,
)
from memrepro.papers.tiered.printed import printed, said
from memrepro.report.compared_rows import verdict
from memrepro.report.tables import Cell, number

_SEGMENTS_WIN = (
    Pair(SEGMENT, TURN), Pair(SEGMENT, WHOLE), Pair(SEGMENT_S, TURN_S), Pair(SEGMENT_S, WHOLE_S),
)  # fmt: skip
# Row of the claims → what must stand clear of 0 for it to hold, and what is only part of it.
MEASURED: Mapping[str, tuple[tuple[Pair, ...], str]] = {
    "segments with time-weighted hybrid retrieval beat turns": (
        (Pair(WEIGHTED, TURN), Pair(DESIGN, TURN)),
        "against turns by cosine over the whole memory: first without tiers, then with them",
    ),
    "tiers give the best balance": (
        (Pair(DESIGN, FLAT),),
        "accuracy alone: the tiers against the same segments and α without them",
    ),
    "segments beat turns and sessions": (_SEGMENTS_WIN, "cosine alone, over the whole memory"),
    "multi-turn chunks beat single turns": (
        (Pair(SEGMENT, TURN), Pair(SEGMENT_S, TURN_S)),
        "cosine alone, over the whole memory",
    ),
    "MemoryBank's score applies": (
        (Pair(MEMORY_BANK, NO_DECAY),),
        "that it does better than no decay; 'applicable' is weaker than that; the data have no "
        "conflicts, so that it is similarity × decay",
    ),
    "decay works": (
        (Pair(WHOLE_MEMORY, NO_DECAY), Pair(WEIGHTED, FLAT)),
        "that it does better than no decay over the whole memory, first with the design's choice",
    ),
    "buckets work": ((Pair(BUCKETS, NO_DECAY),), "that they do better than no decay"),
    "hybrid is optimal": (
        (Pair(FLAT, SEGMENT), Pair(PRINTED_ALPHA, SEMANTIC), Pair(PRINTED_ALPHA, KEYWORD)),
        "that 0.7 does better than cosine alone and than keywords alone; the table of α has the "
        "values between",
    ),
    "frequently retrieved is more relevant": (
        (Pair(REINFORCED, WHOLE_MEMORY),),
        "that counting accesses does better than not; the accesses are those of the questions",
    ),
    "COLD keeps facts": ((Pair(DESIGN, NO_COLD),), "that gold docs are found through facts"),
}
# Not in the document, of the design's parts.
FURTHER: Mapping[str, tuple[Pair, ...]] = {
    "not in the document: HOT helps": (Pair(DESIGN, NO_HOT),),
    "not in the document: WARM's 7 days and COLD beat one tier of all": (Pair(DESIGN, NO_WINDOW),),
    "not in the document: the threshold helps": (Pair(DESIGN, NO_FLOOR),),
    "not in the document: the design beats its score over the whole memory": (
        Pair(DESIGN, WHOLE_MEMORY),
    ),
    "not in the document: dates in a segment help": (Pair(SEGMENT, UNDATED),),
    "not in the document: turns in their context beat turns": (Pair(CONTEXT, TURN),),
    "not in the document: segments beat turns in their context": (Pair(SEGMENT, CONTEXT),),
}
BY_TYPE = "granularity by query type"
_PAPER = "a result of another paper, which is not among the shared documents"
_HUB = "the model comes from a model hub or a service, which cannot be reached here"
_READER = "needs answers: no reader has been recorded"
_STRUCTURE = "describes another system"
# Row of the numbers or claims → why it cannot be checked here.
UNCHECKABLE: Mapping[str, str] = {
    "MemGPT on Deep Memory Retrieval": _PAPER,
    "tokens that LongMem handles": f"{_PAPER}; its abstract has 65k, without a plus",
    "GPT-3 beside LongMem": f"{_PAPER}; of 175 billion parameters, {175e3 / 313:.0f} million "
    "would be LongMem's, a size that the document does not print",
    "layers of ChatGPT's memory": f"{_STRUCTURE}: reverse engineering, its list has four",
    "example of a saved memory": f"{_STRUCTURE}: an example",
    "levels of Claude's hierarchy": f"{_STRUCTURE}: its list has four",
    "phases of Mem0's pipeline": f"{_STRUCTURE}: two are named, extraction and comparison",
    "E5-small, Top-5": f"{_HUB}; nor is the benchmark named",
    "E5-small, time": f"{_HUB}; nor is the machine named",
    "all-MiniLM-L6-v2, Top-5": "the benchmark is not named; a share belongs to a task, see found",
    "nomic, context": f"{_HUB}; its card has 8192",
    "nomic, Matryoshka": f"{_HUB}; its card has sizes from 768 to 64",
    "approaches to short utterances": "a count of a list, which has three",
    "precision that is tracked": "a measure, not a result",
    "temporal reasoning beside people": f"{_PAPER}; {_READER}",
    "facts persist beyond, phase 3": "a window, see 'COLD keeps facts'",
    "local models match APIs": _HUB,
    "all-MiniLM is not for production": "of the models that the table recommends, none is here; "
    "all-mpnet-base-v2 beside it is in the table of models",
    "nomic beats OpenAI's models": f"{_HUB}; MTEB is not run here",
    "more than five chunks add noise": f"{_READER}; recall cannot fall with more chunks",
    "threshold filters": "see the table of thresholds: what is filtered, and what it costs",
    "over-retrieval drowns accuracy": _READER,
    "no embedding costs": "no prices are measured",
    "data stay local": "of the recommended stack, Claude Haiku extracts facts from the texts: a "
    "service, unless its alternative, a local Llama, is taken",
}


def by_type_pairs(study: Study) -> tuple[Pair, ...]:
    """MemGAS's finding as quoted: sessions for questions of time, turns for updates."""
    pairs = []
    if study.temporal:
        pairs += [Pair(WHOLE, SEGMENT, study.temporal), Pair(WHOLE, TURN, study.temporal)]
    if study.updates:
        pairs += [Pair(TURN, SEGMENT, study.updates), Pair(TURN, WHOLE, study.updates)]
    return tuple(pairs)


def measured(study: Study) -> dict[str, tuple[tuple[Pair, ...], str]]:
    """Every claim that runs can check on a data set."""
    lacking = "" if study.updates else "; the data set asks of no updates"
    note = f"of three findings, not that on preferences and summaries{lacking}; cosine alone"
    return {**MEASURED, BY_TYPE: (by_type_pairs(study), note)}


def pairs(runs: Runs) -> list[Pair]:
    """Every pair of a claim, and the further ones, of rows that are planned for a study."""
    every = [pair for found, _ in measured(runs.study).values() for pair in found]
    every += [pair for found in FURTHER.values() for pair in found]
    return [
        pair
        for pair in dict.fromkeys(every)
        if runs.is_planned(pair.better) and runs.is_planned(pair.worse)
    ]


def claims(runs: Runs, compared: Compares) -> Iterator[Cell]:
    """Each claim and number of the prose: the verdict here, and what it rests on."""
    checked = {check.where: check for check in checks()}
    of_runs = measured(runs.study)
    beside = dict(_beside(runs))
    for table in ("claims", "numbers"):
        for row in printed(table):
            if row in of_runs:
                yield from _measured(runs, compared, row, said(table, row), *of_runs[row])
            elif row in checked:
                yield from checked[row].cells()
            else:
                yield from _unchecked(row, said(table, row), beside.get(row, ""))
    for row, found in FURTHER.items():
        if any(pair in compared for pair in found):
            yield from _measured(runs, compared, row, "", found, "")


def _unchecked(row: str, shown: str, beside: str) -> Iterator[Cell]:
    yield Cell(row, "verdict", "claim", shown, UNCHECKED, 0, NOT_COMPARABLE)
    yield Cell(row, "how sure", "claim", "", UNCHECKABLE[row], 0, "")
    if beside:
        yield Cell(row, "found", "claim", "", beside, 0, "")


def _measured(
    runs: Runs, compared: Compares, row: str, shown: str, of: Sequence[Pair], note: str
) -> Iterator[Cell]:
    """A claim that runs check: the verdict, and by metric the comparison that speaks least."""
    missing = dict.fromkeys(why for pair in of for name in pair[:2] if (why := runs.why_not(name)))
    found = [one for pair in of for one in compared.get(pair, [])]
    if missing or not found:
        why = "; ".join(missing) or "no questions of that kind"
        yield Cell(row, "verdict", "claim", shown, "", 0, NOT_RUN, note=f"{row}: {why}")
        yield Cell(row, "how sure", "claim", "", why, 0, "")
        return
    n = max(one.n for one in found)
    yield Cell(row, "verdict", "claim", shown, verdict(found), n, NOT_COMPARABLE, note=_NOTE)
    expected = "; ".join(f"{pair.name} above 0" for pair in of)
    yield Cell(row, "expected", "claim", "", expected, n, "", note=_NOTE)
    least = {
        metric: min(
            (one for one in found if one.metric == metric), key=lambda one: one.interval.mean
        )
        for metric in dict.fromkeys(one.metric for one in found)
    }
    text = "; ".join(
        f"{metric} {one.shown}" + (f" ({one.better} less {one.worse})" if len(of) > 1 else "")
        for metric, one in least.items()
    )
    yield Cell(row, "found", "claim", "", text, n, "", note=_NOTE)
    signs = [one.sign for one in found]
    counts = ", ".join(str(signs.count(sign)) for sign in (1, 0, -1))
    sure = f"{counts} comparisons for, open and against, after Holm's correction"
    yield Cell(row, "how sure", "claim", "", "; ".join(filter(None, [sure, note])), n, "")


_NOTE = (
    "measured on this data set, by retrieval and not by answers; 'holds "
    "here': every comparison is above 0 by its 95 % interval and after Holm's correction; 'does "
    "not hold here': one is below 0 so; else undecided; of several, the least is shown"
)


def _beside(runs: Runs) -> Iterator[tuple[str, str]]:
    """What was measured here of what a claim that cannot be checked is about."""
    shares = []
    for task in runs.study.tasks:
        if MINILM in task.runs:
            found = runs.at(*task.runs[MINILM], task.level, *TOP5)
            if found is not None:
                shares.append(f"{task.title} {number(found['value'].mean())} (n = {len(found)})")
    if shares:
        yield "all-MiniLM-L6-v2, Top-5", f"the same model here: {', '.join(shares)}"
    times = []
    for path in sorted((paths.results(runs.profile) / "latency").glob("*minilm*.csv")):
        table = read_table(path)
        encoding = table[table["part"] == "encode"]
        if len(encoding):
            p50, n = encoding["p50_ms"].iloc[0], encoding["n"].iloc[0]
            times.append(f"{path.stem} {float(p50):.0f} ms (n = {n})")
    if times:
        yield "E5-small, time", f"median of encoding a query by {MINILM} here: {', '.join(times)}"
