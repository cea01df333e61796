"""Small memories, clues and graphs for the tests of Associa."""

import numpy as np
from hypothesis import strategies as st

from memrepro.core.extractions import Extraction, Extractions
from memrepro.core.memory import Memory, Round, Session
from memrepro.retrieve.associa.keys.clues import EventClues, UtteranceClues

PLACES = ("Paris", "the park", "a museum", "our school")
PEOPLE = ("Ann", "Bob", "my sister", "a support group")
DOING = ("went to", "met", "painted with", "planned to join")


def vectors_of(graph, seed=0, dimension=8):
    """Random vectors of a graph's texts."""
    generator = np.random.default_rng(seed)
    return generator.normal(size=(len(graph.texts), dimension)).astype(np.float32)


def same(one, other):
    """Whether two graphs are equal in all but vectors."""
    arrays = ("kinds", "edges", "edge_kinds", "node_rows", "edge_rows", "origins")
    return (
        (one.node_ids, one.categories, one.texts) == (other.node_ids, other.categories, other.texts)
    ) and all(np.array_equal(getattr(one, a), getattr(other, a)) for a in arrays)


@st.composite
def memories(draw):
    """A memory of a user's rounds, and facts of rounds and events of sessions."""
    said = st.tuples(*map(st.sampled_from, (("Ann", "Bob", "I"), DOING, (*PLACES, *PEOPLE)))).map(
        lambda words: " ".join(words) + "."
    )
    sessions, found = [], []
    for number in range(draw(st.integers(1, 4))):
        rounds = tuple(
            Round.from_texts(f"s{number}r{place}", user=draw(said), assistant="Fine.")
            for place in range(draw(st.integers(1, 3)))
        )
        session = Session(f"s{number}", rounds)
        sessions.append(session)
        for r in rounds:
            for text in draw(st.lists(said, max_size=2)):
                found.append(Extraction(session.key, r.round_id, "recorded", "fact", text))
        for text in draw(st.lists(said, max_size=1)):
            found.append(Extraction(session.key, "", "recorded", "event", text))
    times = draw(
        st.lists(
            st.sampled_from(("", "2023-05-08T10:00", "2023-05-08T12:00", "2024-01-01")),
            min_size=len(sessions),
            max_size=len(sessions),
        )
    )
    # A name is known even where nothing of it was extracted.
    nothing = {"recorded-fact": {}, "recorded-event": {}}
    texts = {**nothing, **Extractions.grouped(found).texts}
    return Memory("m", tuple(sessions), tuple(times)), Extractions(texts)


def tale():
    """Two utterances that share an entity, and one without events."""
    first = EventClues(
        "Ann joined a choir in Paris.",
        (("Ann", "Person/User/Organization"), ("choir", "Other"), ("Paris", "Place")),
        ((0, "Ann joined a choir", 1), (1, "choir in Paris", 2)),
    )
    second = EventClues("I visited paris.", (("paris", "Place"),), ((-1, "I visited paris", 0),))
    return [
        UtteranceClues("d0", "We talked of Ann.", ("user",), "8 May 2023", (first,)),
        UtteranceClues("d1", "What a trip!", ("user",), "9 May 2023", (second,)),
        UtteranceClues("d2", "Good night.", ("assistant",)),
    ]
