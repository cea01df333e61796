"""Numbers of RF-Mem's prose that no table prints, judged where a run or the data know the answer.

Source: RF-Mem §3.1, Appendix B and D.2 to D.7. A printed range is met by values that lie in it at
the printed digits.
"""

import re
from collections.abc import Iterator, Sequence

from memrepro.audit import documents
from memrepro.audit.verdicts import EXACT, NOT_COMPARABLE, NOT_REPRODUCED, Verdict
from memrepro.core.prepared import load_qrels
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.rfmem import cases
from memrepro.papers.rfmem.cells import file_of, missing, printed_rows, ranking_of
from memrepro.papers.rfmem.claims import best_settings
from memrepro.papers.rfmem.grid import BOTH, OPEN, Grid, grids_of
from memrepro.papers.rfmem.learned_gate import HIDDEN, VALIDATED
from memrepro.papers.rfmem.longmemeval import recalls_by_setting
from memrepro.papers.rfmem.score_lists import lists_of
from memrepro.report.runs import Runs
from memrepro.report.sources import Source, write_sources
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell
from memrepro.study.params import load_plan

_DATASET = "personamem-32k"
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_WHY = {
    "LongMemEval-M": "LongMemEval M's file is not in the mirror",
    "D.5": "about a reader's answers, of which none has been recorded",
}


def within(shown: str, values: Sequence[float]) -> Verdict:
    """Whether values lie between the first and the last number of a printed string, at its digits.

    '≥0.35' has no upper end.
    """
    numbers = _NUMBER.findall(shown)
    digits = len(numbers[0].partition(".")[2])
    low, high = float(numbers[0]), float("inf") if "≥" in shown else float(numbers[-1])
    if all(low <= round(value, digits) <= high for value in values):
        return Verdict(EXACT, "within the printed range at its digits")
    away = max(max(low - value, value - high) for value in values)
    return Verdict(NOT_REPRODUCED, f"outside of the printed range by {away:.{digits + 1}f}")


def cells(runs: Runs, table: Spec) -> Iterator[Cell]:
    """The cells of `text_elsewhere` that can be judged or shown, and why the others cannot."""
    printed = {row: of["printed"] for row, of in printed_rows("text_elsewhere").items()}
    found = {cell.row: cell for cell in _found(runs, printed, table)}
    for row, shown in printed.items():
        why = next((text for part, text in _WHY.items() if part in row), table["why"])
        yield found.get(row) or missing(row, "printed", "as printed", why, shown)


def _cell(
    row: str, shown: str, text: str, verdict: Verdict | None, n: int, note: str,
    sources: Sequence[Source],
) -> Cell:  # fmt: skip
    label, term = verdict or Verdict(NOT_COMPARABLE, "")
    told = write_sources(sources)
    return Cell(row, "printed", "as printed", shown, text, n, label, term, note, told)


def _found(runs: Runs, printed: dict[str, str], table: Spec) -> Iterator[Cell]:
    yield from _personamem(printed)
    yield from _signals(printed, table)
    yield from _sweeps(printed)
    yield from _fanouts(runs, printed)
    ks = load_plan().runs["rfmem-mpnet-recollection-by-k"].values
    validated = 100 * VALIDATED
    settings = {
        "D.5: K from (Figure 17)": str(min(ks)),
        "D.5: K to (Figure 17)": str(max(ks)),
        "D.6: split of training and validation": f"{100 - validated:.0f}/{validated:.0f}",
        "D.6: hidden dimensions": " and ".join(map(str, HIDDEN)),
        "D.7.1: entries of Familiarity": f"top-{cases.K}",
    }
    for row, text in settings.items():
        yield _cell(row, printed[row], text, None, 0, "describes the runs", [])


def _personamem(printed: dict[str, str]) -> Iterator[Cell]:
    """§3.1's counts: kinds of question, and the sessions of a memory."""
    qrels, counts = paths.qrels(OPEN, _DATASET), paths.statistics(OPEN, _DATASET)
    kinds, row = load_qrels(qrels, "session")[0], "§3.1: tasks of PersonaMem"
    types = len(set(kinds.values()))
    yield _cell(row, printed[row], str(types), within(printed[row], [types]), len(kinds),
                "kinds of question of the data", [file_of(qrels, OPEN)])  # fmt: skip
    sessions = read_table(counts)["sessions"].astype(int)
    row = "§3.1: sessions of a history, at most"
    yield _cell(row, printed[row], str(sessions.max()), None, len(sessions),
                "of 32k alone; the printed number is of all three sizes",
                [file_of(counts, OPEN)])  # fmt: skip


