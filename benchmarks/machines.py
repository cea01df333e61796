"""The sample's rankings on other machines: embed and retrieve under other processors' settings.

Each setting is a process of its own in a scratch clone, with an empty store of vectors; it is
told by environment variables what instructions it may use, and by its affinity how many cores.
What comes out is compared with the committed rankings, by the digests of their values:

    python benchmarks/machines.py --folder CLONE [--setting NAME …] [--output FILE]

CLONE is a clone of this repository in which `memrepro repro sample` has run; models are taken from
MEMREPRO_CACHE, or its .cache.
"""

import argparse
import json
import os
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
    """A machine played by this one: its variables, cores (0: all), and texts to a batch."""

    variables: dict[str, str]
    cores: int = 0
    batch: int = 32


def isa(torch: str, mkl: str, onednn: str, blas: str, numpy: str, faiss: str) -> Setting:
    return Setting(
        {
            "ATEN_CPU_CAPABILITY": torch, "MKL_ENABLE_INSTRUCTIONS": mkl,
            "ONEDNN_MAX_CPU_ISA": onednn, "OPENBLAS_CORETYPE": blas,
            "NPY_DISABLE_CPU_FEATURES": numpy, "FAISS_OPT_LEVEL": faiss,
        }
    )  # fmt: skip


_WIDE = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL"
SETTINGS = {
    "as it is": Setting({}),
    "one core": Setting({"OMP_NUM_THREADS": "1"}, cores=1),
    "one thread": Setting({"OMP_NUM_THREADS": "1"}),
    "four threads": Setting({"OMP_NUM_THREADS": "4"}),
    "AVX2": isa("avx2", "AVX2", "AVX2", "Haswell", _WIDE, "avx2"),
    "SSE4": isa("default", "SSE4_2", "SSE41", "Nehalem", f"AVX2 FMA3 {_WIDE}", "generic"),
    "batches of 8": Setting({}, batch=8),
    "batches of 64": Setting({}, batch=64),
}


def child(batch: int) -> None:
    """Embed and retrieve; in the clone."""
    from memrepro.encode.vectors import fill
    from memrepro.study import embedding
    from memrepro.study.params import load_plan
    from memrepro.study.search import retrieval

    embedding.fill = partial(fill, batch_size=batch)  # type: ignore[attr-defined]
    embedding.run("sample", "sample")
    runs = load_plan().runs.values()
    for study in dict.fromkeys(one.study for one in runs if one.profile == "sample"):
        retrieval.run(study)


def committed(clone: Path, name: str, scratch: Path) -> Path:
    """A file of the last commit, beside."""
    path = scratch / Path(name).name
    path.write_bytes(subprocess.check_output(["git", "show", f"HEAD:{name}"], cwd=clone))
    return path


def swapped(here: pd.DataFrame, there: pd.DataFrame) -> list[dict[str, Any]]:
    """The queries whose docs stand in another order, with the largest gap between what changed."""
    keys = [name for name in ("variant", "query_id") if name in here]
    found = []
    others = dict(iter(there.groupby(keys, sort=False, observed=True)))
    for key, own in here.groupby(keys, sort=False, observed=True):
        other = others[key]
        if own["doc_id"].tolist() == other["doc_id"].tolist():
            continue
        before = dict(zip(other["doc_id"], other["score"], strict=True))
        now = own["doc_id"].map(before).to_numpy(float)
        # By the committed scores, how much lower is what stands above.
        gap = np.nanmax(np.append(now[1:] - now[:-1], 0.0))
        lost = len(set(before) - set(own["doc_id"]))
        found.append({"query": key, "gap": float(gap), "other docs": lost})
    return found


def compare(clone: Path, vectors: np.ndarray) -> dict[str, Any]:
    """How many rankings have the committed values, and which have not."""
    from memrepro.files.atomic import read_table
    from memrepro.provenance.verify import values_digest

    manifest = json.loads((clone / "results/sample/manifest.json").read_text())
    row: dict[str, Any] = {"rankings": 0, "same values": 0, "queries that differ": []}
    with tempfile.TemporaryDirectory() as scratch:
        for path in sorted((clone / "results/sample/runs").rglob("*.parquet")):
            name = path.relative_to(clone / "results/sample").as_posix()
            if "/traces/" in name:
                continue
            row["rankings"] += 1
            if values_digest(path) == manifest[name]["values"]:
                row["same values"] += 1
                continue
            then = committed(clone, f"results/sample/{name}", Path(scratch))
            other = swapped(read_table(path), read_table(then))
            row["queries that differ"] += [{"run": name, **one} for one in other]
    row["largest vector difference"] = float(np.abs(read_vectors(clone) - vectors).max())
    return row


def read_vectors(clone: Path) -> np.ndarray:
    path = next((clone / "data/vectors/sample/sample").glob("*.parquet"))
    return np.stack(pd.read_parquet(path)["vector"].to_numpy())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, required=True, help="the clone")
    parser.add_argument("--setting", action="append", choices=list(SETTINGS))
    parser.add_argument("--output", type=Path)
    parser.add_argument("--child", type=int, default=0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    clone = arguments.folder.resolve()
    os.chdir(clone)
    if arguments.child:
        child(arguments.child)
        return
    whole = os.sched_getaffinity(0)
    models = Path(os.environ.get("MEMREPRO_CACHE", clone / ".cache"))
    before, rows = read_vectors(clone), []
    for name in arguments.setting or SETTINGS:
        one = SETTINGS[name]
        with tempfile.TemporaryDirectory() as cache:
            for folder in ("models", "wheels"):
                Path(cache, folder).symlink_to((models / folder).resolve())
            environment = os.environ | one.variables | {"MEMREPRO_CACHE": cache}
            environment |= {"PYTHONPATH": str(clone), "PYTHONHASHSEED": "0"}
            os.sched_setaffinity(0, sorted(whole)[: one.cores or None])
            began = time.monotonic()
            words = [__file__, "--folder", str(clone), "--child", str(one.batch)]
            subprocess.run([sys.executable, *words], env=environment, check=True)
            os.sched_setaffinity(0, whole)
        took = {"setting": name, "s": round(time.monotonic() - began)}
        rows.append(took | compare(clone, before))
        print(json.dumps(rows[-1]), flush=True)
    # As the clone had it.
    subprocess.run(["git", "checkout", "--quiet", "--", "results"], cwd=clone, check=True)
    table = pd.DataFrame(rows)
    table["queries that differ"] = table["queries that differ"].map(len)
    print(table.to_markdown(index=False))
    if arguments.output:
        arguments.output.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
