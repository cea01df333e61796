"""BM25 against SQLite's own FTS5."""

import sqlite3

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.retrieve.tiered.keys.lexical import Lexical, words


def fts5(texts, query):
    """FTS5's bm25 of each text, 0 where it does not match; its sign turned round."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE t USING fts5(text)")
    database.executemany("INSERT INTO t(rowid, text) VALUES (?, ?)", list(enumerate(texts)))
    asked = " OR ".join(f'"{w}"' for w in dict.fromkeys(words(query)))
    found = np.zeros(len(texts))
    if asked:
        statement = "SELECT rowid, -bm25(t) FROM t WHERE t MATCH ?"
        for row, score in database.execute(statement, (asked,)):
            found[row] = score
    return found


TEXTS = [
    "The cat sat, the cat slept.", "A dog_and a café!", "cat dog", "", "It's 7.30 o'clock",
    "CAFÉ cat",
]  # fmt: skip


some_text = st.text(st.sampled_from("abAB éÉ_.'-1 \n"), max_size=30)


@settings(max_examples=30)
@given(st.lists(some_text, min_size=1, max_size=8), some_text)
def test_scores_are_those_of_fts5_on_any_texts(texts, query):
    assert Lexical(texts).scores(query) == pytest.approx(fts5(texts, query))


def test_what_is_not_held_counts_for_nothing():
    held = np.array([True, False, True, True, False, True])
    kept = [text for text, here in zip(TEXTS, held, strict=True) if here]
    found = Lexical(TEXTS).scores("cat dog", held)
    assert found[held] == pytest.approx(Lexical(kept).scores("cat dog"))
    assert (found[~held] == 0).all()
    assert (Lexical(TEXTS).scores("cat", np.zeros(6, bool)) == 0).all()
