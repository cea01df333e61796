"""RF-Mem's tables and figures, from the per-question metrics of the profiles."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from memrepro import paths
from memrepro.audit.verdicts import NOT_IN_PAPER, NOT_RUN, Verdict, judge
from memrepro.report import figures
from memrepro.report.profile import Views, exclusion_cells
from memrepro.report.tables import Cell, number, write_cells
from memrepro.store import read_table, read_yaml

REPORTED = Path(__file__).parents[1] / "reported" / "rfmem.yaml"
KINDS = {
    "Basic": "Basic information",
    "Social": "Social",
    "Pref Easy": "Preference easy",
    "Pref Hard": "Preference hard",
    "Overall": None,
}
CUTOFFS = (5, 10)
_UNTIMED = "retrieval time is not measured in this report"
_HUB = "profile full: the encoder comes from a model hub"
_VIEWS = Views("rfmem")
show_table, show_figure = _VIEWS.table, _VIEWS.figure


# Row prefix -> stem of the experiments, and why they may be missing.
ENCODERS = {
    "multi-qa-MiniLM": ("rfmem-multiqa", _HUB),
    "mpnet": ("rfmem-mpnet", ""),
    "bge-base": ("rfmem-bge", _HUB),
    "all-MiniLM-L6-v2": ("rfmem-minilm", ""),
}
PATHS = {"Famili.": "familiarity", "Recol.": "recollection-k{k}", "RF-Mem": "gated-k{k}"}


class Results:
    """Mean recall by experiment, setting, k and kind of question."""

    def __init__(self, profile: str) -> None:
        # The full profile's tables stand on the open one's runs too.
        profiles = {"full": ("open", "full")}.get(profile, (profile,))
        tables = [read_table(paths.metrics(p)) for p in profiles]
        frame = pd.concat(tables, ignore_index=True)
        self.frame = frame[frame["metric"] == "recall"]
        self.experiments = set(self.frame["experiment"])

    def questions(self, experiment: str, k: int, kind: str | None, setting: str = "") -> pd.Series:
        """The recall of each question of a kind (None: of all)."""
        f = self.frame
        chosen = (f["experiment"] == experiment) & (f["k"] == k) & (f["setting"] == setting)
        if kind is not None:
            chosen &= f["kind"] == kind
        return f.loc[chosen, "value"]

    def settings(self, experiment: str) -> list[str]:
        """A sweep's settings, in order."""
        return list(
            dict.fromkeys(self.frame.loc[self.frame["experiment"] == experiment, "setting"])
        )

    def mean(self, experiment: str, k: int, kind: str | None = None, setting: str = "") -> float:
        """The mean recall."""
        return float(self.questions(experiment, k, kind, setting).mean())


def printed_table2() -> dict[tuple[str, str], str]:
    """RF-Mem's Table 2 as printed: (row, column) → string."""
    table = read_yaml(REPORTED)["table2"]
    return {
        (row, column): cell
        for row, cells in table["rows"].items()
        for column, cell in zip(table["columns"], cells, strict=True)
    }


def _cell(
    results: Results, row: str, k: int, kind: str, experiment: str, printed: str, missing: str,
    note: str = "", setting: str = "",
) -> Cell:  # fmt: skip
    column, metric = f"R@{k} {kind}", f"recall@{k}"
    if experiment not in results.experiments:
        return Cell(row, column, metric, printed, "", 0, NOT_RUN, note=missing)
    values = results.questions(experiment, k, KINDS[kind], setting)
    value = float(values.mean())
    label, term = judge(printed, value) if printed else Verdict(NOT_IN_PAPER, "")
    return Cell(row, column, metric, printed, number(value), len(values), label, term, note)


def table2(results: Results) -> Iterator[Cell]:
    """Table 2, each encoder's three rows and both halves, with rows that the paper lacks."""
    printed = printed_table2()
    for encoder, (stem, missing) in ENCODERS.items():
        for path, suffix in PATHS.items():
            row = f"{encoder} {path}"
            note = "RF-Mem rows: τ = 0.2, the released code's default" if path == "RF-Mem" else ""
            for k in CUTOFFS:
                if time := printed.get((row, f"R@{k} Time"), ""):
                    yield Cell(row, f"R@{k} Time", "time", time, "", 0, NOT_RUN, note=_UNTIMED)
                for kind in KINDS:
                    experiment = f"{stem}-{suffix.format(k=k)}"
                    shown = printed.get((row, f"R@{k} {kind}"), "")
                    yield _cell(results, row, k, kind, experiment, shown, missing, note)
    for k in CUTOFFS:
        for kind in KINDS:
            yield _cell(results, "BM25", k, kind, "personabench-bm25", "", "")


