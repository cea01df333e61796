"""What machines do: clones and archives, what kills leave, pages, deletion beside others, edits."""

import atexit
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import lancedb  # noqa: F401 - once, before children are forked, which open it
import nbformat
import pytest
from lxml import html

from memrepro.files.atomic import root, write_text
from memrepro.memory import control
from memrepro.memory.folders import user_folder
from memrepro.memory.user_memory import users
from memrepro.pipeline import dvc
from memrepro.provenance import lineage
from memrepro.site.groups import Group, _read
from memrepro.site.notebook import to_page
from tests.memory.store_made import chat, opened
from tests.provenance import test_published as published
from tests.site.browser import CHROMIUM, Browser
from tests.test_hostile import PATHS, SCRIPTS, check_page
from tests.torture.campaign import ACCEPTED, Case, Child, tried

ENVIRONMENT = {**os.environ, "COLUMNS": "200", "PYTHONDONTWRITEBYTECODE": "1"}
ACTING = ("script", "meta", "link", "base", "style", "iframe", "object", "form", "svg", "embed")
WRAPPED = (
    "{}", "> {}", "- a\n  {}", "| a |\n|---|\n| {} |", "<!-- {}", "~~~\n{}",
    "<div>\n\n{}\n\n</div>", "[a]: <{}>\n[a]", "<b title='{}'>x</b>",
)  # fmt: skip


@cache
def _held(name: str) -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix=f"torture-{name}-")


def _kept(name: str) -> Path:
    """A folder that all drawings of a process share; it goes with the process."""
    return Path(_held(name).name)


def _git(folder: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True).stdout


@cache
def _windows() -> Path:
    """A clone as Git for Windows makes it."""
    options = ("-c", "core.autocrlf=true", "-c", "core.eol=crlf")
    _git(_kept("clone"), *options, "clone", "--quiet", "--shared", str(root()), "clone")
    return _kept("clone") / "clone"


@cache
def _archive() -> Path:
    """What a download of the repository as an archive unpacks to, without the larger profile."""
    folder = _kept("archive")
    packed = _git(root(), "archive", "HEAD", "--", ".", ":!results/open")
    subprocess.run(["tar", "-x"], cwd=folder, input=packed, check=True)
    return folder


@cache
def _published() -> Path:
    return published.published_in(_kept("published"))


def _memrepro(folder: Path, *words: str, first: str = "") -> subprocess.CompletedProcess[str]:
    code = f"{first}\nfrom memrepro.pipeline.cli import main\nraise SystemExit(main({list(words)}))"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False,
        env={**ENVIRONMENT, "PYTHONPATH": str(folder)},
    )  # fmt: skip


def line_ends(folder: Path, chance: Random) -> str:
    """A clone whose Git changes line ends has the bytes of this one."""
    names = _git(_windows(), "ls-files", "-z").decode().split("\0")[:-1]
    for name in chance.sample(names, 40):
        if not (_windows() / name).is_symlink():
            assert (_windows() / name).read_bytes() == _git(root(), "show", f"HEAD:{name}"), name
    return "same bytes"


def archives(folder: Path, chance: Random) -> str:
    """Without git a command works, or says in one sentence which needs it."""
    command = chance.choice((
        ("plan", "sample"), ("repro", "sample"), ("datasets",), ("experiments",), ("clean", "left"),
    ))  # fmt: skip
    ran = _memrepro(_archive(), *command)
    assert "Traceback" not in ran.stderr, ran.stderr
    if command[0] == "repro":
        assert ran.returncode == 1
        assert "run `git init` there once" in ran.stderr
    else:
        assert ran.returncode == 0, ran.stderr
    return f"{command[0]}: {ran.returncode}"


