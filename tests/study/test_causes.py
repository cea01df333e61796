"""Why a result differs: two states of dvc.lock, by hand."""

import copy
import subprocess

import pytest
import yaml

from memrepro.files import paths
from memrepro.provenance import verify
from memrepro.report.tables import Cell, cell_frame
from memrepro.study.causes import causes, upstream


def files(**digests):
    return [{"path": path, "hash": "md5", "md5": digest} for path, digest in digests.items()]


def stage(deps, outs, params=None):
    found = {"cmd": "python", "deps": files(**deps), "outs": files(**outs)}
    return found | ({"params": {"params.yaml": params}} if params else {})


LOCK = {
    "download@d": stage({"memrepro/fetch.py": "f"}, {"data/raw/d": "r"}),
    "retrieve@a": stage(
        {"data/raw/d": "r", "memrepro/core": "c"},
        {"results/p/runs/a.parquet": "1", "build/a.ipynb": "n"},
        {"experiments.a": {"k": 5}},
    ),
    "retrieve@b": stage({"data/raw/d": "r"}, {"results/p/runs/b.parquet": "2"}),
    "report@x": stage(
        {"notebooks/x.ipynb": "o", "results/p/runs": "12"}, {"results/p/x": "3"}
    ),
    "report@y": stage({"notebooks/y.ipynb": "o"}, {"results/p/y": "4"}),
}  # fmt: skip


def otherwise(name, part, path, digest="new"):
    then = copy.deepcopy(LOCK)
    next(one for one in then[name][part] if one["path"] == path)["md5"] = digest
    return then


def test_a_folder_of_rankings_is_made_by_all_their_stages():
    assert upstream(LOCK, "report@x") == ["download@d", "retrieve@a", "retrieve@b", "report@x"]
    assert upstream(LOCK, "report@y") == ["report@y"]


@pytest.mark.parametrize(
    ("then", "found"),
    [
        (otherwise("retrieve@a", "deps", "memrepro/core"), {"code": ["memrepro/core"]}),
        (otherwise("report@x", "deps", "notebooks/x.ipynb"), {"code": ["notebooks/x.ipynb"]}),
        # What was made of other data differs too, and is no cause.
        (
            otherwise("download@d", "outs", "data/raw/d")
            | {"retrieve@a": otherwise("retrieve@a", "deps", "data/raw/d")["retrieve@a"]},
            {"data": ["download@d made something else of the same"]},
        ),
        (
            otherwise("retrieve@b", "outs", "results/p/runs/b.parquet"),
            {"environment": ["retrieve@b made something else of the same"]},
        ),
        (otherwise("retrieve@a", "outs", "build/a.ipynb"), {}),
        (otherwise("report@y", "deps", "notebooks/y.ipynb"), {}),
        (
            LOCK | {"retrieve@a": LOCK["retrieve@a"] | {"params": {"params.yaml": {}}}},
            {"parameters": ["experiments.a"]},
        ),
        (
            {name: s for name, s in LOCK.items() if name != "retrieve@b"},
            {"parameters": ["retrieve@b is new"]},
        ),
    ],
)
def test_each_kind(then, found):
    assert causes(LOCK, then, "report@x") == found


def test_verify_says_why_a_number_moved(tmp_path, monkeypatch):
    """A repository with one table and a lock; both change after the commit."""

    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)

    def write(value, lock):
        row = Cell("a", "c", "recall@5", "0.5000", value, 100, "not reproduced")
        frame = cell_frame([row])
        table.parent.mkdir(parents=True, exist_ok=True)
        frame.to_csv(table, index=False)
        (tmp_path / "dvc.lock").write_text(yaml.safe_dump({"stages": lock}))

    monkeypatch.setattr(verify, "root", lambda: tmp_path)
    monkeypatch.setattr(paths, "results", lambda profile: tmp_path / "results" / profile)
    table = tmp_path / "results" / "p" / "x" / "table.csv"
    write("0.4000", otherwise("retrieve@a", "deps", "memrepro/core"))
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    assert verify.compare_with_committed("p").empty
    write("0.4100", LOCK)
    changed = verify.compare_with_committed("p")
    assert changed["why"].tolist() == ["code: memrepro/core"]
    write("0.4100", otherwise("retrieve@a", "deps", "memrepro/core"))
    changed = verify.compare_with_committed("p")
    assert "nothing that dvc.lock knows of" in changed["why"].item()
    for damaged in ("", "stages:", "<<<<<<< HEAD\nstages: {}", "stages: {retrieve@a: {outs: 3}}"):
        (tmp_path / "dvc.lock").write_text(damaged)
        assert "cannot be read" in verify.compare_with_committed("p")["why"].item()
    (tmp_path / "dvc.lock").unlink()
    assert "no dvc.lock" in verify.compare_with_committed("p")["why"].item()
