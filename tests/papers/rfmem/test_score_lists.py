"""RF-Mem's score lists: which are used, by what gate, and what is drawn of them."""

import pandas as pd

from memrepro.files.atomic import read_table, write_table
from memrepro.papers.rfmem.cells import run_path
from memrepro.papers.rfmem.score_lists import lists_of, signals_figures

RUN = "rfmem-mpnet-familiarity"
ENTRY = {"run": RUN}


def test_short_lists_are_left_out_and_the_rest_is_drawn(folder):
    rows = [(f"q{i}", "d", rank, 0.5 - i * rank / 50) for i in range(5) for rank in range(1, 11)]
    rows += [("short", "d", rank, 0.1) for rank in range(1, 8)]
    write_table(run_path(RUN), pd.DataFrame(rows, columns=["query_id", "doc_id", "rank", "score"]))
    sizes = {one.k: len(one.scores) for one in lists_of(ENTRY)}
    assert sizes == {5: 6, 10: 5}
    changed = next(lists_of({**ENTRY, "gate": {"sharpness": 20.0}})).gate
    assert (changed.sharpness, changed.mean_high) == (20.0, 0.6)
    assert len(signals_figures({"here": ENTRY}, folder)) == 3
    data = read_table(folder / "signals_here.csv")
    assert data.columns.tolist() == ["query_id", "mean score", "entropy", "path", "k"]
    assert len(data) == 6 + 5
