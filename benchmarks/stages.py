"""What each stage of a profile takes on this machine: the table that `memrepro plan` reads.

    git clone . "$CLONE" && MEMREPRO_CACHE="$CLONE/.cache" \\
        python benchmarks/stages.py sample --folder "$CLONE"

Runs `memrepro repro` in the folder (a clone, so that every stage runs; an empty cache, so that
every text is embedded), reads from its log when each stage began and how long encoders and language
models took of it, and watches the memory of its processes. `--steps FILE` takes the stages of a
rehearsal instead (`memrepro rehearse --json`), whose encoders are none. The profile's entry of
memrepro/pipeline/plan/measured.yaml is replaced.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from datetime import date
from pathlib import Path

import psutil
import yaml

from memrepro.errors import MemreproError
from memrepro.files.atomic import read_json, read_yaml, write_text
from memrepro.llm.records import AnswerStore
from memrepro.pipeline.plan import answers, downloads, embedding
from memrepro.pipeline.plan.stages import last_stage, stages_of
from memrepro.study.params import load_plan

TABLE = Path(embedding.__file__).with_name("measured.yaml")
HEAD = "# What stages took, as benchmarks/stages.py measured it; see there. Memory is in MB.\n"
ASKED = ("study", "model", "calls", "left", "prompt_tokens", "answer_tokens", "seconds")
STAGE = re.compile(r"Running stage '([^']+)'")
IDLE = re.compile(r"Stage '[^']+' (didn't change|is cached)")
ENCODED = re.compile(r"([\w.-]+): \d+ vectors found, \d+ encoded in ([\d.]+) s")
ANSWERED = re.compile(r"^memrepro: (\S+): \d+ answers; .* took ([\d.]+) s when they were made")


class Watch(threading.Thread):
    """The most memory that a process and its children hold."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._process, self.peak = psutil.Process(pid), 0

    def _family(self) -> list[psutil.Process]:
        return [self._process, *self._process.children(recursive=True)]

    def run(self) -> None:
        while self._process.is_running():
            with suppress(psutil.Error):  # one ended meanwhile
                self.peak = max(self.peak, sum(one.memory_info().rss for one in self._family()))
            time.sleep(0.3)


def measure(profile: str, folder: Path) -> dict:
    """Run the profile there: encoders, language models and stages."""
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONUNBUFFERED": "1"}
    run = subprocess.Popen(
        [sys.executable, "-m", "memrepro", "repro", profile], cwd=folder, env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    watch, took = Watch(run.pid), []
    watch.start()
    stage, began, within = "", 0.0, []

    def turn(following: str) -> None:
        """One stage ends, another begins."""
        nonlocal stage, began, within
        seconds, peak = time.perf_counter() - began, watch.peak
        if stage:
            took.append((stage, seconds, peak, within))
        stage, began, within, watch.peak = following, time.perf_counter(), [], 0

    for line in run.stdout:
        print(line, end="", flush=True)
        if (found := STAGE.search(line)) or IDLE.search(line):
            turn(found[1] if found else "")
        for kind, pattern in (("encoded", ENCODED), ("answered", ANSWERED)):
            if found := pattern.search(line):
                within.append((kind, found[1], float(found[2])))
    if run.wait():
        raise MemreproError(f"{profile} did not complete in {folder}: its log says why")
    turn("")
    stages: dict[str, dict[str, float]] = {}
    by_kind: dict[str, dict[str, float]] = {"encoded": {}, "answered": {}}
    for name, seconds, peak, parts in took:
        # An answer that several conditions share has its time in each of them.
        fits = min(1.0, seconds / (sum(part[2] for part in parts) or 1.0))
        parts = [(kind, model, some * fits) for kind, model, some in parts]
        own = seconds - sum(part[2] for part in parts)
        stages[name] = {"seconds": round(own, 1), "memory": round(peak / 1e6)}
        for kind, model, some in parts:
            by_kind[kind][model] = round(by_kind[kind].get(model, 0.0) + some, 1)
    found = counts(profile, folder, by_kind["answered"])
    return {"encoded": by_kind["encoded"], **found, "stages": stages}


def counts(profile: str, folder: Path, answered: dict[str, float]) -> dict:
    """What an empty cache had to be filled with: texts by data set and encoder, calls by study."""
    os.chdir(folder)
    plan = load_plan()
    jobs = [job for stage in stages_of(folder, last_stage(profile)) for job in stage.embeds]
    encoders = {encoder for job in jobs for encoder in plan.keys(*job)}
    present = [e for e in encoders if downloads.of_encoder(e).source == downloads.HERE]
    with tempfile.TemporaryDirectory() as empty:
        works = embedding.works_of(jobs, plan, "cpu", present, Path(empty) / "none")
        with AnswerStore(Path(empty) / "answers.sqlite") as store:
            asked = [
                row | {"seconds": answered.get(name, 0.0)}
                for name, study in plan.readings(profile).items()
                for row in answers.counted(study, plan.models, store)
            ]
    names = ("profile", "dataset", "encoder", "texts", "tokens")
    embedded = [{name: getattr(work, name) for name in names} for work in works]
    return {"embedded": embedded, "asked": [{k: row[k] for k in ASKED} for row in asked]}


def rehearsed(steps: Path) -> dict:
    """The stages of a rehearsal at scale 1."""
    stages = {
        row["stage"]: {"seconds": row["seconds"], "memory": row["peak MB"]}
        for row in read_json(steps)
        if row["outcome"] == "passed"
    }
    return {"encoded": {}, "embedded": [], "asked": [], "stages": stages}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("profile")
    parser.add_argument("--folder", type=Path, default=Path.cwd())
    parser.add_argument("--steps", type=Path)
    arguments = parser.parse_args()
    found = (
        rehearsed(arguments.steps)
        if arguments.steps
        else measure(arguments.profile, arguments.folder.resolve())
    )
    cores, memory = len(psutil.Process().cpu_affinity()), psutil.virtual_memory().total
    entry = {"when": date.today().isoformat(), "cores": cores, "memory": memory}
    table = read_yaml(TABLE) if TABLE.is_file() else {}
    table[arguments.profile] = entry | found
    write_text(TABLE, HEAD + yaml.safe_dump(table, sort_keys=False, width=100))
    print(f"{TABLE}: {len(found['stages'])} stages of {arguments.profile}")


if __name__ == "__main__":
    main()
