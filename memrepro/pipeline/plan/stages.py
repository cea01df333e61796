"""A profile's stages: what they do, which are done, and how long the others take here."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from memrepro.errors import MemreproError
from memrepro.files.atomic import read_yaml
from memrepro.pipeline.plan.machine import Rates

DONE, RUNS, MAY_RUN = "done", "runs", "runs if what it reads changes"
_EMBED = re.compile(r" stage embed (\S+) (\S+)")
_RAW = "data/raw/"


@dataclass(frozen=True)
class Stage:
    """A stage of dvc.yaml.

    Attributes:
        name: such as `embed@locomo`.
        state: DONE, RUNS or MAY_RUN.
        command: all of its commands.
        outs: the paths that it writes.
    """

    name: str
    state: str
    command: str
    outs: tuple[str, ...]

    @property
    def group(self) -> str:
        """What it does: the first word of its name."""
        return re.split("[-@]", self.name)[0]

    @property
    def datasets(self) -> list[str]:
        """The data sets that it fetches."""
        return [out.removeprefix(_RAW) for out in self.outs if out.startswith(_RAW)]

    @property
    def embeds(self) -> list[tuple[str, str]]:
        """The profiles and data sets whose texts it embeds."""
        return _EMBED.findall(self.command)


@cache
def facts() -> Mapping[str, Any]:
    """What facts.yaml says."""
    return _read("facts.yaml")


@cache
def measured() -> Mapping[str, Any]:
    """What benchmarks/stages.py measured, by profile."""
    return _read("measured.yaml")


def _read(name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = read_yaml(Path(__file__).with_name(name))
    return found


def last_stage(profile: str) -> str:
    """The stage that pulls in all of a profile."""
    return "verify-full" if profile == "full" else f"verify@{profile}"


def stages_of(folder: Path, last: str) -> list[Stage]:
    """A stage and all that it stands on, by dvc's own account, in an order that they can run in.

    A stage that dvc calls changed runs; one that only stands on such a stage may run.

    Raises:
        MemreproError: if dvc cannot read the line.
    """
    import networkx as nx
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    try:
        # An archive without git has the same stages.
        with Repo(str(folder), config={"core": {"no_scm": True}}) as repo:
            graph = nx.relabel_nodes(repo.index.graph, lambda stage: stage.name)
            known = {stage.name: stage for stage in repo.index.stages}
            changed = set(repo.status(targets=[last], with_deps=True))
    except DvcException as error:
        raise MemreproError(f"dvc cannot read the stages of {folder}: {error}") from error
    line = graph.subgraph({last} | nx.descendants(graph, last))
    after = changed.union(*(nx.ancestors(line, name) for name in changed & set(line)))
    found = []
    for name in reversed(list(nx.topological_sort(line))):
        state = RUNS if name in changed else MAY_RUN if name in after else DONE
        command = known[name].cmd
        command = command if isinstance(command, str) else "\n".join(command)
        found.append(Stage(name, state, command, tuple(o.def_path for o in known[name].outs)))
    return found


def took(name: str, here: Rates | None) -> tuple[float | None, float]:
    """A stage's seconds here, without encoders and language models, and its memory in bytes.

    Measured anywhere, they are scaled by the two machines' rates of Python; `like` in facts.yaml
    names a stage that was measured for one that was not. None where neither is there.
    """
    like = facts()["like"].get(name, {"stage": name, "times": 1})
    for wanted, times in ((name, 1), (like["stage"], like["times"])):
        for entry in measured().values():
            if one := entry["stages"].get(wanted):
                scale = entry["python"] / here.python if here else 1.0
                return one["seconds"] * times * scale, one["memory"] * 1e6
    return None, 0.0


def by_group(stages: Iterable[Stage], here: Rates | None) -> pd.DataFrame:
    """What is done and what runs, by what stages do; minutes of those that run or may run."""
    rows = []
    for stage in stages:
        seconds, memory = took(stage.name, here)
        to_run = stage.state != DONE
        rows.append({
            "stages": stage.group, "all": 1, "done": not to_run, "run": stage.state == RUNS,
            "may run": stage.state == MAY_RUN, "not measured": to_run and seconds is None,
            "minutes": (seconds or 0.0) / 60 * to_run, "memory": memory * to_run,
        })  # fmt: skip
    groups = pd.DataFrame(rows).groupby("stages", sort=False, as_index=False)
    return groups.agg(
        {name: "max" if name == "memory" else "sum" for name in rows[0] if name != "stages"}
    )
