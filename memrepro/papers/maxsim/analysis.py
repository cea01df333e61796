"""What max-sim's report has beside tables: α against the maximum, questions won and lost.

`check` judges the claims that no comparison decides; `judged`, `selection` and `decoded` have more.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from memrepro.files.atomic import write_table
from memrepro.papers.maxsim import diagram, selection
from memrepro.papers.maxsim.judged import check as check
from memrepro.report import figures
from memrepro.report.document import Document
from memrepro.report.panels import draw_lines
from memrepro.report.runs import Runs
from memrepro.report.specs import Spec, filled, place_of
from memrepro.study.params import load_plan

_COUNTED = {"metric": "recall_all", "k": 10}
DOCUMENT = Document.load("maxsim")
_ROWS = ("first field only", "second field only", "fielded max-sim")
_BASELINE, _SECOND, _OURS = (DOCUMENT.named[row] for row in _ROWS)


def _values(runs: Runs, study: Spec, row: Spec) -> pd.DataFrame:
    found = runs.values(place_of(filled({**study, **_COUNTED, **row}, runs.planned)))
    assert found is not None  # a document's studies are those that were run
    return found


def _won_and_lost(runs: Runs, study: Spec) -> pd.DataFrame:
    """The questions that max-sim wins and loses against the baseline: `query_id, kind, change`."""
    before, now = (_values(runs, study, row) for row in (_BASELINE, _OURS))
    both = before.merge(now, on=["query_id", "kind"], suffixes=(" before", " now"))
    gain = both["value now"] - both["value before"]
    both["change"] = np.select([gain > 0, gain < 0], ["won", "lost"], "same")
    return both.loc[both["change"] != "same", ["query_id", "kind", "change"]]


def _draw_mixture(data: pd.DataFrame) -> Figure:
    levels = {"": {row: float(data[row].iloc[0]) for row in _ROWS}}
    across = "α, the weight of the first field"
    shown = data.rename(columns={"alpha": across}).assign(of="linear mixture")
    return draw_lines(shown, across, "recall_all@10", "of", levels=levels, height=2.5)


def _by_alpha(runs: Runs, study: Spec, folder: Path) -> list[Path]:
    """Recall of the linear mixture at every α, beside that of max-sim, overall (§4.3)."""
    run, rows = f"{study['stem']}-by-alpha", []
    for setting in runs.settings(run):
        values = _values(runs, study, {"run": run, "setting": setting})["value"]
        rows.append((float(setting), float(values.mean()), len(values)))
    data = pd.DataFrame(rows, columns=["alpha", "recall_all@10", "n"])
    for row, spec in zip(_ROWS, (_BASELINE, _SECOND, _OURS), strict=True):
        data[row] = float(_values(runs, study, spec)["value"].mean())
    name = f"{study['stem']}_by_alpha"
    return figures.save(lambda: _draw_mixture(data), data, folder, name)


def write_analysis(profile: str, folder: Path) -> list[Path]:
    """Write the diagram, the sweep over α, the questions and the docs that each field won."""
    runs = Runs([profile], load_plan())
    written = [] if profile == "sample" else diagram.write_diagram(folder)
    for study in DOCUMENT.studies(profile):
        written += _by_alpha(runs, study, folder)
        path = folder / f"{study['stem']}_won_and_lost.csv"
        write_table(path, _won_and_lost(runs, study))
        written += [path, *selection.write_winners(runs, study, folder)]
    return written
