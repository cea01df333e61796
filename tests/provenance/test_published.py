"""Any byte that is not what was published is named."""

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from dvc_data.hashfile.hash_info import HashInfo
from dvc_data.hashfile.tree import Tree

from memrepro.files import paths
from memrepro.files.atomic import read_json, write_json
from memrepro.provenance import lineage, published, verify

ROOT = Path(__file__).parents[2]


def git(folder, *arguments):
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=b", *arguments], cwd=folder,
                   check=True, capture_output=True)  # fmt: skip


def test_the_hash_of_a_folder_is_dvcs(tmp_path):
    tree = Tree()
    for name in ("a/c", "a-b/c", "a.csv", "b"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
        tree.add(tuple(name.split("/")), None, HashInfo("md5", lineage.dvc_hash(tmp_path / name)))
    tree.digest()
    assert lineage.dvc_hash(tmp_path) == tree.hash_info.value


@pytest.mark.parametrize("profile", ["sample", "open"])
def test_the_last_commit_is_as_its_lock_and_manifest_say(profile, tmp_path, monkeypatch):
    git(tmp_path, "clone", "--quiet", "--shared", str(ROOT), "clone")
    at(tmp_path / "clone", monkeypatch)
    assert published.differences(profile).empty


def published_in(folder):
    """The last commit in a clone, but for other profiles' results.

    Its dvc.lock has the sample's stages alone, by the hashes of the sample's results there.
    """
    git(folder, "clone", "--quiet", "--shared", str(ROOT), "clone")
    git(folder / "clone", "rm", "--quiet", "-r", "results/open")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lineage, "root", lambda: folder / "clone")
        lock = folder / "clone/dvc.lock"
        stages = {}
        for name, stage in yaml.load(lock.read_bytes(), yaml.CSafeLoader)["stages"].items():
            for out in stage["outs"]:
                if out["path"].startswith("results/sample/"):
                    out["md5"] = lineage.dvc_hash(folder / "clone" / out["path"])
                    stages[name] = stage
        lock.write_text(yaml.dump({"stages": stages}, Dumper=yaml.CSafeDumper))
    git(folder / "clone", "commit", "--quiet", "--allow-empty", "--all", "--message", "lock")
    git(folder / "clone", "tag", "published")
    return folder / "clone"


def as_published(clone):
    """Undo whatever was done to such a clone."""
    git(clone, "reset", "--quiet", "--hard", "published")
    git(clone, "clean", "--quiet", "--force", "-d", "-x")


@pytest.fixture(scope="module")
def cloned(tmp_path_factory):
    return published_in(tmp_path_factory.mktemp("published"))


@pytest.fixture
def clone(cloned, monkeypatch):
    """The last commit in a folder of its own, which stands for the repository."""
    at(cloned, monkeypatch)
    yield cloned
    as_published(cloned)


def at(folder, monkeypatch):
    modules = "files.paths", "provenance.published", "provenance.verify", "provenance.lineage"
    for module in modules:
        monkeypatch.setattr(f"memrepro.{module}.root", lambda: folder)


def found(profile="sample"):
    return published.differences(profile).set_index("file")["state"].to_dict()


def files(states):
    """Those of single files: a folder of results is named by dvc.lock as a whole besides."""
    return {name: state for name, state in states.items() if state != "not as in dvc.lock"}


def test_each_of_200_flipped_bits_is_found_and_nothing_else(clone):
    assert found() == {}
    chance = random.Random(13)
    held = [
        path
        for path in sorted(clone.rglob("*"))
        if path.is_file() and path.stat().st_size and ".git" not in path.parts
    ]  # fmt: skip
    flipped = chance.sample(held, 200)
    for path in flipped:
        content = bytearray(path.read_bytes())
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(content)
    states = files(found())
    assert set(states) == {path.relative_to(clone).as_posix() for path in flipped}
    assert set(states.values()) <= {"changed", "same values"}


def edited(name, before, after):
    def edit(folder):
        path = folder / name
        assert before in path.read_text()
        path.write_text(path.read_text().replace(before, after, 1))

    return edit


def swapped(folder, first, second):
    def swap(clone):
        one, other = (clone / folder / name for name in (first, second))
        content = one.read_bytes()
        assert content != other.read_bytes()
        one.write_bytes(other.read_bytes())
        other.write_bytes(content)

    return swap


def added(name):
    return lambda clone: (clone / name).write_text("row,value\na,1\n")


def linked(clone):
    folder = clone / "results/sample/maxsim"
    folder.rename(clone.parent / "elsewhere")
    folder.symlink_to(clone.parent / "elsewhere")


def zeros(clone):
    lock = clone / "dvc.lock"
    lock.write_text(re.sub("md5: [0-9a-f]{32}", f"md5: {'0' * 32}", lock.read_text()))


