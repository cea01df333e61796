"""RF-Mem's tables that are data: what each row names is planned, and what is counted is judged."""

import numpy as np
import pandas as pd
import pytest

from memrepro.errors import MemreproError
from memrepro.evaluate.bootstrap import paired_difference
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
        assert one["level"] == level
        assert entry.parameters["k"] >= max(CUTOFFS)


def test_each_path_and_k_of_locomo_is_a_run_of_its_own():
    rng = np.random.default_rng(0)
    stem = "locomo-mpnet-session-rfmem"
    names = [f"{stem}-familiarity", f"{stem}-recollection-k5", f"{stem}-gated-k5"]
    recalls = {name: {f"q{i}": float(rng.integers(0, 2)) for i in range(20)} for name in names}
    toy.write_metrics("open", "session", recalls, cutoffs=(5,))
    cells = toy.cells("locomo")
    first, second = (pd.Series(recalls[name]) for name in names[:2])
    row = "sessions, mpnet: recollection"
    assert cells[row, "R@5"].reproduced == f"{second.mean():.4f}"
    interval = paired_difference(first.to_numpy(), second.to_numpy())
    text = cells[row, "R@5 − familiarity's"].reproduced
    assert text.startswith(f"{interval.mean:+.4f} [{interval.low:+.4f}, {interval.high:+.4f}]")
    assert cells["sessions, mpnet: gate", "R@5 Social"].n == 5
    assert cells[row, "R@10"].verdict == "not run"
    planned = {c.note for c in cells.values() if c.verdict == "not run"}
    assert not any("plans no" in note for note in planned)


def test_evidence_is_counted_with_its_interval():
    table = pd.DataFrame([("a check", 5, 10)], columns=["check", "met", "of"])
    write_table(paths.evidence("open", "personamem-32k"), table)
    cells = toy.cells("personamem_evidence")
    assert cells["a check", "met"].reproduced == "5 of 10 (50.0%)"
    # Wilson, by hand: the centre is 1/2 and half the width z √(n + z²) / 2(n + z²).
    half = 1.959964 / (2 * (10 + 1.959964**2) ** 0.5)
    assert cells["a check", "95 % interval"].reproduced == f"[{0.5 - half:.3f}, {0.5 + half:.3f}]"


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