def _signals(printed: dict[str, str], table: Spec) -> Iterator[Cell]:
    """Appendix B's medians and band of PersonaMem's signals, at K = 10."""
    asked, whole = (
        next(one for one in lists_of(entry) if one.k == cases.K) for entry in table["lists"]
    )
    for row, column, quantiles in (
        ("B: band of the entropy, PersonaMem (Figure 6)", "entropy", [0.25, 0.75]),
        ("B: median of the mean score, PersonaMem (Figure 6)", "mean", [0.5]),
        ("B: median of the entropy, PersonaMem (Figure 6)", "entropy", [0.5]),
    ):
        values, other = (one.signals[column].quantile(quantiles).tolist() for one in (asked, whole))
        text, beside = (" to ".join(f"{v:.3f}" for v in of) for of in (values, other))
        label = within(printed[row], other).label
        note = (
            f"{row}: K = {cases.K}, {'quartiles' if len(values) > 1 else 'median'}, "
            f"all-MiniLM-L6-v2 where the paper has multi-qa-MiniLM; with the turns after the "
            f"question, as the released code has it, {beside} ({label}); "
            + "; ".join(documents.printed_notes("rfmem", "text_elsewhere"))
        )
        yield _cell(row, printed[row], text, within(printed[row], values), len(asked.signals),
                    note, [*asked.sources, *whole.sources])  # fmt: skip


def _sweeps(printed: dict[str, str]) -> Iterator[Cell]:
    """D.2 to D.4: the best settings on PersonaBench, and where all is familiarity."""
    grids = {(grid.encoder.short, grid.k): grid for grid in grids_of(OPEN)}
    elsewhere = "of PersonaBench under mpnet; the printed number is of LongMemEval"
    for row, key, tried, name, note in (
        ("D.2: best α, Recall@5 (Figure 14)", ("mpnet", 5), "RF-Mem", "α", "under mpnet"),
        ("D.2: best τ, Recall@10, MiniLM (Figure 14)", ("minilm", 10), "RF-Mem", "τ",
         "under all-MiniLM-L6-v2, where the paper has multi-qa-MiniLM"),
        ("D.3: B of the best balance (Figure 15)", ("mpnet", 5), "B × F", "B", elsewhere),
        ("D.3: F of the best balance (Figure 15)", ("mpnet", 5), "B × F", "F", elsewhere),
        ("D.4: best α, Recall@10 (Figure 16)", ("mpnet", 10), "α", "α", elsewhere),
    ):  # fmt: skip
        grid, shown = grids[key], printed[row]
        values = sorted({top[name] for top in best_settings(grid, tried)})
        text = f"{values[0]:g}" + (f" to {values[-1]:g}" if len(values) > 1 else "")
        verdict = None if note == elsewhere else within(shown, values)
        yield _cell(row, shown, text, verdict, len(grid.questions), f"{row}: {note}",
                    _swept(grid, "α" if tried == "RF-Mem" else tried))  # fmt: skip
    row = "D.2: τ too high (Figure 14)"
    least = float(_NUMBER.findall(printed[row])[0])
    all_familiar = all(grid.familiar(least).all() for grid in grids.values())
    # The least threshold from which nothing is recollected is the last routing's.
    text = f"all familiarity above {max(grid.routings[-1].low for grid in grids.values()):.3f}"
    verdict = Verdict(EXACT, "every question takes familiarity there")
    if not all_familiar:
        verdict = Verdict(NOT_REPRODUCED, "some questions are recollected there")
    sources = [ranking_of(grid.run("familiarity")) for grid in grids.values()]
    yield _cell(row, printed[row], text, verdict, len(grid.questions),
                f"{row}: both encoders, K = 5 and 10", sources)  # fmt: skip


def _fanouts(runs: Runs, printed: dict[str, str]) -> Iterator[Cell]:
    """D.3's recalls on S by F, B = 4, under all-mpnet-base-v2."""
    by_fanout = recalls_by_setting(runs, "lme-s-mpnet-rfmem-recollection-by-fanout")
    if not by_fanout:
        return
    source, n = runs.file("lme-s-mpnet-rfmem-recollection-by-fanout"), by_fanout["1"].n
    low = min(one.share(50) for one in by_fanout.values())
    for row, text in {
        "D.3: Recall@5 at F = 1, LongMemEval-S (Figure 15)": f"{by_fanout['1'].share(5):.4f}",
        "D.3: Recall@5 at F = 4, LongMemEval-S (Figure 15)": f"{by_fanout['4'].share(5):.4f}",
        "D.3: Recall@10 at its peak, LongMemEval-S (Figure 15)":
            f"{max(one.share(10) for one in by_fanout.values()):.4f}",
        "D.3: Recall@50, all settings, LongMemEval-S (Figure 15)": f"above {low:.4f}",
    }.items():  # fmt: skip
        note = f"{row}: B = 4, all-mpnet-base-v2; there multi-qa-MiniLM before the cleaning"
        yield _cell(row, printed[row], text, None, n, note, [source])


def _swept(grid: Grid, parameter: str) -> list[Source]:
    return [*grid.sources(*BOTH), *grid.swept(parameter)]
