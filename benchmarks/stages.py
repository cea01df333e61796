"""What each stage of a profile takes on this machine: the table that `memrepro plan` scales.

    git clone . /tmp/clone && MEMREPRO_CACHE=/tmp/clone/.cache \\
        python benchmarks/stages.py sample --folder /tmp/clone

Runs `memrepro repro` in the folder (a clone, so that every stage runs; an empty cache, so that
every text is embedded), reads from its log when each stage began and how long encoders and language
models took of it, and watches the memory of its processes. The rates of the machine are measured
before and after. `--steps FILE` takes stages from a rehearsal instead (`memrepro rehearse --json`),
whose encoders are none. The profile's entry of memrepro/pipeline/plan/measured.yaml is replaced.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict
from datetime import date
from pathlib import Path

import psutil
import yaml

from memrepro.errors import MemreproError
from memrepro.files.atomic import read_json, read_yaml, write_text
from memrepro.llm.records import AnswerStore
from memrepro.pipeline.plan import answers, downloads, embedding, machine
from memrepro.pipeline.plan.stages import last_stage, stages_of
from memrepro.study.params import load_plan

TABLE = Path(machine.__file__).with_name("measured.yaml")
HEAD = "# What stages took, as benchmarks/stages.py measured it; see there. Memory is in MB.\n"
ASKED = ("study", "model", "calls", "left", "prompt_tokens", "answer_tokens", "seconds")
STAGE = re.compile(r"Running stage '([^']+)'")
IDLE = re.compile(r"Stage '[^']+' (didn't change|is cached)")
ENCODED = re.compile(r"^(\S+): \d+ vectors found, (\d+) encoded in ([\d.]+) s")
ANSWERED = re.compile(r"^memrepro: (\S+): \d+ answers; .* took ([\d.]+) s when they were made")


class Watch:
    """The most memory that a process and its children held, in bytes, until it was last asked."""

    def __init__(self, pid: int) -> None:
        self._process, self._peak = psutil.Process(pid), 0
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while True:
            try:
                family = [self._process, *self._process.children(recursive=True)]
                held = [one.memory_info().rss for one in family]
            except psutil.Error:  # one ended meanwhile
                held = [] if self._process.is_running() else None
            if held is None:
                return
            self._peak = max(self._peak, sum(held))
            time.sleep(0.3)

    def peak(self) -> int:
        peak, self._peak = self._peak, 0
        return peak


def measure(profile: str, folder: Path) -> dict:
    """Run the profile there; its stages, encoders and reading studies."""
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONUNBUFFERED": "1"}
    run = subprocess.Popen(
        [sys.executable, "-m", "memrepro", "repro", profile], cwd=folder, env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    watch, stage, began = Watch(run.pid), "", 0.0
    stages: dict[str, dict[str, float]] = {}
    encoded: dict[str, float] = {}
    answered: dict[str, float] = {}
    asked = 0.0  # of the stage that runs, the seconds of encoders and language models

    def end() -> None:
        nonlocal asked
        if stage:
            seconds = time.perf_counter() - began
            stages[stage] = {
                "seconds": round(seconds - asked, 1), "memory": round(watch.peak() / 1e6)
            }  # fmt: skip
        asked = 0.0

    for line in run.stdout:
        print(line, end="", flush=True)
        if (found := STAGE.search(line)) or IDLE.search(line):
            end()
            watch.peak()
            stage, began = (found[1] if found else ""), time.perf_counter()
        if found := ENCODED.search(line):
            encoded[found[1]] = round(encoded.get(found[1], 0.0) + float(found[3]), 1)
            asked += float(found[3])
        if found := ANSWERED.search(line):
            answered[found[1]] = float(found[2])
            asked += float(found[2])
    if run.wait():
        raise MemreproError(f"{profile} did not complete in {folder}: its log says why")
    end()
    return {"encoded": encoded, **counts(profile, folder, answered), "stages": stages}


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
    before = machine.calibrate()
    found = rehearsed(arguments.steps) if arguments.steps else measure(
        arguments.profile, arguments.folder.resolve()
    )  # fmt: skip
    after = machine.calibrate()
    rates = machine.Rates((before.matrix + after.matrix) / 2, (before.python + after.python) / 2)
    entry = {
        "when": date.today().isoformat(), "cores": machine.cores(), "memory": machine.memory(),
        **{name: float(f"{value:.4g}") for name, value in asdict(rates).items()},
    }  # fmt: skip
    table = read_yaml(TABLE) if TABLE.is_file() else {}
    table[arguments.profile] = entry | found
    write_text(TABLE, HEAD + yaml.safe_dump(table, sort_keys=False, width=100))
    print(
        f"{TABLE}: {len(found['stages'])} stages of {arguments.profile}; "
        f"before {before}, after {after}"
    )


if __name__ == "__main__":
    main()
