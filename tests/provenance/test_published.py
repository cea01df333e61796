"""Any byte that is not what was published is named."""

import random
import subprocess
from pathlib import Path

import pytest

from memrepro.files import paths
from memrepro.files.atomic import read_json, write_json
from memrepro.provenance import published

ROOT = Path(__file__).parents[2]


def git(folder, *arguments):
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=b", *arguments], cwd=folder,
                   check=True, capture_output=True)  # fmt: skip


@pytest.fixture(scope="module")
def cloned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    git(folder, "clone", "--quiet", "--shared", str(ROOT), "clone")
    git(folder / "clone", "tag", "published")
    return folder / "clone"


@pytest.fixture
def clone(cloned, monkeypatch):
    """The last commit in a folder of its own, which stands for the repository."""
    for module in ("files.paths", "provenance.published", "provenance.verify"):
        monkeypatch.setattr(f"memrepro.{module}.root", lambda: cloned)
    yield cloned
    git(cloned, "reset", "--quiet", "--hard", "published")
    git(cloned, "clean", "--quiet", "--force", "-d")


def found(profile="sample"):
    return published.differences(profile).set_index("file")["state"].to_dict()


def test_each_of_200_flipped_bits_is_found_and_nothing_else(clone):
    assert found() == {}
    chance = random.Random(13)
    files = [
        path
        for path in sorted(clone.rglob("*"))
        if path.is_file() and path.stat().st_size and ".git" not in path.parts
        and not path.is_relative_to(clone / "results" / "open")
    ]  # fmt: skip
    flipped = chance.sample(files, 200)
    for path in flipped:
        content = bytearray(path.read_bytes())
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(content)
    states = found()
    assert set(states) == {path.relative_to(clone).as_posix() for path in flipped}
    assert set(states.values()) <= {"changed", "same values"}


def test_new_and_gone_files_are_named(clone):
    (paths.results("sample") / "maxsim" / "mine.csv").write_text("a\n")
    paths.exclusions("sample").unlink()
    (clone / "params.yaml").unlink()
    assert found() == {
        "results/sample/maxsim/mine.csv": "new",
        "results/sample/evaluation/exclusions.csv": "gone",
        "params.yaml": "gone",
    }


def test_a_committed_edit_is_not_what_verify_saw(clone):
    table = paths.results("sample") / "maxsim" / "table1.csv"
    table.write_text(table.read_text() + " ")
    git(clone, "commit", "--quiet", "--all", "--message", "an edit")
    assert found() == {"results/sample/maxsim/table1.csv": "not as in the manifest"}


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
