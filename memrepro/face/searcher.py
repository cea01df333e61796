"""One data set searched by many methods, in memory: what they share is made once."""

import re
import sys
import time
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from memrepro.core.extractions import KINDS, Extracted, Extractions
from memrepro.core.keys import Request
from memrepro.core.memory import Dataset
from memrepro.core.ranking import Ranking
from memrepro.core.similarity import Floats
from memrepro.data.registry import registrations
from memrepro.encode.encoder import Encoder, Role
from memrepro.encode.load import load_encoder
from memrepro.encode.vectors import VectorStore, embed
from memrepro.errors import MemreproError
from memrepro.face.conversations import files_of
from memrepro.face.defaults import method_defaults
from memrepro.memory.language.extract import by_store
from memrepro.retrieve import attach_encoder, make_retriever
from memrepro.retrieve.key_builders import key_builder_for
from memrepro.retrieve.lexical import check_alpha
from memrepro.study.search.requests import Times, VectorsOfTexts, requests_of
from memrepro.text.sources import by_nlp, said_dates

ENCODER = "all-minilm-l6-v2"


class Searched(NamedTuple):
    """What a search gave and took.

    Attributes:
        rankings: one a question, in the order of the data set's memories.
        keys: of all memories that were searched.
        words: of those keys.
        seconds: of the search alone, its keys, vectors and extractions being there.
    """

    rankings: Sequence[Ranking]
    keys: int
    words: int
    seconds: float


class CachedVectors:
    """Vectors by an encoder, through the cache."""

    def __init__(self, encoder: str) -> None:
        self.encoder = encoder

    def of_texts(self, role: Role, texts: Sequence[str]) -> Floats:
        """The vectors of texts, shape (n, dimension)."""
        with VectorStore() as store:
            return embed(texts, loaded(self.encoder), role, store, progress=sys.stderr.isatty())


@cache
def loaded(encoder: str) -> Encoder:
    """An encoder by its name, loaded once."""
    return load_encoder(encoder)


class Searcher:
    """Searches a data set's questions by any method.

    Extractions and dates are kept; of the keys and their vectors only the last, as they are large:
    methods of one key scheme are best asked one after the other.
    """

    def __init__(self, data: Dataset, vectors: VectorsOfTexts) -> None:
        """Search `data` by an encoder's `vectors`, such as `CachedVectors`."""
        self.data, self.vectors = data, vectors
        self._extracted: dict[tuple[str, bool], Extracted] = {}
        self._times: Times | None = None
        self._last: tuple[object, list[Request]] = (None, [])

    def search(
        self, method: str, k: int, level: str, key_scheme: str = "", **parameters: Any
    ) -> Searched:
        """The best docs of every question; arguments as of `face.searching.search`.

        Raises:
            MemreproError: for an unknown method, parameter, encoder or key scheme.
        """
        given = method_defaults(method)
        scheme = key_scheme or given.pop("key_scheme", "concat")
        given.pop("key_scheme", None)
        lexical, dates = given.pop("lexical", False), given.pop("dates", ())
        family, _, name = method.partition(".")
        asked = {"k": k, **given, **parameters}
        retriever = make_retriever(family, name, asked)
        check_alpha(asked.get("alpha", 0), method)
        requests = self._requests(level, scheme, lexical, bool(dates))
        if field := parameters.get("field"):
            known = sorted({name for one in requests for name in one.keys.fields})
            if field not in known:
                raise MemreproError(
                    f"{method}: no key has the field {field!r}: there are {', '.join(known)}"
                )
        if not lexical:
            retriever = attach_encoder(retriever, lambda some: self.vectors.of_texts("query", some))
        began = time.perf_counter()
        rankings = retriever.search(requests)
        seconds = time.perf_counter() - began
        texts = [text for one in requests for text in one.keys.texts]
        return Searched(rankings, len(texts), sum(len(t.split()) for t in texts), seconds)

    def _requests(self, level: str, scheme: str, lexical: bool, dated: bool) -> list[Request]:
        wanted = (level, scheme, lexical, dated)
        if self._last[0] != wanted:
            builder = key_builder_for(scheme)(level, scheme, self._extractions(f"{level} {scheme}"))
            vectors = None if lexical else self.vectors
            times = self._dates() if dated else None
            made = requests_of(self.data.queries, self.data.memories, builder, vectors, times)
            self._last = wanted, made
        return self._last[1]

    def _extractions(self, named: str) -> Extractions:
        """What was extracted from the data, by the sources that a level or key scheme names."""
        names = re.findall(rf"((\w+)-({'|'.join(KINDS)}))\b", named)
        slow = {"keyphrase", "summary"} & {kind for *_, kind in names}
        sources = dict.fromkeys(source for _, source, _ in names)
        found = Extractions.grouped(
            text for source in sources for text in self._by_source(source, bool(slow)).texts
        )
        # Rules may find nothing of a kind in a few texts.
        return Extractions({name: {} for name, *_ in names} | dict(found.texts))

    def _by_source(self, source: str, slow: bool) -> Extracted:
        """What a source has to say: rules, or what the data set's own authors extracted."""
        if (source, slow) not in self._extracted:
            self._extracted[source, slow] = self._extract(source, slow)
        return self._extracted[source, slow]

    def _extract(self, source: str, slow: bool) -> Extracted:
        if source == "nlp":
            # Keyphrases and summaries take five times as long as the rest.
            return by_nlp(self.data) if slow else by_nlp(self.data, ("fact", "event"))
        if source == "store":
            return by_store(self.data)
        name = self.data.name
        registered = registrations().get(name)
        module = f"memrepro.data.{registered.module}_extractions" if registered else ""
        if module and find_spec(module):
            found: Extracted = import_module(module).extract(files_of(name), self.data)
            if {text.source for text in found.texts} <= {source}:
                return found
        raise MemreproError(
            f"{name} has no extractions {source!r}: write a key scheme with 'nlp' or 'store', "
            "which extract by rules"
            + (", or those that its authors recorded" if registered else "")
        )

    def _dates(self) -> Times:
        """Dates by rules and when sessions took place; ranges by rules."""
        if self._times is None:
            extracted = self._by_source("nlp", False)
            dates: dict[tuple[str, str], list[tuple[int, int]]] = {}
            for one in [*said_dates(self.data), *extracted.dates]:
                dates.setdefault((one.memory_id, one.session_id), []).append((one.start, one.end))
            ranges = {one.query_id: (one.start, one.end) for one in extracted.ranges}
            self._times = Times(dates, ranges)
        return self._times
