"""Any retriever of the package over texts or conversations, in memory."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.core.memory import Dataset, Memory, Query, Round, Session, Turn
from memrepro.core.ranking import to_frame
from memrepro.errors import MemreproError, cut
from memrepro.face.conversations import Conversations, load
from memrepro.face.method_file import is_method_file, read_method
from memrepro.face.own.times import read_time
from memrepro.face.searcher import ENCODER, CachedVectors, Searcher

_MEMORY = "texts"  # one's own texts are one memory
Texts = Sequence[str | Mapping[str, str]] | Mapping[Any, str | Mapping[str, str]] | pd.Series


def search(
    texts: str | Conversations | Texts,
    queries: Sequence[str] | Mapping[Any, str] | pd.Series | None = None,
    method: str | Path = "rfmem.recollection",
    *,
    k: int = 10,
    encoder: str = "",
    key_scheme: str = "",
    level: str = "",
    times: Sequence[str] | None = None,
    asked: Sequence[str] | None = None,
    **parameters: Any,
) -> pd.DataFrame:
    """The best docs for each query by any method of the package; nothing is written but vectors.

    Texts and queries of one's own are known by their keys (a mapping, a pandas Series) or else by
    their places from 0. Vectors are made by the real encoder and kept in the cache.

    Args:
        texts: one's own, each a string or a mapping from field (such as 'user') to words; or a
            registered data set by name; or what `load` gives.
        queries: the questions; of a data set the ids of those that are asked, all by default. Only
            the memories of questions that are asked are searched.
        method: `family.retriever`, an unknown one is an error that lists all; or a file such as
            the `best.yaml` that `memrepro try` writes, which says all else too.
        k: length of a ranking.
        encoder: of `encode/encoders.yaml`, by default all-minilm-l6-v2; not used by BM25.
        key_scheme: which words of a text are searched, such as 'concat', 'fielded' (a key each
            field) or 'concat+merge:nlp-fact' (`core.key_schemes`); by default the method's.
        level: what a doc of a data set is, 'session', 'round' or 'turn'; by default rounds, or
            sessions where no round is marked as evidence.
        times: when each text was said, ISO 8601, for methods that use time; one a text, '' where it
            is not known.
        asked: when each query is asked, likewise; one a query.
        parameters: of the retriever, by name, such as alpha=0.5; else those of `defaults.yaml`.

    Returns:
        `query_id, doc_id, rank, score`, rank from 1. Where a method lists docs in order of
        discovery (recollection), scores need not fall.

    Raises:
        MemreproError: for an unknown method, parameter, encoder, key scheme or question, with what
            is known; a text that is empty; or an encoder that is not here and cannot be fetched.

    Example:
        >>> import memrepro as mr
        >>> notes = ["I adopted a grey cat called Miso.", "The train to Bern was late again.",
        ...          "My sister is allergic to peanuts."]
        >>> found = mr.search(notes, ["Which pet do I have?"], method="bm25.hybrid", alpha=0.5, k=2)
        >>> found[["query_id", "doc_id", "rank"]]
          query_id doc_id  rank
        0        0      0     1
        1        0      2     2
    """
    if is_method_file(method):
        saved = read_method(method)
        method, encoder = saved.method, encoder or saved.encoder
        key_scheme, parameters = key_scheme or saved.key_scheme, {**saved.parameters, **parameters}
        if isinstance(texts, str | Conversations):
            level = level or saved.level
    data, level = _to_search(texts, queries, level, times, asked)
    searcher = Searcher(data, CachedVectors(encoder or ENCODER))
    found = searcher.search(str(method), k, level, key_scheme, **parameters)
    return to_frame(found.rankings)


def _to_search(
    texts: str | Conversations | Texts,
    queries: Sequence[str] | Mapping[Any, str] | pd.Series | None,
    level: str,
    times: Sequence[str] | None,
    asked: Sequence[str] | None,
) -> tuple[Dataset, str]:
    """What is searched, and what its docs are."""
    if not isinstance(texts, str | Conversations):
        if queries is None or level:
            raise MemreproError(
                "your own texts have no questions and no levels: give queries, and leave out level"
            )
        return _own(texts, queries, times, asked), "round"
    if times is not None or asked is not None:
        raise MemreproError("a data set has times of its own: leave out times and asked")
    found = load(texts) if isinstance(texts, str) else texts
    data = found.dataset
    if queries is not None:
        if isinstance(queries, str):
            raise MemreproError(f"queries is the text {cut(queries, 40)!r}: give a list of ids")
        data = _only(data, list(queries))
    return data, level or found.level


def _only(data: Dataset, query_ids: Collection[str]) -> Dataset:
    """The data set with some of its questions, and the memories that these are asked of."""
    known = {query.query_id for query in data.queries}
    if strange := [query_id for query_id in query_ids if query_id not in known]:
        raise MemreproError(
            f"{data.name} has no question {cut(strange[0], 60)!r}: its ids are such as "
            f"{data.queries[0].query_id!r}; queries of a data set are ids of its questions"
        )
    asked = set(query_ids)
    kept = tuple(query for query in data.queries if query.query_id in asked)
    held = {query.memory_id for query in kept}
    memories = {name: memory for name, memory in data.memories.items() if name in held}
    return replace(data, memories=memories, queries=kept)


def _own(
    texts: Texts, queries: Sequence[str] | Mapping[Any, str] | pd.Series,
    times: Sequence[str] | None, asked: Sequence[str] | None,
) -> Dataset:  # fmt: skip
    """One's own texts as one memory, each a session of one round."""
    docs, questions = _by_id(texts, "text"), _by_id(queries, "query")
    said, at = _one_each(times, docs, "times"), _one_each(asked, questions, "asked")
    sessions = []
    for doc_id, words in docs.items():
        fields = words if isinstance(words, Mapping) else {"text": words}
        turns = tuple(Turn(doc_id, str(field), text) for field, text in fields.items())
        sessions.append(Session(doc_id, (Round(doc_id, turns),)))
    memory = Memory(_MEMORY, tuple(sessions), tuple(said))
    asking = tuple(
        Query(query_id, _MEMORY, str(text), when, "")
        for (query_id, text), when in zip(questions.items(), at, strict=True)
    )
    return Dataset(_MEMORY, {_MEMORY: memory}, asking)


