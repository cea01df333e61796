"""The sample's rankings on other machines: embed and retrieve under other processors' settings.

Each setting is a process of its own in a scratch clone, with an empty store of vectors; it is
told by environment variables what instructions it may use, and by its affinity how many cores.
What comes out is compared with what this machine made before, and that with the committed
rankings of another, by the digests of their values:

    python benchmarks/machines.py --folder CLONE [--setting NAME …] [--sample N M] [--output FILE]

CLONE is a clone of this repository in which `memrepro repro sample` has run; models are taken from
MEMREPRO_CACHE, or its .cache. With `--sample`, each setting and the one that they are compared with
search a sample of N questions over M sessions each, compiled anew in the clone.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Setting(NamedTuple):
    """A machine played by this one: its variables, cores and threads (0: all), texts to a batch."""

    variables: dict[str, str]
    cores: int = 0
    threads: int = 0
    batch: int = 32


def isa(torch: str, mkl: str, onednn: str, blas: str, numpy: str, faiss: str) -> Setting:
    return Setting(
        {
            "ATEN_CPU_CAPABILITY": torch, "MKL_ENABLE_INSTRUCTIONS": mkl,
            "ONEDNN_MAX_CPU_ISA": onednn, "OPENBLAS_CORETYPE": blas,
            "NPY_DISABLE_CPU_FEATURES": numpy, "FAISS_OPT_LEVEL": faiss,
        }
    )  # fmt: skip


RUNS = "results/sample/runs"
_WIDE = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL"
SETTINGS = {
    "as it is": Setting({}),
    "one core": Setting({}, cores=1),
    "one thread": Setting({}, threads=1),
    "two threads": Setting({}, threads=2),
    "four threads": Setting({}, threads=4),
    "AVX2": isa("avx2", "AVX2", "AVX2", "Haswell", _WIDE, "avx2"),
    # OpenVINO refuses this model on less than AVX.
    "AVX": isa("default", "AVX", "AVX", "Sandybridge", f"AVX2 FMA3 {_WIDE}", "generic"),
    "batches of 8": Setting({}, batch=8),
    "batches of 64": Setting({}, batch=64),
}


def child(batch: int, threads: int) -> None:
    """Embed and retrieve; in the clone."""
    import openvino

    from memrepro.encode.vectors import fill
    from memrepro.study import embedding
    from memrepro.study.params import load_plan
    from memrepro.study.search import retrieval

    compiled, more = openvino.Core.compile_model, {"INFERENCE_NUM_THREADS": threads}
    if threads:
        openvino.Core.compile_model = lambda self, model, device, settings: compiled(
            self, model, device, settings | more
        )
    embedding.fill = partial(fill, batch_size=batch)  # type: ignore[attr-defined]
    embedding.run("sample", "sample")
    runs = load_plan().runs.values()
    for study in dict.fromkeys(one.study for one in runs if one.profile == "sample"):
        retrieval.run(study)


def committed(clone: Path, folder: Path) -> Path:
    """The rankings of the last commit, in another folder."""
    archive = subprocess.check_output(["git", "archive", "HEAD", RUNS], cwd=clone)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    return folder / RUNS


def swapped(here: pd.DataFrame, there: pd.DataFrame) -> list[dict[str, Any]]:
    """The queries whose docs stand in another order, with the largest gap between what changed."""
    keys = [name for name in here if name not in ("doc_id", "rank", "score")]
    found = []
    others = dict(iter(there.groupby(keys, sort=False, observed=True)))
    for key, own in here.groupby(keys, sort=False, observed=True):
        other = others[key]
        if own["doc_id"].tolist() == other["doc_id"].tolist():
            continue
        before = dict(zip(other["doc_id"], other["score"], strict=True))
        now = own["doc_id"].map(before).to_numpy(float)
        # By the other's scores, how much lower the score above is.
        gap = np.nanmax(np.append(now[1:] - now[:-1], 0.0))
        lost = len(set(before) - set(own["doc_id"]))
        found.append({"query": key, "gap": float(gap), "other docs": lost})
    return found


def compare(clone: Path, base: Path) -> dict[str, Any]:
    """How many rankings have the bytes, the values and the order of those in another folder."""
    from memrepro.files.atomic import read_table, sha256
    from memrepro.provenance.verify import values_digest

    row = {"rankings": 0, "same bytes": 0, "same values": 0, "same order": 0}
    gap, moved = 0.0, []
    for path in sorted((clone / RUNS).glob("*/*.parquet")):
        other = base / path.relative_to(clone / RUNS)
        row["rankings"] += 1
        row["same bytes"] += sha256(path) == sha256(other)
        row["same values"] += values_digest(path) == values_digest(other)
        here, there = read_table(path), read_table(other)
        name = path.relative_to(clone / RUNS).as_posix()
        changed = [{"run": name, **one} for one in swapped(here, there)]
        row["same order"] += not changed
        moved += changed
        if not changed and len(here):
            gap = max(gap, float((here["score"] - there["score"]).abs().max()))
    return row | {"largest difference of scores": gap, "queries that differ": moved}


def read_vectors(clone: Path) -> np.ndarray:
    path = next((clone / "data/vectors/sample/sample").glob("*.parquet"))
    return np.stack(pd.read_parquet(path)["vector"].to_numpy())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, required=True, help="the clone")
    parser.add_argument("--setting", action="append", choices=list(SETTINGS))
    parser.add_argument("--sample", type=int, nargs=2, metavar=("N", "M"))
    parser.add_argument("--output", type=Path)
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    clone = arguments.folder.resolve()
    os.chdir(clone)
    if arguments.child:
        child(*arguments.child)
        return
    with tempfile.TemporaryDirectory() as scratch:
        rows: list[dict[str, Any]] = [{"setting": "this machine, by the committed", "s": 0}]
        rows[0] |= compare(clone, committed(clone, Path(scratch)))
        print(json.dumps(rows[0]), flush=True)
        if arguments.sample:
            compile_fewer(clone, *arguments.sample)
            run(clone, SETTINGS["as it is"])
        before, base = read_vectors(clone), Path(scratch, "before")
        shutil.copytree(clone / RUNS, base)
        for name in arguments.setting or SETTINGS:
            took = {"setting": name, "s": run(clone, SETTINGS[name])}
            far = float(np.abs(read_vectors(clone) - before).max())
            rows.append(took | compare(clone, base) | {"largest difference of vectors": far})
            print(json.dumps(rows[-1]), flush=True)
        shutil.copytree(base, clone / RUNS, dirs_exist_ok=True)
    table = pd.DataFrame(rows)
    table["queries that differ"] = table["queries that differ"].map(len)
    print(table.to_markdown(index=False))
    if arguments.output:
        arguments.output.write_text(json.dumps(rows, indent=1))


def compile_fewer(clone: Path, questions: int, sessions: int) -> None:
    """Another sample in the clone: the first so many questions, over so many sessions each."""
    params = clone / "params.yaml"
    size = f"questions: {questions}, sessions: {sessions}"
    text = re.sub(r"questions: \d+, sessions: \d+", size, params.read_text())
    params.write_text(text)
    words = "-m memrepro stage prepare sample"
    environment = os.environ | {"PYTHONPATH": str(clone)}
    subprocess.run([sys.executable, *words.split()], cwd=clone, env=environment, check=True)


def run(clone: Path, setting: Setting) -> int:
    """Seconds that it took."""
    whole = os.sched_getaffinity(0)
    models = Path(os.environ.get("MEMREPRO_CACHE", clone / ".cache"))
    with tempfile.TemporaryDirectory() as cache:
        for folder in (models / "models", models / "wheels"):
            if folder.is_dir():
                Path(cache, folder.name).symlink_to(folder.resolve())
        environment = os.environ | setting.variables | {"MEMREPRO_CACHE": cache}
        environment |= {"PYTHONPATH": str(clone), "PYTHONHASHSEED": "0"}
        if setting.threads:
            environment["OMP_NUM_THREADS"] = str(setting.threads)
        os.sched_setaffinity(0, sorted(whole)[: setting.cores or None])
        began = time.monotonic()
        words = [__file__, "--folder", str(clone), "--child"]
        words += [str(setting.batch), str(setting.threads)]
        subprocess.run([sys.executable, *words], env=environment, check=True)
        os.sched_setaffinity(0, whole)
    return round(time.monotonic() - began)


if __name__ == "__main__":
    main()
