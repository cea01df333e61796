"""Controls of facts in a key: of another session, or no facts at all but as long."""

from memrepro.core.extractions import Extraction
from memrepro.core.memory import Dataset, Memory, Query, Round
from memrepro.text.controls import echoed, moved


def conversation():
    said = [
        (f"s{s}", Round.from_texts(f"s{s}r{r}", user=f"say {s} {r}"))
        for s in range(4)
        for r in range(3)
    ]
    memory = Memory.from_rounds("m", *said)
    facts = [
        Extraction(session.key, r.round_id, "recorded", "fact", f"fact of {r.round_id} {text}")
        for session in memory.sessions
        for r in session.rounds[:2]
        for text in ("one", "two")
    ]
    return Dataset("d", {"m": memory}, (Query("q", "m", "what?", "", "kind"),)), facts


def test_moved_facts_are_all_of_another_session_and_as_many():
    dataset, facts = conversation()
    found = moved(dataset, facts)
    assert sorted(one.text for one in found) == sorted(one.text for one in facts)
    assert {(one.session_key, one.round_id) for one in found} == {
        (one.session_key, one.round_id) for one in facts
    }
    for one in found:
        (session,) = [s for s in dataset.sessions if s.key == one.session_key]
        assert not one.text.startswith(f"fact of {session.session_id}")


def test_echoed_facts_are_the_rounds_own_words_at_the_length_of_its_facts():
    dataset, facts = conversation()
    found = {one.round_id: one.text for one in echoed(dataset, facts)}
    assert len(found) == 8
    assert found["s1r0"] == "say 1 0 say 1 0 say 1"  # two facts of four words
