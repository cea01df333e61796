"""A run file made elsewhere, as TREC, JSONL or parquet, and what is wrong with it.

What can be counted is named and counted, never repaired in silence: see `Problems`. A file that
cannot be read as a run at all is refused, with its line.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from memrepro.core.ranking import tie_keys
from memrepro.errors import MemreproError, cut
from memrepro.files import paths
from memrepro.files.atomic import read_table, read_yaml
from memrepro.study.plan import Plan

LEVELS = ("session", "round", "turn")
# What may be wrong, and what is done about it.
PROBLEMS: Mapping[str, str] = {
    "unknown question": "left out",
    "question without a ranking": "counts as nothing found",
    "doc named twice": "its first place counts",
    "unknown doc": "keeps its place, finds nothing",
    "score that is no number": "the doc stands last",
}


class Row(NamedTuple):
    """A doc in a run file; NaN where the file gives no rank or no score."""

    query_id: str
    doc_id: str
    rank: float
    score: float


@dataclass(frozen=True)
class Docs:
    """The docs and questions of a data set, by id alone.

    Attributes:
        memory_of: question → the memory it is asked of.
        held: (level, memory id) → the docs of the memory; empty where nobody knows them.
        aliases: how others name the docs.
    """

    memory_of: Mapping[str, str]
    held: Mapping[tuple[str, str], frozenset[str]]
    aliases: tuple[tuple[str, str], ...]

    def own(self, doc_id: str, held: frozenset[str]) -> str:
        """The id that this project gives a doc; the id itself where it is not known."""
        if doc_id not in held:
            for pattern, own in self.aliases:
                if (match := re.fullmatch(pattern, doc_id)) and match.expand(own) in held:
                    return match.expand(own)
        return doc_id


@dataclass(frozen=True)
class OutsideRun:
    """A ranking made elsewhere, of one data set.

    Attributes:
        name: the file's stem.
        path: the file.
        level: what its docs are, one of `LEVELS`.
        frame: `query_id, doc_id, rank`, in order of rank for each question, known questions alone.
        problems: of `PROBLEMS` those that were found → the items, such as `conv-26-q0: D99`.
    """

    name: str
    path: Path
    level: str
    frame: pd.DataFrame
    problems: Mapping[str, tuple[str, ...]]

    @property
    def depth(self) -> int:
        """The length of its longest list."""
        return int(self.frame["rank"].max())


@cache
def docs_of(dataset: str, profile: str) -> Docs:
    """The docs and questions of a data set, from its tables in results/.

    Raises:
        MemreproError: if the data set was not prepared.
    """
    path = paths.lengths(profile, dataset)
    if not path.is_file():
        raise MemreproError(
            f"{dataset} is not prepared: {path.name} of results/{profile}/data/{dataset} is "
            f"missing; run `make repro PROFILE={profile}` first"
        )
    lengths = read_table(path)
    queries = lengths[lengths["level"] == "query"]
    held = {
        (str(level), str(memory)): frozenset(docs)
        for (level, memory), docs in lengths[lengths["level"] != "query"].groupby(
            ["level", "memory_id"], sort=False
        )["doc_id"]
    }
    turns: dict[str, set[str]] = {}
    for doc_id, session_id in read_table(paths.places(profile, dataset)).itertuples(index=False):
        turns.setdefault(session_id, set()).add(doc_id)
    for (level, memory), sessions in list(held.items()):
        if level == "session":
            held["turn", memory] = frozenset().union(*(turns.get(s, ()) for s in sessions))
    aliases = read_yaml(Path(__file__).with_name("aliases.yaml")).get(dataset, [])
    return Docs(
        dict(zip(queries["doc_id"], queries["memory_id"], strict=True)),
        held,
        tuple((pattern, own) for pattern, own in aliases),
    )


def read_run(path: Path, dataset: str, plan: Plan, level: str = "") -> OutsideRun:
    """Read a run file and hold it against a prepared data set; see `read_against`.

    Raises:
        MemreproError: if the data set was not prepared, and for what `read_against` refuses.
    """
    return read_against(path, docs_of(dataset, plan.dataset(dataset).profile), dataset, level)


def questions_of(path: Path) -> list[str]:
    """The ids of a run file's questions, as they come."""
    return list(dict.fromkeys(row.query_id for row in _rows(path)))


def read_against(path: Path, known: Docs, called: str, level: str = "") -> OutsideRun:
    """Read a run file and hold it against what is known of its docs and questions.

    A rank decides where the file gives one and no question has a rank twice, as a method's scores
    need not fall; else the score, and between equal scores the project's tie rule.

    Args:
        path: `.parquet` (`query_id, doc_id` and `rank` or `score`), `.jsonl` (the same a line, or
            `query_id` and `ranked`, a list of ids), anything else TREC's six columns.
        known: the docs and questions.
        called: what they are of, for messages.
        level: what the docs are; by default the level that knows most of them.

    Raises:
        MemreproError: if the file is missing, no run file, or names no known question.
    """
    rows = pd.DataFrame(_rows(path), columns=list(Row._fields))
    level, frame, problems = check_rows(rows, known, called, str(path), level)
    return OutsideRun(path.stem, path, level, frame, problems)


