"""The DVC line: what depends on what, how large it is, and one tiny profile run end to end."""

import ast
import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
import yaml
from dvc.utils.serialize import load_yaml

from memrepro import _HOMES as HOMES
from memrepro.files.atomic import read_yaml
from memrepro.pipeline.cli import main
from memrepro.pipeline.stage import STAGES as WORK
from memrepro.pipeline.stage import notebook_of
from memrepro.retrieve import FAMILIES
from memrepro.retrieve.key_builders import family_of
from memrepro.study.params import load_plan
from memrepro.study.plan import AUDIT
from tests.pipeline.dvc_here import dvc

ROOT = Path(__file__).parents[2]
TEMPLATES = read_yaml(ROOT / "dvc.yaml")["stages"]
PLAN = load_plan()


def filled(tree, known):
    if isinstance(tree, dict):
        return {filled(key, known): filled(value, known) for key, value in tree.items()}
    if isinstance(tree, list):
        return [filled(value, known) for value in tree]
    for name, value in known.items():
        tree = tree.replace(f"${{{name}}}", value) if isinstance(tree, str) else tree
    return tree


def stages():
    """Every stage by its name, templates filled in; each out as a path."""
    found = {}
    for name, stage in TEMPLATES.items():
        items = stage.get("foreach", {"": {}})
        items = items if isinstance(items, dict) else {item: item for item in items}
        for key, item in items.items():
            known = {"key": key}
            known |= {f"item.{k}": v for k, v in item.items()} if isinstance(item, dict) else {}
            known |= {"item": item} if isinstance(item, str) else {}
            made = filled(stage.get("do", stage), known)
            commands = [made["cmd"]] if isinstance(made["cmd"], str) else made["cmd"]
            if " stages " in commands[0]:
                commands = [f"stage {one}" for one in re.findall("'([^']+)'", commands[0])]
            outs = [next(iter(out)) if isinstance(out, dict) else out for out in made["outs"]]
            found[f"{name}@{key}" if key else name] = {
                "commands": commands, "deps": made["deps"], "outs": outs,
                "params": made.get("params", []),
            }  # fmt: skip
    return found


STAGES = stages()
# Modules that name, read, write and check, but decide no number: no stage depends on them.
PLUMBING = {
    "memrepro", "memrepro.errors", "memrepro.study", "memrepro.study.params",
    "memrepro.study.grids", "memrepro.study.plan", "memrepro.study.result", "memrepro.retrieve",
    "memrepro.pipeline", "memrepro.pipeline.stages", "memrepro.pipeline.stages.report",
    "memrepro.pipeline.stages.audit", "memrepro.pipeline.stages.data",
    "memrepro.pipeline.stages.reading",
    "memrepro.pipeline.views", "memrepro.papers", "memrepro.pipeline.stage",
    # What verify says of a change, and no more.
    "memrepro.study.causes", "memrepro.provenance",
}  # fmt: skip


# What runs nothing of what else its module imports → the modules that it runs. The mirror is a
# place: what lies there is checked against the digests of the stage's own room.
ALONE = {
    "memrepro.data.fetch.mirror_folder": (),
}


def is_plumbing(name):
    # A family's package says no more than what marks its key schemes.
    family = re.fullmatch(r"memrepro\.retrieve\.(\w+)", name)
    return (
        name in PLUMBING
        # Where things lie, and where they run: the same bytes anywhere.
        or name.startswith(("memrepro.files", "memrepro.cluster"))
        or (family is not None and family[1] in FAMILIES)
    )


@cache
def module_file(name):
    path = ROOT / name.replace(".", "/")
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


@cache
def imported_by(name):
    return tuple(imported(module_file(name).read_text()))


