"""The DVC line: what depends on what, and one tiny profile run end to end, twice."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from memrepro.files.atomic import read_yaml

ROOT = Path(__file__).parents[2]
STAGES = read_yaml(ROOT / "dvc.yaml")["stages"]
PARAMS = read_yaml(ROOT / "params.yaml")

# Modules that name, read, write and check, but decide no number: no stage depends on them.
PLUMBING = {
    "memrepro",
    "memrepro.errors",
    "memrepro.study.params",
    "memrepro.files.paths",
    "memrepro.study.plan",
    "memrepro.files.atomic",
    "memrepro.pipeline.stages",
    "memrepro.study.result",
    "memrepro.data",
    "memrepro.data.registry",
    "memrepro.data.fetch",
    "memrepro.files.progress",
    "memrepro.retrieve",
    "memrepro.numerics",
    "memrepro.report",
    "memrepro.audit",
}


def module_file(name):
    path = ROOT / name.replace(".", "/")
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def closure(*names):
    """The modules of the package that these import, however deep, plumbing aside."""
    found, todo = set(), list(names)
    while todo:
        name = todo.pop()
        if name in found or name in PLUMBING or module_file(name) is None:
            continue
        found.add(name)
        for node in ast.walk(ast.parse(module_file(name).read_text())):
            if isinstance(node, ast.Import):
                todo += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                todo += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return {module_file(name).relative_to(ROOT).as_posix() for name in found}


DYNAMIC = {
    "download": ["memrepro.data.sample"],
    "prepare": ["memrepro.data.locomo"],
    "extract": ["memrepro.data.locomo_extractions", "memrepro.data.sample_extractions"],
    "retrieve": ["memrepro.retrieve.rfmem"],
    "retrieve-traced": ["memrepro.retrieve.rfmem"],
    "retrieve-graph": ["memrepro.retrieve.associa"],
    "retrieve-tiered": ["memrepro.retrieve.tiered"],
    "latency": ["memrepro.retrieve.dense", "memrepro.retrieve.rfmem"],
    "sweep": ["memrepro.retrieve.rfmem"],
    "retrieve-lexical": ["memrepro.retrieve.bm25"],
    "sweep-lexical": ["memrepro.retrieve.bm25"],
    "report": ["memrepro.papers.rfmem.report"],
    "report-full": ["memrepro.papers.rfmem.report"],
    "verify": ["memrepro.papers.rfmem.report"],
    "verify-full": ["memrepro.papers.rfmem.report"],
}


@pytest.mark.parametrize("name", sorted(STAGES))
def test_a_stage_depends_on_all_the_code_that_it_runs(name):
    stage = STAGES[name].get("do", STAGES[name])
    module = stage["cmd"].split("memrepro notebook ")[1].split()[0]
    module = "report" if module in ("${item.paper}", "rfmem") else module
    dynamic = DYNAMIC.get(name, [])
    last = dynamic[0].rsplit(".", 1)[1] if dynamic else ""
    declared = [
        re.sub(r"\$\{item\.(module|method|paper|first|second|third|fourth|fifth)\}", last, d)
        for d in stage["deps"]
    ]
    needed = closure(f"memrepro.pipeline.stages.{module}", *dynamic)
    missing = {m for m in needed if not any(m == d or m.startswith(f"{d}/") for d in declared)}
    assert not missing


def test_only_evaluation_reads_the_qrels():
    searching = [name for name in STAGES if name.startswith(("retrieve", "sweep", "embed"))]
    assert len(searching) > 5
    for name in ("extract", *searching, "latency"):
        assert not [d for d in STAGES[name]["do"]["deps"] if "qrels" in d]


def test_each_group_of_experiments_has_its_stage():
    stages = {
        stage["foreach"].removeprefix("${experiments.").removesuffix("}"): stage["do"]
        for stage in STAGES.values()
        if str(stage.get("foreach")).startswith("${experiments.")
    }
    assert set(stages) == set(PARAMS["experiments"])
    for group, stage in stages.items():
        assert stage["params"] == [f"experiments.{group}.${{key}}"]
        outs = {path for out in stage["outs"] if isinstance(out, dict) for path in out}
        assert ("results/${item.profile}/traces/${key}" in outs) == (group == "traced")
        swept = "results/${item.profile}/runs/sweeps/${key}" in outs
        assert swept == ("sweep" in group)
        assert ("results/${item.profile}/runs/tiered/${key}" in outs) == (group == "tiered")
        searched = any(d.startswith("data/vectors/") for d in stage["deps"])
        assert searched == ("lexical" not in group)


@pytest.mark.parametrize("profile", ["sample", "open", "full"])
def test_what_a_report_and_verify_read_of_a_profile_is_made_in_it(profile):
    """DVC refuses a dependency on a folder that no stage writes into."""
    made = {"lengths": [e["profile"] for e in PARAMS["datasets"].values()]}
    made["traces"] = [e["profile"] for e in PARAMS["experiments"]["traced"].values()]
    made["latency"] = [e["profile"] for e in PARAMS["latency"].values()]
    made["graphs"] = [e["profile"] for e in PARAMS["graph_embeddings"].values()]
    names = ("report-full", "verify-full") if profile == "full" else ("report", "verify")
    for name in names:
        stage = STAGES[name].get("do", STAGES[name])
        shown = (f"results/{p}/" for p in ("${item.profile}", "${key}", profile))
        start = tuple(shown)
        read = {d.rsplit("/", 1)[1] for d in stage["deps"] if d.startswith(start)}
        for folder, profiles in made.items():
            assert (folder in read) == (profile in profiles), (name, folder)


def test_what_is_timed_depends_on_its_own_retrievers():
    for entry in PARAMS["latency"].values():
        for name in entry["experiments"]:
            (one,) = (group[name] for group in PARAMS["experiments"].values() if name in group)
            assert f"memrepro/retrievers/{one['method']}" in STAGES["latency"]["do"]["deps"]


def test_results_are_kept_in_git_and_survive_a_failed_run():
    for name, stage in STAGES.items():
        for out in stage.get("do", stage)["outs"]:
            if isinstance(out, dict):
                ((path, options),) = out.items()
                raw = path.startswith("data/raw/")
                assert options == ({} if raw else {"cache": False}) | {"persist": True}, name
            else:
                assert not out.startswith("results/"), name


def test_templates_are_filled_in_as_dvc_does():
    from dvc.dvcfile import load_file
    from dvc.repo import Repo

    from memrepro.pipeline.notebook import stage_of

    resolver = load_file(Repo(str(ROOT)), "dvc.yaml").resolver
    # Of each template the first and the last entry.
    names = list(read_yaml(ROOT / "dvc.lock")["stages"])
    firsts, lasts = ({n.partition("@")[0]: n for n in ns} for ns in (names[::-1], names))
    assert len(firsts) > 15
    for name in {*firsts.values(), *lasts.values(), "verify-full", "report-full@rfmem"}:
        peer, ours = resolver.resolve_one(name)[name], stage_of(name)
        for part in ("cmd", "deps", "params", "outs"):
            assert ours.get(part) == peer.get(part), (name, part)


def test_executed_notebooks_are_leaves():
    deps = {d for s in STAGES.values() for d in s.get("do", s)["deps"]}
    assert not {d for d in deps if d.startswith("build/")}


def dvc(folder, *arguments):
    environment = dict(os.environ)
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    environment["MEMREPRO_CACHE"] = str(ROOT / ".cache")
    return subprocess.run(
        [sys.executable, "-m", "dvc", *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def copy_of_the_repository(folder):
    """The files that git would carry, in a repository of their own."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clone")
    copy_of_the_repository(folder)
    return folder