def check_rows(
    rows: pd.DataFrame, known: Docs, called: str, where: str, level: str = ""
) -> tuple[str, pd.DataFrame, dict[str, tuple[str, ...]]]:
    """The level, rankings and problems of an `OutsideRun`, from its rows.

    Args:
        rows: the columns of `Row`.
        known: the docs and questions.
        called: what they are of, for messages.
        where: the rows are from, for messages.
        level: what the docs are; by default the level that knows most of them.

    Raises:
        MemreproError: if they name no known question.
    """
    found: dict[str, list[str]] = {}
    asked = rows["query_id"].isin(list(known.memory_of))
    found["unknown question"] = sorted(set(rows.loc[~asked, "query_id"]))
    rows = rows[asked]
    if rows.empty:
        raise MemreproError(
            f"{where} names no question of {called}: its ids are such as "
            f"{(found['unknown question'] or ['none'])[0]!r}, and those of {called} such as "
            f"{next(iter(known.memory_of))!r}"
        )
    found["question without a ranking"] = sorted(set(known.memory_of) - set(rows["query_id"]))
    level = level or _likeliest(rows, known)
    memories = rows["query_id"].map(known.memory_of)
    own = [
        known.own(doc, known.held.get((level, memory), frozenset()))
        for doc, memory in zip(rows["doc_id"], memories, strict=True)
    ]
    rows = rows.assign(
        doc_id=own,
        known=[
            not known.held or doc in known.held.get((level, memory), ())
            for doc, memory in zip(own, memories, strict=True)
        ],
    )
    rows = _ordered(rows)
    found["score that is no number"] = _items(rows[rows["unordered"]])
    twice = rows.duplicated(["query_id", "doc_id"])
    found["doc named twice"] = _items(rows[twice])
    rows = rows[~twice]
    found["unknown doc"] = _items(rows[~rows["known"]])
    frame = rows[["query_id", "doc_id"]].reset_index(drop=True)
    frame["rank"] = frame.groupby("query_id", sort=False).cumcount() + 1
    problems = {kind: tuple(found[kind]) for kind in PROBLEMS if found.get(kind)}
    return level, frame, problems


def _likeliest(rows: pd.DataFrame, known: Docs) -> str:
    """The level that knows most of the docs; of equals the first."""
    pairs = rows[["query_id", "doc_id"]].drop_duplicates()
    hits = dict.fromkeys(LEVELS, 0)
    for query_id, doc_id in pairs.itertuples(index=False):
        for level in LEVELS:
            held = known.held.get((level, known.memory_of[query_id]), frozenset())
            hits[level] += known.own(doc_id, held) in held
    return max(LEVELS, key=lambda level: hits[level])


def _ordered(rows: pd.DataFrame) -> pd.DataFrame:
    """Each question's rows in order, questions as they come; `unordered` where nothing orders."""
    ranked = rows["rank"].notna().all() and not rows.duplicated(["query_id", "rank"]).any()
    by = rows["rank"] if ranked else -rows["score"]
    rows = rows.assign(unordered=by.isna() | np.isinf(by) if not ranked else False, by=by)
    rows = rows.assign(
        by=rows["by"].where(~rows["unordered"], np.inf),
        first=pd.factorize(rows["query_id"])[0],
        tie=tie_keys(rows["doc_id"].tolist()),
    )
    return rows.sort_values(["first", "by", "tie"], kind="stable")


def _items(rows: pd.DataFrame) -> list[str]:
    return [f"{q}: {d}" for q, d in zip(rows["query_id"], rows["doc_id"], strict=True)]


def _rows(path: Path) -> list[Row]:
    if not path.is_file():
        raise MemreproError(f"{path} is no file: name a run as TREC, .jsonl or .parquet")
    if path.suffix == ".parquet":
        return list(_parquet(path))
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise MemreproError(f"{path} is no text in UTF-8 at byte {error.start}") from error
    read = _jsonl if path.suffix == ".jsonl" else _trec
    rows: list[Row] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                rows += read(line)
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                raise MemreproError(
                    f"{path}, line {number}: {line[:80]!r} is no row of a run ({error}); write "
                    f"{_SHAPES[path.suffix == '.jsonl']}"
                ) from error
    return rows


_SHAPES = (
    "query_id Q0 doc_id rank score tag",
    '{"query_id": …, "ranked": [doc ids]} or {"query_id": …, "doc_id": …, "rank": …, "score": …}',
)


def _trec(line: str) -> Iterator[Row]:
    query_id, _, doc_id, rank, score, _ = line.split()
    yield Row(query_id, doc_id, float(rank), float(score))


def _jsonl(line: str) -> Iterator[Row]:
    row = json.loads(line)
    query_id = _text(row["query_id"])
    if "ranked" in row:
        if not isinstance(row["ranked"], list):
            raise TypeError("'ranked' is no list")
        for rank, doc_id in enumerate(row["ranked"], start=1):
            yield Row(query_id, _text(doc_id), rank, np.nan)
    else:
        yield _row(query_id, row)


def _row(query_id: str, row: Mapping[str, Any]) -> Row:
    if "rank" not in row and "score" not in row:
        raise KeyError("neither rank nor score")
    rank, score = (row.get(name) for name in ("rank", "score"))
    return Row(
        query_id,
        _text(row["doc_id"]),
        np.nan if rank is None else float(rank),
        np.nan if score is None else float(score),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str | int):
        raise TypeError(f"{value!r} is no id")
    return str(value)


def _parquet(path: Path) -> Iterator[Row]:
    try:
        table = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise MemreproError(f"{path} is no parquet file: {error}") from error
    if missing := {"query_id", "doc_id"} - set(table.columns):
        raise MemreproError(
            f"{path} has no column {min(missing)!r}: found {cut(list(table.columns))}"
        )
    if not {"rank", "score"} & set(table.columns):
        raise MemreproError(f"{path} has neither rank nor score: found {list(table.columns)}")
    if "setting" in table and table["setting"].nunique() > 1:
        raise MemreproError(f"{path} is a sweep of {table['setting'].nunique()} settings: keep one")
    for row in table.to_dict("records"):
        yield _row(str(row["query_id"]), {str(name): value for name, value in row.items()})
