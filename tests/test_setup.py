"""The pins: pyproject, lock file, conda environment and docs say the same."""

import platform
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
WHOLE = "memrepro[pipeline]"
NEEDED = [*PROJECT["dependencies"], *EXTRAS["pipeline"]]
DIRECT = [*NEEDED, *(r for r in EXTRAS["cpu"] if r != WHOLE), *EXTRAS["dev"]]
PINS = dict(requirement.split("==") for requirement in DIRECT)


def locked():
    text = (ROOT / "requirements.lock").read_text()
    return dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", text, re.M))


def test_every_direct_dependency_is_pinned_and_locked():
    lock = locked()
    for name, version in PINS.items():
        if name != "torch":
            assert lock[name] == version, name


def test_torch_is_pinned_without_a_hash_and_the_rest_with_one():
    assert (ROOT / "requirements-torch.txt").read_text().split() == [f"torch=={PINS['torch']}"]
    blocks = re.split(r"\n(?=[a-z0-9])", (ROOT / "requirements.lock").read_text())
    assert len(blocks) > 100
    for block in blocks:
        assert "--hash=sha256:" in block, block.splitlines()[0]
        assert not block.startswith("torch==")


# What pip writes itself, and what it compiles; a script's first line has this environment's path.
NOT_OF_THE_WHEEL = ("INSTALLER", "REQUESTED", "direct_url.json", ".pyc")
CPU_BUILD = {"2.13.0+cpu": 698_003_449}  # bytes, on Linux, x86_64


def test_torch_is_the_build_that_was_checked():
    torch = distribution("torch")
    if torch.version not in CPU_BUILD or platform.machine() != "x86_64":
        pytest.skip(f"torch {torch.version} for {platform.machine()} is another build")
    sizes = {
        torch.locate_file(file): file.size
        for file in torch.files
        if file.size is not None
        and file.parts[0] != ".."
        and not str(file).endswith(NOT_OF_THE_WHEEL)
    }
    assert [str(p) for p, size in sizes.items() if Path(p).stat().st_size != size] == []
    assert sum(sizes.values()) == CPU_BUILD[torch.version]


RUNS_WHAT_IT_READS = re.compile(
    r"pickle\.loads?\(|pickle\.Unpickler\(|torch\.load\(|joblib|allow_pickle=True|yaml\.unsafe|"
    r"trust_remote_code=True|use_safetensors=False|(?<![\w.])(?:eval|exec)\("
)


def test_nothing_that_is_read_can_run_and_no_model_brings_code():
    files = [p for f in ("memrepro", "benchmarks", "notebooks") for p in (ROOT / f).rglob("*")]
    code = {p: p.read_text() for p in files if p.suffix in (".py", ".ipynb")}
    assert len(code) > 200
    assert [p.name for p, text in code.items() if RUNS_WHAT_IT_READS.search(text)] == []
    # The one that reads pickles knows records alone (tests/site/test_pages.py).
    assert [p.name for p, text in code.items() if "pickle" in text and "import pickle" in text] == [
        "groups.py"
    ]


def test_the_conda_environment_is_in_step():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    conda = [entry for entry in environment if isinstance(entry, str)]
    (pip,) = (entry["pip"] for entry in environment if isinstance(entry, dict))
    assert f"pytorch::faiss-gpu={PINS['faiss-cpu']}" in conda
    assert "python=3.11" in conda
    assert dict(r.split("==") for r in pip) == {k: v for k, v in PINS.items() if k != "faiss-cpu"}


def test_faiss_is_of_one_version_for_a_cpu_and_for_a_gpu_and_never_both():
    # Both wheels own the folder `faiss`; torch is in the pipeline, which both extras bring.
    assert EXTRAS["cpu"] == [WHOLE, f"faiss-cpu=={PINS['faiss-cpu']}"]
    assert EXTRAS["gpu"] == [WHOLE, f"faiss-gpu=={PINS['faiss-cpu']}"]
    others = [*NEEDED, *EXTRAS["dev"], *locked()]
    assert [name for name in others if name.startswith("faiss")] == ["faiss-cpu"]
    assert f"torch=={PINS['torch']}" in EXTRAS["pipeline"]


def test_the_memory_wants_a_part_of_the_pipeline_and_no_other_version():
    assert set(EXTRAS["memory"]) < set(EXTRAS["pipeline"])
    assert EXTRAS["mcp"][0] == "memrepro[memory]"


@pytest.mark.parametrize("name", [*sorted(PINS), "faiss-gpu", "mcp"])
def test_every_direct_dependency_has_its_reason(name):
    reasons = (ROOT / "docs" / "dependencies.md").read_text()
    assert re.search(rf"^\| `{re.escape(name)}` \|", reasons, re.M)


def test_the_lock_names_no_index():
    assert not re.search(r"https?://|file:", (ROOT / "requirements.lock").read_text())


def test_what_takes_seconds_is_loaded_only_where_it_is_used():
    """A plan is read, and each retriever in it made, before anything is run."""
    code = (
        "import sys, memrepro.encode.encoder; from memrepro.retrieve import make_retriever;"
        "make_retriever('associa', 'deliberated', {'k': 5});"
        "heavy = {'sklearn', 'faiss', 'torch', 'openvino', 'pcst_fast'};"
        "print(heavy & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
