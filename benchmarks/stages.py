"""What each stage of a profile takes on this machine: the table that `memrepro plan` scales.

    git clone . /tmp/clone && MEMREPRO_CACHE=/tmp/clone/.cache \\
        python benchmarks/stages.py sample --folder /tmp/clone

Runs `memrepro repro` in the folder (a clone, so that every stage runs; an empty cache, so that
every text is embedded), reads from its log when each stage began and how long encoders and language
models took of it, and watches the memory of its processes. Each minute they are stopped for some
seconds, in which the machine's rates are measured. `--steps FILE` takes the stages of a rehearsal
instead (`memrepro rehearse --json`), whose encoders are none. The profile's entry of
memrepro/pipeline/plan/measured.yaml is replaced.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
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
EVERY, PAUSE = 45.0, 1.0  # seconds between two looks at the rates, and of each of the two
STAGE = re.compile(r"Running stage '([^']+)'")
IDLE = re.compile(r"Stage '[^']+' (didn't change|is cached)")
ENCODED = re.compile(r"([\w.-]+): \d+ vectors found, \d+ encoded in ([\d.]+) s")
ANSWERED = re.compile(r"^memrepro: (\S+): \d+ answers; .* took ([\d.]+) s when they were made")


class Watch(threading.Thread):
    """Looks at a process and its children: their memory, and how fast the machine is meanwhile.

    For that they are stopped for some seconds each minute, as other work comes and goes.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process(pid)
        self.peak, self.paused, self.rates = 0, 0.0, list[machine.Rates]()

    def run(self) -> None:
        looked = -EVERY
        while self._process.is_running():
            with suppress(psutil.Error):  # one ended meanwhile
                family = [self._process, *self._process.children(recursive=True)]
                self.peak = max(self.peak, sum(one.memory_info().rss for one in family))
                if time.perf_counter() - looked > EVERY:
                    self._measure(family)
                    looked = time.perf_counter()
            time.sleep(0.3)

    def _measure(self, family: list[psutil.Process]) -> None:
        began = time.perf_counter()
        for one in family:
            with suppress(psutil.Error):
                one.suspend()
        try:
            self.rates.append(machine.calibrate(PAUSE))
        finally:
            for one in family:
                with suppress(psutil.Error):
                    one.resume()
            self.paused += time.perf_counter() - began


def mean(rates: list[machine.Rates]) -> machine.Rates:
    return machine.Rates(
        statistics.mean(one.matrix for one in rates), statistics.mean(one.python for one in rates)
    )


def measure(profile: str, folder: Path) -> dict:
    """Run the profile there; rates, encoders, language models and stages.

    Seconds are those that would have passed at the mean rates of the whole run.
    """
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONUNBUFFERED": "1"}
    run = subprocess.Popen(
        [sys.executable, "-m", "memrepro", "repro", profile], cwd=folder, env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    watch, took = Watch(run.pid), []
    watch.start()
    now = {"stage": "", "began": 0.0, "paused": 0.0, "rates": 0, "within": []}

    def turn(stage: str) -> None:
        """One stage ends, another begins."""
        seconds = time.perf_counter() - now["began"] - (watch.paused - now["paused"])
        if now["stage"]:
            rates = mean(watch.rates[max(now["rates"] - 1, 0) :])
            took.append((now["stage"], seconds, watch.peak, rates, now["within"]))
        now.update(
            stage=stage, began=time.perf_counter(), paused=watch.paused, rates=len(watch.rates),
            within=[],
        )  # fmt: skip
        watch.peak = 0

    for line in run.stdout:
        print(line, end="", flush=True)
        if (found := STAGE.search(line)) or IDLE.search(line):
            turn(found[1] if found else "")
        for kind, pattern in (("encoded", ENCODED), ("answered", ANSWERED)):
            if found := pattern.search(line):
                now["within"].append((kind, found[1], float(found[2])))
    if run.wait():
        raise MemreproError(f"{profile} did not complete in {folder}: its log says why")
    turn("")
    whole = mean(watch.rates)
    stages: dict[str, dict[str, float]] = {}
    within: dict[str, dict[str, float]] = {"encoded": {}, "answered": {}}
    for stage, seconds, peak, rates, parts in took:
        own = (seconds - sum(part[2] for part in parts)) * rates.python / whole.python
        stages[stage] = {"seconds": round(own, 1), "memory": round(peak / 1e6)}
        for kind, name, some in parts:
            some *= rates.matrix / whole.matrix
            within[kind][name] = round(within[kind].get(name, 0.0) + some, 1)
    found = counts(profile, folder, within["answered"])
    return {**asdict(whole), "encoded": within["encoded"], **found, "stages": stages}


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
    rates = asdict(machine.calibrate())
    return {**rates, "encoded": {}, "embedded": [], "asked": [], "stages": stages}


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
    for rate in ("matrix", "python"):
        found[rate] = float(f"{found[rate]:.4g}")
    entry = {
        "when": date.today().isoformat(), "cores": machine.cores(), "memory": machine.memory()
    }  # fmt: skip
    table = read_yaml(TABLE) if TABLE.is_file() else {}
    table[arguments.profile] = entry | found
    write_text(TABLE, HEAD + yaml.safe_dump(table, sort_keys=False, width=100))
    print(f"{TABLE}: {len(found['stages'])} stages of {arguments.profile}")


if __name__ == "__main__":
    main()
