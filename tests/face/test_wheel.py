"""The installed package, outside the repository: what needs no committed results works there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memrepro.encode.models import cache_folder

ROOT = Path(__file__).parents[2]
SCRIPT = """
import memrepro as mr

assert "target" in mr.__file__, mr.__file__
notes = ["I adopted a grey cat called Miso.", "The train to Bern was late again."]
found = mr.search(notes, ["Which pet do I have?"], method="rfmem.recollection", alpha=0.5, k=1)
assert found["doc_id"].tolist() == ["0"]
talk = [{"id": "a", "text": notes[0]}, {"id": "b", "session": "2", "text": notes[1]}]
asked = [{"question": "Which train was late?", "gold": ["b"]}]
tried = mr.try_methods(talk, asked, ["BM25", "dense"], metric="recall@1")
assert tried["recall@1"].tolist() == [1.0, 1.0], tried
sample = mr.load("sample")
ranking = mr.search(sample, sample.questions["query_id"].tolist()[:3], method="bm25.bm25")
values = mr.run(ranking, sample, questions=ranking["query_id"].unique()).values("recall@10")
assert mr.compare(values, values).tied == len(values) > 0
assert mr.printed("rfmem", "table2").loc["mpnet Recol.", "R@10 Overall"] == "0.5527"
assert mr.verdict("0.5527", 0.5527).label == "exact"
with open("paper.md", "w") as file:
    file.write("| Model | Acc (n=40) |\\n| --- | --- |\\n| Ours | 0.4521 |")
assert len(mr.audit("paper.md").failing()) == 1
try:
    mr.run("rfmem-mpnet-familiarity")
except Exception as error:
    print(error)
"""


@pytest.mark.slow
def test_the_wheel_works_outside_the_repository(tmp_path):
    # A copy, since building leaves folders beside the sources.
    others = shutil.ignore_patterns("__pycache__")  # which other processes write to
    shutil.copytree(ROOT / "memrepro", tmp_path / "source" / "memrepro", ignore=others)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / "source")
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MEMREPRO_CACHE")}
    cache = tmp_path / "cache" / "memrepro"
    environment["XDG_CACHE_HOME"] = str(cache.parent)
    # The encoder's graph takes ten seconds to make, and depends on nothing of the package.
    (cache_folder() / "graphs").mkdir(parents=True, exist_ok=True)
    cache.mkdir(parents=True)
    (cache / "graphs").symlink_to((cache_folder() / "graphs").resolve())

    def run(*command):
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    # It builds a wheel, and installs that.
    install = (sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable)
    run(*install, "--target", "target", "--no-deps", "--no-build-isolation", "./source")
    environment["PYTHONPATH"] = str(tmp_path / "target")
    said = run(sys.executable, "-c", SCRIPT)
    assert said.startswith(
        "run('rfmem-mpnet-familiarity') reads the committed results, which the installed package "
        "does not hold"
    )
    assert (cache / "embeddings.sqlite").is_file()
