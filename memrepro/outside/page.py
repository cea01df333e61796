"""What scoring found, as sentences, tables and one page."""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined

from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import LEVEL, QUESTION
from memrepro.files.atomic import write_table, write_text
from memrepro.outside.runs import problem_sentences
from memrepro.outside.score import Scored

_SHOWN = 12  # items of a problem, rows of a comparison on the page; the csv files have all
_ENVIRONMENT = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)


def sentences(scored: Scored) -> Iterator[str]:
    """What was found of each run, by level: its mean, its place, the best run beside it."""
    what = f"{scored.metric}@{scored.k}"
    if scored.beside.empty:
        for one in scored.runs:
            own = scored.mean(one.name, one.level)
            yield f"{one.name}, by {scored.basis}: {what} {_value(own)}."
    outside = {run.name for run in scored.runs}
    for (run, level), rows in scored.beside.groupby(["run", "level"], sort=False):
        own = scored.mean(str(run), str(level))
        place, of = scored.place(str(run), str(level))
        yield (
            f"{run}, by {level}: {what} {_value(own)}, place {place} of {of} with the "
            f"{scored.peers}."
        )
        committed = rows[~rows["beside"].isin(outside)]
        if len(committed):
            best = committed.iloc[0]
            least = 2.0 ** (1 - best["groups"]) * len(rows)
            if best["unit"] != QUESTION and least >= LEVEL:
                does = (
                    f"With {best['groups']} {best['unit']}s none of {len(rows)} comparisons can be "
                    "significant after Holm's correction. It differs"
                )
            elif best["p_holm"] < LEVEL:
                does = "It differs significantly"
            else:
                does = "It does not differ significantly"
            yield (
                f"{does} from the best of those, {_named(best)} "
                f"({best['value_beside']:.4f}): "
                f"{best['difference']:+.4f} [{best['low']:+.4f}, {best['high']:+.4f}], "
                f"questions won {best['won']:,}, lost {best['lost']:,} "
                f"(p = {best['p']:.4f}, signs of {best['unit']}s flipped; Holm over {len(rows)} "
                f"comparisons: {best['p_holm']:.4f})."
            )
    yield from _whole(scored)


def _whole(scored: Scored) -> Iterator[str]:
    for (run, level), share in scored.whole.items():
        if share:
            yield (
                f"{run}, by {level}: for {share:.1%} of the questions, k = {scored.k} reaches the "
                "whole memory, so that every method finds their evidence."
            )


def _value(own: Mapping[str, Any]) -> str:
    ends = f"[{own['low']:.4f}, {own['high']:.4f}]"
    by = f", by {own['by']}" if not own["by"].endswith("questions") else ""
    return f"{own['value']:.4f} {ends} (n = {own['n']:,} questions{by})"


def _named(row: pd.Series) -> str:
    return f"{row['beside']} [{row['setting']}]" if row["setting"] else str(row["beside"])


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds something else than what `write` wrote earlier."""
    used = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    if used and not (folder / "each_question.csv").is_file():
        raise MemreproError(f"{folder} holds other files: name a new folder")


def write(scored: Scored, folder: Path) -> Path:
    """Write values, beside, questions, each_question, kinds and problems (csv), `index.html`."""
    tables = {
        "each_question": scored.each,  # by which `check_folder` knows a folder that was begun
        "values": scored.values,
        "beside": scored.beside,
        "questions": scored.questions,
        "kinds": scored.kinds,
        "problems": pd.DataFrame(
            [
                (run.name, kind, item)
                for run in scored.runs
                for kind, items in run.problems.items()
                for item in items
            ],
            columns=["run", "problem", "item"],
        ),
    }
    for name, table in tables.items():
        write_table(folder / f"{name}.csv", table.round(6))
    at_k = scored.values[scored.values["k"] == scored.k]
    protocols = at_k.pivot_table(
        index=["run", "level", "protocol", "n"], columns="metric", values="value", sort=False
    ).reset_index()
    near = [
        (f"{run}, by {level}", _around(scored, rows))
        for (run, level), rows in scored.beside.groupby(["run", "level"], sort=False)
    ]
    template = files("memrepro.outside").joinpath("page.html").read_text(encoding="utf-8")
    page = _ENVIRONMENT.from_string(template).render(
        scored=scored,
        found=list(sentences(scored)),
        problems=[one for run in scored.runs for one in problem_sentences(run.name, run.problems)],
        protocols=protocols,
        near=near,
        kinds=_by_kind(scored),
        by_kind=scored.kinds,
        cell=lambda value: f"{value:.4f}" if isinstance(value, float) else str(value),
    )
    write_text(folder / "index.html", page)
    return folder / "index.html"


def _around(scored: Scored, rows: pd.DataFrame) -> pd.DataFrame:
    """The best of the runs beside a run, and those next to its own place."""
    rows = rows.assign(distance=(rows["value_beside"] - rows["value"]).abs())
    near = set(rows.nsmallest(_SHOWN // 2, "distance").index) | set(rows.index[: _SHOWN // 2])
    outside = rows["beside"].isin([run.name for run in scored.runs])
    kept = rows[rows.index.isin(near) | outside]
    return kept.drop(columns=["run", "level", "distance"])


def _by_kind(scored: Scored) -> pd.DataFrame:
    """Questions won from and lost to the best committed run, by kind."""
    keys = ["run", "level", "beside", "kind"]
    return (
        scored.questions.groupby([*keys, "change"], sort=False).size().unstack(fill_value=0)
        .reindex(columns=["won", "lost"], fill_value=0).reset_index()
    )  # fmt: skip
