"""Data sets piece by piece, by a module's `stream`, with known parameters alone."""

import json
import sys
from types import ModuleType

import pytest

from memrepro.core.memory import Memory, Piece, Query, Round
from memrepro.data import read_pieces, reading
from memrepro.errors import MemreproError


def piece(number, folder, name, **options):
    """A piece that tells by its texts what its reader was given."""
    said = f"{folder} {name} {options}"
    memory = Memory.from_rounds(f"m{number}", ("s", Round.from_texts("r", user=said)))
    return Piece(memory, (Query(f"q{number}", f"m{number}", "?", "", "a"),), {"session": {}})


@pytest.fixture
def install(monkeypatch):
    def put(stream):
        made = ModuleType("memrepro.data.made_up")
        made.stream = stream
        monkeypatch.setitem(sys.modules, "memrepro.data.made_up", made)

    return put


def stream(folder, name, *, order="first", whole=False):
    yield piece(1, folder, name, order=order)
    raise MemreproError("the file ends too early")


def test_a_data_set_comes_as_it_is_read(install, tmp_path):
    install(stream)
    found = read_pieces("made_up", tmp_path, "toy", {"order": "last"})
    assert next(found) == piece(1, tmp_path, "toy", order="last")
    with pytest.raises(MemreproError, match="ends too early"):
        next(found)


@pytest.mark.parametrize(
    ("reader", "known"), [(stream, "order, whole"), (lambda folder, name: iter(()), "none")]
)
def test_an_unknown_parameter_is_named_before_anything_is_read(install, tmp_path, reader, known):
    install(reader)
    found = read_pieces("made_up", tmp_path, "toy", {"hole": True})
    said = f"data set 'toy' has the unknown parameter 'hole': known are {known}$"
    with pytest.raises(MemreproError, match=said):
        next(found)


def test_half_a_surrogate_pair_is_replaced_in_every_text(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('[{"a\\ud800": ["b\\udc00", "\\ud83d\\ude00", 1]}]')
    assert reading.json_list(path) == [{"a?": ["b?", "\U0001f600", 1]}]


def test_a_value_of_many_levels_is_refused(tmp_path):
    path = tmp_path / "a.json"
    levels = next(n for n in range(sys.getrecursionlimit(), 0, -10) if json_takes(n))
    path.write_text("[" * levels + r'"\ud800"' + "]" * levels)
    with pytest.raises(MemreproError, match=r"a\.json: no JSON \(maximum recursion"):
        reading.json_list(path)


def json_takes(levels):
    try:
        json.loads("[" * levels + "]" * levels)
    except RecursionError:
        return False
    return True
