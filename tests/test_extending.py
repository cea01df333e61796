"""docs/extending.md, word by word: each section's files, entries and commands in a copy."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest
from dvc.repo import Repo

from memrepro.encode.models import cache_folder
from memrepro.files import paths
from memrepro.files.atomic import read_yaml
from memrepro.study.params import load_plan

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
BLOCK = re.compile(
    r"^```(\w+)(?: (\S+)(?: (at the end|behind|in place of) ?(.*?))?)?\n(.*?)^```$", re.M | re.S
)


def copy_of_the_repository(folder):
    """The package, its notebooks and settings; the sample's results and data as links."""
    for name in ("memrepro", "notebooks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("params.yaml", "dvc.yaml", "keys.yaml"):
        shutil.copy(ROOT / name, folder)
    for parent in ("results/sample", "results/sample/data", "results/sample/runs", "data/prepared"):
        (folder / parent).mkdir(parents=True, exist_ok=True)
        for one in (ROOT / parent).glob("*"):
            if not (folder / parent / one.name).exists() and one.name not in ("data", "runs"):
                (folder / parent / one.name).symlink_to(one)


def put(folder, name, how, line, text):
    """Write a block's file, or put its entry where the page says."""
    path = folder / name
    if not how:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    found = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if how == "at the end":
        found.append(f"\n{text}")
    else:
        place = [one.strip() for one in found].index(line)
        found[place] = text if how == "in place of" else found[place] + text
    path.write_text("".join(found), encoding="utf-8")


def run(folder, *command):
    environment = {**os.environ, "PYTHONPATH": str(folder), "MEMREPRO_CACHE": str(cache_folder()),
                   "MEMREPRO_MIRROR": str(folder / "mirror")}  # fmt: skip
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_repro_runs_what_was_added_and_it_has_a_reference_and_a_page(tmp_path):
    copy_of_the_repository(tmp_path)
    for _, name, how, line, text in BLOCK.findall(PAGE):
        if name:
            put(tmp_path, name, how, line, text)
    (tmp_path / ".dvc").mkdir()
    with Repo(str(tmp_path), config={"core": {"no_scm": True}}) as repo:
        graph = nx.relabel_nodes(repo.index.graph, lambda stage: stage.name)
    new = {"prepare@diary", "retrieve@sample-latest", "report@sample-pebble"}
    assert new <= nx.descendants(graph, "verify@sample")
    downloads = read_yaml(tmp_path / "memrepro/data/downloads.yaml")
    cited = {one["citation"].partition(":")[0] for one in downloads.values()}
    assert cited <= read_yaml(tmp_path / "memrepro/provenance/references.yaml")["entries"].keys()
    about = read_yaml(tmp_path / "memrepro/papers/pebble/narrative.yaml")
    assert {"order", "title", "question", "method", "profiles"} <= about.keys()


@pytest.mark.slow
@pytest.mark.parametrize("section", SECTIONS)
def test_each_section_does_what_it_says(section, tmp_path):
    if section == "A retriever" and not paths.prepared("sample").is_dir():
        pytest.skip("the sample is not prepared: `make repro`")
    planned = [one for one in load_plan().runs.items() if one[1].profile == "sample"]
    whole = all(paths.run("sample", name, one.study).is_file() for name, one in planned)
    if section == "A document" and not whole:
        pytest.skip("the sample profile has runs that are not made: `make repro`")
    copy_of_the_repository(tmp_path)
    blocks = BLOCK.findall(SECTIONS[section])
    assert len(blocks) >= 6
    # One process for all commands, which import the same for seconds.
    program = ["from memrepro.pipeline.cli import main"]
    for kind, name, how, line, text in blocks:
        if name:
            assert len(program) == 1, "files come before what runs"
            put(tmp_path, name, how, line, text)
        elif kind == "sh":
            for command in text.splitlines():
                called, *arguments = shlex.split(command)
                assert called == "memrepro"
                program.append(f"assert main({arguments}) == 0")
        else:
            program.append(text)
    run(tmp_path, "-c", "\n".join(program))
