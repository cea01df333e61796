"""A data set in BEIR's and TREC's layouts, so that a system that never heard of memrepro can run.

A memory is a collection of its own, as a question may search its own memory alone: a folder with
`corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv` (BEIR), `topics.tsv` and `qrels.txt` (TREC).
Texts come from the prepared data on this machine and stay there.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from memrepro.core.memory import Dataset, Memory, Parts, Turn
from memrepro.core.prepared import load, load_qrels
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import write_text
from memrepro.files.progress import bar
from memrepro.outside.runs import LEVELS
from memrepro.study.plan import Plan

_ABOUT = """# {dataset}, {level}s as docs

Written by `memrepro export`. A folder is one memory with the questions that are asked of it: search
each folder by itself. `memories.tsv` names the folders. BEIR: `corpus.jsonl`, `queries.jsonl`,
`qrels/test.tsv`. TREC: `topics.tsv`, `qrels.txt`. A doc's title is when its session took place.

{counts}

Where several docs are alternatives for one part of an answer, the qrels name all of them, and the
measures of BEIR and TREC then ask for more than is needed: `memrepro score RUN --dataset {dataset}`
counts them as the data set's authors do, and takes one run file over all folders.
The texts are under the licence of the data set (`memrepro datasets`).
"""


def export(dataset: str, folder: Path, plan: Plan, level: str = "session") -> dict[str, int]:
    """Write a data set, a folder a memory.

    Args:
        dataset: by its name in params.yaml.
        folder: where to; new, or empty.
        plan: of params.yaml.
        level: what a doc is, one of `LEVELS`.

    Returns:
        How many memories, docs, questions, and questions with gold.

    Raises:
        MemreproError: if the data set was not prepared on this machine, or the folder holds files.
    """
    prepared, profile = paths.prepared(dataset), plan.dataset(dataset).profile
    if not (prepared / "queries.parquet").is_file():
        raise MemreproError(
            f"the texts of {dataset} are not here: {prepared} is made by `make repro "
            f"PROFILE={profile}`"
        )
    _, gold = load_qrels(paths.qrels(profile, dataset), level)
    return export_data(load(prepared, dataset), gold, folder, level, dataset)


def export_data(
    found: Dataset, gold: Mapping[str, Parts], folder: Path, level: str, called: str
) -> dict[str, int]:
    """The same of a data set that is in memory.

    Args:
        found: memories and questions.
        gold: question → what answers it, at the level.
        folder: where to; new, or empty.
        level: what a doc is, one of `LEVELS`.
        called: what `memrepro score --dataset` takes for it.
    """
    if level not in LEVELS:
        raise MemreproError(f"unknown level {level!r}: known are {', '.join(LEVELS)}")
    if folder.exists() and any(folder.iterdir()):
        raise MemreproError(f"{folder} is not empty: name a new folder")
    counts = dict.fromkeys(("memories", "docs", "questions", "questions with gold"), 0)
    names = ["memory\tfolder"]
    with bar(len(found.memories), f"export {called}", "memory") as progress, _or_nothing(folder):
        for number, memory in enumerate(found.memories.values(), start=1):
            name = f"{number:03d}-{re.sub(r'[^A-Za-z0-9._-]', '_', memory.memory_id)[:40]}"
            names.append(f"{memory.memory_id}\t{name}")
            docs = list(_docs(memory, level))
            asked = [q for q in found.queries if q.memory_id == memory.memory_id]
            pairs = [(q.query_id, d) for q in asked for d in _relevant(gold, q.query_id)]
            _write(
                folder / name,
                {
                    "corpus.jsonl": [_json(d, title=at, text=text) for d, at, text in docs],
                    "queries.jsonl": [
                        _json(q.query_id, text=q.text, metadata={"kind": q.kind, "at": q.at})
                        for q in asked
                    ],
                    "qrels/test.tsv": [
                        "query-id\tcorpus-id\tscore",
                        *(
                            f"{q.query_id}\t{d}\t1"
                            for q in asked
                            for d in _relevant(gold, q.query_id)
                        ),
                    ],
                    "topics.tsv": [f"{q.query_id}\t{' '.join(q.text.split())}" for q in asked],
                    "qrels.txt": [f"{q} 0 {d} 1" for q, d in pairs],
                },
            )
            with_gold = sum(q.query_id in gold for q in asked)
            for key, n in zip(counts, (1, len(docs), len(asked), with_gold), strict=True):
                counts[key] += n
            progress.update()
        told = ", ".join(f"{n:,} {what}" for what, n in counts.items()) + "."
        _write(folder, {"memories.tsv": names})
        write_text(folder / "README.md", _ABOUT.format(dataset=called, level=level, counts=told))
    return counts


@contextmanager
def _or_nothing(folder: Path) -> Iterator[None]:
    """A new folder is whole, or gone, so that the same command can be run again."""
    try:
        yield
    except BaseException:  # a full disk, or Ctrl-C
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _docs(memory: Memory, level: str) -> Iterator[tuple[str, str, str]]:
    """`doc id, time, text` of each doc of a memory, in order."""
    for session, at in zip(memory.sessions, memory.times, strict=True):
        turns = [turn for r in session.rounds for turn in r.turns]
        if level == "session":
            yield session.session_id, at, _joined_turns(turns)
        elif level == "round":
            yield from ((r.round_id, at, _joined_turns(r.turns)) for r in session.rounds)
        else:
            yield from ((turn.turn_id, at, _joined_turns([turn])) for turn in turns)


def _joined_turns(turns: Sequence[Turn]) -> str:
    return "\n".join(f"{turn.field}: {turn.text}" for turn in turns)


def _relevant(gold: Mapping[str, Parts], query_id: str) -> list[str]:
    return list(dict.fromkeys(doc for part in gold.get(query_id, ()) for doc in part))


def _json(key: str, **rest: object) -> str:
    return json.dumps({"_id": key, **rest}, ensure_ascii=False)


def _write(folder: Path, files: Mapping[str, Sequence[str]]) -> None:
    for name, lines in files.items():
        write_text(folder / name, "".join(f"{line}\n" for line in lines))
