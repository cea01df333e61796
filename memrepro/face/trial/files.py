"""The folder of a trial: a page, a value a question, the best method, rankings, its sources."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml

from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import units
from memrepro.face.conversations import Conversations, load
from memrepro.face.method_file import write_method
from memrepro.face.trial.outcomes import Trial, settings_of
from memrepro.face.trial.page import page_of
from memrepro.files.atomic import read_table, read_yaml, sha256, write_table, write_text

TRIAL, RESULTS, BEST, PAGE = "trial.yaml", "results.csv", "best.yaml", "index.html"
RANKINGS = "rankings.parquet"


class Source(NamedTuple):
    """Where a trial's conversations came from, so that `score` and `export` find them again."""

    chats: str
    questions: str = ""
    make_questions: int = 0

    def digests(self) -> dict[str, str]:
        """File → its SHA-256; a data set by name has none, as its files are checked in any case."""
        named = [self.chats if self.chats.startswith("/") else "", self.questions]
        return {name: sha256(Path(name)) for name in named if name}

    def load(self) -> Conversations:
        """The same conversations."""
        return load(
            Path(self.chats) if self.chats.startswith("/") else self.chats,
            Path(self.questions) if self.questions else None,
            make_questions=self.make_questions,
        )


def write_trial(trial: Trial, folder: Path, source: Source | None = None) -> Path:
    """Write all of a trial; the page comes back.

    Args:
        trial: what was tried.
        folder: new, or one that an earlier trial wrote.
        source: files; without them (rows) `score` cannot take the folder for a data set.
    """
    check_folder(folder)
    # The mark of a trial's folder comes first, so that one that a full disk ended can be run again.
    (folder / RANKINGS).unlink(missing_ok=True)
    told: dict[str, Any] = {
        "metric": trial.metric, "level": trial.level, "encoder": trial.encoder,
        "left out": list(trial.left_out), "made questions": trial.is_made,
    }  # fmt: skip
    if source is not None:
        told |= source._asdict() | {"sha256": source.digests()}
    write_text(folder / TRIAL, yaml.safe_dump(told, sort_keys=False, allow_unicode=True))
    rankings = [
        one.ranking[["query_id", "doc_id", "rank"]].assign(row=one.name) for one in trial.outcomes
    ]
    write_table(folder / RANKINGS, pd.concat(rankings, ignore_index=True))
    write_table(folder / RESULTS, _results(trial))
    write_table(folder / "methods.csv", _methods(trial).round(6))
    items = [(kind, one) for kind, some in trial.data.noticed.items() for one in some]
    write_table(folder / "noticed.csv", pd.DataFrame(items, columns=["what", "item"]))
    best = trial.best
    assert best.saved is not None  # the baseline has one
    write_method(folder / BEST, best.saved, _about_best(trial))
    write_text(folder / PAGE, page_of(trial))
    return folder / PAGE


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds something else than an earlier trial."""
    used = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    if used and not (folder / TRIAL).is_file():
        raise MemreproError(f"{folder} holds other files: name a new folder")


def read_source(folder: Path) -> tuple[Conversations, Mapping[str, Any]]:
    """The conversations of a trial's folder, read again, and what its `trial.yaml` says.

    Raises:
        MemreproError: if it is no such folder, or no file holds what was tried.
    """
    if not (folder / TRIAL).is_file():
        raise MemreproError(f"{folder} is no folder that `memrepro try` wrote: it has no {TRIAL}")
    told = read_yaml(folder / TRIAL)
    if "chats" not in told:
        raise MemreproError(
            f"{folder} is of rows in Python, or of questions that a model worded: no file holds "
            "them, so that no ranking can be evaluated on them"
        )
    source = Source(*(told[name] for name in Source._fields))
    for name, digest in source.digests().items():
        if digest != told.get("sha256", {}).get(name, digest):
            raise MemreproError(
                f"{name} is another file than the one that {folder} was made of: try again, so "
                "that rankings and questions are of the same files"
            )
    return source.load(), told


def read_rankings(folder: Path) -> dict[str, pd.DataFrame]:
    """Row → its ranking, `query_id, doc_id, rank`, of a trial's folder."""
    table = read_table(folder / RANKINGS)
    return {str(name): one.drop(columns="row") for name, one in table.groupby("row", sort=False)}


def _results(trial: Trial) -> pd.DataFrame:
    base = trial.baseline.values
    tables = []
    for one in trial.outcomes:
        table = one.values.rename("value").reset_index()
        table["change"] = np.sign(one.values.to_numpy() - base.to_numpy()).astype(int)
        table["change"] = table["change"].map({1: "won", 0: "tied", -1: "lost"})
        table.insert(0, "row", one.name)
        table.insert(1, "metric", trial.metric)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _methods(trial: Trial) -> pd.DataFrame:
    """A row an outcome: values, difference, settings and what it takes."""
    frame = trial.frame().reset_index(names="row")
    by_name = {one.name: one for one in trial.outcomes}
    own = [by_name[name] for name in frame["row"]]
    frame["variant"] = [one.variant for one in own]
    frame["settings"] = [settings_of(one) for one in own]
    for name in ("keys", "words"):  # a time is of one machine: it is on the page alone
        frame[name] = [getattr(one.cost, name) if one.cost else None for one in own]
    return frame


def _about_best(trial: Trial) -> str:
    best = trial.best
    why = (
        f"the best method that helps on {trial.data.name}: {best.against}"
        if best.against
        else f"no method was shown to help on {trial.data.name}, so this is the {best.name}"
    )
    return (
        f"Written by `memrepro try`: {why}.\n{trial.metric} {best.mean:.4f} of "
        f"{units(len(best.values), 'question')}. For mr.search(…, method=…) and mr.Memory(…, "
        "method=…)."
    )
