"""A run file made elsewhere, held against a data set, and what is wrong with it.

What can be counted is named and counted, never repaired in silence: see `Problems`. A file that
cannot be read as a run at all is refused, with its line.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from memrepro.core.ranking import tie_keys
from memrepro.errors import MemreproError, cut
from memrepro.files import paths
from memrepro.files.atomic import read_table, read_yaml
from memrepro.outside.forms import Row, run_rows
from memrepro.study.plan import Plan

LEVELS = ("session", "round", "turn")
# What may be wrong, and what is done about it.
PROBLEMS: Mapping[str, str] = {
    "unknown question": "left out",
    "question without a ranking": "counts as nothing found",
    "doc named twice": "its first place counts",
    "unknown doc": "keeps its place, finds nothing",
    "rank and score disagree": "the rank counts (trec_eval goes by the score)",
    "rank that is none": "the score decides, or the doc stands last",
    "rank of two docs": "they stand as equals do",
    "score that is no number": "the doc stands last",
}


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


def problem_sentences(name: str, problems: Mapping[str, Sequence[str]]) -> list[str]:
    """What is wrong with a run: how many, the first, and what was done about it."""
    return [
        f"{cut(name)}: {kind}, {len(items):,} times, first {cut(items[0])!r}: {PROBLEMS[kind]}"
        for kind, items in problems.items()
    ]


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


def name_of(path: Path) -> str:
    """What a run is called: the stem of its file."""
    return Path(path.name.removesuffix(".gz")).stem


def questions_of(path: Path) -> list[str]:
    """The ids of a run file's questions, as they come."""
    return list(dict.fromkeys(row.query_id for row in run_rows(path)))


def read_against(path: Path, known: Docs, called: str, level: str = "") -> OutsideRun:
    """Read a run file and hold it against what is known of its docs and questions.

    A question's ranks decide, as a method's scores need not fall, where each of its docs has one
    of its own; else its scores, and between equals the project's tie rule.

    Args:
        path: of a form of `forms.run_rows`, packed by gzip or not.
        known: the docs and questions.
        called: what they are of, for messages.
        level: what the docs are; by default the level that knows most of them.

    Raises:
        MemreproError: if the file is missing, no run file, or names no known question or doc.
    """
    rows = pd.DataFrame(run_rows(path), columns=list(Row._fields))
    level, frame, problems = check_rows(rows, known, called, str(path), level)
    return OutsideRun(name_of(path), path, level, frame, problems)


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
        MemreproError: if they name no known question, or no known doc.
    """
    if rows.empty:
        raise MemreproError(f"{where} has no row: nothing was ranked")
    found: dict[str, list[str]] = {}
    asked = rows["query_id"].isin(list(known.memory_of))
    found["unknown question"] = sorted(set(rows.loc[~asked, "query_id"]))
    rows = rows[asked]
    if rows.empty:
        raise MemreproError(
            f"{where} names no question of {called}: it has {found['unknown question'][0]!r}, "
            f"where {called} has ids such as {next(iter(known.memory_of))!r}"
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
    if not rows["known"].any():
        raise MemreproError(
            f"{where} ranks no doc of {called}: it has {rows['doc_id'].iloc[0]!r}, where the "
            f"{level}s of {called} have ids such as "
            f"{min(known.held.get((level, memories.iloc[0]), frozenset()), default='none')!r}"
        )
    rows = _ordered(rows.reset_index(drop=True))
    found["rank and score disagree"] = _against_scores(rows)
    found["rank that is none"] = _items(rows[rows["odd"]])
    found["rank of two docs"] = _items(rows[rows["shared"]])
    found["score that is no number"] = _items(rows[rows["unordered"] & ~rows["odd"]])
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
    """Each question's rows in order, questions as they come, with what orders them.

    `ranked`: whether the ranks of its question order it; `odd`: its rank is none, and its question
    has ranks; `shared`: its rank is another doc's too, and no score decides; `unordered`: neither
    rank nor score places it.
    """
    of, rank = rows["query_id"], rows["rank"]
    counts = np.isfinite(rank) & (rank >= 0) & (rank % 1 == 0)
    # A row that stands twice, as a last line written again, makes no rank one of two docs.
    once = rows[counts].drop_duplicates(["query_id", "doc_id", "rank"])
    pairs = once[once.duplicated(["query_id", "rank"], keep=False)].index
    shared = pd.Series(rows.index.isin(pairs), rows.index)
    scored = np.isfinite(rows["score"]).groupby(of).transform("any")
    ranked = (counts & ~shared).groupby(of).transform("all")
    by = rank.where(counts).where(ranked | ~scored, -rows["score"])
    unordered = ~np.isfinite(by)
    rows = rows.assign(
        ranked=ranked,
        odd=rank.notna().groupby(of).transform("any") & ~counts,
        shared=shared & ~scored,
        unordered=unordered,
        by=by.where(~unordered, np.inf),
        first=pd.factorize(of)[0],
        tie=tie_keys(rows["doc_id"].tolist()),
    )
    return rows.sort_values(["first", "by", "tie"], kind="stable")


def _against_scores(rows: pd.DataFrame) -> list[str]:
    """The questions that ranks order, and whose scores rise somewhere down their lists."""
    rows = rows[rows["ranked"] & np.isfinite(rows["score"])]
    rises = rows.groupby("query_id", sort=False)["score"].diff() > 0
    return list(dict.fromkeys(rows.loc[rises, "query_id"]))


def _items(rows: pd.DataFrame) -> list[str]:
    return [f"{q}: {d}" for q, d in zip(rows["query_id"], rows["doc_id"], strict=True)]
