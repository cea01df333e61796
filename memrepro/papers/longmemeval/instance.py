"""The one real instance of LongMemEval that is at hand: where each key design ranks its evidence.

Question e47becba with its 53 sessions was published in a tutorial without a stable address, so that
only a mirror holds the file and no stage of the line needs it. `memrepro measure` ranks it, and the
table that it publishes has ids' ranks and no text. It is one question: n is 1.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import pandas as pd

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN
from memrepro.core.extractions import Extractions
from memrepro.core.memory import Dataset, Piece
from memrepro.core.ranking import to_frame
from memrepro.core.similarity import Floats
from memrepro.encode.encoder import Encoder, Role
from memrepro.evaluate.rollup import roll_up
from memrepro.files import paths
from memrepro.files.atomic import read_table, write_table
from memrepro.report.document import Document
from memrepro.report.runs import Runs
from memrepro.report.sources import FileSource
from memrepro.report.specs import Spec, spell
from memrepro.report.tables import Cell
from memrepro.retrieve import make_retriever
from memrepro.retrieve.key_builders import key_builder_for
from memrepro.study.params import load_plan
from memrepro.study.result import StageResult

NAME = "longmemeval-e47becba"
COLUMNS = ["level", "key_scheme", "retriever", "docs", "rank", "rank_by_session"]
_EXPANSIONS = [f"{mode}:nlp-{kind}" for mode in ("merge", "replace", "separate")
               for kind in ("fact", "keyphrase", "event")]  # fmt: skip
_OF_ROUNDS = ["user_only", "assistant_only", "concat", "fielded",
              *(f"user_only+{one}" for one in _EXPANSIONS)]  # fmt: skip
# Summaries are of sessions; windows are what MiniLM reads whole.
_OF_SESSIONS = [*_OF_ROUNDS, "user_only+merge:nlp-summary", "user_only+replace:nlp-summary",
                "user_only+windows:160"]  # fmt: skip
DESIGNS: Mapping[str, Sequence[str]] = {"session": _OF_SESSIONS, "round": _OF_ROUNDS}
DENSE = "dense, all-MiniLM-L6-v2"
_ENCODER = "all-minilm-l6-v2"
RETRIEVERS: Mapping[str, tuple[str, str, dict[str, str]]] = {
    "BM25, words in lower case": ("bm25", "bm25", {}),
    "BM25, released code's tokens": (
        "bm25", "bm25", {"tokenisation": "official", "ties": "reverse_input"}
    ),
    DENSE: ("dense", "dense", {}),
}  # fmt: skip


def ranks(piece: Piece, extractions: Extractions, retrievers: Sequence[str]) -> pd.DataFrame:
    """`COLUMNS` of every design by these of `RETRIEVERS`; a rank is 0 where no key finds the gold.

    Args:
        piece: one memory with one question, whose gold is one session and one round or more.
        extractions: of it, by rules.
        retrievers: names of `RETRIEVERS`.
    """
    memory, (query,) = piece.memory, piece.queries
    places = {r.round_id: s.session_id for s in memory.sessions for r in s.rounds}
    gold = {
        level: {doc for part in piece.qrels[level][query.query_id] for doc in part}
        for level in DESIGNS
    }
    rows = []
    for level, schemes in DESIGNS.items():
        for scheme in schemes:
            builder = key_builder_for(scheme)(level, scheme, extractions)
            keys = builder.make(memory)
            docs = len(keys.doc_ids)
            for name in retrievers:
                family, kind, options = RETRIEVERS[name]
                vectors: dict[str, Floats] = {}
                if name == DENSE:
                    keys = keys.with_vectors(_embedded(builder.texts, "document"))
                    vectors = {"query_vectors": _embedded([query.text], "query")}
                request = builder.request(keys, memory, piece.queries, **vectors)
                run = to_frame(
                    make_retriever(family, kind, {**options, "k": docs}).search([request])
                )
                found = (
                    _first(run, gold[level]),
                    _first(roll_up(run, "session", places), gold["session"]),
                )
                rows.append((level, scheme, name, docs, *found))
    return pd.DataFrame(rows, columns=COLUMNS)


def _first(run: pd.DataFrame | None, gold: set[str]) -> int:
    assert run is not None  # every doc has a session
    of_gold = run.loc[run["doc_id"].isin(gold), "rank"]
    return 0 if of_gold.empty else int(of_gold.min())


def _embedded(texts: Sequence[str], role: Role) -> Floats:
    from memrepro.encode.vectors import VectorStore, embed

    with VectorStore() as store:
        return embed(texts, _encoder(), role, store)


@cache
def _encoder() -> Encoder:
    from memrepro.encode.load import load_encoder  # torch: a report reads a table alone

    return load_encoder(_ENCODER)


def run(name: str) -> StageResult:
    """Rank the instance under every design and write the table.

    Raises:
        MemreproError: if no mirror holds the file.
    """
    from memrepro.data import longmemeval
    from memrepro.data.fetch import fetch_all
    from memrepro.data.registry import registration
    from memrepro.text.sources import by_nlp

    fetch_all(registration(name), paths.raw(name))
    (piece,) = longmemeval.stream(paths.raw(name), name)
    dataset = Dataset(name, {piece.memory.memory_id: piece.memory}, piece.queries)
    extractions = Extractions.grouped(by_nlp(dataset).texts)
    table = ranks(piece, extractions, list(RETRIEVERS))
    output = paths.measured(load_plan().scale(name).profile) / f"{name}.parquet"
    write_table(output, table)
    return StageResult(f"instance {name}", table, [], [output])


def cells(runs: Runs, _: Spec) -> Iterator[Cell]:
    """A row a level and design, a column a retriever: the evidence's rank among how many docs."""
    path = paths.latency(runs.profile, NAME, ".parquet")
    if not path.is_file():
        why = "only a mirror holds its file; `memrepro measure` ranks it for the profile open"
        yield Cell("every design", "rank", "rank", "", "", 0, NOT_RUN, note=why)
        return
    rules, source = Document.load("longmemeval").spell, str(FileSource(f"latency/{path.name}"))
    found: Iterator[Any] = read_table(path).itertuples()
    for one in found:
        base = one.key_scheme.partition("+")[0]
        design = spell(one.key_scheme, rules).replace("K = V", f"K = {_BASES[base]}")
        if "+windows:" in one.key_scheme:
            design += ", best window"
        cell = Cell(
            f"Value = {one.level}, {design}", one.retriever, "rank", "",
            _rank_text(one.rank, one.docs), 1,
            NOT_COMPARABLE, note=_NOTE, sources=source,
        )  # fmt: skip
        yield cell
        if one.level == "round":
            by_session = _rank_text(one.rank_by_session)
            yield cell._replace(column=f"{one.retriever}, its session", reproduced=by_session)


_NOTE = (
    "question e47becba, n = 1: no design is better or worse by one question; docs of one score "
    "stand by the tie rule, also those that share no word with it"
)
_BASES = {"user_only": "V", "assistant_only": "the assistant's words", "concat": "both sides",
          "fielded": "each side, the better"}  # fmt: skip


def _rank_text(rank: int, docs: int = 0) -> str:
    if not rank:
        return "not found"
    return f"{rank} of {docs}" if docs else str(rank)
