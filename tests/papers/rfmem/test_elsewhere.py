"""Numbers of RF-Mem's prose: printed ranges, and every row judged, shown or explained."""

import pytest

from memrepro.papers.rfmem import elsewhere
from memrepro.papers.rfmem.cells import printed_rows
from memrepro.papers.rfmem.elsewhere import within
from tests.papers.rfmem import toy


@pytest.mark.parametrize(
    ("shown", "values", "label"),
    [
        ("≈0.50-0.55", [0.4951], "exact"),
        ("≈0.17-0.18", [0.133], "not reproduced"),
        ("0.1-0.2", [0.126, 0.207], "exact"),
        ("0.1-0.2", [0.126, 0.26], "not reproduced"),
        ("≥0.35", [9.0], "exact"),
    ],
)
def test_a_printed_range(shown, values, label):
    assert within(shown, values).label == label


def test_every_row_has_a_number_or_a_reason(folder, monkeypatch):
    for part in ("_personamem", "_signals", "_sweeps"):
        monkeypatch.setattr(elsewhere, part, lambda *_: iter(()))
    found = toy.cells("text_elsewhere")
    assert {row for row, _ in found} == set(printed_rows("text_elsewhere"))
    assert all(c.reproduced or (c.verdict == "not run" and c.note) for c in found.values())
    assert found["D.6: split of training and validation", "printed"].reproduced == "80/20"
    assert (
        "mirror" in found["D.3: Recall@10 at its peak, LongMemEval-M (Figure 15)", "printed"].note
    )
