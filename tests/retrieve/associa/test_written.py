"""Events as one text, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrepro.errors import MemreproError
from memrepro.retrieve.associa.written import Told, read, write

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
tolds = st.builds(
    Told,
    words,
    st.lists(st.tuples(words, words), max_size=3).map(tuple),
    st.lists(st.tuples(st.integers(-1, 3), words, st.integers(-1, 3)), max_size=3).map(tuple),
)


@given(tolds)
def test_what_is_written_is_read(told):
    assert read(write(told)) == told
    assert "\n" not in write(told)


@given(words)
def test_other_texts_are_none(text):
    assert read(text) is None


@pytest.mark.parametrize(
    "rest", ["", '"a"}', '"a", "entities": [], "relations": [], "x": 1}',
             '"a", "entities": [1], "relations": []}', '"a", "entities": [], "relations": [["a"]]}',
             '"a", "entities": null, "relations": []}',
             '"a", "entities": [], "relations": [["a", "b", "c"]]}'],
)  # fmt: skip
def test_a_damaged_one_is_an_error(rest):
    with pytest.raises(MemreproError, match="cannot be read .*: extract it again"):
        read('{"event": ' + rest)