def changed_code(folder):
    """Stage → what `dvc status` says of its notebook, code and parameters (data are absent)."""
    status = json.loads(dvc(folder, "status", "--json").stdout or "{}")
    found = {}
    for stage, reasons in status.items():
        for reason in reasons:
            for name, how in (
                reason.get("changed deps", {}).items() if isinstance(reason, dict) else ()
            ):
                if name.startswith(("memrepro/", "notebooks/", "params.yaml")):
                    found.setdefault(stage, {})[name] = json.dumps(how)
    return found


def stale_after(folder, edits, stages):
    """What edits of files make stale among stages that were up to date: dependency → its stages.

    All at once, since each look at the pipeline takes a minute.
    """
    for path, (old, new) in edits.items():
        text = (folder / path).read_text()
        assert text.count(old) >= 1
        (folder / path).write_text(text.replace(old, new, 1))
    found = {}
    for stage, reasons in changed_code(folder).items():
        for name in reasons if stage in stages else ():
            found.setdefault(name, set()).add(stage)
    return found


# Group of experiments -> its stage; a stage runs all the sweeps of an entry.
STAGE_OF = {"dense": "retrieve", "traced": "retrieve-traced", "sweep": "sweep"}


@pytest.mark.slow
def test_the_lock_is_true_and_an_edit_makes_stale_just_what_depends_on_it(clone):
    every = set(read_yaml(ROOT / "dvc.lock")["stages"])
    one = "sample-dense-user"
    entry = f"    {one}:\n      {{profile: sample"
    edit = ('"""', '"""Edited. ')
    stale = stale_after(
        clone,
        {
            "params.yaml": (entry, entry + ", vary: ''"),
            "memrepro/retrievers/rfmem/__init__.py": edit,
            "memrepro/metrics.py": edit,
            "memrepro/report/sample.py": edit,
        },
        every,
    )
    rfmem = {
        f"{stage}@{key}"
        for group, stage in STAGE_OF.items()
        for key, e in PARAMS["experiments"][group].items()
        if e["method"] == "rfmem"
    } | {f"latency@{key}" for key in PARAMS["latency"]}
    assert stale == {
        "params.yaml": {f"retrieve@{one}"},
        "memrepro/retrievers/rfmem": rfmem & every,
        "memrepro/metrics.py": {s for s in every if s.startswith(("evaluate", "verify"))},
        "memrepro/report": {s for s in every if s.startswith(("report", "verify", "audit"))},
    }


