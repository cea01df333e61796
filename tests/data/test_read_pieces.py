"""Data sets piece by piece: by a module's `stream`, or its `load`, with known parameters alone."""

import sys
from types import ModuleType

import pytest

from memrepro.core.memory import Dataset, Memory, Piece, Query, Round
from memrepro.data import read_pieces, sample
from memrepro.errors import MemreproError


def piece(number, folder, name, **options):
    """A piece that tells by its texts what its reader was given."""
    said = f"{folder} {name} {options}"
    memory = Memory.of(f"m{number}", ("s", Round.of("r", user=said)))
    return Piece(memory, (Query(f"q{number}", f"m{number}", "?", "", "a"),), {"session": {}})


def module(**functions):
    made = ModuleType("memrepro.data.made_up")
    vars(made).update(functions)
    return made


@pytest.fixture
def install(monkeypatch):
    def put(**functions):
        monkeypatch.setitem(sys.modules, "memrepro.data.made_up", module(**functions))

    return put


def load(folder, name, *, whole=False, order="first"):
    pieces = [piece(number, folder, name, whole=whole, order=order) for number in (1, 2)]
    return Dataset.of(name, pieces)


def stream(folder, name, *, order="first"):
    yield piece(1, folder, name, order=order)
    raise MemreproError("the file ends too early")


def test_a_data_set_that_is_loaded_comes_in_pieces(install, tmp_path):
    install(load=load)
    found = list(read_pieces("made_up", tmp_path, "toy", {"whole": True}))
    assert found == [piece(n, tmp_path, "toy", whole=True, order="first") for n in (1, 2)]


def test_one_that_is_streamed_comes_as_it_is_read(install, tmp_path):
    install(load=load, stream=stream)
    found = read_pieces("made_up", tmp_path, "toy", {"order": "last"})
    assert next(found) == piece(1, tmp_path, "toy", order="last")
    with pytest.raises(MemreproError, match="ends too early"):
        next(found)


@pytest.mark.parametrize(
    ("functions", "known"),
    [({"load": load}, "whole, order"), ({"load": load, "stream": stream}, "order")],
)
def test_an_unknown_parameter_is_named_before_anything_is_read(install, tmp_path, functions, known):
    install(**functions)
    found = read_pieces("made_up", tmp_path, "toy", {"order": "last", "hole": True})
    said = f"data set 'toy' has the unknown parameter 'hole': known are {known}$"
    with pytest.raises(MemreproError, match=said):
        next(found)


def test_a_reader_without_parameters(install, tmp_path):
    install(load=lambda folder, name: load(folder, name))
    assert len(list(read_pieces("made_up", tmp_path, "toy", {}))) == 2
    with pytest.raises(MemreproError, match="unknown parameter 'x': known are none"):
        list(read_pieces("made_up", tmp_path, "toy", {"x": 1}))


@pytest.mark.parametrize("name", ["locomo", "personabench", "personamem", "longmemeval"])
def test_the_projects_readers_refuse_it_too(name, tmp_path):
    with pytest.raises(MemreproError, match=f"data set '{name}' has the unknown parameter 'seed'"):
        list(read_pieces(name, tmp_path, name, {"seed": 1}))


def test_the_compilers_parameters_are_not_the_readers(tmp_path):
    parameters = {"seed": 3, "questions": 4, "sessions": 8}
    sample.compile_files(tmp_path, parameters)
    found = list(read_pieces("sample", tmp_path, "sample", parameters))
    assert found == list(sample.stream(tmp_path, "sample"))
    assert len(found) == 4
