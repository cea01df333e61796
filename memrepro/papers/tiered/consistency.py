"""What the tiered document's numbers and words say of each other, and of public sources.

Each check names what would be so if the words held, what is so, and how sure that is: arithmetic,
the document's own text, or a public page or source outside it. No run is behind any of them.
"""

from collections.abc import Iterator
from typing import NamedTuple

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.files.atomic import read_yaml
from memrepro.papers.tiered.decay import WINDOW, age_at, half_lives, span
from memrepro.papers.tiered.printed import REPORTED, printed, said
from memrepro.report.compared import FAILS, HOLDS
from memrepro.report.tables import Cell, verdict_cells
from memrepro.retrieve.tiered.scoring import (
    BUCKETS,
    CHANNEL_WEIGHTS,
    MOST_OF_ACCESSES,
    PER_ACCESS,
    additive_recency,
    combined,
)

UNCHECKED, OPEN = "cannot be checked here", "left open"
ARITHMETIC, TEXT = "sure: arithmetic", "sure: the document's own text"
_LABELS = {HOLDS: "exact", FAILS: "not reproduced"}
_RATE = 0.01


class Check(NamedTuple):
    """One check.

    Attributes:
        where: row of the table; the same as a row of `numbers` or `claims`, or a name of its own.
        said: what is printed.
        expected: what would be so if it held.
        found: what is so.
        words: the verdict, one of `HOLDS`, `FAILS`, `OPEN`.
        sure: how sure that is.
    """

    where: str
    said: str
    expected: str
    found: str
    words: str
    sure: str

    def cells(self) -> Iterator[Cell]:
        """The check's row of a table."""
        label = _LABELS.get(self.words, NOT_COMPARABLE)
        verdict = Cell(self.where, "verdict", "claim", self.said, self.words, 1, label)
        texts = {"expected": self.expected, "found": self.found, "how sure": self.sure}
        yield from verdict_cells(verdict, texts)


def checks() -> Iterator[Check]:
    """All checks: of decay, of scores, of the design, of its numbers elsewhere."""
    yield from _of_decay()
    yield from _of_scores()
    yield from _of_parameters()
    yield from _of_the_design()
    yield from _of_models()
    yield from _of_sources()


def consistency() -> Iterator[Cell]:
    """Every check as a row."""
    for check in checks():
        yield from check.cells()


def _words(holds: bool) -> str:
    return HOLDS if holds else FAILS


def _of_row(table: str, row: str, expected: str, found: str, words: str, sure: str) -> Check:
    """A check of what a row of the document's tables says."""
    return Check(row, said(table, row), expected, found, words, sure)


def _of_decay() -> Iterator[Check]:
    for one in half_lives():
        yield Check(
            f"half-life at the rate {one.rate:g}", one.said, "the true half-life, rounded alike",
            f"{span(one.hours)}; the printed one needs a rate of {one.rate_for_said:.4g}",
            _words(one.holds), ARITHMETIC,
        )  # fmt: skip
    yield Check(
        "decay at the end of WARM's window", said("parameters", "WARM, window"),
        "one half of the recency is left after 7 days, the printed half-life of the rate 0.01",
        f"{additive_recency(WINDOW, _RATE):.3f} is left", FAILS, ARITHMETIC,
    )  # fmt: skip
    never = [name for (end, _), name in zip(BUCKETS, printed("buckets"), strict=True)
             if end > WINDOW]  # fmt: skip
    yield Check(
        "buckets in WARM", said("parameters", "WARM, window"),
        "every bucket can hold a memory of WARM, whose alternative to exponential decay they are",
        f"{len(never)} of {len(BUCKETS)} cannot while WARM holds 7 days: {', '.join(never)}",
        OPEN,
        f"{TEXT}, if WARM's 7 days and the buckets count from the same time, which is not said",
    )  # fmt: skip
    times = 1 / float(additive_recency(WINDOW, _RATE))
    yield _of_row(
        "claims", "last access is what counts",
        "a retrieval makes a memory's score rise",
        f"recency goes back to 1, after 7 days {times:.1f} times what was left, and the access "
        "adds 0.02: what was retrieved once is retrieved more easily, whether it helped or not",
        HOLDS, ARITHMETIC,
    )  # fmt: skip


