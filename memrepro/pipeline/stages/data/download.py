"""download: a data set's files, from the mirror or the network, or compiled here."""

import importlib
from pathlib import Path

import pandas as pd

from memrepro.data.fetch import fetch_all
from memrepro.data.registry import registration
from memrepro.files import paths
from memrepro.study.params import load_plan
from memrepro.study.result import StageResult


def run(dataset: str) -> StageResult:
    """Put a data set's files into place, each checked against its SHA-256.

    Raises:
        MemreproError: for an unknown data set, or a file that cannot be had or is not the one.
    """
    entry, registered = load_plan().dataset(dataset), registration(dataset)
    folder = paths.raw(dataset)
    if registered.compiled:
        module = importlib.import_module(f"memrepro.data.{entry.module}")
        module.compile_files(folder, entry.parameters)
        came = "compiled here"
    else:
        came = fetch_all(registered, folder)
        remove_others(folder, {folder / file.path for file in registered.files})
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    summary = pd.DataFrame(
        {
            "data set": [registered.name],
            "edition": [registered.edition],
            "licence": [registered.licence],
            "files": [len(files)],
            "came": [came],
            "bytes": [sum(path.stat().st_size for path in files)],
        }
    )
    return StageResult(f"download {dataset}", summary, [], files)


def remove_others(folder: Path, wanted: set[Path]) -> None:
    """Delete what an earlier edition left in a data set's folder, which DVC does not clear."""
    for path in folder.rglob("*"):
        if path.is_file() and path not in wanted:
            path.unlink()
