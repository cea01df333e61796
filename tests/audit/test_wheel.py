"""The wheel brings the audit, with the audit's libraries and no others."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = r"""\begin{tabular}{lcc} Model & Acc Easy ($n=80$) & Acc Hard ($n=40$) \\ \hline
BM25 & 0.4125 & 0.2750 \\ Dense & 0.5375 & 0.3500 \\ Ours & 0.5750 & 0.4521 \end{tabular}"""


@pytest.mark.slow
@pytest.mark.network
def test_a_clean_environment_audits_latex(tmp_path):
    def run(*command):
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    # A copy, since building leaves folders beside the sources.
    shutil.copytree(ROOT / "memrepro", tmp_path / "source" / "memrepro")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / "source")
    built = run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", ".", "./source")
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("memrepro-*.whl")
    run(sys.executable, "-m", "venv", "clean")
    python = str(tmp_path / "clean" / "bin" / "python")
    done = run(python, "-m", "pip", "install", "--quiet", str(wheel))
    assert done.returncode == 0, done.stderr
    (tmp_path / "paper.tex").write_text(TABLE)
    audited = run(python, "-m", "memrepro", "audit", "paper.tex", "--json", "--level", "certain")
    assert audited.returncode == 1, audited.stderr
    found = json.loads(audited.stdout)["findings"][0]
    assert (found["where"], found["printed"]) == ("Ours, Acc Hard (n=40)", "0.4521")
    without = run(python, "-m", "memrepro", "datasets")
    assert without.returncode == 1
    assert "pip install 'memrepro[pipeline]'" in without.stderr
    assert "Traceback" not in without.stderr
