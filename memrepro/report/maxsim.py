"""Fielded max-sim's tables and figure: the same keyings on the data sets of a profile."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
from IPython.display import display
from matplotlib.figure import Figure

from memrepro import paths
from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN
from memrepro.numerics.bootstrap import paired_difference
from memrepro.report import figures
from memrepro.report.profile import Views, exclusion_cells
from memrepro.report.tables import Cell, number, write_cells
from memrepro.store import read_table, read_yaml, write_table

REPORTED = Path(__file__).parents[1] / "reported" / "maxsim.yaml"
K = 10
BASELINE, OURS = "first field only", "fielded max-sim"
_VIEWS = Views("maxsim")
show_table = _VIEWS.table
_NO_FILES = (
    "LongMemEval's files are not in the mirror, and Stella 1.5B comes from a model hub: "
    "neither can be had where this was made"
)


class Study(NamedTuple):
    """A data set under an encoder, and what its experiments' names begin with."""

    title: str
    stem: str
    dataset: str


STUDIES: Mapping[str, tuple[Study, ...]] = {
    "sample": (Study("sample, all-MiniLM-L6-v2", "sample-round", "sample"),),
    "open": (
        Study("LoCoMo, all-MiniLM-L6-v2", "locomo-minilm", "locomo"),
        Study("LoCoMo, all-mpnet-base-v2", "locomo-mpnet", "locomo"),
    ),
}
# Row -> ending of the experiment's name. The document's baseline indexes the user's words; in
# LoCoMo, where two people talk, the first field is that of speaker A.
KEYINGS = {
    BASELINE: "first",
    "second field only": "second",
    "concatenation": "concat",
    "mixture α = 0.7": "mixture07",
    "mixture α = 0.5": "mixture05",
    OURS: "fielded",
}


class Metrics:
    """Per-question values at K of a profile's experiments."""

    def __init__(self, profile: str) -> None:
        frame = read_table(paths.metrics(profile))
        self.frame = frame[(frame["k"] == K) & (frame["setting"] == "")]

    def values(self, study: Study, row: str, metric: str) -> pd.DataFrame:
        """`query_id, kind, value` of an experiment, in the order of the questions."""
        f = self.frame
        name = f"{study.stem}-{KEYINGS[row]}"
        chosen = f[(f["experiment"] == name) & (f["metric"] == metric)]
        return chosen[["query_id", "kind", "value"]].reset_index(drop=True)


def printed(table: str) -> Iterator[Cell]:
    """A table of the document as printed; LongMemEval has not been run."""
    entry = read_yaml(REPORTED)[table]
    for row, cells in entry["rows"].items():
        for column, cell in zip(entry["columns"], cells, strict=True):
            metric = "ndcg@10" if "NDCG" in column else "recall_all@10"
            yield Cell(row, column, metric, cell, "", 0, NOT_RUN, note=_NO_FILES)


def keyings(metrics: Metrics, study: Study) -> Iterator[Cell]:
    """Table 1's columns for every keying: recall_all and NDCG overall, recall_all by type."""
    for row in KEYINGS:
        recall = metrics.values(study, row, "recall_all")
        ndcg = metrics.values(study, row, "ndcg")["value"]
        columns = [
            ("overall R@10", "recall_all@10", recall["value"]),
            ("overall NDCG@10", "ndcg@10", ndcg),
            *(
                (f"{kind} R@10", "recall_all@10", part["value"])
                for kind, part in recall.groupby("kind", sort=True)
            ),
        ]
        for column, metric, values in columns:
            yield Cell(row, column, metric, "", number(values.mean()), len(values), NOT_COMPARABLE)


def _differences(metrics: Metrics, study: Study, row: str) -> pd.DataFrame:
    first = metrics.values(study, BASELINE, "recall_all")
    second = metrics.values(study, row, "recall_all")
    return first.merge(second, on=["query_id", "kind"], suffixes=(" baseline", " here"))


def zero_harm(metrics: Metrics, study: Study) -> Iterator[Cell]:
    """The claim 'zero harm', and its rivals: change against the baseline, question by question."""
    for row in KEYINGS:
        if row == BASELINE:
            continue
        both = _differences(metrics, study, row)
        parts = [("overall", both), *both.groupby("kind", sort=True)]
        for kind, part in parts:
            before, now = part["value baseline"].to_numpy(), part["value here"].to_numpy()
            interval = paired_difference(before, now)
            won, lost = int((now > before).sum()), int((now < before).sum())
            text = (
                f"{interval.mean:+.4f} [{interval.low:+.4f}, {interval.high:+.4f}], "
                f"won {won}, lost {lost}"
            )
            yield Cell(row, str(kind), "recall_all@10", "", text, len(part), NOT_COMPARABLE)


def won_and_lost(metrics: Metrics, study: Study) -> pd.DataFrame:
    """The questions that max-sim wins and loses against the baseline: `query_id, kind, change`."""
    both = _differences(metrics, study, OURS)
    gain = both["value here"] - both["value baseline"]
    both["change"] = np.select([gain > 0, gain < 0], ["won", "lost"], "same")
    return both.loc[both["change"] != "same", ["query_id", "kind", "change"]]


def _by_type(metrics: Metrics, study: Study, folder: Path, name: str) -> list[Path]:
    """Figure 2's bars for the data sets that were run."""
    rows = [
        (row, kind, float(part["value"].mean()), len(part))
        for row in (BASELINE, "concatenation", OURS)
        for kind, part in metrics.values(study, row, "recall_all").groupby("kind", sort=True)
    ]
    data = pd.DataFrame(rows, columns=["keying", "question type", "recall_all@10", "n"])
    figure = Figure(figsize=(10, 4), layout="constrained")
    axis = figure.subplots()
    sns.barplot(data, x="question type", y="recall_all@10", hue="keying", ax=axis)
    axis.set_title(f"{study.title}: recall_all@10 by question type")
    axis.set_ylim(0, 1)
    return figures.save(figure, data, folder, name)


def show_tables(profile: str, item: str) -> pd.DataFrame:
    """A table of every study of a profile, one below the other, for the notebook."""
    tables = {s.title: show_table(profile, f"{s.stem}_{item}") for s in STUDIES[profile]}
    return pd.concat(tables)


def show_figures(profile: str, item: str) -> None:
    """A figure of every study of a profile, for the notebook."""
    display(  # type: ignore[no-untyped-call]
        *(_VIEWS.figure(profile, f"{s.stem}_{item}") for s in STUDIES[profile])
    )


def build(profile: str, folder: Path) -> list[Path]:
    """Write the max-sim tables and figures of a profile into a folder; return their paths."""
    metrics = Metrics(profile)
    written = [
        *write_cells(printed("table1"), folder, "table1"),
        *write_cells(printed("table2"), folder, "table2"),
        *write_cells(exclusion_cells(profile, STUDIES[profile][0].dataset), folder, "exclusions"),
    ]
    for study in STUDIES[profile]:
        written += write_cells(keyings(metrics, study), folder, f"{study.stem}_keyings")
        written += write_cells(zero_harm(metrics, study), folder, f"{study.stem}_zero_harm")
        written += _by_type(metrics, study, folder, f"{study.stem}_by_type")
        questions = folder / f"{study.stem}_won_and_lost.csv"
        write_table(questions, won_and_lost(metrics, study))
        written.append(questions)
    return written
