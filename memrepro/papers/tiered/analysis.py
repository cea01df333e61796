"""What the tiered document's report has beside tables of runs: decay and latency."""

from pathlib import Path

from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.tiered import decay, latency
from memrepro.report.document import Document
from memrepro.report.engine import Tables
from memrepro.report.runs import Runs
from memrepro.report.specs import Spec
from memrepro.report.tables import write_cells
from memrepro.retrieve.tiered.scoring import half_life as true_half_life

_MINILM = "all-MiniLM-L6-v2"


def half_life(spec: Spec) -> str:
    """The half-life of a setting of the decay rate."""
    rate = float(spec["setting"])
    if rate <= 0:
        return "no decay"
    return decay.span(true_half_life(rate)) if rate < 1 else "0: nothing that is past counts"


def own_words(spec: Spec) -> str:
    """What a row of the table says itself."""
    return str(spec["here"])


def same_model_here(runs: Runs, study: Spec) -> str:
    """The Top-5 accuracy of all-MiniLM on each task of a study; '' where it was not run."""
    cells = Tables(Document.load("tiered"), runs).cells("models_here", study)
    shares = [f"{c.column} {c.reproduced} (n = {c.n})" for c in cells
              if c.row == _MINILM and c.reproduced]  # fmt: skip
    return f"the same model here: {', '.join(shares)}" if shares else ""


def encoding_times(runs: Runs, study: Spec) -> str:
    """The median time of encoding a query by all-MiniLM, where latency was measured."""
    times = []
    for path in sorted(paths.latency(runs.profile, "any").parent.glob("*minilm*.csv")):
        table = read_table(path)
        encoding = table[table["part"] == "encode"]
        if len(encoding):
            p50, n = encoding["p50_ms"].iloc[0], encoding["n"].iloc[0]
            times.append(f"{path.stem} {float(p50):.0f} ms (n = {n})")
    return f"median of encoding a query by {_MINILM} here: {', '.join(times)}" if times else ""


def write_analysis(profile: str, folder: Path) -> list[Path]:
    """Write the decay's arithmetic and latency."""
    return [
        *write_cells(decay.cells(), folder, "decay"),
        *write_cells(decay.outweighed(), folder, "outweighed"),
        *write_cells(latency.latency(profile), folder, "latency"),
    ]