def _of_scores() -> Iterator[Check]:
    recency_span = 1 - float(additive_recency(WINDOW, _RATE))
    yield Check(
        "recency beside similarity in the additive score", said("parameters", "additive score"),
        "not claimed; a score of relevance would hang more on similarity than on age",
        f"within 7 days recency spans {recency_span:.2f}; a memory just accessed of cosine 0 has "
        f"1.00, and is above one of cosine 0.5 once that is {span(age_at(0.5, _RATE))} old; one of "
        "cosine 1 it never passes, unless that is of a channel of 0.9 and over "
        f"{span(age_at(0.1, _RATE))} old",
        OPEN, ARITHMETIC,
    )  # fmt: skip
    weights = sorted({*CHANNEL_WEIGHTS.values()}, reverse=True)
    yield _of_row(
        "claims", "recency wins across channels",
        "the channel's weight leaves recency as it is",
        f"weights ({', '.join(map(str, weights))}, others 0.8) multiply the similarity alone",
        HOLDS, ARITHMETIC,
    )  # fmt: skip
    most = float(combined(1.0, 1.0, 1.0, 1.0, MOST_OF_ACCESSES / PER_ACCESS))
    yield Check(
        "score that the thresholds are held against", said("parameters", "similarity threshold"),
        "0.65, 0.70-0.80 and 0.85 part good from bad on the score by which chunks are chosen "
        "('Top 3-5 chunks based on combined score')",
        f"the combined score runs to {most:.1f}, and recency alone is above 0.65 for "
        f"{span(age_at(0.65, _RATE))} and above 0.85 for {span(age_at(0.85, _RATE))}: they can "
        "only be meant of the similarity, as the list's name says; adaptive retrieval says "
        "'scores'",
        OPEN, f"{ARITHMETIC}, if importance lies in 0..1, which is not said",
    )  # fmt: skip
    yield _of_row(
        "claims", "adaptive retrieval",
        "a number of chunks for every list of scores",
        "nothing is said of a top score of 0.80 to 0.85, of one below 0.70, of scores on both "
        "sides of 0.70, or of which of '1-2'; 1-2 is also below the list's Top-K of 3-5",
        FAILS, TEXT,
    )  # fmt: skip
    listing = said("parameters", "combined score")
    yield Check(
        "keywords in the listing's score", listing,
        "the 0.3 of keywords, which WARM's retrieval has, stands in the score",
        "similarity, channel, recency, importance, reinforcement; where BM25 enters, and how it is "
        "brought to the scale of a cosine, is not said; nor is the conflict of MemoryBank's score",
        OPEN, TEXT,
    )  # fmt: skip
    read = _fields("computeMemoryScore")
    lacking = [name for name in read if name not in _fields("WarmMemoryChunk")]
    yield Check(
        "fields that the score reads", ", ".join(read), "WarmMemoryChunk has each of them",
        f"it lacks {', '.join(lacking)}", _words(not lacking), TEXT,
    )  # fmt: skip


def _fields(interface: str) -> list[str]:
    return printed("interfaces")[interface]["fields"].split(", ")


