"""Sentences get their numbers from tables; a placeholder that names nothing is an error."""

import json
import re

import pandas as pd
import pytest

from memrepro.audit import coverage
from memrepro.audit.documents import documents
from memrepro.audit.verdicts import NOT_RUN
from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import Comparison
from memrepro.files import paths
from memrepro.files.atomic import root, write_table
from memrepro.report import narrative
from memrepro.report.narrative import Values
from memrepro.report.tables import Cell, write_cells
from memrepro.study.params import load_plan

TOLD = [
    (paper, profile)
    for paper in [*narrative.documents(), "audit"]
    for profile in narrative.read_entries(paper)["profiles"]
    if paper in load_plan().reports[profile]
]
# What may stand as digits in a sentence: cut-offs, places in a document, names, sizes as printed.
PRINTED = re.compile(
    r"""\{[^{}]*\} | `[^`]*` | \w+@\d+ | §[\d.]+ | ICLR\ 2026 | 95\ % | K\ =\ \d+ |
    (Table|Figure|Equation)s?\ \d+((,|,?\ and|,?\ or|\ to)\ \d+)* | Stella\ 1.5B | A100 |
    α\ =\ 0\.5 | 6\.8\ %\ to\ 11\.3\ % | up\ to\ 0\.0238 | nomic-embed-text-v1\.5 | 16-bit |
    bfloat16 |
    GPT-4o | \+0\.018 | \.5\ is\ chance | 0\.7\ dense\ and\ 0\.3\ BM25 | 0\.01\ an\ hour |
    all-MiniLM-L6-v2 | all-mpnet-base-v2 | multi-qa-MiniLM | Qwen2.5-3B | BGE-M3 |
    BM25 | E5 | n\ \+\ 1 | 95th\ percentile | F1(\ ≥\ 0\.5)? | gpt-4[\w.-]+ | E\.\d |
    (\d+,\ )*(\d+\ and\ )?[\d,]+\ (days?|tokens|questions) | after\ \d+ | 6\.8\ %""",
    re.VERBOSE,
)


def gain(row, *numbers):
    """A cell that is a comparison: difference, ends of its interval, p."""
    found = Comparison(*numbers, 5, 4, 11, 20, 10, "conversation")
    return Cell(row, "gain", "recall@5", "", "", 20, "", comparison=found)


