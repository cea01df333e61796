"""Key schemes, docs, and max-sim by owner."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.core.extractions import Extraction, Extractions
from memrepro.core.key_builder import PlainKeyBuilder, make_keys
from memrepro.core.key_schemes import KeySpec, windows
from memrepro.core.keys import Request, score_all
from memrepro.core.memory import Memory, Round
from memrepro.core.similarity import max_by_owner, normalise
from memrepro.errors import MemreproError

MEMORY = Memory.from_rounds(
    "m",
    ("s1", Round.from_texts("s1_1", user="u1", assistant="a1")),
    ("s1", Round.from_texts("s1_3", user="u2")),
    ("s2", Round.from_texts("s2_1", assistant="a3")),
)


@pytest.mark.parametrize(
    ("key_scheme", "texts", "owner"),
    [
        ("user_only", ("u1", "u2"), [0, 1]),
        ("concat", ("u1 a1", "u2", "a3"), [0, 1, 2]),
        ("fielded", ("u1", "a1", "u2", "a3"), [0, 0, 1, 2]),
    ],
)
def test_key_schemes(key_scheme, texts, owner):
    keys = make_keys(MEMORY, key_scheme)
    assert keys.texts == texts
    assert len(keys.fields) == len(texts)
    assert list(keys.owner) == owner
    assert keys.doc_ids == ("s1_1", "s1_3", "s2_1")


def test_a_session_joins_its_rounds_by_one_space():
    keys = make_keys(MEMORY, "fielded", "session")
    assert keys.doc_ids == ("s1", "s2")
    assert list(zip(keys.owner, keys.fields, keys.texts, strict=True)) == [
        (0, "user", "u1 u2"),
        (0, "assistant", "a1"),
        (1, "assistant", "a3"),
    ]


FIRST, SECOND = MEMORY.sessions
EXTRACTED = Extractions.grouped(
    [
        Extraction(FIRST.key, "s1_1", "gold", "fact", "f1"),
        Extraction(FIRST.key, "s1_1", "gold", "fact", "f2"),
        Extraction(FIRST.key, "s1_3", "gold", "fact", "f3"),
        Extraction(FIRST.key, "s1_3", "gold", "fact", " "),
        Extraction(FIRST.key, "", "gold", "summary", "sum"),
    ]
)


def expanded(key_scheme, granularity="round"):
    keys = PlainKeyBuilder(granularity, key_scheme, EXTRACTED).make(MEMORY)
    return [(keys.doc_ids[o], text) for o, text in zip(keys.owner, keys.texts, strict=True)]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("merge", [("s1_1", "f1 f2 u1"), ("s1_3", "f3 u2")]),
        ("replace", [("s1_1", "f1 f2"), ("s1_3", "f3")]),
        ("separate", [("s1_1", "u1"), ("s1_1", "f1 f2"), ("s1_3", "u2"), ("s1_3", "f3")]),
        ("split-merge", [("s1_1", "f1 u1"), ("s1_1", "f2 u1"), ("s1_3", "f3 u2")]),
        ("split-replace", [("s1_1", "f1"), ("s1_1", "f2"), ("s1_3", "f3")]),
        (
            "split-separate",
            [("s1_1", "u1"), ("s1_1", "f1"), ("s1_1", "f2"), ("s1_3", "u2"), ("s1_3", "f3")],
        ),
    ],
)
def test_modes_of_expansion(mode, expected):
    assert expanded(f"user_only+{mode}:gold-fact") == expected


def test_a_sessions_extractions_are_its_own_or_else_its_rounds():
    merged = expanded("concat+merge:gold-fact", "session")
    assert merged == [("s1", "f1 f2 f3 u1 u2 a1"), ("s2", "a3")]
    assert expanded("concat+replace:gold-summary", "session") == [("s1", "sum")]
    # A summary is of the session: its rounds have none, and keep their keys.
    assert expanded("user_only+merge:gold-summary") == [("s1_1", "u1"), ("s1_3", "u2")]


@given(st.integers(1, 12), st.integers(1, 6), st.integers(1, 4), st.randoms())
def test_one_product_for_all_gives_the_scores_of_each_alone(n_sessions, n_memories, size, random):
    """Both ways of scoring, whichever `score_all` would choose, against one product a query."""
    sessions = [
        Memory.from_rounds(
            "m", (f"s{i}", Round.from_texts(f"s{i}_1", user=f"text {i % 7}"))
        ).sessions[0]
        for i in range(n_sessions)
    ]
    builder = PlainKeyBuilder("round", "concat")
    made = []
    for number in range(n_memories):
        held = random.sample(sessions, random.randint(1, n_sessions))
        made.append(builder.make(Memory(f"m{number}", tuple(held), ("",) * len(held))))
    generator = np.random.default_rng(0)
    vectors = normalise(generator.normal(size=(len(builder.texts), 8)).astype(np.float32))
    queries = normalise(generator.normal(size=(size, 8)).astype(np.float32))
    names = [f"q{i}" for i in range(size)]
    requests = [Request(keys.with_vectors(vectors), names, names, queries) for keys in made]
    for gathered in (0, 30):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("memrepro.core.keys._GATHERED", gathered)
            found = list(score_all(requests))
        assert [request for request, _ in found] == requests
        for request, scores in found:
            alone = queries @ vectors[request.keys.rows].T
            assert scores == pytest.approx(alone, abs=1e-6)
            # One text has one score, to the last bit.
            for row in set(request.keys.rows.tolist()):
                same = scores[:, request.keys.rows == row]
                assert (same == same[:, :1]).all()


@given(
    st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=20), st.integers(1, 6), st.randoms()
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
    scores = Request(keys, ["q"], ["?"], np.array([[1.0, 0.0]], np.float32)).doc_scores()
    assert scores.tolist() == [[-1.0, -0.5, -np.inf]]


def test_errors():
    with pytest.raises(MemreproError, match="unknown key scheme 'usr'"):
        make_keys(MEMORY, "usr")
    silent = Memory.from_rounds("silent", ("s", Round.from_texts("r", assistant="a")))
    with pytest.raises(
        MemreproError, match="memory 'silent' has no key under the key scheme 'user_on"
    ):
        make_keys(silent, "user_only")
    with pytest.raises(MemreproError, match="2 vectors for 3 texts"):
        make_keys(MEMORY, "concat").with_vectors(np.zeros((2, 4), np.float32))
    with pytest.raises(MemreproError, match="doc 's1_1' has 2 vectors"):
        make_keys(MEMORY, "fielded").with_vectors(np.zeros((4, 2), np.float32)).doc_vectors()
    with pytest.raises(MemreproError, match="needs an encoder"):
        Request(make_keys(MEMORY, "concat"), ["q"], ["text"]).doc_scores()
    with pytest.raises(MemreproError, match="memory 'm' is empty: found 0 rounds"):
        Memory("m", (), ())
    with pytest.raises(MemreproError, match="holds round 'r' 2 times"):
        Memory.from_rounds(
            "m", ("s", Round.from_texts("r", user="x")), ("s", Round.from_texts("r", user="y"))
        )
    with pytest.raises(MemreproError, match="unknown granularity 'word'"):
        make_keys(MEMORY, "concat", "word")
    with pytest.raises(MemreproError, match="no extraction 'nlp-fact': known are gold-fact"):
        PlainKeyBuilder("round", "concat+merge:nlp-fact", EXTRACTED).make(MEMORY)
    for wrong in ("concat+join:nlp-fact", "concat+merge", "concat+merge:nlp", "concat+merge:nlp-x"):
        with pytest.raises(MemreproError, match="write mode:source-kind"):
            KeySpec.parse(wrong)


@given(st.lists(st.text("ab", min_size=1, max_size=3), max_size=40), st.integers(1, 9))
def test_windows_hold_every_word_once_in_as_few_pieces_as_the_limit_allows(words, most):
    cut = [text for _, text in windows([("user", " ".join(words))], most)]
    assert " ".join(cut).split() == words
    sizes = [len(text.split()) for text in cut]
    assert len(cut) == max(1, -(-len(words) // most))
    assert max(sizes) <= most
    assert max(sizes) - min(sizes) <= 1
