"""The shared rule: a few unusable questions are skipped, many mean a damaged file."""

import pytest

from memrepro.data.reading import check_skipped
from memrepro.errors import MemreproError


@pytest.mark.parametrize(
    ("skipped", "total"),
    [(0, 0), (0, 10), (5, 5), (5, 10), (5, 100_000), (6, 600), (6, 1986), (10, 1000)],
)
def test_a_few_may_be_skipped(skipped, total):
    check_skipped([("q", "broken")] * skipped, total, "a file")


@pytest.mark.parametrize(("skipped", "total"), [(6, 6), (6, 599), (11, 1000), (20, 1999)])
def test_many_may_not(skipped, total):
    faults = [(f"q{n}", f"reason {n}") for n in range(skipped)]
    with pytest.raises(MemreproError) as error:
        check_skipped(faults, total, "some.json")
    said = f"some.json: {skipped} of {total} questions cannot be used, the first is 'q0': reason 0"
    assert str(error.value).startswith(said)
    assert "at most 5 or 1% may be skipped" in str(error.value)
    assert "\n" not in str(error.value)
