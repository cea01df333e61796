"""BM25 as SQLite's FTS5 computes it, so that the measured retriever and the store agree.

FTS5's `bm25()`: k1 = 1.2, b = 0.75, and an inverse document frequency of at least 1e-6.
"""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memrepro.core.similarity import Doubles

_K1, _B, _LEAST_IDF = 1.2, 0.75, 1e-6
_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    """The words of a text: letters and digits, in lower case, without diacritics (unicode61)."""
    found = _WORD.findall(text.lower())
    if text.isascii():
        return found
    parts = (unicodedata.normalize("NFD", word) for word in found)
    return ["".join(c for c in part if not unicodedata.combining(c)) for part in parts]


class Lexical:
    """The words of a list of texts, and how well each text fits a query."""

    def __init__(self, texts: Sequence[str]) -> None:
        from scipy.sparse import csr_matrix  # slow to import, as in associa/importance.py

        self._places: dict[str, int] = {}
        columns: list[int] = []
        ends = [0]
        for text in texts:
            columns += [self._places.setdefault(w, len(self._places)) for w in words(text)]
            ends.append(len(columns))
        shape = (len(texts), max(1, len(self._places)))
        ones = np.ones(len(columns))
        counts = csr_matrix((ones, np.array(columns, np.int64), np.array(ends)), shape=shape)
        counts.sum_duplicates()
        self._counts = counts.tocsc()
        self.lengths: NDArray[np.int64] = np.diff(ends)

    def scores(self, query: str, held: NDArray[np.bool_] | None = None) -> Doubles:
        """BM25 of each text, shape (n,), 0 where no word of the query stands.

        Args:
            query: its distinct words are joined by OR.
            held: shape (n,), the texts that the index holds at that time: they alone decide how
                rare a word is, and the others score 0. All of them where it is None.
        """
        here = np.ones(len(self.lengths), np.bool_) if held is None else held
        total = int(here.sum())
        scores = np.zeros(len(here))
        if not total:
            return scores
        norm = _K1 * (1 - _B + _B * self.lengths / max(self.lengths[here].mean(), 1e-12))
        for word in dict.fromkeys(words(query)):
            if (place := self._places.get(word)) is None:
                continue
            start, end = self._counts.indptr[place : place + 2]
            rows, counts = self._counts.indices[start:end], self._counts.data[start:end]
            rows, counts = rows[here[rows]], counts[here[rows]]
            idf = max(np.log((total - len(rows) + 0.5) / (len(rows) + 0.5)), _LEAST_IDF)
            scores[rows] += idf * counts * (_K1 + 1) / (counts + norm[rows])
        return scores