def _by_id(given: Any, what: str) -> dict[str, Any]:
    """Id → text, each text a string or, of texts, a mapping of fields."""
    if isinstance(given, str) or not isinstance(given, Sequence | Mapping | pd.Series):
        raise MemreproError(
            f"the {what} argument is a {type(given).__name__}: give a list, or a mapping or Series "
            f"from id to {what}"
        )
    pairs = given.items() if isinstance(given, Mapping | pd.Series) else enumerate(given)
    found: dict[str, Any] = {}
    for key, value in pairs:
        parts = list(value.values()) if what == "text" and isinstance(value, Mapping) else [value]
        if not parts or not all(isinstance(one, str) and one.strip() for one in parts):
            raise MemreproError(
                f"{what} {str(key)!r} is {cut(repr(value), 60)}: it must be a string that is not "
                "empty" + (", or a mapping from fields to such strings" if what == "text" else "")
            )
        if str(key) in found:
            raise MemreproError(f"two {what}s have the id {str(key)!r}: ids must be unique")
        found[str(key)] = value
    if not found:
        raise MemreproError(f"there is no {what}: give at least one")
    return found


def _one_each(times: Sequence[str] | None, items: Mapping[str, Any], name: str) -> Sequence[str]:
    if times is None:
        return [""] * len(items)
    if isinstance(times, str) or not isinstance(times, Sequence | pd.Series):
        raise MemreproError(
            f"{name} is a {type(times).__name__}: give a list of times, one for each, in order"
        )
    if len(times) != len(items):
        raise MemreproError(f"{name} has {len(times)} entries for {len(items)}: give one for each")
    found = [read_time(one)[0] for one in times]
    for one, at in zip(times, found, strict=True):
        if not at and one != "" and not pd.isna(one):
            raise MemreproError(
                f"{name} has {cut(repr(one), 40)}: write ISO 8601, such as 2025-03-01T09:30, or "
                "'' where it is not known"
            )
    return found
