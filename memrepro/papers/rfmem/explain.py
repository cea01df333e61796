"""What `memrepro explain` tries of a gated row: every routing, and a grid of α and τ.

They follow from the runs of familiarity and recollection.
"""

from collections.abc import Iterator

from memrepro.papers.rfmem.grid import grids_of
from memrepro.provenance.places import Place, entry


def further_tries(own: Place) -> Iterator[tuple[tuple[str, ...], float, int]]:
    """Switches, value and n for each routing that some τ gives, and for each α and τ of a grid.

    Args:
        own: of the cell; nothing is tried for one that is of no gated row.
    """
    if "-gated-" not in own.experiment or own.metric != "recall":
        return
    profile = entry(own.experiment).profile
    for grid in grids_of(profile):
        if grid.run("gated") != own.experiment or grid.k != own.k:
            continue
        chosen = grid.of_kind(own.kind or None)
        n = int(chosen.sum())
        for routing, recall in zip(grid.routings, grid.over_tau(), strict=True):
            text = f"entropy_threshold: τ in ({routing.low:.6f}, {routing.high:.6f}]"
            yield (text,), float(recall[chosen].mean()), n
        pairs, recalls = grid.over_alpha_and_tau()
        for (alpha, tau), recall in zip(pairs, recalls, strict=True):
            if alpha != grid.own["α"]:
                switches = (f"alpha: {grid.own['α']} → {alpha}", f"entropy_threshold: {tau:.2f}")
                yield switches, float(recall[chosen].mean()), n