def closest_setting(results: Results, sweep: str, k: int) -> str:
    """The sweep's setting nearest to the printed gated row: least sum of distances, then first."""
    printed = printed_table2()
    target = {kind: float(printed["mpnet RF-Mem", f"R@{k} {kind}"]) for kind in KINDS}

    def distance(setting: str) -> float:
        return sum(
            abs(round(results.mean(sweep, k, KINDS[kind], setting), 4) - value)
            for kind, value in target.items()
        )

    return min(results.settings(sweep), key=distance)


def gated_closest(results: Results) -> Iterator[Cell]:
    """The gated mpnet row at the closest setting of the sweep over its threshold."""
    printed = printed_table2()
    for k in CUTOFFS:
        sweep = f"rfmem-mpnet-gated-k{k}-by-threshold"
        setting = closest_setting(results, sweep, k)
        note = (
            f"K = {k}: closest of {len(results.settings(sweep))} thresholds is τ = {setting}, "
            "found after the fact"
        )
        for kind in KINDS:
            shown = printed["mpnet RF-Mem", f"R@{k} {kind}"]
            yield _cell(results, "mpnet RF-Mem", k, kind, sweep, shown, "", note, setting)


def noise(results: Results) -> Iterator[Cell]:
    """The three mpnet rows at each noise level; the paper prints level 0.0 only."""
    printed = printed_table2()
    unseen = "profile full: needs files that the mirror does not hold, from the data set's address"
    for level, tag in (("0.0", ""), ("0.3", "-n03"), ("0.5", "-n05"), ("0.7", "-n07")):
        for path, suffix in PATHS.items():
            for k in CUTOFFS:
                shown = "" if tag else printed[f"mpnet {path}", f"R@{k} Overall"]
                experiment = f"rfmem-mpnet{tag}-{suffix.format(k=k)}"
                yield _cell(
                    results, f"noise {level} {path}", k, "Overall", experiment, shown, unseen
                )


def _sweep_figure(
    results: Results, sweep: str, xlabel: str, folder: Path, name: str, curve: str
) -> list[Path]:
    rows = [
        (k, float(setting), results.mean(sweep.format(k=k), k, None, setting))
        for k in CUTOFFS
        for setting in results.settings(sweep.format(k=k))
    ]
    data = pd.DataFrame(rows, columns=["k", xlabel, "overall recall"])
    printed = printed_table2()
    figure = Figure(figsize=(11, 4), layout="constrained")
    for axis, k in zip(figure.subplots(1, 2), CUTOFFS, strict=True):
        sns.lineplot(
            data[data["k"] == k], x=xlabel, y="overall recall", marker="o", ax=axis, label=curve
        )
        for path, style in (("Famili.", ":"), ("Recol.", "--"), ("RF-Mem", "-.")):
            value = float(printed[f"mpnet {path}", f"R@{k} Overall"])
            axis.axhline(value, color="black", ls=style, lw=1, label=f"printed {path}")
        axis.set_title(f"Recall@{k}")
        axis.legend(fontsize=8)
    return figures.save(figure, data, folder, name)


def build(profile: str, folder: Path) -> list[Path]:
    """Write all of RF-Mem's tables and figures into a folder; return their paths."""
    results = Results(profile)
    return [
        *write_cells(table2(results), folder, "table2"),
        *write_cells(gated_closest(results), folder, "table2_gated_closest"),
        *write_cells(noise(results), folder, "noise"),
        *write_cells(exclusion_cells(profile, "personabench"), folder, "exclusions"),
        *_sweep_figure(
            results, "rfmem-mpnet-gated-k{k}-by-threshold", "entropy threshold τ", folder,
            "gate_sweep", "RF-Mem here",
        ),
        *_sweep_figure(
            results, "rfmem-mpnet-recollection-k{k}-by-alpha", "α", folder, "alpha_sweep",
            "Recollection here",
        ),
    ]  # fmt: skip
