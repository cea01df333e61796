"""What RF-Mem's prose says, held against its tables."""

from memrepro.files.atomic import read_table
from memrepro.papers.rfmem.printed import printed
from memrepro.papers.rfmem.prose import build, claims, printed_twice, text
from memrepro.report.tables import show


def test_the_proses_numbers_are_the_tables_but_six():
    cells = {cell.row: cell for cell in text()}
    assert len(cells) == len(printed("text")) + len(printed("text_computed"))
    wrong = {
        r: (c.reported, c.reproduced) for r, c in cells.items() if c.verdict == "not reproduced"
    }
    assert wrong == {
        "§3.2: time of Recollection, 1M": ("7.12ms", "8.1200"),
        "§3.3: PersonaBench, Familiarity, most time (ms)": ("10", "13.6800"),
        "§3.3: PersonaBench, Recollection, least time (ms)": ("15", "9.6500"),
        "§3.3: PersonaBench, RF-Mem, most time (ms)": ("15", "18.1300"),
        "§3.3: LongMemEval, Familiarity, most time (ms)": ("31", "33.1800"),
        "§3.3: LongMemEval, Recollection, least time (ms)": ("40", "43.6500"),
    }
    assert cells["§3.2: RF-Mem over Full Context, 32K"].verdict == "exact"
    assert cells["§3.2: tokens of Full Context, 32K"].reproduced == "24.6578"
    assert cells["D.6: samples for evaluation, 128k"].reproduced == "727.0000"


def test_in_how_many_cases_the_claims_hold():
    cells = {cell.row.split(" (Table")[0]: cell for cell in claims()}
    assert len(cells) == len(printed("text_claims"))
    assert {row: c.reproduced for row, c in cells.items() if c.verdict != "exact"} == {
        "§3.3: Recollection lifts Recall@5 by more than 0.02": "3 of 6",
        "§3.3: Recollection reaches perfect Recall@50": "2 of 6",
        "§3.4.2: RF-Mem matches or surpasses Familiarity": "9 of 10",
        "D.1: Recollection surpasses Familiarity in therapy": "2 of 3",
        "D.1: Recollection surpasses Familiarity in dating consultation": "1 of 3",
        "D.1: RF-Mem outperforms both, ties among it": "26 of 43",
        "D.8.3: gated mixing improves over Familiarity": "3 of 4",
        "D.9: the graph, full, improves over Familiarity": "3 of 4",
        "D.10: stronger retrievers route more to recollection": "2 of 3",
    }
    assert cells["§3.3: RF-Mem matches or exceeds"].reproduced == "36 of 36"


def test_all_is_written(tmp_path):
    written = build(tmp_path)
    assert len(written) == 3 * 2 + 1
    assert all(path.is_file() for path in written)
    table = show(tmp_path, "claims")
    assert len(table) == len(printed("text_claims"))
    assert read_table(tmp_path / "printed_twice.csv")["agree"].tolist() == (
        printed_twice()["agree"].tolist()
    )
