"""The layout of the package: rooms in one order, no cycle, documents named in their own places.

`docs/architecture.md` draws what this file holds. A failure names the import, file or word to move.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

import memrepro

PACKAGE = Path(memrepro.__file__).parent

# A room may import the rooms before it.
ORDER = (
    "errors",
    "files",
    "cluster",
    "core",
    "text",
    "data",
    "encode",
    "llm",
    "retrieve",
    "evaluate",
    "read",
    "study",
    "audit",
    "report",
    "provenance",
    "outside",
    "memory",
    "face",
    "papers",
    "site",
    "rehearse",
    "pipeline",
)

MOST_LINES, MOST_MODULES = 400, 20

# What names a document, in code.
DOCUMENTS = re.compile(r"longmemeval|rf-?mem|associa(?!t)|max-?sim|tiered", re.IGNORECASE)
MAY_NAME = ("papers", "retrieve", "data")
# Module or room → the names that it may have, and why.
NAMED = {
    "memrepro.evaluate.metrics": ("ndcg_longmemeval", "the metric's name in params and tables"),
    "memrepro.evaluate.rollup": ("ndcg_longmemeval", "that metric, over the official roll-up"),
    "memrepro.rehearse.replies": ("associa", "its prompts are answered as they ask"),
    "memrepro.rehearse.haystacks": ("longmemeval", "the data set whose files it writes"),
    "memrepro.face.searching": ("rfmem", "the default method, where help() shows it"),
    "memrepro.face.kept": ("tiered", "where the type of a memory's messages is defined"),
    "memrepro.pipeline.commands_try": ("LongMemEval", "that data set's file is one of the forms"),
    "memrepro.pipeline.commands_judge": ("(?i:longmemeval)", "whose numbers it prints"),
    "memrepro.memory": ("tiered|TieredMemory", "the store of that design, for people to use"),
    "memrepro.memory.command": ("longmemeval", "the data set's chats come in as a form"),
    "memrepro.memory.exchange.importers": ("longmemeval", "the data set's chats come in"),
}


@cache
def modules() -> dict[str, Path]:
    """Module → its file."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


@cache
def imports(module: str) -> frozenset[str]:
    """The package's modules that a module imports, also those inside functions."""
    found = set()
    for node in ast.walk(ast.parse(modules()[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}: write imports in full, not relative ones"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in modules() else str(node.module))
    return frozenset(name for name in found if name in modules() and name != module)


def room(module: str) -> str:
    """The room of a module; '' for the package itself and `__main__`."""
    name = module.partition(".")[2].partition(".")[0]
    return "" if name == "__main__" else name


def folder(module: str) -> str:
    """The folder of a room that a module stands in."""
    return module.split(".")[2]


def test_nothing_is_loose_at_the_root():
    assert {p.name for p in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py", "errors.py"}
    rooms = {p.parent.name for p in PACKAGE.glob("*/__init__.py")}
    assert rooms | {"errors"} == set(ORDER)


def each_room(*names):
    """A test for each room."""
    return pytest.mark.parametrize("name", names or ORDER)


@each_room()
def test_arrows_go_down(name):
    lower = {"", *ORDER[: ORDER.index(name) + 1]}
    up = [(m, o) for m in modules() if room(m) == name for o in imports(m) if room(o) not in lower]
    assert not up


def test_no_cycle():
    graph = nx.DiGraph((module, other) for module in modules() for other in imports(module))
    # An import of a.b runs a's `__init__` too, but for a module below a itself, where it has run.
    for module in modules():
        for other in imports(module):
            parts = other.split(".")
            for end in range(2, len(parts)):
                package = ".".join(parts[:end])
                if not f"{module}.".startswith(f"{package}."):
                    graph.add_edge(module, package)
    cycles = [sorted(c) for c in nx.strongly_connected_components(graph) if len(c) > 1]
    assert not cycles
    assert not list(nx.nodes_with_selfloops(graph))


@each_room()
def test_rooms_are_small(name):
    paths = [path for module, path in modules().items() if room(module) == name]
    lines = {str(p): len(p.read_text(encoding="utf-8").splitlines()) for p in paths}
    assert not {path: n for path, n in lines.items() if n > MOST_LINES}
    folders = Counter(str(p.parent) for p in paths if p.parent != PACKAGE)
    assert not {folder: n for folder, n in folders.items() if n > MOST_MODULES}


@each_room("papers", "retrieve")
def test_the_folders_of_a_room_do_not_know_each_other(name):
    inside = [m for m in modules() if room(m) == name and m.count(".") > 2]
    # `findings` is about all documents, and shows the sample by their analyses.
    inside = [m for m in inside if not m.startswith("memrepro.papers.findings")]
    known = [(m, o) for m in inside for o in imports(m) & set(inside) if folder(m) != folder(o)]
    assert not known


def code_of(source: str) -> Iterator[tuple[int, str]]:
    """The tokens of a module but for comments and docstrings, each with its line."""
    docstrings = set()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            # A string that stands alone is a docstring, of whatever it stands behind.
            docstrings |= {
                one.lineno
                for one in body
                if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
            }
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        alone = token.type == tokenize.STRING and token.start[0] in docstrings
        if token.type != tokenize.COMMENT and not alone:
            yield token.start[0], token.string


@each_room(*(one for one in ORDER if one not in MAY_NAME))
def test_documents_are_named_in_their_own_places_alone(name):
    named = {}
    for module, path in modules().items():
        if room(module) == name:
            allowed = allowed_in(module)
            for line, text in code_of(path.read_text(encoding="utf-8")):
                if DOCUMENTS.search(re.sub(allowed, "", text) if allowed else text):
                    named[f"{module}:{line}"] = text[:60]
    assert not named


def allowed_in(module: str) -> str:
    """The names of documents that a module may have, as a pattern; '' for none."""
    places = [place for place in NAMED if f"{module}.".startswith(f"{place}.")]
    return "|".join(NAMED[place][0] for place in places)


def test_what_may_name_a_document_does():
    for place, (names, _) in NAMED.items():
        inside = [path for m, path in modules().items() if f"{m}.".startswith(f"{place}.")]
        texts = [path.read_text(encoding="utf-8") for path in inside]
        assert any(re.search(names, text) for text in texts), f"take {place} from NAMED"
