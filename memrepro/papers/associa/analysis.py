"""What Associa's report has beside tables of runs: how large the graphs are (§4.1)."""

from collections.abc import Iterator
from pathlib import Path

from memrepro.audit.verdicts import NOT_IN_PAPER, NOT_RUN
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report.document import Document
from memrepro.report.sources import FileSource
from memrepro.report.tables import Cell, write_cells
from memrepro.retrieve.key_builders import measure_for
from memrepro.study.params import Plan, load_plan

_NOTE = (
    "a memory's mean, fewest and most; events, entities and relations are merged where their "
    "similarity is above the threshold of the experiments, which the paper does not name"
)


def graph_cells(profile: str, dataset: str, encoder: str, plan: Plan) -> Iterator[Cell]:
    """A row a key scheme and way of merging, a column a kind of node or edge."""
    told: set[tuple[str, str]] = set()  # two studies may search the same graphs
    for name, runs in plan.studies(profile).items():
        mine = [e for e in runs.values() if (e.dataset, e.encoder) == (dataset, encoder)]
        if not any(measure_for(one.key_scheme) for one in mine):
            continue
        path = paths.graphs(profile, name)
        if not path.is_file():
            yield Cell(name, "nodes", "size", "", "", 0, NOT_RUN, note="the graphs were not made")
            continue
        source = str(FileSource(path.relative_to(paths.results(profile)).as_posix()))
        sizes = read_table(path)
        for one in sizes[sizes["encoder"] == encoder].to_dict("records"):
            n = int(one["memories"])
            shown = f"{int(one['total']) / n:.1f} ({one['least']} to {one['most']})"
            row = f"{one['keying']}, merging {one['merging']}"
            if (row, one["what"]) in told:
                continue
            told.add((row, one["what"]))
            yield Cell(
                row, one["what"], "size", "", shown, n, NOT_IN_PAPER, note=_NOTE, sources=source
            )


def write_analysis(profile: str, folder: Path) -> list[Path]:
    """Write the graphs' sizes."""
    plan = load_plan()
    written: list[Path] = []
    for study in Document.load("associa").studies(profile):
        encoder = plan.experiment(f"{study['stem']}-associa").encoder
        cells = graph_cells(profile, study["dataset"], encoder, plan)
        written += write_cells(cells, folder, f"{study['stem']}_graphs")
    return written
