"""Why a result differs from the last commit's: by dvc.lock as it was then and as it is now."""

from collections.abc import Mapping
from typing import Any

# Stage → `cmd, deps, params, outs`, as dvc.lock has it.
Stages = Mapping[str, Any]
KINDS = ("data", "code", "parameters", "environment")


def maker(stages: Stages, path: str) -> str:
    """The stage that made a file, or the folder that holds it; '' if none did."""
    return next((name for name, s in stages.items() if holds(s.get("outs", ()), path)), "")


def holds(files: Any, path: str) -> bool:
    """Whether a file is one of a stage's `deps` or `outs`, or lies within one."""
    return any(path == one["path"] or path.startswith(f"{one['path']}/") for one in files)


def upstream(stages: Stages, stage: str) -> list[str]:
    """A stage and all before it, each after those that it depends on."""
    ordered: dict[str, None] = {}
    # A folder of rankings is made by many stages.
    makers = {out["path"]: name for name, s in stages.items() for out in s.get("outs", ())}

    def visit(name: str) -> None:
        for dependency in stages[name].get("deps", ()):
            path = dependency["path"]
            within = [m for p, m in makers.items() if f"{p}/".startswith(f"{path}/")]
            for before in [*within, makers.get(path) or maker(stages, path)]:
                if before and before not in ordered and before != name:
                    visit(before)
        ordered[name] = None

    visit(stage)
    return list(ordered)


def causes(now: Stages, then: Stages, stage: str) -> dict[str, list[str]]:
    """What a stage and those before it had otherwise then, by kind (`KINDS`); without what follows.

    A stage that read the same with the same code and parameters, and made something else, is held
    against the environment; if it fetched something else, against the data.
    """
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for name in upstream(now, stage):
        here, there = now[name], then.get(name)
        if there is None:
            found["parameters"].append(f"{name} is new")
            continue
        read = _changed(here, there, "deps")
        code = [path for path in read if path.startswith(("memrepro/", "notebooks/"))]
        given = sorted(
            key
            for file, values in here.get("params", {}).items()
            for key, value in values.items()
            if there.get("params", {}).get(file, {}).get(key) != value
        )
        found["code"] += code
        found["parameters"] += given
        made = [path for path in _changed(here, there, "outs") if not path.startswith("build/")]
        if made and not read and not given:
            fetched = any(path.startswith("data/raw/") for path in made)
            kind = "data" if fetched else "environment"
            found[kind].append(f"{name} made something else of the same")
    return {kind: sorted(set(names)) for kind, names in found.items() if names}


def _changed(here: Mapping[str, Any], there: Mapping[str, Any], part: str) -> list[str]:
    before = {one["path"]: one["md5"] for one in there.get(part, ())}
    return [one["path"] for one in here.get(part, ()) if before.get(one["path"]) != one["md5"]]
