"""The max-sim document's Figure 1, drawn."""

from memrepro.files.atomic import read_table
from memrepro.papers.maxsim.diagram import PANELS, build, data


def test_three_key_schemes_with_their_rules(tmp_path):
    written = build(tmp_path)
    assert [path.name for path in written] == ["figure1.svg", "figure1.png", "figure1.csv"]
    table = read_table(tmp_path / "figure1.csv")
    assert list(table["keys"]) == ["enc(u_i)", "enc(u_i ⊕ a_i)", "enc(u_i), enc(a_i)"]
    assert list(table["equation"]) == ["Eq. 1", "Eq. 2", "Eq. 3"]
    rule = "s_maxsim(q, i) = max(sim(enc(q), enc(u_i)), sim(enc(q), enc(a_i)))"
    assert table["rule"].iloc[2] == rule
    drawn = (tmp_path / "figure1.svg").read_text()
    assert all(panel.title in drawn and panel.remark in drawn for panel in PANELS)


def test_byte_stable(tmp_path):
    first = [path.read_bytes() for path in build(tmp_path / "one")]
    assert first == [path.read_bytes() for path in build(tmp_path / "two")]
    assert not data().map(lambda text: "$" in text).any(axis=None)
