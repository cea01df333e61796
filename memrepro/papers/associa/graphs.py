"""How large Associa's memory graphs are on the data that are here (§4.1)."""

from collections.abc import Iterator

from memrepro.audit.verdicts import NOT_IN_PAPER, NOT_RUN
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report.tables import Cell
from memrepro.study.params import Plan

_NOTE = (
    "a memory's mean, fewest and most; events, entities and relations are merged where their "
    "similarity is above the threshold of the experiments, which the paper does not name"
)


def graph_cells(profile: str, dataset: str, plan: Plan) -> Iterator[Cell]:
    """A row a key scheme and way of merging, a column a kind of node or edge."""
    for name, runs in plan.studies(profile).items():
        if not any("+graph:" in one.key_scheme and one.dataset == dataset for one in runs.values()):
            continue
        path = paths.graphs(profile, name)
        if not path.is_file():
            yield Cell(name, "nodes", "size", "", "", 0, NOT_RUN, note="the graphs were not made")
            continue
        table = read_table(path)
        for key_scheme, merging, what, memories, total, least, most in table[
            ["keying", "merging", "what", "memories", "total", "least", "most"]
        ].itertuples(index=False):
            n = int(memories)
            shown = f"{int(total) / n:.1f} ({least} to {most})"
            yield Cell(
                f"{key_scheme}, merging {merging}",
                what,
                "size",
                "",
                shown,
                n,
                NOT_IN_PAPER,
                note=_NOTE,
            )