TINY = {
    "datasets": {
        "sample": {
            "profile": "sample",
            "module": "sample",
            "parameters": {"seed": 7, "questions": 24, "sessions": 10},
            "extract": {"gold": {}, "nlp": {}},
        }
    },
    # The keys that the runs below search, and no others: embedding is most of the time.
    "embeddings": {
        "sample--all-minilm-l6-v2": PARAMS["embeddings"]["sample--all-minilm-l6-v2"]
        | {"keys": {"session": ["user_only"], "round": ["user_only"]}}
    },
    "graph_embeddings": {
        "sample--all-minilm-l6-v2--graph": PARAMS["graph_embeddings"][
            "sample--all-minilm-l6-v2--graph"
        ]
        | {"keys": {"round": ["user_only+graph:gold-fact"]}}
    },
    "tiered_embeddings": {},
}


@pytest.mark.slow
def test_a_tiny_profile_up_to_a_report_and_a_second_run_does_nothing(tmp_path):
    """From the download to one document's report; CI runs the whole sample profile besides."""
    copy_of_the_repository(tmp_path)
    shutil.rmtree(tmp_path / "results", ignore_errors=True)
    (tmp_path / "dvc.lock").unlink(missing_ok=True)
    params = {
        **PARAMS,
        **TINY,
        "reports": {r: e for r, e in PARAMS["reports"].items() if e["profile"] == "sample"},
    }
    # One run of each method.
    kept = (
        "sample-associa", "sample-bm25-user", "sample-dense-user", "sample-rfmem-recollection",
    )  # fmt: skip
    params["experiments"] = {
        group: {k: e for k, e in entries.items() if k in kept}
        for group, entries in PARAMS["experiments"].items()
    }
    params["latency"] = {
        key: {**e, "experiments": [name for name in e["experiments"] if name in kept]}
        for key, e in PARAMS["latency"].items()
        if e["profile"] == "sample"
    }
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    first = dvc(tmp_path, "repro", "report@sample")
    assert first.returncode == 0, first.stdout + first.stderr
    results = tmp_path / "results" / "sample"
    runs = sorted(p.stem for p in (results / "runs").glob("*.parquet"))
    assert set(kept) <= set(runs)
    assert len(runs) == len(kept)
    run = pd.read_parquet(results / "runs" / f"{runs[0]}.parquet")
    assert list(run.columns) == ["query_id", "doc_id", "rank", "score"]
    traced = "sample-rfmem-recollection"
    hits = pd.read_parquet(results / "traces" / traced / "hits.parquet")
    pd.testing.assert_frame_equal(
        hits[list(run.columns)], pd.read_parquet(results / "runs" / f"{traced}.parquet")
    )
    times = pd.read_csv(results / "latency" / "sample-minilm.csv")
    assert set(times["experiment"]) == {"sample-dense-user", traced}
    assert (times["mean_ms"] > 0).all()
    overview = pd.read_csv(results / "sample" / "overview.csv")
    assert list(overview.columns) == [
        "row", "column", "metric", "reported", "reproduced", "n", "verdict", "term", "note",
    ]  # fmt: skip
    overall = overview[overview["column"] == "overall"]
    assert (overall["reproduced"] > 0.2).all()
    assert (tmp_path / "build" / "sample" / "sample.html").is_file()
    again = dvc(tmp_path, "repro", "report@sample")
    assert "Running stage" not in again.stdout
    assert "up to date" in again.stdout
    # A damaged raw file is noticed, and made anew.
    raw = tmp_path / "data" / "raw" / "sample" / "sample.json"
    raw.chmod(0o644)
    raw.write_text(raw.read_text()[:1000])
    after = dvc(tmp_path, "repro", "report@sample")
    assert after.returncode == 0, after.stdout + after.stderr
    assert "download@sample" in after.stdout
