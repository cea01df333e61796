"""prepare: a data set's files as turns, texts, haystacks, queries and, apart from them, qrels."""

import importlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.core.memory import Piece
from memrepro.core.prepared import save, save_asked, save_places, save_qrels
from memrepro.data import read_pieces
from memrepro.data.fetch import check_before_use
from memrepro.data.registry import registration
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.files.progress import bar
from memrepro.study.params import load_plan
from memrepro.study.result import StageResult
from memrepro.text.lengths import save_lengths


def sizes(piece: Piece) -> dict[str, str | int]:
    """A memory's id, its number of queries, sessions and rounds, and of rounds with each field."""
    memory = piece.memory
    fields = Counter(name for r in memory.rounds for name in {t.field for t in r.turns})
    return {
        "memory_id": memory.memory_id,
        "queries": len(piece.queries),
        "sessions": len(memory.sessions),
        "rounds": len(memory.rounds),
        **{f"rounds with {name}": fields[name] for name in sorted(fields)},
    }


def _by_module(module: str, what: str, folder: Path, dataset: str) -> Mapping[str, Any]:
    """What the data set's module counts under a name; nothing where it does not."""
    count = getattr(importlib.import_module(f"memrepro.data.{module}"), what, None)
    return count(folder, dataset) if count else {}


def topics(module: str, folder: Path, dataset: str) -> pd.DataFrame:
    """`topic, questions`: empty where the data set's module names no topics."""
    counted = _by_module(module, "topics", folder, dataset)
    return pd.DataFrame(counted.items(), columns=["topic", "questions"])


def evidence(module: str, folder: Path, dataset: str) -> pd.DataFrame:
    """`check, met, of`: empty where the data say themselves what answers a question."""
    counted = _by_module(module, "evidence", folder, dataset)
    rows = [(check, met, of) for check, (met, of) in counted.items()]
    return pd.DataFrame(rows, columns=["check", "met", "of"])


def persons(module: str, folder: Path, dataset: str) -> pd.DataFrame:
    """`context, person`: empty where each memory is a person's or a conversation of its own."""
    found = _by_module(module, "persons", folder, dataset)
    return pd.DataFrame(found.items(), columns=["context", "person"])


def run(dataset: str) -> StageResult:
    """Read a data set through its module and write it as tables, one memory at a time.

    Raises:
        MemreproError: if a file is missing, was changed since it was fetched, or is malformed.
    """
    entry, folder = load_plan().dataset(dataset), paths.raw(dataset)
    check_before_use(registration(dataset), folder)
    pieces: Iterator[Piece] = read_pieces(entry.module, folder, dataset, entry.parameters)
    qrels, places, asked, lengths = (
        path(entry.profile, dataset)
        for path in (paths.qrels, paths.places, paths.asked, paths.lengths)
    )
    pieces = save_places(save_qrels(save(pieces, paths.prepared(dataset)), qrels), places)
    pieces = save_lengths(save_asked(pieces, asked), lengths)
    counts: list[dict[str, str | int]] = []
    skipped: list[tuple[str, str]] = []
    kinds, with_gold = Counter[str](), Counter[str]()
    types: dict[str, str] = {}
    with bar(None, f"prepare {dataset}", "memory") as progress:
        for piece in pieces:
            counts.append(sizes(piece))
            skipped += piece.skipped
            types |= piece.types
            gold = {query_id for by_query in piece.qrels.values() for query_id in by_query}
            kinds.update(q.kind for q in piece.queries)
            with_gold.update(q.kind for q in piece.queries if q.query_id in gold)
            progress.update()
    statistics, left_out, on_topics = (
        path(entry.profile, dataset) for path in (paths.statistics, paths.skipped, paths.topics)
    )
    frame = pd.DataFrame(counts)
    frame = frame.fillna(0).astype({c: int for c in frame.columns if c != "memory_id"})
    write_table(statistics, frame)
    write_table(left_out, pd.DataFrame(skipped, columns=["item", "reason"]))
    write_table(on_topics, topics(entry.module, folder, dataset))
    outputs = [qrels, places, asked, lengths, statistics, on_topics, left_out]
    if types:
        outputs.append(paths.types(entry.profile, dataset))
        write_table(outputs[-1], pd.DataFrame(types.items(), columns=["query_id", "type"]))
    if len(checked := evidence(entry.module, folder, dataset)):
        outputs.append(paths.evidence(entry.profile, dataset))
        write_table(outputs[-1], checked)
    if len(of_persons := persons(entry.module, folder, dataset)):
        outputs.append(paths.persons(entry.profile, dataset))
        write_table(outputs[-1], of_persons)
    if larger := getattr(importlib.import_module(f"memrepro.data.{entry.module}"), "sizes", None):
        target = paths.sizes(entry.profile, dataset)
        if (found := larger(folder, dataset)) is not None:
            write_table(target, found)
        # Where the files are not there the table of an earlier run stays: the registry pins them.
        outputs += [target] if target.is_file() else []
    summary = pd.DataFrame(
        [(kind, n, with_gold[kind]) for kind, n in kinds.items()],
        columns=["kind", "queries", "with gold"],
    ).assign(memories=len(frame), rounds=int(frame["rounds"].sum()), skipped=len(skipped))
    inputs = sorted(path for path in folder.rglob("*") if path.is_file())
    written = sorted(paths.prepared(dataset).glob("*.parquet"))
    return StageResult(f"prepare {dataset}", summary, inputs, [*written, *outputs])
