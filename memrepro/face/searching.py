"""Any retriever of the package over texts or conversations, in memory."""

import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pandas as pd

from memrepro.core.extractions import KINDS, Extracted, Extractions
from memrepro.core.memory import Dataset, Memory, Query, Round, Session, Turn
from memrepro.core.ranking import to_frame
from memrepro.core.similarity import Floats
from memrepro.data.registry import registrations
from memrepro.encode.encoder import Encoder, Role
from memrepro.encode.load import load_encoder
from memrepro.encode.vectors import VectorStore, embed
from memrepro.errors import MemreproError, cut
from memrepro.face.conversations import Conversations, files_of, load
from memrepro.face.defaults import method_defaults
from memrepro.memory.language.extract import by_store
from memrepro.retrieve import attach_encoder, make_retriever
from memrepro.retrieve.key_builders import key_builder_for
from memrepro.study.search.requests import Times, requests_of
from memrepro.text.sources import by_nlp, said_dates

_MEMORY = "texts"  # one's own texts are one memory
Texts = Sequence[str | Mapping[str, str]] | Mapping[Any, str | Mapping[str, str]] | pd.Series


def search(
    texts: str | Conversations | Texts,
    queries: Sequence[str] | Mapping[Any, str] | pd.Series | None = None,
    method: str = "rfmem.recollection",
    *,
    k: int = 10,
    encoder: str = "all-minilm-l6-v2",
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
        method: `family.retriever`; an unknown one is an error that lists all.
        k: length of a ranking.
        encoder: of `encode/encoders.yaml`; not used by BM25.
        key_scheme: which words of a text are searched, such as 'concat', 'fielded' (a key each
            field) or 'concat+merge:nlp-fact' (`core.key_schemes`); by default the method's.
        level: what a doc of a data set is, 'session', 'round' or 'turn'; by default rounds, or
            sessions where no round is marked as evidence.
        times: when each text was said, ISO 8601, for methods that use time; one a text.
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
    given = method_defaults(method)
    scheme = key_scheme or given.pop("key_scheme", "concat")
    given.pop("key_scheme", None)
    lexical, dates = given.pop("lexical", False), given.pop("dates", ())
    family, _, name = method.partition(".")
    retriever = make_retriever(family, name, {"k": k, **given, **parameters})
    data, level = _to_search(texts, queries, level, times, asked)
    builder = key_builder_for(scheme)(level, scheme, _extractions(data, f"{level} {scheme}"))
    vectors = None if lexical else _Vectors(encoder)
    requests = requests_of(
        data.queries, data.memories, builder, vectors, _times(data) if dates else None
    )
    if vectors is not None:
        retriever = attach_encoder(retriever, lambda some: vectors.of("query", some))
    return to_frame(retriever.search(requests))


@dataclass(frozen=True)
class _Vectors:
    """Vectors by an encoder, through the cache."""

    encoder: str

    def of(self, role: Role, texts: Sequence[str]) -> Floats:
        """The vectors of texts, shape (n, dimension)."""
        with VectorStore() as store:
            return embed(texts, _loaded(self.encoder), role, store, progress=sys.stderr.isatty())


@cache
def _loaded(encoder: str) -> Encoder:
    return load_encoder(encoder)


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
            f"the {what} argument is a {type(given).__name__}: give a list of {what}s, or a "
            f"mapping or Series from id to {what}"
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
    if len(times) != len(items):
        raise MemreproError(f"{name} has {len(times)} entries for {len(items)}: give one for each")
    return [_minute(one, name) for one in times]


def _minute(given: Any, name: str) -> str:
    try:
        return pd.Timestamp(given).tz_localize(None).isoformat(timespec="minutes")
    except (ValueError, TypeError) as error:
        raise MemreproError(
            f"{name} has {cut(repr(given), 40)}: write ISO 8601, such as 2025-03-01T09:30"
        ) from error


def _extractions(data: Dataset, named: str) -> Extractions:
    """What was extracted from the data, by the sources that a level or key scheme names."""
    names = re.findall(rf"((\w+)-(?:{'|'.join(KINDS)}))\b", named)
    sources = dict.fromkeys(source for _, source in names)
    found = Extractions.of(text for one in sources for text in _by_source(one, data).texts)
    # Rules may find nothing of a kind in a few texts.
    return Extractions({name: {} for name, _ in names} | dict(found.texts))


def _by_source(source: str, data: Dataset) -> Extracted:
    """What a source has to say: rules, or what the data set's own authors extracted."""
    if source == "nlp":
        return by_nlp(data)
    if source == "store":
        return by_store(data)
    registered = registrations().get(data.name)
    module = f"memrepro.data.{registered.module}_extractions" if registered else ""
    if module and find_spec(module):
        found: Extracted = import_module(module).extract(files_of(data.name), data)
        if {text.source for text in found.texts} <= {source}:
            return found
    raise MemreproError(
        f"{data.name} has no extractions {source!r}: write a key scheme with 'nlp' or 'store', "
        "which extract by rules" + (", or those that its authors recorded" if registered else "")
    )


def _times(data: Dataset) -> Times:
    """Dates by rules and when sessions took place; ranges by rules."""
    extracted = by_nlp(data)
    dates: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for one in [*said_dates(data), *extracted.dates]:
        dates.setdefault((one.memory_id, one.session_id), []).append((one.start, one.end))
    return Times(dates, {one.query_id: (one.start, one.end) for one in extracted.ranges})
