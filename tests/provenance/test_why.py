"""From a cell to its run and its questions, on the toy and on committed results."""

import json

import pytest

from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.provenance import cell, links, places, tables, watched
from memrepro.report.profile import Metrics
from memrepro.report.tables import Cell


def linked(row, column, table="main"):
    one = tables.cells("sample", "toyreport", table)[row, column]
    return links.link("sample", "toyreport", table, one)


def test_a_name_is_read_and_an_unknown_one_lists_the_nearest(toy):
    name = tables.parse("toyreport:other:a: b:size")  # a row with a colon
    assert name == ("sample", "toyreport", "other", "a: b", "size")
    assert str(name) == "toyreport:other:a: b:size"
    assert tables.parse("toyreport").table == ""
    assert tables.tables("sample", "toyreport") == ["main", "other"]
    for text, message in {
        "toyrepart": r"unknown paper 'toyrepart'.* 'toyreport'",
        "toyreport:mian": r"unknown table 'mian'.* 'main'",
        "toyreport:main:row toy-c": r"unknown row 'row toy-c'.* 'row toy-[ab]'",
        "toyreport:main:row toy-a:eazy": r"unknown column 'eazy'.* 'easy'",
    }.items():
        with pytest.raises(MemreproError, match=message):
            tables.parse(text)
    with pytest.raises(MemreproError, match="unknown profile 'huge'"):
        tables.parse("toyreport", "huge")


def test_what_the_report_reads_for_a_cell_is_its_run(toy):
    found = linked("row toy-b", "all")
    assert found.way == links.READ
    assert found.places == (places.Place("toy-b", "", "session", "stated", "recall_all", 1),)
    assert linked("row toy-b", "hard").places[0].kind == "hard"


def test_a_difference_has_two_runs_the_first_read_above_all_rows(toy):
    found = linked("row toy-b", "gain")
    assert found.way == links.DIFFERENCE
    assert [place.experiment for place in found.places] == ["toy-a", "toy-b"]


def test_a_cell_for_which_nothing_was_read_is_found_by_its_value(toy):
    found = linked("toy-a with-absent", "all", "other")
    assert found.way == links.VALUE
    assert found.tried == 2  # n = 6 and recall_all@1; a sweep is evaluated at its own k alone
    (place,) = found.places
    assert (place.experiment, place.protocol) == ("toy-a", "with-absent")
    assert "no proof" in found.text


def test_a_cell_without_a_run_says_why(toy):
    assert linked("hub", "all", "other") == links.Link(links.NONE, "needs a hub")
    assert "no mean of one run" in linked("a: b", "size", "other").text


def test_a_row_that_a_run_gives_in_one_cell_alone_is_not_taken_for_it(toy):
    """0.4 over all is toy-a's, 0.9 over the hard ones is nobody's."""
    row = [Cell("r", c, "recall_all@1", "", v, n, "") for c, v, n in
           (("all", "0.4000", 5), ("hard", "0.9000", 3))]  # fmt: skip
    place = places.Place("toy-a", "", "session", "stated", "recall_all", 1)
    assert links._means([place], row[0], row[:1]) == (place,)
    assert links._means([place], row[0], row) == ()


def test_watching_leaves_the_report_as_it_was(toy):
    before = Metrics.values, Cell.__new__
    watch = watched.build("sample", "toyreport")
    assert (Metrics.values, Cell.__new__) == before
    assert set(watch.tables) == {"main", "other"}
    assert set(watched.build("sample", "toyreport", "main").tables) == {"main"}
    cells = tables.cells("sample", "toyreport", "main")
    assert Cell(*next(iter(cells.values()))).row == "row toy-a"


def test_the_report_is_watched_once_and_then_read_from_the_cache(toy, monkeypatch, capsys):
    watched.source("sample", "toyreport", "main", "row toy-a", "all")
    assert capsys.readouterr().err.count("watching") == 1
    watched._loaded.cache_clear()
    again = watched.source("sample", "toyreport", "main", "row toy-a", "all")
    assert [read[0] for read in again.reads] == ["toy-a"]
    assert capsys.readouterr().err == ""
    # The first stopped after its table; the second runs to the end.
    watched.source("sample", "toyreport", "other", "hub", "all")
    assert capsys.readouterr().err.count("its tables") == 1


