"""Rows with one whole and other parts."""

from memrepro.audit.rules.moved import counts_of, least_moved, same_whole
from tests.audit.made import table

SIZES = {"Easy": 56, "Hard": 121, "Odd": 64}


def test_the_same_whole_of_other_questions_is_told():
    made = table({"Base": [50, 59, 30], "Ours": [51, 58, 30], "Same": [50, 59, 30]}, SIZES)
    found = {one.where: one.found for one in same_whole(made)}
    assert list(found) == ["Ours against Base, Overall", "Same against Ours, Overall"]
    assert found["Ours against Base, Overall"] == (
        "139 of 241 both, and Easy 50 → 51, Hard 59 → 58: at least 1 won and 1 lost"
    )
    assert not list(same_whole(table({"Base": [50, 59, 30], "Ours": [51, 59, 30]}, SIZES)))


def test_a_share_that_two_counts_give_is_no_count():
    """Of 1000 questions, two digits leave ten counts open."""
    made = table({"Base": [500], "Ours": [400]}, {"Easy": 1000}, digits=2)
    assert counts_of(made) == {}
    assert counts_of(table({"Base": [5]}, {"Easy": 10}, partial=True)) == {}


def test_what_the_parts_leave_out_was_moved_besides():
    before, now = {"all": (10, 30), "x": (5, 10)}, {"all": (12, 30), "x": (4, 10)}
    assert least_moved(before, now, "all", ["x"]) == (3, 1)
