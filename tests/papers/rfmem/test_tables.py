"""RF-Mem's tables that are data: what each row names is planned, and what is counted is judged."""

import pandas as pd
import pytest

from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.papers.rfmem.analysis import DOCUMENT
from memrepro.papers.rfmem.cells import printed_rows
from memrepro.papers.rfmem.grid import CUTOFFS
from tests.papers.rfmem import toy

pytestmark = pytest.mark.usefixtures("folder")


def test_every_row_and_list_names_a_planned_run():
    plan = toy.plan()
    for name in ("table2", "noise"):
        for row in DOCUMENT.tables[name]["rows"].values():
            for k in CUTOFFS:
                assert plan.experiment(row["run"].format(k=k)).parameters["k"] >= k
    for one in DOCUMENT.tables["signals"]["lists"]:
        planned = plan.experiment(one["run"])
        assert bool(planned.vary) == bool(one.get("setting"))
        entry = planned.variants()[one.get("setting", "")]
        assert (entry.profile, entry.retriever in ("familiarity", "dense")) == ("open", True)
        extracted = entry.granularity not in ("session", "round", "turn")
        level = "round" if extracted else entry.granularity
        assert one.get("level", "") == ("" if entry.dataset.startswith("personamem") else level)
        assert entry.parameters["k"] >= max(CUTOFFS)


def test_table_2_has_all_that_is_printed_and_two_methods_more():
    toy.write_metrics("open", "session", {"rfmem-mpnet-familiarity": {"q0": 1.0, "q1": 0.5}})
    found = toy.cells("table2")
    printed = {(r, c): s for r, row in printed_rows("table2").items() for c, s in row.items()}
    assert {place: c.reported for place, c in found.items() if c.reported} == printed
    assert {row for row, _ in set(found) - set(printed)} == {
        "BM25", *(f"all-MiniLM-L6-v2 {path}" for path in ("Famili.", "Recol.", "RF-Mem"))
    }  # fmt: skip
    one = found["mpnet Famili.", "R@5 Overall"]
    assert (one.reproduced, one.n, one.verdict) == ("0.7500", 2, "not reproduced")
    assert one.sources == "run rfmem-mpnet-familiarity[] session recall@5"
    assert found["mpnet Famili.", "R@5 Basic"].reproduced == "1.0000"
    assert "model hub" in found["bge-base Recol.", "R@10 Social"].note
    assert found["mpnet Recol.", "R@5 Time"].verdict == "not run"


@pytest.mark.parametrize("name", [n for n, t in DOCUMENT.tables.items() if "printed" in t])
def test_what_was_not_run_says_why(name):
    if name in ("table7", "table9", "text_elsewhere"):
        return  # they count, and need the counts' and runs' files
    found = toy.cells(name).values()
    assert found
    assert all(c.note for c in found if c.verdict == "not run")
    assert all(c.sources for c in found if c.reproduced)


def topics(counts):
    table = pd.DataFrame(counts.items(), columns=["topic", "questions"])
    write_table(paths.topics("open", "personamem-32k"), table)


def test_table_8_by_topic():
    names = DOCUMENT.tables["table8"]["counted"]
    shown = {row: cells["32k"] for row, cells in printed_rows("table8").items()}
    topics({topic: int(shown[row]) for row, topic in names.items() if shown[row] != "–"})
    found = toy.cells("table8")
    assert len(found) == 15 * 3
    assert {c.verdict for (_, column), c in found.items() if column == "32k"} == {"exact"}
    assert {c.verdict for (_, column), c in found.items() if column != "32k"} == {"not run"}
    none = found["# of Sports Rec", "32k"]
    assert (none.reported, none.reproduced) == ("–", "0")
    topics({"movieRecommendation": 103, "sportsRecommendation": 1})
    found = toy.cells("table8")
    for row in ("# of Movie Rec", "# of Sports Rec"):
        assert found[row, "32k"].verdict == "not reproduced"
    topics({"astrology": 1})
    with pytest.raises(MemreproError, match="topic 'astrology' of personamem-32k is in no row"):
        toy.cells("table8")


def test_table_9_counts_each_user():
    printed = printed_rows("table9")
    counts = {name: [int(printed[str(u)][column]) for u in range(1, 7)]
              for column, name in DOCUMENT.tables["table9"]["counted"].items()}  # fmt: skip
    write_table(paths.statistics("open", "personabench-n00"), pd.DataFrame(counts))
    found = toy.cells("table9")
    assert len(found) == 8 * 5
    assert {c.verdict for c in found.values()} == {"exact"}
