"""RF-Mem's Table 10 is not run, and PersonaBench's printed sizes are those of the metrics."""

from memrepro.audit.documents import tables
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.rfmem.report import KINDS, Results, table10


def test_what_was_not_run_says_why():
    cells = list(table10())
    assert len(cells) == 10
    assert {(c.reproduced, c.verdict) for c in cells} == {("", "not run")}
    assert all(c.note for c in cells)


def test_personabenchs_sizes_are_those_of_the_metrics():
    (table,) = (one for one in tables("rfmem") if one.name == "table2")
    results = Results("open")
    values = results.by_question("rfmem-mpnet-familiarity", 5)
    for kind in ("Basic", "Social", "Pref Easy", "Pref Hard"):
        n = table.size("mpnet Famili.", f"R@5 {kind}")
        assert len(results.of_kind(values, KINDS[kind])) == n
    asked = read_table(paths.statistics("open", "personabench-n00"))["queries"].astype(int)
    assert sum(asked) == 263