def moved(folder: Path, chance: Random) -> str:
    """An environment of another place is named, with what makes it anew."""
    here = folder / chance.choice(("moved", "a b", "it's", "naïve"))
    (here / ".venv").mkdir(parents=True)
    shutil.copy(root() / "Makefile", here)
    was = chance.choice(("/home/ann/memrepro", str(folder / "was"), f"{here}-2", f"/mnt{here}"))
    (here / ".venv/.installed").touch()
    made = here / ".venv/pyvenv.cfg"
    made.write_text(f"home = /usr/bin\ncommand = /usr/bin/python3 -m venv {here}/.venv\n")
    subprocess.run(["make", "here"], cwd=here, capture_output=True, check=True)
    made.write_text(f"home = /usr/bin\ncommand = /usr/bin/python3 -m venv {was}/.venv\n")
    ran = subprocess.run(["make", "here"], cwd=here, capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert "run make clean-venv" in ran.stderr
    subprocess.run(["make", "clean-venv"], cwd=here, capture_output=True, check=True)
    assert not (here / ".venv").exists()
    return "named"


def _requires(name: str) -> list[str]:
    try:
        return requires(name) or []
    except PackageNotFoundError:  # of another system
        return []


@cache
def _without_the_rest() -> str:
    """Code that leaves out what only the extras install."""
    project = tomllib.loads((root() / "pyproject.toml").read_text("utf-8"))["project"]

    def names(requirements: list[str]) -> set[str]:
        return {re.split(r"[\[=<>; ]", one)[0].lower().replace("_", "-") for one in requirements}

    light, more = set(), names(project["dependencies"])
    while more:  # and what these need
        light |= more
        more = names([r for one in more for r in _requires(one) if ";" not in r]) - light
    extras = project["optional-dependencies"]
    extra = names(extras["cpu"]) | names(extras["pipeline"])
    gone = [
        module
        for module, dists in packages_distributions().items()
        if {one.lower().replace("_", "-") for one in dists} <= extra - light - {"memrepro"}
    ]
    return (
        f"import sys\nclass Gone:\n def find_spec(self, name, path=None, target=None):\n"
        f"  if name.split('.')[0] in {sorted(gone)}: raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Gone())"
    )


def light(folder: Path, chance: Random) -> str:
    """The part of the wheel that needs no extra works without them."""
    (folder / "paper.md").write_text("| M | Acc (n=40) |\n|---|---|\n| x | 0.4521 |\n| y | 0.5 |\n")
    (folder / "a.run").write_text("q1 Q0 d1 1 2.0 x\nq2 Q0 d3 1 2.0 x\n")
    (folder / "a.qrels").write_text("q1 0 d1 1\nq2 0 d3 1\n")
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy(root() / name, folder)
    (folder / "memrepro").symlink_to(root() / "memrepro")
    command, status = chance.choice([
        (("audit", "paper.md"), 1), (("score", "a.run", "--qrels", "a.qrels", "--json"), 0),
        (("datasets",), 0), (("search",), 0),
    ])  # fmt: skip
    first = _without_the_rest()
    if command == ("search",):
        first += "\nimport memrepro as mr"
        first += "\nfound = mr.search(['a cat', 'a train'], ['cat?'], method='bm25.bm25', k=1)"
        first += "\nassert found['doc_id'].tolist() == ['0']"
        command = ("datasets",)
    ran = _memrepro(folder, *command, first=first)
    assert ran.returncode == status, ran.stderr[-300:]
    assert "Traceback" not in ran.stderr
    return command[0]


def leftovers(folder: Path, chance: Random) -> str:
    """What a killed writer left is no part of a result; a killed DVC's lists are swept."""
    (folder / "results").mkdir()
    for number in range(chance.randint(1, 5)):
        write_text(folder / f"results/{chance.choice(('a', 'b/c'))}/t{number}.csv", f"{number}\n")
    before = lineage.dvc_hash(folder / "results")
    for path in list((folder / "results").rglob("*.csv")):
        part = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz0123456789_", k=8))
        path.with_name(f".{path.name}.{part}.part").write_text("half")
    assert lineage.dvc_hash(folder / "results") == before
    for name in ("params.yaml", "dvc.yaml", "dvc/__init__.py", "dvc/__main__.py", ".git/HEAD"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    (folder / ".dvc/tmp").mkdir(parents=True)
    gone = 2**22 + chance.randrange(99)  # no process has such an id
    holder = {"pid": chance.choice((gone, 1, os.getpid())), "cmd": "dvc repro"}
    held = json.dumps({"write": {"a": holder}, "read": {"b": [holder]}})
    half = held[: chance.randrange(len(held))]
    held = chance.choice((held, half, "[]", "3", '{"write": 3}', "\0"))
    (folder / ".dvc/tmp/rwlock").write_text(held)
    with chdir(folder):
        assert dvc.repro("all", os.environ) == 0
    assert not (folder / ".dvc/tmp/rwlock").exists()
    return "swept"


@cache
def _browser() -> Browser:
    browser = Browser()
    atexit.register(browser.__exit__)
    return browser


def pages(folder: Path, chance: Random) -> str:
    """Markup in any cell or output of a notebook acts on no page, in a real browser too."""

    def text() -> str:
        some = chance.sample(SCRIPTS, chance.randint(1, 4))
        wrap = chance.choice(WRAPPED)
        return "\n\n".join(wrap.replace("{}", one) for one in some)

    output = nbformat.v4.new_output
    kinds = ("text/markdown", "text/html", "text/latex", "image/svg+xml", "application/javascript",
             "text/plain")  # fmt: skip
    outputs = [output("display_data", {chance.choice(kinds): text()}) for _ in range(3)]
    cells = [nbformat.v4.new_markdown_cell(text()), nbformat.v4.new_raw_cell(text()),
             nbformat.v4.new_code_cell(text(), outputs=outputs)]  # fmt: skip
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "a.ipynb")
    page = to_page(folder / "a.ipynb", folder / "a.html")
    body = html.fromstring(page.read_text("utf-8")).find("body")
    assert not [one.tag for one in body.iter(*ACTING)]
    named = [(name, value) for one in body.iter() for name, value in one.attrib.items()]
    assert not [name for name, _ in named if name.startswith("on")]
    leads = ("href", "src", "style", "srcset", "action")
    leading = [value for name, value in named if name in leads]
    # No scheme and no host: a word that is a link leads nowhere else.
    led = [one for one in leading if re.match(r"\s*([a-z][\w+.-]*:|[/\\]{2})", one, re.IGNORECASE)]
    assert all(one.startswith(("data:image/", "text-align:")) for one in led), leading
    if not CHROMIUM:
        return "parsed"
    check_page(_browser(), page)
    return "in Chromium"


def _works_beside(folder: Path, user: str, times: int) -> Case:
    """One who comes and goes under the same root, and lists who is there."""

    def use() -> None:
        for _ in range(times):
            with opened(folder, user=user) as memory:
                memory.add(chat(2))
            users(folder)
            control.delete_user(folder, user)
            assert not user_folder(folder, user).exists()

    return tried("", use)


def deletions(folder: Path, chance: Random) -> str:
    """Users are deleted while others open, list and delete under the same root."""
    names, times = ["ann", "bob", "eve", "../x"][: chance.randint(2, 4)], chance.randint(1, 2)
    working = [
        Child(lambda name=name: _works_beside(folder / "root", name, times))  # type: ignore[misc]
        for name in names
    ]
    for one in working:
        case = one.case("")
        assert (case.outcome, case.broken) == (ACCEPTED, ""), case
    assert not list((folder / "root").iterdir())
    return f"{len(names)} at once"


def edits(folder: Path, chance: Random) -> str:
    """An edit of what is published is named: of the table of promises, or of any file."""
    clone = _published()
    with pytest.MonkeyPatch.context() as patch:
        published.at(clone, patch)
        try:
            if chance.random() < 0.4:
                case = chance.choice(list(published.PROMISED))
                change, named, _ = published.PROMISED[case]
                change(clone)
                assert named <= set(published.found())
                return "of the table"
            held = [p for p in sorted((clone / "results/sample").rglob("*")) if p.is_file()]
            path = chance.choice(held)
            name = path.relative_to(clone).as_posix()
            how = chance.choice(("a byte", "a byte more", "gone", "link", "empty", "beside"))
            content = bytearray(path.read_bytes())
            if how == "a byte" and content:
                content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
                path.write_bytes(content)
            elif how == "gone":
                path.unlink()
            elif how == "link":
                path.rename(folder / "it")
                path.symlink_to(folder / "it")
            elif how == "beside":
                evil = chance.choice((".evil.csv", "evil.csv", "ev\x1bil", "evil.ipynb"))
                beside = path.with_name(evil)
                beside.write_text("row,value\n")
                name = beside.relative_to(clone).as_posix()
            else:
                path.write_bytes(bytes(content) + b"\n" if how != "empty" else b"\n")
            found = published.files(published.found())
            assert set(found) == {name}, (how, name, found)
            return how
        finally:
            published.as_published(clone)


def permissions(folder: Path, chance: Random) -> str:
    """What is written is as readable as the umask has it; a site's state names no file outside."""
    mask = chance.choice((0o077, 0o027, 0o022, 0o007))
    before = os.umask(mask)
    try:
        write_text(folder / "out/new.json", "{}")
        assert (folder / "out/new.json").stat().st_mode & 0o777 == 0o666 & ~mask
        (folder / "old.json").touch()
        mode = chance.choice((0o600, 0o640, 0o664, 0o444))
        (folder / "old.json").chmod(mode)
        write_text(folder / "old.json", "{}")
        assert (folder / "old.json").stat().st_mode & 0o777 == mode
    finally:
        os.umask(before)
    hostile = chance.choice([*PATHS, str(folder / "old.json"), "a/../../b", "/"])
    whole = {"a": Group("1", [hostile], None), "b": Group("1", ["index.html"], None)}
    (folder / ".state").write_bytes(pickle.dumps(whole))
    known: dict[str, Any] = _read(folder / ".state")
    outside = hostile.startswith("/") or ".." in hostile.split("/")
    assert sorted(known) == (["b"] if outside else ["a", "b"]), hostile
    return f"{mask:03o}"


POINTS: dict[str, Callable[[Path, Random], str]] = {
    "9 line ends of a clone": line_ends,
    "9 archives without git": archives,
    "9 moved checkouts": moved,
    "10 the light part alone": light,
    "11 what kills leave": leftovers,
    "13 pages": pages,
    "17 deletion beside others": deletions,
    "20 edits of what is published": edits,
    "21 permissions": permissions,
}
