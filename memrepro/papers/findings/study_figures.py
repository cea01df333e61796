"""The study as figures: what each idea adds to the plain ones, budgets, and quality by cost."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from memrepro.papers.findings.arenas import HYBRID
from memrepro.papers.findings.costs import cost_of
from memrepro.papers.findings.study import BASELINES, UNCLEAR, Study
from memrepro.report import figures
from memrepro.report.panels import (
    draw_grid,
    draw_intervals,
    looks_of,
    share_legend,
    stacked,
)

# An encoder in an arena's name, and what it is called for short.
_ENCODER = r"all-(\w+)-[\w-]+(?:, bfloat16)?"


def draw(study: Study, folder: Path) -> list[Path]:
    """Write all figures of the study; nothing where nothing was run."""
    if not study.outcomes:
        return []
    return [
        *_differences(study, folder),
        *_forest(study, folder),
        *_quality_cost(study, folder),
        *_optimism(study, folder),
    ]


def _differences(study: Study, folder: Path) -> list[Path]:
    """Each method's difference from dense similarity and from the hybrid, by arena."""
    rows = [
        (
            name,
            one.method,
            arena.name,
            one.against[name][arena.main].difference,
            one.side(name),
        )
        for arena in study.arenas
        for one in study.best_variants(arena)
        for name in BASELINES
        if name in one.against
    ]
    columns = ["less", "method", "arena", "difference", "side"]
    data = pd.DataFrame(rows, columns=columns)

    return figures.save(lambda: _draw_matrix(data), data, folder, "study_matrix")


def _draw_matrix(data: pd.DataFrame) -> Figure:
    shown = data.assign(
        clear=data["side"] != UNCLEAR, panel="− " + data["less"],
        arena=data["arena"].str.replace(_ENCODER, r"\1", regex=True),
    )  # fmt: skip
    return draw_grid(
        shown, "method", "arena", "difference", "panel", 0.3, "clear",
        title="recall_all at ten docs: differences in hundredths;\n"
        "bold: the 95 % interval does not reach 0 (exploratory, no test)",
    )  # fmt: skip


def _forest(study: Study, folder: Path) -> list[Path]:
    """Each difference from the plain hybrid with its interval, a panel an arena."""
    rows = [
        (f"{arena.name}, n = {len(arena.query_ids)}", one.method,
         *one.against[HYBRID][arena.main].interval, one.side(HYBRID))
        for arena in study.arenas
        for one in study.best_variants(arena)
        if HYBRID in one.against
    ]  # fmt: skip
    data = pd.DataFrame(rows, columns=["panel", "method", "difference", "low", "high", "side"])
    return figures.save(lambda: _draw_forest(data), data, folder, "study_drawn")


def _draw_forest(data: pd.DataFrame) -> Figure:
    """A panel a data set, a colour an encoder."""
    shown = data.assign(
        encoder=data["panel"].str.extract(_ENCODER, expand=False),
        panel=data["panel"].str.replace(", " + _ENCODER, "", regex=True),
    )
    # The sample, which is generated, is in the data.
    own = shown["panel"].str.startswith("sample")
    shown = shown if own.all() else shown[~own]
    title = f"recall_all at ten docs − that of the {HYBRID} as tuned, 95 % interval"
    return draw_intervals(shown, "method", "difference", "panel", "encoder", title=title)


def _quality_cost(study: Study, folder: Path) -> list[Path]:
    """What a method finds by how many keys a query is compared with."""
    rows = []
    for arena in study.arenas:
        for one in study.best_variants(arena):
            cost = cost_of(one)
            if cost.compared is not None:
                model = "needs a language model when writing" if cost.writes else "needs none"
                place = (arena.data, arena.encoder, one.method, cost.compared / arena.docs, model)
                rows.append((*place, *one.interval(arena.main)))
    columns = ["data", "encoder", "method", "keys per doc", "model", "recall_all", "low", "high"]
    data = pd.DataFrame(rows, columns=columns)

    return figures.save(lambda: _draw_quality(data), data, folder, "quality_cost")


def _draw_quality(data: pd.DataFrame) -> Figure:
    """A panel a data set, under the encoder that most have; named is what nothing beats."""
    data = data.dropna(subset="keys per doc")
    encoder = data.groupby("encoder")["data"].nunique().idxmax()
    parts = data[data["encoder"] == encoder].groupby("data", sort=False)
    figure, axes = stacked([1.4] * len(parts), above=0.8)
    looks = looks_of(map(_document, data["method"]))
    for axis, (name, part) in zip(axes, parts, strict=True):
        for row in part.to_dict("records"):
            document = _document(row["method"])
            mark, colour = looks[document]
            face = colour if row["model"] == "needs none" else "white"
            axis.plot(row["keys per doc"], row["recall_all"], mark, color=colour, label=document,
                      markerfacecolor=face, markersize=5)  # fmt: skip
        best = part.sort_values(["keys per doc", "recall_all"], ascending=[True, False])
        best = best[best["recall_all"] > best["recall_all"].cummax().shift(fill_value=-1)]
        for number, row in enumerate(best.to_dict("records")):
            between = 0 < number < len(best) - 1
            axis.annotate(
                row["method"].partition(": ")[2] or row["method"], fontsize=8,
                xy=(row["keys per doc"], row["recall_all"]), xytext=(3 if between else -3, 5),
                textcoords="offset points", ha="right" if between else "left",
            )  # fmt: skip
        axis.margins(y=0.25)
        axis.set_xscale("symlog", linthresh=1)
        axis.set_xlim(-0.15, 100)
        axis.set_xticks(ticks := (0, 1, 3, 10, 30), map(str, ticks))
        axis.set_title(name)
        axis.set_ylabel("recall_all@10")
    axes[-1].set_xlabel("keys that a query is compared with, per doc of its memory")
    share_legend(
        figure,
        f"{encoder}; hollow: a language model writes what is stored;\n"
        "named: what no method with as few keys beats",
    )
    return figure


def _document(method: str) -> str:
    return method.partition(": ")[0] if ": " in method else "plain"


def _optimism(study: Study, folder: Path) -> list[Path]:
    """What choosing settings on the test questions adds, method by method."""
    rows = [
        (one.arena.name, one.method, one.mean(one.arena.main), one.best[1], len(one.candidates))
        for one in study.outcomes
        if len(one.candidates) > 1
    ]
    columns = ["arena", "method", "chosen on others", "best on these", "settings"]
    data = pd.DataFrame(rows, columns=columns)
    if data.empty:
        return []

    return figures.save(lambda: _draw_optimism(data), data, folder, "study_optimism")


def _draw_optimism(data: pd.DataFrame) -> Figure:
    shown = data.assign(
        more=100 * (data["best on these"] - data["chosen on others"]),
        data=data["arena"].str.replace(f"(?: rounds| sessions)?, {_ENCODER}", "", regex=True),
    )  # fmt: skip
    return draw_intervals(
        shown, "method", "more", series="data",
        title="recall_all@10, in hundredths: best setting on these questions\n"
        "− setting chosen on other groups; a mark an arena",
    )  # fmt: skip
