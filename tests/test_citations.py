"""A file that code, parameters, notebooks or docs name is there, and so is the heading cited."""

import re
import subprocess
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
WRITTEN = {".py", ".md", ".yaml", ".ipynb", ".toml", ""}
FOLDERS = r"(?:docs|memrepro|tests|notebooks|benchmarks|results|\.ci)"
NAMED = re.compile(
    rf"(?<![\w./<>{{}}*-])({FOLDERS}/[\w./-]*\w\.(?:md|py|ipynb|yaml|csv|json|parquet)|[A-Z][A-Z_]+\.md)"
    r"(?![\w<>{}*])"
)
PROTOCOLS = re.compile(r"docs/protocols\.md,((?:\s|#|\\n|\")*)([A-Z].{0,60})", re.S)


def texts():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    for name in listed.splitlines():
        path = ROOT / name
        if path.suffix in WRITTEN and not name.startswith("results/") and path.is_file():
            yield name, path.read_text()


def test_every_file_that_is_named_exists():
    missing = defaultdict(set)
    for name, text in texts():
        for cited in NAMED.findall(text):
            # Tests make files up, and a pipeline names those that it will write.
            if name.startswith("tests/") and not cited.endswith(".md"):
                continue
            if name == "dvc.yaml" and cited.startswith("results/"):
                continue
            # Its worked examples write theirs (`tests/test_extending.py`); other people's tables
            # name files of their own.
            if name in ("docs/extending.md", "benchmarks/audit_papers.yaml"):
                continue
            if not any((base / cited).exists() for base in (ROOT, (ROOT / name).parent)):
                missing[cited].add(name)
    assert not dict(missing)


def test_every_protocol_that_is_cited_has_its_heading():
    headings = re.findall(r"^## (.+)$", (ROOT / "docs" / "protocols.md").read_text(), re.M)
    cited = 0
    for name, text in texts():
        for _, rest in PROTOCOLS.findall(text):
            cited += 1
            said = " ".join(rest.replace("#", " ").split())
            assert said.startswith(tuple(headings)), f"{name} cites {said!r}"
    assert cited > 15