def _of_parameters() -> Iterator[Check]:
    table, stack = printed("parameters"), printed("stack")
    places = {
        "decay rate in four places": (
            "0.01",
            [
                next(iter(printed("decay"))),
                table["decay rate of the listing"]["printed"],
                table["WARM, decay"]["printed"],
                stack["Time decay"]["Recommendation"],
            ],
        ),
        "hybrid weights in three places": (
            "0.7",
            [
                table["hybrid alpha, semantic"]["printed"],
                table["WARM, hybrid"]["printed"],
                stack["Retrieval"]["Recommendation"],
            ],
        ),
        "size of chunks in three places": (
            "3-5 turn",
            [
                f"{table['most size of a chunk']['printed']} turns",
                table["WARM, chunk"]["printed"],
                stack["Chunking"]["Recommendation"],
            ],
        ),
    }
    for where, (value, shown) in places.items():
        same = all(value in one for one in shown)
        yield Check(where, value, "the same in each", "; ".join(shown), _words(same), TEXT)
    yield Check(
        "overlap of chunks in three places", table["overlap of chunks"]["printed"],
        "the same in each",
        f"'{table['overlap of chunks']['printed']} turns' in the list, "
        f"'{table['WARM, chunk']['printed']}' in WARM, '{stack['Chunking']['Recommendation']}' in "
        "the stack: the design takes the lower end",
        HOLDS, TEXT,
    )  # fmt: skip
    low = table["similarity threshold"]["printed"].split("-")[0]
    yield Check(
        "threshold in two places", table["similarity threshold"]["printed"], "the same in each",
        f"'{stack['Top-K']['Recommendation']}' in the stack: the lower end",
        _words(low in stack["Top-K"]["Recommendation"]), TEXT,
    )  # fmt: skip
    shown = [
        table["COLD, storage"]["printed"],
        said("claims", "JSON or SQLite"),
        stack["COLD storage"]["Recommendation"],
    ]
    yield _of_row(
        "claims", "JSON or SQLite", "one choice, the same in each place",
        "; ".join(shown), OPEN, TEXT,
    )  # fmt: skip
    weeks = [
        cells["printed"].removeprefix("Week ").split("-")
        for row, cells in printed("numbers").items()
        if row.startswith("weeks of phase")
    ]
    numbers = [int(week) for pair in weeks for week in pair]
    for index, (row, pair) in enumerate(zip(_PHASES, weeks, strict=True)):
        yield _of_row(
            "numbers", row, "the weeks follow on those of the phase before",
            f"weeks {'-'.join(pair)}", _words(numbers[2 * index] == 2 * index + 1), TEXT,
        )  # fmt: skip


_PHASES = tuple(f"weeks of phase {number}" for number in range(1, 5))


def _of_the_design() -> Iterator[Check]:
    warm, cold = _fields("WarmMemoryChunk"), _fields("ColdMemoryFact")
    yield _of_row(
        "claims", "two times are stored",
        "a field for when it was said and one for when it happened",
        f"WarmMemoryChunk: {', '.join(n for n in warm if n.endswith('At'))}; ColdMemoryFact: "
        f"{', '.join(n for n in cold if n.endswith('At'))}: no time of an event in either",
        FAILS, TEXT,
    )  # fmt: skip
    yield _of_row(
        "claims", "strict filtering",
        "both fields are in WarmMemoryChunk, and a search finds earlier sessions, which phase 1 is "
        "validated by",
        "it has userId and no session's id; filtered by session, no earlier one would be found",
        FAILS, f"{TEXT}; a filter that is meant where a session is asked for is not excluded",
    )  # fmt: skip
    yield _of_row(
        "claims", "channels are not filtered",
        "a search finds a memory whatever its channel",
        "the channel only weighs; the type has the three channels that the listing names, so that "
        "its 0.8 for others is never used",
        HOLDS, TEXT,
    )  # fmt: skip
    yield _of_row(
        "claims", "several granularities in WARM",
        "WARM stores turns, segments and sessions, and a rule chooses",
        f"WARM stores '{said('parameters', 'WARM, chunk')}' alone, and no rule is named",
        FAILS, TEXT,
    )  # fmt: skip
    yield _of_row(
        "claims", "summaries lose information",
        "the design does without summaries of what is still asked for",
        f"COLD is made by LLM summarization, '{said('parameters', 'COLD, age')}'; sourceChunkIds "
        "name the chunks, and whether these are kept is not said (here they are)",
        OPEN, TEXT,
    )  # fmt: skip
    yield _of_row(
        "claims", "turn by turn first",
        "phase 1 is built as the survey recommends",
        "it is built on turns, which the survey calls outperformed, and says so itself; phase 2 "
        "replaces them",
        HOLDS, TEXT,
    )  # fmt: skip
    yield _of_row(
        "claims", "LanceDB is one file",
        f"'{said('parameters', 'WARM, storage')}'",
        "LanceDB 0.40.0 makes of a table a folder `<name>.lance` with the folders data, _versions "
        "and _transactions, and a file more a write; one folder can be copied as well",
        FAILS, "sure: tried, and a test repeats it",
    )  # fmt: skip


