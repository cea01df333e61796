"""The documents' drawings: arrows join boxes, and what is drawn is what the document says."""

import pytest

from memrepro.audit.documents import PAPERS, printed_rows
from memrepro.files.atomic import read_table
from memrepro.papers.maxsim import diagram
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


def test_max_sims_figure_1_has_three_key_schemes_with_their_rules(tmp_path):
    diagram.write_diagram(tmp_path)
    table = read_table(tmp_path / "figure1.csv")
    assert list(table["keys"]) == ["enc(u_i)", "enc(u_i ⊕ a_i)", "enc(u_i), enc(a_i)"]
    assert list(table["equation"]) == ["Eq. 1", "Eq. 2", "Eq. 3"]
    rule = "s_maxsim(q, i) = max(sim(enc(q), enc(u_i)), sim(enc(q), enc(a_i)))"
    assert table["rule"].iloc[2] == rule
    drawn = (tmp_path / "figure1.svg").read_text()
    assert all(title in drawn for title in table["panel"])
