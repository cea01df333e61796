"""The documents' drawings: arrows join boxes, and what is drawn is what the document says."""

import pytest

from memrepro.audit.documents import PAPERS, printed_rows
from memrepro.report.diagram import data, read_diagrams

DRAWN = {
    f"{path.parent.name} {drawing.name}": drawing
    for path in PAPERS.glob("*/diagrams.yaml")
    for drawing in read_diagrams(path)
}


@pytest.mark.parametrize("name", DRAWN)
def test_arrows_join_boxes_that_are_there_once_and_inside(name):
    drawing = DRAWN[name]
    names = [box.name for box in drawing.boxes]
    assert len(set(names)) == len(names)
    assert {end for a in drawing.arrows for end in (a.start, a.end)} <= set(names)
    assert all(0 < box.x < 1 and 0 < box.y < 1 for box in drawing.boxes)
    assert len(data(drawing)) == len(drawing.boxes) + len(drawing.arrows)


def test_associas_figure_2_is_the_schema():
    drawing = DRAWN["associa figure2"]
    arrows = data(drawing).query("what == 'arrow'")
    found = {
        (row["from"], row["text"], row["to"].removeprefix("another "))
        for row in arrows.to_dict("records")
    }
    assert found == {
        (edge["from"], edge["label"].strip("<|>"), edge["to"])
        for edge in printed_rows("associa", "schema").values()
    }
    (listed,) = [box.text for box in drawing.boxes if box.name == "categories"]
    kinds = [entry["category"] for entry in printed_rows("associa", "categories").values()]
    assert listed.split("\n", 1)[1].replace(",\n", ", ").split(", ") == kinds


def test_max_sims_figure_1_has_three_key_schemes_with_their_rules():
    boxes = {box.name: box.text.replace("\n", "") for box in DRAWN["maxsim figure1"].boxes}
    keys = [text for name, text in boxes.items() if name.startswith("key")]
    assert keys == ["enc(uᵢ)", "enc(uᵢ ⊕ aᵢ)", "enc(uᵢ)", "enc(aᵢ)"]
    rule = "s_maxsim(q, i) = max(sim(enc(q), enc(uᵢ)),sim(enc(q), enc(aᵢ)))"
    assert boxes["score, max-sim"] == rule
    heads = [boxes[name] for name in ("user only", "concatenation", "max-sim")]
    assert [text.rpartition(", ")[2] for text in heads] == ["Eq. 1", "Eq. 2", "Eq. 3"]
