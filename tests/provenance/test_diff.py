"""Two runs held together: counts, interval, ranks and gaps, by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrepro.errors import MemreproError
from memrepro.evaluate.bootstrap import paired_difference
from memrepro.evaluate.comparison import Groups
from memrepro.evaluate.multiple import sign_flip
from memrepro.provenance import diff, questions


def at(experiment, k=1, setting="", protocol=""):
    return diff.place(experiment, setting, "", "recall_all", k, protocol)


def test_won_lost_tied_interval_and_p(toy):
    found = diff.compare(at("toy-a"), at("toy-b"))
    one = found.comparison
    assert (one.n, one.won, one.lost, one.tied) == (5, 2, 1, 2)
    assert one.unit_text == "5 questions"
    assert (found.mean_first, found.mean_second) == (0.4, 0.6)
    old, new = np.array([1, 1, 0, 0, 0.0]), np.array([1, 0, 1, 1, 0.0])
    assert one.interval == paired_difference(old, new)
    assert one.p == sign_flip(new - old) == 1.0
    back = diff.compare(at("toy-b"), at("toy-a")).comparison
    assert (back.won, back.lost) == (one.lost, one.won)
    assert back.difference == -one.difference
    told = found.as_dict()
    assert (told["difference"], told["unit"], told["first"]["experiment"]) == (
        0.2, "question", "toy-a",
    )  # fmt: skip


def test_a_comparison_is_by_the_data_sets_unit(toy, monkeypatch):
    groups = Groups("conversation", tuple("aabbb"))
    monkeypatch.setattr(diff, "groups_of_questions", lambda *given: groups)
    found = diff.compare(at("toy-a"), at("toy-b")).comparison
    # Of two conversations one loses and one gains twice as much.
    assert (found.unit_text, found.p) == ("2 conversations", 1.0)
    assert str(found).endswith("won 2, lost 1, by 2 conversations")


def test_a_setting_may_stand_behind_its_sweep(toy):
    assert at("toy-swept[0.5]") == at("toy-swept", setting="0.5")
    with pytest.raises(MemreproError, match=r"is a sweep, and none is '0\.7' of .* 0\.5, 0\.9"):
        at("toy-swept[0.7]")


def test_the_questions_won_and_lost_with_ranks_and_gaps(toy):
    rows = diff.questions(at("toy-a"), at("toy-b")).set_index("query_id")
    assert rows["change"].to_dict() == {"q2": "lost", "q3": "won", "q4": "won"}
    assert tuple(rows.loc["q2", ["gold_first", "gold_second", "gold"]]) == ("1", "3", "d2")
    assert rows.loc["q2", "gap_second"] == pytest.approx(0.2)
    assert rows["gap_first"].isna().to_dict() == {"q2": True, "q3": False, "q4": False}
    same = diff.questions(at("toy-a"), at("toy-a"))
    assert same.empty


def test_errors_name_what_is_wrong(toy):
    with pytest.raises(MemreproError, match=r"is a sweep, and none is named .*0\.5, 0\.9"):
        at("toy-swept")
    with pytest.raises(MemreproError, match="is no sweep"):
        at("toy-a", setting="0.5")
    with pytest.raises(MemreproError, match="unknown experiment 'toy-aa': the nearest .*toy-a"):
        at("toy-aa")
    with pytest.raises(MemreproError, match="unknown protocol 'strict': known are stated"):
        at("toy-a", protocol="strict")
    with pytest.raises(MemreproError, match=r"--k 10: .* lists 3 docs .* in 1\.\.3"):
        at("toy-a", k=10)
    with pytest.raises(MemreproError, match=r"--k 0: .* in 1\.\.3"):
        at("toy-a", k=0)
    with pytest.raises(MemreproError, match="no values by 'turn', but by session"):
        diff.place("toy-a", "", "turn", "recall_all", 1, "")
    with pytest.raises(MemreproError, match=r"of 5 questions .* of 6 .* 5 of them the same"):
        diff.compare(at("toy-a"), at("toy-b", protocol="with-absent"))


@settings(max_examples=50)
@given(st.lists(st.floats(0, 1, width=16), min_size=2, max_size=30))
def test_the_most_influential_stand_first(values):
    rows = [{"query_id": f"{i}", "shift": value - 0.5} for i, value in enumerate(values)]
    found = [abs(row["shift"]) for row in questions.most_influential(rows, 5)]
    assert found == sorted((abs(row["shift"]) for row in rows if row["shift"]), reverse=True)[:10]
