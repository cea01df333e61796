"""What `memrepro clean` lists is what it deletes, and nothing else."""

import json
import os
import time
from pathlib import Path

import pytest

from memrepro.pipeline import cli
from tests.pipeline.dvc_here import dvc

ROOT = Path(__file__).parents[2]


def everything(folder):
    found = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return {str(path.relative_to(folder)) for path in found}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with something of each part, and of what must stay."""
    folder = tmp_path / "checkout"
    for name in (
        "build/sample/rfmem.html", "build/site/a/index.html", "data/raw/x/file.json",
        "build/score/locomo/index.html", "build/mine.ipynb",
        "results/sample/manifest.json", "results/sample/.manifest.json.ab12.part",
        "results/sample/.qrels.parquet.cd34.part", "cache/embeddings.sqlite",
        "cache/embeddings.sqlite-wal", "cache/answers.sqlite", "cache/models/minilm/model.bin",
    ):  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    # One of a writer that may be at work.
    old = time.time() - 2 * 3600
    os.utime(folder / "results/sample/.manifest.json.ab12.part", (old, old))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/mine.txt").write_text("mine")
    (folder / "build/site/link").symlink_to(tmp_path / "elsewhere")
    (folder / "dvc.yaml").write_text("stages: {}\n")
    (folder / "params.yaml").touch()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MEMREPRO_CACHE", str(folder / "cache"))
    return folder


LEFT = {"results/sample/.manifest.json.ab12.part"}
BUILD = {"build/sample/rfmem.html", "build/site/a/index.html", "build/site/link"}
VECTORS = {"cache/embeddings.sqlite", "cache/embeddings.sqlite-wal"}


@pytest.mark.parametrize(
    ("parts", "gone"),
    [
        ([], LEFT | BUILD),
        (["left"], LEFT),
        (["vectors", "models"], VECTORS | {"cache/models/minilm/model.bin"}),
        (["answers"], {"cache/answers.sqlite"}),
    ],
)
def test_it_deletes_what_it_lists(checkout, tmp_path, capsys, parts, gone):
    before = everything(checkout)
    assert cli.main(["clean", *parts, "--json"]) == 0
    told = capsys.readouterr()
    assert "nothing is deleted without --yes" in told.err
    assert sum(row["files"] for row in json.loads(told.out)) == len(gone)
    assert everything(checkout) == before
    assert cli.main(["clean", *parts, "--yes"]) == 0
    assert before - everything(checkout) == gone
    assert (tmp_path / "elsewhere/mine.txt").read_text() == "mine"
    assert not (checkout / "build/site").exists() or "build/site/link" not in gone


def test_without_a_repository_a_part_of_the_cache_is_named(tmp_path, monkeypatch, capsys):
    vectors = tmp_path / "cache/embeddings.sqlite"
    vectors.parent.mkdir()
    vectors.touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMREPRO_CACHE", str(vectors.parent))
    assert cli.main(["clean", "--yes"]) == 1
    assert f"name a part of {vectors.parent}: vectors, answers" in capsys.readouterr().err
    assert vectors.exists()
    assert cli.main(["clean", "vectors", "--yes"]) == 0
    assert not vectors.exists()


def test_of_dvc_s_cache_goes_what_no_line_names(checkout, capsys):
    dvc(checkout, "init", "--no-scm", "-q")
    for content in ("old", "newer"):
        (checkout / "table.csv").write_text(content)
        dvc(checkout, "add", "-q", "table.csv")
    kept = {name for name in everything(checkout / ".dvc/cache/files") if len(name) > 30}
    assert len(kept) == 2
    assert cli.main(["clean", "objects", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["files"] == 1
    assert cli.main(["clean", "objects", "--yes"]) == 0
    (stays,) = everything(checkout / ".dvc/cache/files")
    assert (checkout / ".dvc/cache/files" / stays).read_text() == "newer"


def test_what_a_killed_writer_left_does_not_change_what_dvc_has_of_a_folder(tmp_path):
    dvc(tmp_path, "init", "--no-scm", "-q")
    (tmp_path / ".dvcignore").write_text((ROOT / ".dvcignore").read_text())
    (tmp_path / "times").mkdir()
    (tmp_path / "times/dates.parquet").write_text("x")
    dvc(tmp_path, "add", "-q", "times")
    (tmp_path / "times/.dates.parquet.abc.part").write_text("half")
    assert "up to date" in dvc(tmp_path, "status")
    (tmp_path / "times/dates.csv").write_text("a result")
    assert "modified" in dvc(tmp_path, "status")