MAXSIM, RUNS = "results/sample/maxsim", "results/sample/runs/sample-keys"
FIGURES = sorted(path.name for path in (ROOT / MAXSIM).glob("*.[ps][nv]g"))[:2]
# A row of the table of docs/provenance.md → what is done, what is named as long as it is not
# committed, and when it is, the manifest made again (unless that is what was changed).
PROMISED = {
    "a number of a table": (
        edited(f"{MAXSIM}/table1.csv", "0.664", "0.665"), {f"{MAXSIM}/table1.csv"}, {MAXSIM},
    ),
    "a number of a `report.ipynb`": (
        edited(f"{MAXSIM}/report.ipynb", "0", "1"), {f"{MAXSIM}/report.ipynb"}, {MAXSIM},
    ),
    "two figures swapped": (
        swapped(MAXSIM, *FIGURES), {f"{MAXSIM}/{name}" for name in FIGURES}, {MAXSIM},
    ),
    "two rankings swapped, and all that follows made again": (
        swapped(RUNS, "sample-bm25-user.parquet", "sample-dense-user.parquet"),
        {f"{RUNS}/sample-bm25-user.parquet", f"{RUNS}/sample-dense-user.parquet"}, {RUNS},
    ),
    "a file more in a folder of results": (
        added(f"{MAXSIM}/evil.csv"), {f"{MAXSIM}/evil.csv"}, {MAXSIM},
    ),
    "one that is hidden": (added(f"{MAXSIM}/.evil.csv"), {f"{MAXSIM}/.evil.csv"}, {MAXSIM}),
    "one beside the folders of results": (
        added("results/evil.csv"), {"results/evil.csv"}, {"results/evil.csv"},
    ),
    "a table deleted": (
        lambda clone: (clone / f"{MAXSIM}/table1.csv").unlink(), {f"{MAXSIM}/table1.csv"},
        {MAXSIM},
    ),
    "a folder replaced by a link": (linked, {MAXSIM}, {MAXSIM}),
    "the manifest emptied": (
        lambda clone: paths.manifest("sample").write_text("{}"),
        {"results/sample/manifest.json"},
        {"results/sample/manifest.json", f"{MAXSIM}/table1.csv", f"{RUNS}/key_sizes.csv"},
    ),
    "`dvc.lock` of zeros, or without its stages": (zeros, {"dvc.lock"}, {MAXSIM, RUNS}),
    "a measured time": (
        edited("results/sample/latency/sample-minilm.csv", "0", "1"),
        {"results/sample/latency/sample-minilm.csv"}, set(),
    ),
    "code, parameters or documentation": (
        edited("params.yaml", "sample", "simple"), {"params.yaml"}, set(),
    ),
}  # fmt: skip


def test_the_table_of_what_verify_promises_has_these_rows():
    text = (ROOT / "docs/provenance.md").read_text().partition("## What `verify` promises")[2]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", text.partition("\n## ")[0], re.M)
    committed = {case: committed for case, _, committed in rows[2:]}
    assert list(committed) == list(PROMISED)
    for case, (_, _, named) in PROMISED.items():
        assert committed[case].startswith("named" if named else "not named"), case


@pytest.mark.parametrize("case", PROMISED)
def test_verify_names_it(clone, case):
    change, uncommitted, committed = PROMISED[case]
    change(clone)
    assert uncommitted <= set(found())
    if case != "the manifest emptied":
        known = read_json(paths.manifest("sample"))
        write_json(paths.manifest("sample"), verify.manifest("sample", known))
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--allow-empty", "--message", "an edit")
    assert committed <= set(found())
    assert bool(committed) or set(found()) <= {"results/sample/manifest.json"}


def test_a_copy_within_another_repository_names_its_own_files(clone, tmp_path, monkeypatch):
    git(tmp_path, "init", "--quiet", "outer")
    (tmp_path / "outer/theirs.txt").write_text("theirs")
    git(tmp_path / "outer", "add", "--all")
    git(tmp_path / "outer", "commit", "--quiet", "--message", "theirs")
    inner = tmp_path / "outer/unpacked"
    shutil.copytree(clone, inner, ignore=shutil.ignore_patterns(".git"))
    at(inner, monkeypatch)
    assert found() == {}
    added("results/sample/maxsim/evil.csv")(inner)
    assert files(found()) == {"results/sample/maxsim/evil.csv": "new"}
    (inner / "results/sample/maxsim/evil.csv").unlink()
    git(tmp_path / "outer", "add", "--all")
    git(tmp_path / "outer", "commit", "--quiet", "--message", "ours too")
    edited("params.yaml", "sample", "simple")(inner)
    assert found() == {"params.yaml": "changed"}


def test_line_ends_stay_where_git_would_change_them(clone, tmp_path, monkeypatch):
    git(tmp_path, "-c", "core.autocrlf=true", "clone", "--quiet", "--shared", str(clone), "windows")
    at(tmp_path / "windows", monkeypatch)
    assert found() == {}


def test_bytes_that_differ_without_a_value_are_told_apart(clone):
    path = paths.exclusions("sample")
    manifest = paths.manifest("sample")
    path.write_text(path.read_text().replace("\n", "\r\n"))
    state = read_json(manifest)["evaluation/exclusions.csv"]
    assert found()[path.relative_to(clone).as_posix()] == (
        "same values" if "values" in state else "changed"
    )
    write_json(manifest, {})
    assert found()["results/sample/manifest.json"] == "changed"
