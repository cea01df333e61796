"""The wheel alone audits, scores and searches, on each Python that is at hand."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = r"""\begin{tabular}{lcc} Model & Acc Easy ($n=80$) & Acc Hard ($n=40$) \\ \hline
BM25 & 0.4125 & 0.2750 \\ Dense & 0.5375 & 0.3500 \\ Ours & 0.5750 & 0.4521 \end{tabular}"""


SEARCH = """import pandas as pd
import memrepro as mr
found = mr.search(["a grey cat", "a late train"], ["which cat?"], method="bm25.bm25", k=1)
asked = pd.Index(["q1", "q2"], name="query_id")
before, after = pd.Series([0.0, 1.0], asked), pd.Series([1.0, 1.0], asked)
print(found["doc_id"].tolist(), mr.compare(before, after).won)"""


def python_of(version):
    """A Python of that version that runs, on the path or of pyenv; '' for none."""
    of_pyenv = sorted((Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python"))
    for found in (shutil.which(f"python{version}"), *map(str, of_pyenv)):
        if found and subprocess.run([found, "-c", ""], capture_output=True).returncode == 0:
            return found
    return ""


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_a_clean_environment_audits_scores_and_searches(tmp_path, version):
    def run(*command):
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    if not (of_version := python_of(version)):
        pytest.skip(f"no Python {version} is at hand")
    # A copy, since building leaves folders beside the sources.
    others = shutil.ignore_patterns("__pycache__")  # which other processes write to
    shutil.copytree(ROOT / "memrepro", tmp_path / "source" / "memrepro", ignore=others)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / "source")
    built = run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", ".", "./source")
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("memrepro-*.whl")
    run(of_version, "-m", "venv", "clean")
    python = str(tmp_path / "clean" / "bin" / "python")
    done = run(python, "-m", "pip", "install", "--quiet", str(wheel))
    assert done.returncode == 0, done.stderr
    (tmp_path / "paper.tex").write_text(TABLE)
    audited = run(python, "-m", "memrepro", "audit", "paper.tex", "--json", "--level", "certain")
    assert audited.returncode == 1, audited.stderr
    found = json.loads(audited.stdout)["findings"][0]
    assert (found["where"], found["printed"]) == ("Ours, Acc Hard (n=40)", "0.4521")
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "run.trec").write_text("q1 Q0 d1 1 2.0 x\nq1 Q0 d2 2 1.0 x\nq2 Q0 d3 1 2.0 x\n")
    (tmp_path / "gold.qrels").write_text("q1 0 d2 1\nq2 0 d3 1\n")
    scored = run(python, "-m", "memrepro", "score", "run.trec", "--qrels", "gold.qrels", "--json")
    assert scored.returncode == 0, scored.stderr
    values = {
        (one["metric"], one["k"]): one["value"] for one in json.loads(scored.stdout)["values"]
    }
    assert (values["recall_any", 1], values["recall_any", 10]) == (0.5, 1.0)
    searched = run(python, "-c", SEARCH)
    assert searched.stdout == "['0'] 1\n", searched.stderr
    said = {"conversation": "c", "session": "s", "role": "user"}
    (tmp_path / "chats.jsonl").write_text(
        "".join(json.dumps({**said, "id": f"m{i}", "text": f"lamp {i}"}) + "\n" for i in range(9))
    )
    asked = {"question": "which lamp?", "gold": ["m1"], "conversation": "c"}
    (tmp_path / "q.jsonl").write_text(json.dumps(asked) + "\n")
    without = run(python, "-m", "memrepro", "try", "chats.jsonl", "--questions", "q.jsonl")
    assert without.returncode == 1
    assert "pip install 'memrepro[pipeline]'" in without.stderr
    assert "Traceback" not in without.stderr
