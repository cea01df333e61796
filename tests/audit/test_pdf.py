"""Tables of a PDF, drawn as papers set them: bars under heads, without rules, beside a plot."""

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tests.audit.test_shapes import as_read

X = (72, 150, 200, 260, 310)


def drawing(path, texts, rules):
    """A page of 432 by 432 points: texts by (x, y, text, size), rules by (from, to, y), y down."""
    figure = Figure(figsize=(6, 6))
    for x, y, text, size in texts:
        figure.text(x / 432, 1 - y / 432, text, fontsize=size, va="baseline")
    for left, right, y in rules:
        figure.add_artist(Line2D((left / 432, right / 432), (1 - y / 432,) * 2, color="k", lw=0.6))
    figure.savefig(path)


def line(y, *cells, size=9):
    return [(x, y, cell, size) for x, cell in zip(X, cells, strict=False) if cell]


def test_heads_over_several_columns_are_told_by_the_bars_below_them(tmp_path):
    texts = [(72, 40, "Table 1: Scores", 9), (165, 62, "Dev", 9), (275, 62, "Test", 9)]
    texts += line(78, "Model", "P", "R", "P", "R") + line(94, "BM25", "0.41", "0.28", "0.43", "0.3")
    texts += [*line(108, "Ours", "0.57", "0.45", "0.59", "0.47"), (330.5, 105, "3", 5)]
    bars = [(150, 220, 66), (260, 330, 66)]
    drawing(tmp_path / "a.pdf", texts, [*bars, *((70, 340, y) for y in (50, 82, 114))])
    read, found = as_read(tmp_path / "a.pdf")
    assert found == [
        (["Dev, P", "Dev, R", "Test, P", "Test, R"],
         {"BM25": ["0.41", "0.28", "0.43", "0.3"], "Ours": ["0.57", "0.45", "0.59", "0.47"]})
    ]  # fmt: skip
    assert read.tables[0].reading["caption"] == "Table 1: Scores"


def test_a_table_without_rules_is_found_by_its_caption_and_a_plot_is_none(tmp_path):
    texts = [(72, 40, "Table 2: Sizes of the sets", 9), *line(56, "Set", "Train", "Test")]
    texts += line(70, "News", "1,200", "300") + line(84, "Web", "2,400", "600")
    texts += [(60, 200 + 20 * k, str(100 - 20 * k), 8) for k in range(5)]
    texts += [(100 + 50 * k, 300, str(10 * k), 8) for k in range(5)]
    drawing(tmp_path / "a.pdf", texts, [(72, 340, 196 + 20 * k) for k in range(6)])
    read, found = as_read(tmp_path / "a.pdf")
    assert found == [(["Train", "Test"], {"News": ["1,200", "300"], "Web": ["2,400", "600"]})]
    assert not [one for one in read.unread if one.counts]


def test_a_cell_of_several_lines_between_rules_is_one_and_so_is_a_power(tmp_path):
    texts = [(72, 40, "Table 3: Costs", 9), *line(60, "Step", "Time", "p")]
    texts += line(78, "Reading", "5.1", "2.2e − 16") + line(88, "the papers")
    texts += line(106, "Asking", "6.2", "0.04") + line(124, "Writing", "7.3", "0.05")
    rules = [(70, 260, y) for y in (48, 66, 94, 112, 130)]
    drawing(tmp_path / "a.pdf", texts, rules)
    _, found = as_read(tmp_path / "a.pdf")
    assert found == [
        (["Time", "p"], {"Reading the papers": ["5.1", "2.2e-16"], "Asking": ["6.2", "0.04"],
                         "Writing": ["7.3", "0.05"]})
    ]  # fmt: skip


def test_lines_in_columns_without_rules_or_caption_are_told_and_so_is_a_page_on_its_side(tmp_path):
    texts = [one for k in range(5) for one in line(60 + 14 * k, f"Set {'abcde'[k]}", "1.5", "2.5")]
    drawing(tmp_path / "a.pdf", texts, [])
    read, found = as_read(tmp_path / "a.pdf")
    assert (found, [one.counts for one in read.unread]) == ([], [True])
    assert read.unread[0].why.startswith("5 lines in columns")
    assert read.unread[0].source.endswith("page 1, 'Set a 1.5 2.5'")
    figure = Figure()
    figure.text(0.5, 0.2, "Table 1 on its side", rotation=90)
    figure.savefig(tmp_path / "b.pdf")
    assert "sideways" in as_read(tmp_path / "b.pdf")[0].unread[0].why


