"""Fielded max-sim's tables and figure: the same key schemes on the data sets of a profile."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN, judge
from memrepro.files.atomic import read_yaml, write_table
from memrepro.papers.maxsim import diagram
from memrepro.report import figures
from memrepro.report.profile import Metrics, Views, difference, exclusion_cells
from memrepro.report.tables import Cell, number, write_cells

REPORTED = Path(__file__).with_name("printed.yaml")
K = 10
BASELINE, OURS = "first field only", "fielded max-sim"
_VIEWS = Views("maxsim")
show_table, show_figure = _VIEWS.table, _VIEWS.figure
_NO_FILES = (
    "LongMemEval's files are not in the mirror, and Stella 1.5B comes from a model hub: "
    "neither can be had where this was made"
)


class Study(NamedTuple):
    """A data set under an encoder, what its experiments' names begin with, and its two fields."""

    title: str
    stem: str
    dataset: str
    fields: tuple[str, str] = ("user", "assistant")


_SPEAKERS = ("speaker_a", "speaker_b")
STUDIES: Mapping[str, tuple[Study, ...]] = {
    "sample": (Study("sample, all-MiniLM-L6-v2", "sample", "sample"),),
    "open": (
        Study("LoCoMo, all-MiniLM-L6-v2", "locomo-minilm", "locomo", _SPEAKERS),
        Study("LoCoMo, all-mpnet-base-v2", "locomo-mpnet", "locomo", _SPEAKERS),
    ),
    "full": (Study("LongMemEval S, Stella 1.5B", "lme-s-stella", "longmemeval-s"),),
}
# The document's rows and columns by ours.
_ROWS = {
    "User-Only": "first field only",
    "Concat": "concatenation",
    "Mixture (α=0.7)": "mixture α = 0.7",
    "Mixture (α=0.5)": "mixture α = 0.5",
    "Fielded MaxSim": "fielded max-sim",
}
_TYPES = {
    "SSA": "single-session-assistant",
    "SSU": "single-session-user",
    "SSP": "single-session-preference",
    "KU": "knowledge-update",
    "MS": "multi-session",
    "TR": "temporal-reasoning",
}
# Row -> sweep, and its setting. The document's baseline indexes the user's words; in LoCoMo, where
# two people talk, the first field is that of speaker A.
KEY_SCHEMES = {
    BASELINE: ("fields", "{0}_only"),
    "second field only": ("fields", "{1}_only"),
    "concatenation": ("fields", "concat"),
    "mixture α = 0.7": ("by-alpha", "0.7"),
    "mixture α = 0.5": ("by-alpha", "0.5"),
    OURS: ("fields", "fielded"),
}


def of_row(metrics: Metrics, study: Study, row: str, metric: str) -> pd.DataFrame:
    """`query_id, kind, value` of a key scheme at K, rounds as docs."""
    sweep, setting = KEY_SCHEMES[row]
    setting = setting.format(*study.fields)
    return metrics.values(f"{study.stem}-{sweep}", "round", metric, K, setting)


def printed(table: str, metrics: Metrics, profile: str) -> Iterator[Cell]:
    """A table of the document beside what came out, where LongMemEval was run."""
    entry = read_yaml(REPORTED)[table]
    study = STUDIES[profile][0]
    for row, cells in entry["rows"].items():
        ours = _ROWS[row.replace(" (α=1.0)", "")]
        for column, shown in zip(entry["columns"], cells, strict=True):
            metric = "ndcg" if "NDCG" in column else "recall_all"
            name = f"{metric}@{K}"
            if profile != "full":
                yield Cell(row, column, name, shown, "", 0, NOT_RUN, note=_NO_FILES)
                continue
            found = of_row(metrics, study, ours, metric)
            if kind := _TYPES.get(column.split()[0]):
                found = found[found["kind"] == kind]
            value = float(found["value"].mean())
            if column.startswith("Δ"):
                value -= float(of_row(metrics, study, BASELINE, metric)["value"].mean())
            verdict = judge(shown, value)
            n = len(found)
            yield Cell(row, column, name, shown, number(value), n, verdict.label, verdict.term)


def key_schemes(metrics: Metrics, study: Study) -> Iterator[Cell]:
    """Table 1's columns for every key scheme: recall_all and NDCG overall, recall_all by type."""
    for row in KEY_SCHEMES:
        recall = of_row(metrics, study, row, "recall_all")
        ndcg = of_row(metrics, study, row, "ndcg")["value"]
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


