"""DVC's stages in a scratch checkout: which of them to run, and one of them in a process."""

import ctypes
import os
import resource
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path

from memrepro.errors import MemreproError
from memrepro.files.processes import worker_pool

# What pulls in all that the full profile has.
LAST = ("verify-full", "read-full")
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass(frozen=True)
class Stage:
    """A stage by its name, with its commands and the stages that it stands on."""

    name: str
    commands: tuple[str, ...]
    needs: frozenset[str]

    def prepares(self, dataset: str) -> bool:
        """Whether it downloads a data set."""
        return any(f" stage prepare {dataset} " in f"{one} " for one in self.commands)


@dataclass(frozen=True)
class Step:
    """How a stage ended, its seconds, a processor's, and the most bytes that one process took."""

    stage: str
    outcome: str
    seconds: float = 0.0
    cpu: float = 0.0
    peak: int = 0


def check_stages(checkout: Path, only: Collection[str]) -> None:
    """Refuse a name that no stage of the full profile has, before anything is generated.

    Raises:
        MemreproError: if one of `only` is none of them.
    """
    import networkx as nx
    from dvc.repo import Repo

    if only:
        with Repo(str(checkout)) as repo:
            graph = nx.relabel_nodes(repo.index.graph, lambda stage: stage.name)
        _refuse_strange(only, set(LAST).union(*(nx.descendants(graph, name) for name in LAST)))


def _refuse_strange(only: Collection[str], known: Collection[str]) -> None:
    if strange := sorted(set(only) - set(known)):
        raise MemreproError(
            f"a rehearsal has no stage {strange[0]!r}: its stages are {', '.join(sorted(known))}"
        )


def stages_of(checkout: Path, datasets: Collection[str], only: Collection[str]) -> list[Stage]:
    """The full profile's stages that some data sets change, in an order that they can run in.

    The open profile's stages on those data sets are among them, as the full one stands on these;
    what the last commit holds of its other data sets stays, and what it does not hold of what they
    read is made.

    Args:
        checkout: with dvc.yaml.
        datasets: that are not the real ones.
        only: names of stages; '()' for all.

    Raises:
        MemreproError: if one of `only` is none of these.
    """
    import networkx as nx
    from dvc.repo import Repo

    with Repo(str(checkout)) as repo:
        graph = nx.relabel_nodes(repo.index.graph, lambda stage: stage.name)
        commands = {one.name: one.cmd for one in repo.index.stages}
        makers = {Path(out.fs_path): one.name for one in repo.index.stages for out in one.outs}
        # What each stage reads that is not here, as the stages that make it.
        lacking = {
            one.name: {
                makers[path]
                for dep in one.deps
                if not Path(dep.fs_path).exists()
                for path in (Path(dep.fs_path), *Path(dep.fs_path).parents)
                if path in makers
            }
            for one in repo.index.stages
        }
    commands = {name: (c,) if isinstance(c, str) else tuple(c) for name, c in commands.items()}
    wanted = set(LAST).union(*(nx.descendants(graph, name) for name in LAST))
    found = {
        name: Stage(name, commands[name], frozenset(nx.descendants(graph, name))) for name in wanted
    }
    first = {name for name, one in found.items() if any(map(one.prepares, datasets))}
    wanted &= first.union(*(nx.ancestors(graph, name) for name in first))
    while more := set[str]().union(*(lacking[name] for name in wanted)) - wanted:
        wanted |= more
    _refuse_strange(only, wanted)
    return [
        found[name]
        for name in reversed(list(nx.topological_sort(graph)))
        if name in (only or wanted)
    ]


def run_stages(
    stages: Sequence[Stage], checkout: Path, environment: Mapping[str, str], log: Path, at_once: int
) -> Iterator[Step]:
    """Run stages by dvc, each in a process; where one fails, those that need it are skipped.

    Args:
        stages: the first of those that can run goes first.
        checkout: where.
        environment: all of it.
        log: takes what they print.
        at_once: so many side by side, where they do not need each other.
    """
    # It imports dvc once. A process runs one stage: what its children took is that stage's.
    ended = {stage.name: "" for stage in stages}
    waiting, running = list(stages), set[Future[Step]]()
    preload = ["dvc.cli", "dvc.repo", "dvc.commands.repro"]
    with worker_pool(at_once, preload, once=True) as pool:
        while waiting or running:
            for stage in list(waiting):
                before = [ended[name] for name in stage.needs & set(ended)]
                if FAILED in before or SKIPPED in before:
                    ended[stage.name] = SKIPPED
                    yield Step(stage.name, SKIPPED)
                elif "" in before or len(running) == at_once:
                    continue
                else:
                    running.add(pool.submit(_run, stage.name, checkout, dict(environment), log))
                waiting.remove(stage)
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for step in (one.result() for one in done):
                ended[step.stage] = step.outcome
                yield step


def _run(name: str, checkout: Path, environment: dict[str, str], log: Path) -> Step:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(checkout)
    with log.open("ab") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    if sys.platform == "linux":
        # What a stage leaves behind becomes this process's child, and is counted with the others.
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    began = time.perf_counter()
    from dvc.cli import main

    code = main(["--wait-for-lock", "repro", "--single-item", name])
    seconds = time.perf_counter() - began
    _wait_for_the_rest()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)  # Linux counts kibibytes
    outcome = FAILED if code else PASSED
    return Step(name, outcome, seconds, used.ru_utime + used.ru_stime, peak)


def _wait_for_the_rest() -> None:
    """Wait for children that are about to end, such as a pool's; no longer than 5 seconds."""
    end = time.monotonic() + 5
    try:
        while time.monotonic() < end:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.05)
    except ChildProcessError:
        return  # there is none left
