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
