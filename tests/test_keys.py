"""Keyings, docs, and max-sim by owner."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.errors import MemreproError
from memrepro.keys import Request, make_keys
from memrepro.memory import Memory, Round, by_session
from memrepro.numerics.similarity import max_by_owner, normalise


def round_of(name, session, **fields):
    return Round(name, session, "2023-05-01T10:00", fields)


MEMORY = Memory(
    "m",
    (
        round_of("s1_1", "s1", user="u1", assistant="a1"),
        round_of("s1_3", "s1", user="u2"),
        round_of("s2_1", "s2", assistant="a3"),
    ),
)


@pytest.mark.parametrize(
    ("keying", "texts", "owner"),
    [
        ("user_only", ("u1", "u2"), [0, 1]),
        ("concat", ("u1 a1", "u2", "a3"), [0, 1, 2]),
        ("fielded", ("u1", "a1", "u2", "a3"), [0, 0, 1, 2]),
    ],
)
def test_keyings(keying, texts, owner):
    keys = make_keys(MEMORY, keying)
    assert keys.texts == texts
    assert len(keys.fields) == len(texts)
    assert list(keys.owner) == owner
    assert keys.doc_ids == ("s1_1", "s1_3", "s2_1")


def test_a_session_joins_its_rounds_by_one_space():
    sessions = by_session(MEMORY)
    assert [r.round_id for r in sessions.rounds] == ["s1", "s2"]
    assert dict(sessions.rounds[0].fields) == {"user": "u1 u2", "assistant": "a1"}
    assert dict(sessions.rounds[1].fields) == {"assistant": "a3"}


@given(
    st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=20),
    st.integers(1, 6),
    st.randoms(),
)
def test_max_by_owner_is_the_maximum(scores, n_docs, random):
    owner = np.array([random.randrange(n_docs) for _ in scores])
    best = max_by_owner(np.array(scores, np.float32), owner, n_docs)
    for doc in range(n_docs):
        mine = [s for s, o in zip(scores, owner, strict=True) if o == doc]
        assert best[doc] == (np.float32(max(mine)) if mine else -np.inf)


def test_a_doc_without_a_key_never_beats_a_negative_similarity():
    # Masking by 0 instead of minus infinity would rank it first.
    keys = make_keys(MEMORY, "user_only").with_vectors(np.array([[-1.0, 0], [-0.5, 0]], np.float32))
    scores = keys.doc_scores(np.array([[1.0, 0.0]], np.float32))
    assert scores.tolist() == [[-1.0, -0.5, -np.inf]]


def test_normalise_keeps_a_zero_vector():
    assert normalise(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)) == pytest.approx(
        np.array([[0.6, 0.8], [0.0, 0.0]])
    )


def test_errors():
    with pytest.raises(MemreproError, match="unknown keying 'usr'"):
        make_keys(MEMORY, "usr")
    silent = Memory("silent", (round_of("r", "s", assistant="a"),))
    with pytest.raises(MemreproError, match="memory 'silent' has no key under the keying 'user_on"):
        make_keys(silent, "user_only")
    with pytest.raises(MemreproError, match="2 vectors for 3 keys"):
        make_keys(MEMORY, "concat").with_vectors(np.zeros((2, 4), np.float32))
    with pytest.raises(MemreproError, match="doc 's1_1' has 2 vectors"):
        make_keys(MEMORY, "fielded").with_vectors(np.zeros((4, 2), np.float32)).doc_vectors()
    with pytest.raises(MemreproError, match="needs an encoder"):
        Request(make_keys(MEMORY, "concat"), ["q"], ["text"]).doc_scores()
    with pytest.raises(MemreproError, match="memory 'm' is empty: found 0 rounds"):
        Memory("m", ())
    with pytest.raises(MemreproError, match="holds round 'r' 2 times"):
        Memory("m", (round_of("r", "s", user="x"), round_of("r", "s", user="y")))