def imported(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            # Any other name brings in the whole module.
            yield from names if set(names) <= set(ALONE) else [node.module, *names]


def closure(names):
    """The modules of the package that these import, however deep, plumbing aside."""
    found, alone, todo = set(), set(), list(names)
    while todo:
        name = todo.pop()
        alone |= set(ALONE.get(name, ()))
        if name not in found and not is_plumbing(name) and module_file(name):
            found.add(name)
            todo += imported_by(name)
    return {module_file(name).relative_to(ROOT).as_posix() for name in found | alone}


def notebooks(stage):
    """The notebooks that a stage executes; answers are read by a command alone."""
    called = (re.search(r"stage (\w+) (.+) --notebook ", c) for c in stage["commands"])
    return [notebook_of(one[1], one[2].split())[0] for one in called if one]


def readings(stage):
    """The reading studies that a stage answers."""
    profiles = re.findall(r"memrepro read (\S+)", " ".join(stage["commands"]))
    return [study for profile in profiles for study in PLAN.readings(profile).values()]


def works(stage):
    """What a stage does, before notebooks show it: its names and arguments."""
    called = (re.search(r"stage (.+?)(?: --|$)", command) for command in stage["commands"])
    return [tuple(one[1].split()) for one in called if one]


def needed(stage):
    """The modules that a stage runs: its work's, its notebooks', and what is imported by name."""
    names = {f"memrepro.{one}" for name, *_ in works(stage) for one in WORK[name].modules}
    for notebook in notebooks(stage):
        for cell in json.loads((ROOT / "notebooks" / f"{notebook}.ipynb").read_text())["cells"]:
            if cell["cell_type"] == "code":
                source = "".join(cell["source"])
                names |= set(imported(source))
                faces = set(re.findall(r"\bmr\.(\w+)", source)) & set(HOMES)
                names |= {f"memrepro.{HOMES[name]}" for name in faces}
    for command in stage["commands"]:
        for name in re.findall(r"stage prepare (\S+)", command):
            names.add(f"memrepro.data.{PLAN.dataset(name).module}")
            options = [one for one in PLAN.dataset(name).extract.values() if "paper" in one]
            names |= {f"memrepro.papers.{one['paper']}.llm.extractor" for one in options}
        for name in re.findall(r"stage retrieve (\S+)", command):
            for e in PLAN.study(name).values():
                names.add(f"memrepro.retrieve.{e.method}.retrievers")
                keys = {variant.key_scheme for variant in e.variants().values()}
                names |= key_modules(keys, ("keys.key_builder", "sizes"))
        embedded = r"stage embed (\S+) (\S+)"
        for profile, name in re.findall(embedded, command):
            for levels in PLAN.keys(profile, name).values():
                names |= key_modules({key for keys in levels.values() for key in keys})
    for study in readings(stage):
        names |= {"memrepro.read.reader", f"memrepro.data.{PLAN.dataset(study.any.dataset).module}"}
    return closure(names | reporting(stage))


def key_modules(key_schemes, parts=("keys.key_builder",)):
    families = {family_of(key_scheme) for key_scheme in key_schemes} - {""}
    return {f"memrepro.retrieve.{family}.{part}" for family in families for part in parts}


def reporting(stage):
    """What the stages behind evaluation import by name: the reports that they build, or the audit.

    The runner of the line's last stages is plumbing, and what it calls is named here.
    """
    (notebook, *_) = notebooks(stage) or [""]
    profile = profile_of(stage)
    built = PLAN.reports[profile] if notebook == "verify" else [notebook]
    documents = [one for one in built if any(one in papers for papers in PLAN.reports.values())]
    return {
        name
        for one in documents
        for name in (
            ["memrepro.report.audit"]
            if one == AUDIT
            else ["memrepro.report.modules", *(f"memrepro.papers.{one}.{part}" for part in PARTS)]
        )
    }


PARTS = ("analysis", "report")


def is_declared(path, deps):
    return any(path == d or path.startswith(f"{d}/") for d in deps)


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_depends_on_all_the_code_that_it_runs(name):
    stage = STAGES[name]
    missing = {m for m in needed(stage) if not is_declared(m, stage["deps"])}
    assert not missing
    for notebook in notebooks(stage):
        assert f"notebooks/{notebook}.ipynb" in stage["deps"]


def test_what_is_imported_by_name_is_found():
    """Else the test above would see nothing of it."""
    at = {"embed@sample": "memrepro/retrieve/tiered/keys/segments.py",
          "retrieve@locomo-rfmem": "memrepro/retrieve/rfmem/recollection.py",
          "retrieve-sample": "memrepro/retrieve/associa/sizes.py",
          "prepare@locomo": "memrepro/data/locomo.py",
          "report@open-rfmem": "memrepro/papers/rfmem/grid.py",
          "findings@open": "memrepro/papers/findings/report.py",
          "audit": "memrepro/report/audit.py",
          "verify@open": "memrepro/papers/tiered/analysis.py"}  # fmt: skip
    for name, path in at.items():
        assert path in needed(STAGES[name]), name


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_does_its_work_and_then_shows_it(name):
    """Answers alone are shown by the stage after them."""
    for command in STAGES[name]["commands"]:
        alone = re.search(r"memrepro (?:read|stage answers) ", command)
        assert bool(alone) == (" --notebook " not in command)


def test_dvc_reads_the_parameters_as_we_do():
    """Its reader refuses a colon in a plain scalar of a flow mapping, which PyYAML takes."""
    for name in ("params.yaml", "keys.yaml", "dvc.yaml"):
        assert load_yaml(str(ROOT / name)) == read_yaml(ROOT / name)


def profile_of(stage):
    said = " ".join([*stage["commands"], *stage["outs"]])
    return (re.search(r"build/(\w+)/", said) or re.search(r"results/(\w+)/", said))[1]


def test_each_study_has_its_stage_with_all_that_it_reads():
    studies = PLAN.studies()
    by_study = {
        study: s
        for s in STAGES.values()
        for study in re.findall(r"stage retrieve (\S+)", " ".join(s["commands"]))
    }
    assert set(by_study) == set(studies)
    for study, runs in studies.items():
        stage = by_study[study]
        together = [one for one, s in by_study.items() if s is stage]
        assert stage["params"] == [f"studies.{one}" for one in together]
        (profile,) = {e.profile for e in runs.values()}
        assert f"results/{profile}/runs/{study}" in stage["outs"]
        for e in runs.values():
            assert f"memrepro/retrieve/{e.method}" in stage["deps"]
            assert f"data/prepared/{e.dataset}" in stage["deps"]
            vectors = f"data/vectors/{profile}/{e.dataset}" in stage["deps"]
            assert vectors or not e.encoder
            if e.ranges:
                home = PLAN.dataset(e.dataset).profile
                assert f"results/{home}/data/{e.dataset}/times" in stage["deps"]
        methods = {e.method for one in together for e in studies[one].values()}
        families = [
            d for d in stage["deps"]
            if d.startswith("memrepro/retrieve/") and "." not in d and not d.endswith("/keys")
        ]  # fmt: skip
        # One group of stages holds all studies of keys, of which one has others' rankings too.
        assert {d.rsplit("/", 1)[1] for d in families} - {"outside"} == methods - {"outside"}


def test_reading_depends_on_what_its_studies_are_shown_and_on_no_other_ranking():
    stages = {profile_of(stage): stage for stage in STAGES.values() if readings(stage)}
    assert set(stages) == {study.profile for study in PLAN.reading.values()}
    for profile, stage in stages.items():
        wanted = set()
        for study in readings(stage):
            name = study.any.dataset
            wanted |= {f"data/raw/{name}", f"data/prepared/{name}"}
            for one in study.conditions.values():
                if one.memory == "oracle":
                    wanted.add(f"results/{study.data_profile}/data/{name}/qrels.parquet")
                if one.run:
                    folder = f"results/{one.run_profile}/runs/{PLAN.experiment(one.run).study}"
                    wanted.add(f"{folder}/{one.run}.parquet")
        read = {d for d in stage["deps"] if not d.startswith("memrepro/")}
        assert {
            d for d in read if not any(f"{one}/".startswith(f"{d}/") for one in wanted)
        } == set()
        assert {one for one in wanted if not is_declared(one, read)} == set()
        assert stage["outs"] == [f"results/{profile}/readings.parquet"]
        entries = {f"reading.{study.name}" for study in readings(stage)}
        models = {f"models.{one.model}" for s in readings(stage) for one in s.conditions.values()}
        assert set(stage["params"]) in (entries | models, {"reading", "models"})


def test_what_is_embedded_is_what_the_runs_of_a_profile_search():
    searched = {(e.profile, e.dataset) for e in PLAN.runs.values() if e.encoder}
    made = set()
    for name, stage in STAGES.items():
        if name.startswith("embed"):
            (params,) = stage["params"]
            asked = {tuple(p.split(".")) for p in params["keys.yaml"]}
            outs = {o.removeprefix("data/vectors/") for o in stage["outs"] if "vectors" in o}
            assert {"/".join(one) for one in asked} == outs
            assert not made & asked
            made |= asked
    assert made == searched


def test_each_data_set_is_prepared_once_under_its_own_parameters():
    prepared = [o for s in STAGES.values() for o in s["outs"] if o.startswith("data/prepared/")]
    assert sorted(prepared) == sorted(f"data/prepared/{name}" for name in PLAN.datasets)
    for stage in (s for name, s in STAGES.items() if name.startswith("prepare")):
        names = {o.removeprefix("data/raw/") for o in stage["outs"] if o.startswith("data/raw/")}
        assert set(stage["params"]) == {f"datasets.{name}" for name in names}
        for name in names:
            assert f"results/{PLAN.dataset(name).profile}/data/{name}" in stage["outs"]


def test_each_report_has_its_stage_and_verify_reads_them():
    for profile, papers in PLAN.reports.items():
        made = {f"results/{profile}/{paper}" for paper in papers}
        outs = {o for s in STAGES.values() for o in s["outs"]}
        assert made <= outs
        (verify,) = (
            s for name, s in STAGES.items()
            if name in (f"verify@{profile}", f"verify-{profile}")
        )  # fmt: skip
        assert {d for d in verify["deps"] if d in made} == made


def test_only_evaluation_and_what_follows_reads_the_gold():
    """The places of docs, dates and times of asking are no gold."""
    for name, stage in STAGES.items():
        if name.startswith(("prepare", "embed", "retrieve")):
            read = {d for d in stage["deps"] if d.startswith("results/")}
            assert all(d.endswith("/times") for d in read), name


def test_results_are_kept_in_git_and_survive_a_failed_run():
    for name, stage in TEMPLATES.items():
        for out in stage.get("do", stage)["outs"]:
            if isinstance(out, dict):
                ((path, options),) = out.items()
                raw = path.startswith("data/raw/")
                assert options == ({} if raw else {"cache": False}) | {"persist": True}, name
            else:
                assert not out.startswith("results/"), name


def stale(changed):
    """The stages that run when these files or parameters change, and what they write with them."""
    found, todo = set(), {s for s, stage in STAGES.items() if reads(stage, changed)}
    while todo:
        found |= todo
        written = [o for s in todo for o in STAGES[s]["outs"]]
        todo = {s for s, stage in STAGES.items() if reads(stage, written)} - found
    return found


def reads(stage, changed):
    params = {p for p in stage["params"] if isinstance(p, str)}
    return any(
        one in params or any(f"{one}/".startswith(f"{d}/") or d.startswith(f"{one}/")
                             for d in stage["deps"])
        for one in changed
    )  # fmt: skip


def after_runs(profile):
    """The stages behind the rankings of a profile; the full one's reports read the open one's."""
    profiles = {profile, "full"} if profile == "open" else {profile}
    late = ("evaluate", "report", "findings", "reading", "audit", "verify")
    return {
        name for name, s in STAGES.items()
        if name.startswith(late) and profile_of(s) in profiles
        and not (profile == "open" and name == "evaluate-full")
    }  # fmt: skip


def test_one_run_makes_its_study_its_evaluation_and_its_reports_stale_and_nothing_else():
    assert stale(["studies.longmemeval-s-rfmem"]) == {"retrieve@longmemeval-s-rfmem"} | after_runs(
        "open"
    )
    assert stale(["studies.locomo-tiered"]) == {"retrieve@locomo-tiered"} | after_runs("open")


def copy_of_the_repository(folder):
    """The files that git would carry, in a repository of their own."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file() and not name.startswith("results/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)


@pytest.mark.slow
def test_a_stage_runs_again_where_a_raw_file_is_damaged(tmp_path, monkeypatch):
    """A rehearsal runs stages of each kind (tests/rehearse), and CI the whole sample profile."""
    copy_of_the_repository(tmp_path)
    (tmp_path / "dvc.lock").unlink(missing_ok=True)
    params = read_yaml(ROOT / "params.yaml")
    small = {"seed": 7, "questions": 12, "sessions": 6}
    params["datasets"]["sample"] |= {"parameters": small, "extract": {}}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    lines = read_yaml(ROOT / "dvc.yaml")
    work = lines["stages"]["prepare"]["do"]  # without its notebook, which starts a kernel
    work["cmd"] = work["cmd"].split(" --notebook ")[0]
    (tmp_path / "dvc.yaml").write_text(yaml.safe_dump(lines, sort_keys=False))
    monkeypatch.chdir(tmp_path)
    assert main(["stage", "prepare", "sample"]) == 0
    dvc(tmp_path, "commit", "--force", "prepare@sample")
    assert (tmp_path / "results" / "sample" / "data" / "sample" / "qrels.parquet").is_file()
    # A damaged raw file is noticed, and made anew.
    raw = tmp_path / "data" / "raw" / "sample" / "sample.json"
    raw.chmod(0o644)
    whole = raw.read_text()
    raw.write_text(whole[:1000])
    after = dvc(tmp_path, "repro", "prepare@sample")
    assert "Running stage 'prepare@sample'" in after
    assert raw.read_text() == whole
