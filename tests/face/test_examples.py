"""Every example of the face is run: docstrings, docs/python.md, and the README's first screen."""

import doctest
import inspect
import re
from pathlib import Path

import pytest

import memrepro as mr
from memrepro.encode.models import cache_folder
from memrepro.face.conversations import is_here

ROOT = Path(__file__).parents[2]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
# A section's needs, written before its first example.
NEEDS = re.compile(r"<!-- needs: the texts of (\S+) -->")
# A file that the next example reads.
FILE = re.compile(r"^```jsonl (\S+)\n(.*?)^```$", re.M | re.S)


def checked(examples):
    """Run examples, and return how many there were."""
    said = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(examples, out=said.append)
    assert not runner.failures, "".join(said)
    return runner.tries


def callables(name):
    """A name of the face and its public methods, by what they are called."""
    found = getattr(mr, name)
    return type(found).__call__ if inspect.ismodule(found) else found


@pytest.mark.parametrize("name", mr.__all__)
def test_each_name_has_a_docstring_with_an_example(name, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    function = callables(name)
    text = inspect.getdoc(function)
    assert "Raises:" in text
    assert checked(doctest.DocTestParser().get_doctest(text, {}, name, None, 0)) > 1


def sections():
    """Heading → the text of each section of docs/python.md, and the README's example."""
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    parts = re.split(r"^## ", text, flags=re.M)[1:]
    found = {part.partition("\n")[0]: part for part in parts}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return {**found, "README": readme.partition("\n## What was found")[0]}


@pytest.mark.parametrize("heading", sections())
def test_the_page_prints_what_it_says(heading, monkeypatch, tmp_path):
    text = sections()[heading]
    monkeypatch.chdir(ROOT)
    for dataset in NEEDS.findall(text):
        if not is_here(dataset):
            pytest.skip(f"the texts of {dataset} are not on this machine")
    if files := FILE.findall(text):
        monkeypatch.setenv("MEMREPRO_CACHE", str(cache_folder()))
        monkeypatch.chdir(tmp_path)
        for name, lines in files:
            Path(name).write_text(lines, encoding="utf-8")
    # A fence is no output of the example above it.
    plain = re.sub(r"^```.*$", "", FILE.sub("", text), flags=re.M)
    if examples := doctest.DocTestParser().get_doctest(plain, {}, heading, None, 0):
        checked(examples)


def test_the_page_shows_every_name():
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    assert {name for name in mr.__all__ if f"mr.{name}(" not in text} == set()