def test_lines_closer_than_rows_are_one_row_and_what_goes_on_in_small_letters_too(tmp_path):
    texts = [(72, 40, "Table 4: Names of two lines", 9), *line(60, "Model", "P", "R")]
    texts += line(80, "Recovery,", "0.41", "0.28") + line(90, "first way")
    texts += line(108, "Recovery,", "0.57", "0.45") + line(118, "second way")
    texts += line(136, "Cosine", "0.31", "0.18")
    drawing(tmp_path / "a.pdf", texts, [(70, 240, y) for y in (48, 66, 144)])
    assert as_read(tmp_path / "a.pdf")[1] == [
        (["P", "R"], {"Recovery, first way": ["0.41", "0.28"],
                      "Recovery, second way": ["0.57", "0.45"], "Cosine": ["0.31", "0.18"]})
    ]  # fmt: skip
    texts = [(72, 40, "Table 5: Equal distances", 9), *line(60, "Model", "P", "R")]
    texts += line(80, "Weighted sums,", "0.41", "0.28") + line(92, "both ways")
    texts += line(104, "Cosine", "0.31", "0.18") + line(116, "BM25", "0.3", "0.2")
    drawing(tmp_path / "b.pdf", texts, [(70, 240, y) for y in (48, 66, 124)])
    ((_, rows),) = as_read(tmp_path / "b.pdf")[1]
    assert list(rows) == ["Weighted sums, both ways", "Cosine", "BM25"]


def test_a_caption_in_the_other_column_ends_no_table_nor_does_a_page(tmp_path):
    beside = (240, 86, "Table 2: Beside", 9)
    texts = [(40, 40, "TABLE I. Scores", 9)]
    cells = [("Set", "P", "R"), ("News", "1.5", "2.5"), ("Web", "3.5", "4.5"), ("Talk", "5", "6.5")]
    texts += [
        (40 + 50 * c, 60 + 18 * k, one, 9)
        for k, row in enumerate(cells)
        for c, one in enumerate(row)
    ]
    drawing(tmp_path / "a.pdf", [*texts, beside], [(38, 200, y) for y in (48, 66, 122)])
    expected = {"News": ["1.5", "2.5"], "Web": ["3.5", "4.5"], "Talk": ["5", "6.5"]}
    assert as_read(tmp_path / "a.pdf")[1] == [(["P", "R"], expected)]
    # Of a table that goes on on the next page no rule stands below.
    drawing(tmp_path / "b.pdf", [*texts, beside], [(38, 200, y) for y in (48, 66)])
    assert as_read(tmp_path / "b.pdf")[1] == [(["P", "R"], expected)]
    # A page may begin elsewhere than at 0.
    moved = (tmp_path / "a.pdf").read_bytes().replace(b"[ 0 0 432 432 ]", b"[ 0 9 432 441 ]")
    (tmp_path / "c.pdf").write_bytes(moved)
    assert moved != (tmp_path / "a.pdf").read_bytes()
    assert as_read(tmp_path / "c.pdf")[1] == [(["P", "R"], expected)]


def test_accents_signs_and_powers_of_other_fonts_are_parts_of_their_words(tmp_path):
    texts = [(72, 40, "Table 6: Of LaTeX", 9), *line(60, "Set", "p", "Share")]
    texts += (
        line(78, "Grun", "<10", "0,") + line(94, "B", "<10", "0,") + line(110, "C", "0.3", "0,")
    )
    texts += [(83.2, 78, "¨", 9)]  # over the u
    texts += [(210.2, y, end, 9) for y, end in ((78, "25"), (94, "50"), (110, "75"))]
    texts += [(x, y - 4, one, 6) for y in (78, 94) for x, one in ((169.5, "−"), (174.6, "15"))]
    drawing(tmp_path / "a.pdf", texts, [(70, 300, y) for y in (48, 66, 116)])
    ((heads, rows),) = as_read(tmp_path / "a.pdf")[1]
    assert heads == ["p", "Share"]
    assert rows == {
        "Grün": ["<1e-15", "0,25"], "B": ["<1e-15", "0,50"], "C": ["0.3", "0,75"],
    }  # fmt: skip