def _of_models() -> Iterator[Check]:
    table = printed("models")
    best = [row for row, cells in table.items() if "100%" in cells["Short Text Performance"]]
    chosen = next(iter(table))
    yield Check(
        "recommended model beside its table", table[chosen]["Recommendation"],
        f"the recommended model, {chosen}, has the best number of its table",
        f"it has none ('{table[chosen]['Short Text Performance']}'); the one number of 100% is "
        f"that of {', '.join(best)}, of fewer dimensions and the best speed",
        OPEN, TEXT,
    )  # fmt: skip
    yield Check(
        "384 dimensions of nomic", said("parameters", "WARM, dimensions"),
        "one of the sizes that the model was trained for",
        "the table has 768 (→64), 384 lies between; the model's card lists 768, 512, 256, 128 and "
        "64, so that what 384 loses is not published; 384 is E5-small's and all-MiniLM's own",
        OPEN, "fairly: the card on the hub (nomic-ai/nomic-embed-text-v1.5)",
    )  # fmt: skip
    yield _of_row(
        "numbers", "E5-small, beside larger models",
        "models of 70 times its size, with lower numbers",
        "the document names no sizes and no such model; the benchmark that has both shares gives "
        "E5-small 118M parameters, 70 times which are 8.3 billion: none of the table's models; "
        "at 100 % it ties with two larger E5 models there",
        OPEN, "fairly: research.aimultiple.com/open-source-embedding-models",
    )  # fmt: skip


def _of_sources() -> Iterator[Check]:
    yield Check(
        "formula of LangChain", said("parameters", "additive score"),
        "LangChain's retriever adds the similarity and (1 − rate)^hours since the last access, "
        "with a rate of 0.01",
        "so it does; it gives 4 memories, always considers the latest 4, and sets their time anew",
        HOLDS, "sure: langchain-ai/langchain at 01d81c7a, time_weighted_retriever.py",
    )  # fmt: skip
    for row, value in (
        ("LlamaIndex, token_limit", "30000"),
        ("LlamaIndex, chat_history_token_ratio", "0.7"),
        ("LlamaIndex, token_flush_size", "3000, a tenth of the limit"),
    ):
        yield _of_row(
            "numbers", row, "Memory.from_defaults has the printed default",
            f"{value}; the class is Python's", HOLDS,
            "sure: run-llama/llama_index at 06c3088c, core/memory/memory.py",
        )  # fmt: skip
    against = "Mem0's own page has it beside reading the full context, not beside OpenAI's memory"
    for row in ("p95 latency of Mem0", "tokens of Mem0"):
        yield _of_row(
            "numbers", row,
            "less than OpenAI memory, as the sentence has it ('26% higher accuracy than OpenAI "
            "memory, 91% lower p95 latency, and 90% fewer tokens')",
            against, OPEN,
            "fairly: mem0.ai/research; the sentence can be read either way",
        )  # fmt: skip
    yield _of_row(
        "numbers", "accuracy of Mem0 beside OpenAI memory",
        "a difference of 26 points, or a quarter more",
        "a quarter more: Mem0's page has 66.9 and 52.9, a difference of 14 points and "
        f"{66.9 / 52.9 - 1:.1%} of the lower",
        OPEN, "fairly: mem0.ai/blog/ai-agent-memory-benchmark; the document says only 'higher'",
    )  # fmt: skip
    theirs = read_yaml(REPORTED.parents[1] / "associa" / "printed.yaml")["text"]["rows"]
    five = theirs["§5.1.1: abilities tested"][0]
    yield _of_row(
        "numbers", "abilities of LongMemEval",
        "as many as another shared paper counts (Associa, §5.1.1)", five,
        _words(said("numbers", "abilities of LongMemEval").startswith(five)), TEXT,
    )  # fmt: skip
