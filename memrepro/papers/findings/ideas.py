"""Which idea helps on which data: each against plain similarity over the same docs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.files.atomic import read_yaml
from memrepro.report import figures
from memrepro.report.compared import Compared, compare_rows, correct
from memrepro.report.profile import Metrics
from memrepro.report.sources import RunSource, Source, write_sources
from memrepro.report.tables import Cell, number

HELPS, HARMS, OPEN = "helps", "harms", "not significant"
_WORDS = {1: HELPS, 0: OPEN, -1: HARMS}


class Tried(NamedTuple):
    """One idea (whose it is, and what it does) on one set of docs under one encoder.

    `plain` is the mean of plain similarity, `value` the mean with the idea; the sources of
    `compared` are the two runs, the plain one first.
    """

    idea: str
    data: str
    encoder: str
    plain: float
    value: float
    compared: Compared

    @property
    def verdict(self) -> str:
        """One of `HELPS`, `HARMS` and `OPEN`."""
        return _WORDS[self.compared.sign]


def try_ideas(profile: str, metrics: Metrics) -> list[Tried]:
    """Every idea that the profile has run, corrected together by Holm's method."""
    groups = read_yaml(Path(__file__).with_name("ideas.yaml")).get(profile, [])
    tried = [one for group in groups for one in _tried(group, metrics)]
    family = correct([one.compared for one in tried])
    return [one._replace(compared=now) for one, now in zip(tried, family, strict=True)]


def _tried(group: dict[str, Any], metrics: Metrics) -> Iterator[Tried]:
    metric, k, level = group["metric"], group["k"], group["level"]

    def values(run: str, setting: str = "") -> tuple[pd.DataFrame, RunSource]:
        source = RunSource(run, setting, level, metric, k)
        return metrics.values(run, level, metric, k, setting), source

    if group["plain"][0] not in metrics.experiments:
        return
    before, plain = values(*group["plain"])
    for idea, run in group["ideas"].items():
        if run[0] in metrics.experiments:
            now, source = values(*run)
            compared = compare_rows(
                idea, "plain", f"{metric}@{k}", now, before, sources=(plain, source)
            )
            plain_mean, mean = (float(side["value"].mean()) for side in (before, now))
            yield Tried(idea, group["group"], group["encoder"], plain_mean, mean, compared)


def idea_cells(tried: Sequence[Tried]) -> Iterator[Cell]:
    """Each idea: the data, plain similarity, the idea, the difference, p and the verdict."""
    note = (
        "plain: dense similarity, the data's own text as key, same docs and encoder; p: paired "
        f"sign flips, two-sided, Holm's correction over all {len(tried)} rows; an idea helps or "
        "harms where its 95 % paired bootstrap interval leaves out 0 and its corrected p is below "
        "0.05"
    )
    for one in tried:
        found = one.compared
        plain, idea = found.sources
        texts: dict[str, tuple[str, Sequence[Source]]] = {
            "data set": (one.data, ()),
            "encoder": (one.encoder, ()),
            "metric": (found.metric, ()),
            "plain": (number(one.plain), [plain]),
            "with the idea": (number(one.value), [idea]),
            "difference": (found.shown, found.sources),
            "p after Holm": (number(found.corrected), found.sources),
            "verdict": (one.verdict, found.sources),
        }
        row = f"{one.idea}; {one.data}, {one.encoder}"
        for column, (text, sources) in texts.items():
            yield Cell(
                row, column, found.metric, "", text, found.n, NOT_COMPARABLE, note=note,
                sources=write_sources(sources),
            )  # fmt: skip


def count_cells(tried: Sequence[Tried]) -> Iterator[Cell]:
    """How many comparisons of each document's ideas help, harm, or are not significant."""
    counted = Counter((one.idea.partition(":")[0], one.verdict) for one in tried)
    for document in dict.fromkeys(document for document, _ in counted):
        n = sum(counted[document, word] for word in _WORDS.values())
        for word in (HELPS, OPEN, HARMS):
            shown = str(counted[document, word])
            yield Cell(
                document, word, "comparisons", "", shown, n, NOT_COMPARABLE,
                sources="file findings/ideas.csv",
            )  # fmt: skip


def draw_ideas(tried: Sequence[Tried], folder: Path) -> list[Path]:
    """A forest plot: each difference with its interval, a panel a set of docs and encoder."""
    rows = [
        (f"{one.data}, {one.encoder}, {one.compared.metric}, n = {one.compared.n}", one.idea,
         *one.compared.interval, one.verdict)
        for one in tried
    ]  # fmt: skip
    data = pd.DataFrame(rows, columns=["panel", "idea", "difference", "low", "high", "verdict"])
    return [] if data.empty else figures.save(lambda: _forest(data), data, folder, "ideas_drawn")


def _forest(data: pd.DataFrame) -> Figure:
    panels = list(dict.fromkeys(data["panel"]))
    heights = [int((data["panel"] == panel).sum()) + 1 for panel in panels]
    figure = Figure(figsize=(9, 0.27 * sum(heights) + 1), layout="constrained")
    axes = figure.subplots(len(panels), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    _, _, green, red, *_ = sns.color_palette("colorblind")
    # Shapes tell the verdicts apart without colour.
    marks = {HELPS: ("o", green), OPEN: ("s", "0.45"), HARMS: ("D", red)}
    for axis, panel in zip(axes, panels, strict=True):
        part = data[data["panel"] == panel].reset_index(drop=True)
        for place, row in enumerate(part.itertuples(index=False)):
            mark, colour = marks[str(row.verdict)]
            axis.errorbar(
                [row.difference], [place], fmt=mark, color=colour, capsize=2.5, markersize=5,
                xerr=[[row.difference - row.low], [row.high - row.difference]],
            )  # fmt: skip
        axis.axvline(0, color="0.3", linestyle="--", linewidth=1)
        axis.set_yticks(range(len(part)), part["idea"], fontsize=8)
        axis.set_ylim(len(part) - 0.4, -0.6)
        axis.set_title(panel, fontsize=9, loc="left")
        axis.grid(axis="y", visible=False)
    axes[-1].set_xlabel(
        "difference from plain similarity, 95 % paired bootstrap interval", fontsize=10
    )
    axes[-1].tick_params(axis="x", labelsize=9)
    for word, (mark, colour) in marks.items():
        axes[0].plot([], [], mark, color=colour, label=word)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure
