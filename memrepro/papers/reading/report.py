"""Answers and how they are judged: published ones, published choices, this project's."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.reading import choices, labelled, mteb, published, readings
from memrepro.papers.reading.items import item_cells
from memrepro.papers.reading.shares import IN_BRACKETS, ByUnit, share_cells
from memrepro.report.tables import Cell, write_cells

_PLACES = (
    f"{IN_BRACKETS}; which place of the options as shown was chosen; a reader that does "
    "not choose by place takes each as often as the right option stands there (where options are "
    "shuffled: equally often)"
)


def place_cells(chosen: pd.DataFrame | None, own: readings.Answers | None) -> Iterator[Cell]:
    """How often each reader chose each place, for published choices and for our readers."""
    published_rows = choices.place_rows(chosen) if chosen is not None else ()
    own_rows = readings.place_rows(own) if own is not None else ()
    for path, rows in ((paths.choices(""), published_rows), (paths.readings(""), own_rows)):
        for row, dataset, places in rows:
            by = ByUnit.of_dataset(dataset)
            count = int(places.to_numpy().max()) + 1
            texts = {
                f"{which} at ({'abcdefgh'[n]})": by.mean(places[which] == n)
                for which in places
                for n in range(count)
            }
            texts["no option"] = str(int((places["chosen"] < 0).sum()))
            groups = by.groups(places)
            yield from share_cells(row, "share", texts, len(places), _PLACES, path, groups)


def write_report(profile: str, folder: Path) -> list[Path]:
    """Write the tables into a folder; return their paths."""
    scored = read_table(paths.answers(profile), ["reader", "kind", "label"]).set_index("query_id")
    chosen, own = choices.read_choices(profile), readings.read_answers(profile)
    by, by_person = ByUnit.of_dataset(published.DATASET), ByUnit.of_dataset(choices.DATASET)
    tables = published.tables(scored, by) | choices.tables(chosen, by_person)
    tables |= readings.tables(own, profile)
    tables |= labelled.tables(labelled.read_labelled(profile))
    tables |= {"mteb": mteb.cells(profile)}
    tables |= {"places": place_cells(chosen, own), "items": item_cells(profile)}
    return [path for name, cells in tables.items() for path in write_cells(cells, folder, name)]