def zero_harm(metrics: Metrics, study: Study) -> Iterator[Cell]:
    """The claim 'zero harm', and its rivals: change against the baseline, question by question."""
    before = of_row(metrics, study, BASELINE, "recall_all")
    for row in KEY_SCHEMES:
        if row == BASELINE:
            continue
        now = of_row(metrics, study, row, "recall_all")
        for kind, part in [("overall", now), *now.groupby("kind", sort=True)]:
            text = difference(before[before["query_id"].isin(part["query_id"])], part)
            yield Cell(row, str(kind), "recall_all@10", "", text, len(part), NOT_COMPARABLE)


def won_and_lost(metrics: Metrics, study: Study) -> pd.DataFrame:
    """The questions that max-sim wins and loses against the baseline: `query_id, kind, change`."""
    before, now = (of_row(metrics, study, row, "recall_all") for row in (BASELINE, OURS))
    both = before.merge(now, on=["query_id", "kind"], suffixes=(" before", " now"))
    gain = both["value now"] - both["value before"]
    both["change"] = np.select([gain > 0, gain < 0], ["won", "lost"], "same")
    return both.loc[both["change"] != "same", ["query_id", "kind", "change"]]


def _draw_bars(data: pd.DataFrame, title: str) -> Figure:
    figure = Figure(figsize=(10, 4), layout="constrained")
    axis = figure.subplots()
    sns.barplot(data, x="question type", y="recall_all@10", hue="keying", ax=axis)
    axis.set_title(f"{title}: recall_all@10 by question type")
    axis.set_ylim(0, 1)
    return figure


def _by_type(metrics: Metrics, study: Study, folder: Path, name: str) -> list[Path]:
    """Figure 2's bars for the data sets that were run."""
    rows = [
        (row, kind, float(part["value"].mean()), len(part))
        for row in (BASELINE, "concatenation", OURS)
        for kind, part in of_row(metrics, study, row, "recall_all").groupby("kind", sort=True)
    ]
    data = pd.DataFrame(rows, columns=["keying", "question type", "recall_all@10", "n"])
    return figures.save(lambda: _draw_bars(data, study.title), data, folder, name)


def _draw_mixture(data: pd.DataFrame, best: float, title: str) -> Figure:
    figure = Figure(figsize=(6, 4), layout="constrained")
    axis = figure.subplots()
    sns.lineplot(data, x="alpha", y="recall_all@10", marker="o", label="linear mixture", ax=axis)
    axis.axhline(best, linestyle="--", color="grey", label="fielded max-sim")
    axis.set_xlabel("α, the weight of the first field")
    axis.set_title(f"{title}: recall_all@10 by α")
    axis.legend()
    return figure


def _by_alpha(metrics: Metrics, study: Study, folder: Path, name: str) -> list[Path]:
    """Recall of the linear mixture at every α, beside that of max-sim, overall (§4.3)."""
    key = f"{study.stem}-by-alpha"
    rows = []
    for setting in metrics.settings(key):
        found = metrics.values(key, "round", "recall_all", K, setting)["value"]
        rows.append((float(setting), float(found.mean()), len(found)))
    data = pd.DataFrame(rows, columns=["alpha", "recall_all@10", "n"])
    best = float(of_row(metrics, study, OURS, "recall_all")["value"].mean())
    data["fielded max-sim"] = best
    return figures.save(lambda: _draw_mixture(data, best, study.title), data, folder, name)


def show_tables(profile: str, item: str) -> pd.DataFrame:
    """A table of every study of a profile, one below the other, for the notebook."""
    return _VIEWS.tables(profile, item, STUDIES[profile])


def show_figures(profile: str, item: str) -> None:
    """A figure of every study of a profile, for the notebook."""
    _VIEWS.show_figures(profile, item, STUDIES[profile])


def build(profile: str, folder: Path) -> list[Path]:
    """Write the max-sim tables and figures of a profile into a folder; return their paths."""
    metrics = Metrics(profile)
    written = [
        *write_cells(printed("table1", metrics, profile), folder, "table1"),
        *write_cells(printed("table2", metrics, profile), folder, "table2"),
        *diagram.build(folder),
        *write_cells(exclusion_cells(profile, STUDIES[profile][0].dataset), folder, "exclusions"),
    ]
    for study in STUDIES[profile]:
        written += write_cells(key_schemes(metrics, study), folder, f"{study.stem}_keyings")
        written += write_cells(zero_harm(metrics, study), folder, f"{study.stem}_zero_harm")
        written += _by_type(metrics, study, folder, f"{study.stem}_by_type")
        written += _by_alpha(metrics, study, folder, f"{study.stem}_by_alpha")
        questions = folder / f"{study.stem}_won_and_lost.csv"
        write_table(questions, won_and_lost(metrics, study))
        written.append(questions)
    return written
