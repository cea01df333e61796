"""RF-Mem's tables that are data: what each row names is planned, and what is counted is judged."""

import pandas as pd
import pytest

from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.papers.rfmem.analysis import DOCUMENT
from memrepro.papers.rfmem.cells import printed_rows
from tests.papers.rfmem import toy

pytestmark = pytest.mark.usefixtures("folder")


def test_evidence_is_counted_with_its_interval():
    table = pd.DataFrame([("a check", 5, 10)], columns=["check", "met", "of"])
    write_table(paths.evidence("open", "personamem-32k"), table)
    cells = toy.cells("personamem_evidence")
    assert cells["a check", "met"].reproduced == "5 of 10 (50.0%)"
    # Wilson, by hand: the centre is 1/2 and half the width z √(n + z²) / 2(n + z²).
    half = 1.959964 / (2 * (10 + 1.959964**2) ** 0.5)
    assert cells["a check", "95 % interval"].reproduced == f"[{0.5 - half:.3f}, {0.5 + half:.3f}]"


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