def test_a_passport_by_hand(toy):
    passport = cell("sample", "toyreport", "main", "row toy-a", "all")
    assert json.loads(json.dumps(passport)) == passport
    assert (passport["reproduced"], passport["n"]) == ("0.4000", 5)
    assert passport["exclusions"] == {"was never said": 1}
    stages = [stage["stage"] for stage in passport["stages"]]
    assert stages == ["prepare@toy", "retrieve@toy-a", "evaluate@sample", "report@toy"]
    assert passport["command"] == (
        "dvc repro retrieve@toy-a && dvc repro --single-item evaluate@sample report@toy"
    )
    assert passport["stages"][1]["command"] == "python -m memrepro notebook retrieve"
    assert passport["hashes"]["code"] == {"memrepro/core": "2.dir"}
    assert list(passport["hashes"]["parameters"]) == ["params.yaml:studies.all"]
    (place,) = passport["places"]
    assert place["parameters_as_recorded"] is True
    assert place["run_as_recorded"] == "changed since"  # the toy's lock has made-up hashes
    rows = {row["query_id"]: row for row in passport["questions"]}
    assert [rows[q]["value"] for q in ("q1", "q2", "q3", "q4", "q5")] == [1, 1, 0, 0, 0]
    assert rows["q1"]["shift"] == pytest.approx((0.4 - 1) / 4)
    assert rows["q3"]["gold"] == [{"part": 0, "doc_id": "d3", "rank": 3, "gap": 0.2}]
    # Of those that weigh most the gold nearest to the cut-off comes first, then the id.
    weigh = [row["query_id"] for row in passport["most_influential"]]
    assert weigh == ["q1", "q2", "q5", "q3", "q4"]
    rival = passport["rival"]
    assert rival["row"] == "row toy-b"
    assert [rival["difference"][key] for key in ("won", "lost", "tied")] == [1, 2, 2]
    short = cell("sample", "toyreport", "main", "row toy-a", "all", tell="most_influential")
    assert short == passport | {"questions": []}
    least = cell("sample", "toyreport", "main", "row toy-a", "all", tell="none")
    assert least == passport | {"questions": [], "most_influential": [], "rival": None}


def test_no_text_of_a_data_set_is_in_a_passport(toy):
    text = json.dumps(cell("sample", "toyreport", "main", "row toy-b", "gain"))
    assert "where is" not in text
    assert "<b>" not in text


def test_leaving_a_question_out_shifts_the_mean_by_its_shift(toy):
    passport = cell("sample", "toyreport", "main", "row toy-b", "all")
    rows = passport["questions"]
    mean = sum(row["value"] for row in rows) / len(rows)
    for row in rows:
        rest = [other["value"] for other in rows if other is not row]
        assert sum(rest) / len(rest) - mean == pytest.approx(row["shift"], abs=1e-6)


def test_a_run_without_a_stage_says_so(toy):
    passport = cell("sample", "toyreport", "main", "row toy-b", "all")
    assert passport["without_stage"] == ["toy-b"]
    assert passport["places"][0]["run_as_recorded"] == "not recorded"


COMMITTED = [
    ("rfmem", "table2", "mpnet Famili.", "R@5 Overall", "rfmem-mpnet-familiarity", ""),
    ("rfmem", "table2", "mpnet Recol.", "R@5 Pref Hard", "rfmem-mpnet-recollection-k5", ""),
    ("maxsim", "locomo-minilm_keyings", "mixture α = 0.7", "overall R@10",
     "locomo-minilm-by-alpha", "0.7"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "table", "row", "column", "experiment", "setting"), COMMITTED)
def test_cells_of_the_committed_results(committed, paper, table, row, column, experiment, setting):
    passport = cell("open", paper, table, row, column)
    assert passport["link"]["way"] == links.READ
    (place,) = passport["places"]
    assert (place["experiment"], place["setting"]) == (experiment, setting)
    values = [question["value"] for question in passport["questions"]]
    assert len(values) == passport["n"]
    assert f"{sum(values) / len(values):.4f}" == passport["reproduced"]
    # What a question scored follows from where its gold stands.
    for question in passport["questions"]:
        found = any(g["rank"] is not None and g["rank"] <= place["k"] for g in question["gold"])
        assert found == (question["value"] > 0) or place["metric"] == "recall_all"
    assert passport["rival"]["row"] != row


@pytest.mark.slow
def test_an_associa_cell_of_the_committed_results(committed):
    """The row is found by its value, without watching the report for a minute."""
    if not (paths.results("open") / "associa" / "locomo-minilm_protocols.csv").is_file():
        pytest.skip("Associa's tables are not here")
    known = tables.cells("open", "associa", "locomo-minilm_table1_here")
    one = known["Associa, max_iter = 1", "recall_all@5"]
    siblings = [c for c in known.values() if (c.row, c.metric) == (one.row, one.metric)]
    found = links._search("open", one, siblings)
    assert "locomo-minilm-associa" in {place.experiment for place in found.places}


@pytest.mark.slow
def test_a_gated_row_is_not_taken_for_a_run_that_it_equals_in_one_column(committed):
    """`table2_gated_closest` mixes two runs question by question, and Social equals familiarity."""
    row = "mpnet RF-Mem, θ of the paper (0.6, 0.0)"
    one = tables.cells("open", "rfmem", "table2_gated_closest")[row, "R@5 Social"]
    found = links.link("open", "rfmem", "table2_gated_closest", one)
    assert found.way == links.COMPUTED
    assert {place.experiment for place in found.places} == {
        "rfmem-mpnet-familiarity", "rfmem-mpnet-recollection-k5",
    }  # fmt: skip