_TWO = "2 reproduced by a run (2 exact, 0 within tolerance, 0 at a setting picked to match)"


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The tables of one report, in a project of their own."""
    for name in ("params.yaml", "dvc.yaml"):
        (tmp_path / name).write_text("{}")
    monkeypatch.chdir(tmp_path)
    cells = [
        Cell("a less b", "R@5", "recall@5", "0.5", "0.4812", 1979, "not reproduced", "by 0.02"),
        gain("a less b", 0.01, 0.002, 0.03, 0.002),
        gain("c", -0.01, -0.03, -0.002, 0.031),
        gain("d", -0.0001, -0.03, 0.0, 0.002),
        gain("e", 0.0085, 0.0017, 0.017, 0.0625),
        Cell("d", "verdict", "claim", "", "does not hold here: it hangs", 7, ""),
    ]
    folder = paths.results("open") / "toy"
    write_cells(cells, folder, "one")
    n = dict.fromkeys(coverage.OUTCOMES, 0) | {coverage.RUN_EXACT: 2, NOT_RUN: 3}
    rows = [(name, outcome, count) for name in ("toy", "all") for outcome, count in n.items()]
    listed = pd.DataFrame(rows, columns=["document", "outcome", "n"])
    write_table(paths.results("open") / "audit" / "counts.csv", listed)
    return Values("open", "toy")


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{one | a less b | R@5}", "0.4812"),
        ("{toy/one | a less b | R@5 | n}", "1,979"),
        (
            "{one | a less b | R@5 | verdict}, {one | a less b | R@5 | term}",
            "not reproduced, by 0.02",
        ),
        (
            "{one | a less b | gain | effect}",
            "+0.0100 [+0.0020, +0.0300 by 10 conversations] (a gain)",
        ),
        ("{one | c | gain | effect}", "−0.0100 [−0.0300, −0.0020 by 10 conversations] (a loss)"),
        ("{one | d | gain}", "−0.0001 [−0.0300, +0.0000 by 10 conversations]"),
        # The interval leaves out 0, and the test does not bear it.
        (
            "{one | e | gain | effect}",
            "+0.0085 [+0.0017, +0.0170 by 10 conversations] (no clear change, p = 0.062)",
        ),
        ("{one | c | gain | won} won, {one | c | gain | lost} lost", "5 won, 4 lost"),
        ("{count: one | column=verdict | reproduced=does not hold…}", "1"),
        ("{count: one | column=gain | row!=a…}", "3"),
        ("{rows: one | column=gain | row!=a…}", "c; d; e"),
        ("{rows: one | column=mood}", "none"),
        ("{outcomes: toy}", f"5 numbers: {_TWO}; 3 not run"),
    ],
)
def test_a_placeholder_is_filled_from_its_cell(toy, text, filled):
    assert toy.fill(text) == filled


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{two | a | b}", "{two | …} names no table"),
        ("{one | z | R@5}", "{one | z | R@5} names no cell: the table has no row 'z'"),
        ("{one | c | gain | mood}", "then one of value, percent"),
        ("{one | d | verdict | effect}", "names a cell that has nothing there"),
        ("{count: one | colour=red}", "the fields of the table are row, column"),
        ("{audit/counts | toy | exact}", "'audit/counts' is a list"),
    ],
)
def test_one_that_names_nothing_is_an_error_that_names_it(toy, text, words):
    with pytest.raises(MemreproError) as error:
        toy.fill(text)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("holds", "so"),
    [
        (["a > b", "one | a less b | R@5", "one | d | gain"], True),
        (["a > b", "one | d | gain", "one | a less b | R@5"], False),
        (["a < b", "curve | 0.1, x; 0.2, x | value", "curve | 0.2, x; 0.3, x | value"], False),
        (["a > b", "curve | 0.1, x; 0.3, x | value", "curve | 0.2, x | value"], True),
    ],
)
def test_a_sentence_whose_conditions_do_not_hold_says_so(toy, holds, so):
    lines = [(0.1, "x", 3.0), (0.1, "y", 3.0), (0.2, "x", 1.0), (0.3, "x", 2.0)]
    data = pd.DataFrame(lines, columns=["rate", "metric", "value"])
    write_table(paths.results("open") / "toy" / "curve.csv", data)
    text = toy.sentence({"says": "It falls to {one | a less b | R@5}.", "holds": [holds]})
    assert text == "It falls to 0.4812." + f" {narrative.NOT_SO}" * (not so)


def test_a_condition_that_names_nothing_is_an_error(toy):
    with pytest.raises(MemreproError, match="names no cell"):
        toy.holds(["a > 0", "one | z | R@5"])


@pytest.mark.parametrize("paper", documents())
def test_every_figure_of_a_document_is_made_or_has_a_reason(paper):
    figures = narrative.read_entries(paper).get("figures", {})
    assert list(figures) == list(range(1, len(figures) + 1))
    for entry in figures.values():
        ((kind, text),) = entry.items()
        made = paths.results("open") / paper / f"{text}.csv"
        assert kind == "why" or made.is_file()
    told = " ".join(narrative.not_made(figures))
    assert all(str(n) in told for n, entry in figures.items() if "why" in entry)


def entries_of(paper):
    """Every sentence of a narrative that its pages may say of values, with its conditions."""
    told = narrative.read_entries(paper)
    for part in [told, *told["profiles"].values()]:
        for name in ("found", "headlines", "differs", "cite", "not_cite"):
            for one in part.get(name, ()):
                yield {"says": one} if isinstance(one, str) else one


def sentences(paper):
    """Every sentence of a narrative, unfilled."""
    told = narrative.read_entries(paper)
    yield from (entry["says"] for entry in entries_of(paper))
    yield from (part.get("counts", "") for part in told["profiles"].values())
    yield told["question"]
    yield told["method"]


@pytest.mark.parametrize("paper", dict.fromkeys(paper for paper, _ in TOLD))
def test_no_number_is_typed(paper):
    for sentence in sentences(paper):
        left = PRINTED.sub("", " ".join(sentence.split()))
        assert not re.search(r"\d", left), left
    for part in ("differs", "cite", "not_cite"):  # said under every profile
        assert not [text for text in narrative.read_entries(paper)[part] if "{" in text]


@pytest.mark.parametrize(("paper", "profile"), TOLD)
def test_a_report_says_what_was_found_in_a_page(paper, profile, monkeypatch):
    told = narrative.read_narrative(paper, profile)  # each placeholder names a cell
    monkeypatch.setattr(narrative, "read_narrative", lambda *_: told)  # of which the page is made
    assert not [text for text in told.found if narrative.NOT_SO in text]  # each condition holds
    assert not [
        text for text in told.found if set(re.findall(r"[\w.-]+", text)) & set(load_plan().runs)
    ]
    assert 5 <= len(told.found) <= 12
    shown, _, folded = narrative.found(paper, profile).data.partition("<details>")
    if narrative.read_entries(paper)["profiles"][profile].get("headlines"):
        assert [text for text in told.found if text in folded] == told.found
        assert shown.count("\n- ") == 6
    else:
        assert [text for text in told.found if text in shown] == told.found
    assert told.cite
    assert told.not_cite
    assert told.differs


@pytest.mark.parametrize("paper", dict.fromkeys(paper for paper, _ in TOLD))
def test_the_notebook_says_what_is_computed_of_its_own_report(paper):
    cells = json.loads((root() / "notebooks" / f"{paper}.ipynb").read_text("utf-8"))["cells"]
    calls = re.findall(
        r"narrative\.(\w+)\(\"(\w+)\"", "\n".join("".join(c["source"]) for c in cells)
    )
    assert calls[0] == ("opening", paper)
    assert calls[-1] == ("provenance", paper)
    assert sorted(calls[1:-1]) == [("closing", paper), ("found", paper)]


def test_a_text_says_what_was_resampled_where_it_changes():
    text = "a [+0.1, +0.2 by 10 persons], b [-0.1, +0.3 by 10 persons], c [+0.1, +0.2 by 9 talks]"
    assert narrative._each_unit_once(text) == (
        "a [+0.1, +0.2 by 10 persons], b [-0.1, +0.3], c [+0.1, +0.2 by 9 talks]"
    )
    assert narrative._each_unit_once("[1] by 2 by [3]") == "[1] by 2 by [3]"
