"""From a cell to its run and its questions, on the toy and on committed results."""

import json
from dataclasses import replace

import pytest
import yaml

from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table, write_table
from memrepro.provenance import links, places, tables
from memrepro.provenance.unrun import would_run
from memrepro.provenance.why import cell
from tests.provenance.conftest import forget


def linked(row, column, table="main"):
    return links.link(tables.cells("sample", "toyreport", table)[row, column])


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


def test_a_cell_of_one_run_is_the_mean_of_its_values(toy):
    found = linked("row toy-b", "all")
    assert found.relation == links.MEAN
    assert found.places == (places.Place("toy-b", "", "session", "stated", "recall_all", 1),)
    assert linked("row toy-b", "hard").relation == links.MEAN
    assert linked("row toy-b", "hard").places[0].kind == "hard"


def test_a_difference_has_the_run_before_and_the_run_after(toy):
    found = linked("row toy-b", "gain")
    assert found.relation == links.DIFFERENCE
    assert [place.experiment for place in found.places] == ["toy-a", "toy-b"]
    cell = tables.cells("sample", "toyreport", "main")["row toy-b", "gain"]
    other = cell._replace(comparison=replace(cell.comparison, won=3))
    assert links.link(other).relation == links.COMPUTED


def test_a_number_that_its_run_does_not_give_is_told(toy):
    found = linked("wrong", "all", "other")
    assert found.relation == links.DISAGREES
    assert "mean 0.4000 over 5 questions" in found.text


def test_a_run_whose_ids_are_numbers_is_told_in_one_sentence(toy):
    path = paths.run("sample", "toy-b", "all")
    write_table(path, read_table(path).assign(doc_id=range(18)))
    paths.metrics("sample").unlink()
    forget()
    found = linked("row toy-b", "all")
    assert found.relation == links.COMPUTED
    assert f"{path}: the column doc_id holds int64, and ids must be texts" in found.text


def test_a_cell_that_is_computed_names_its_runs_or_files(toy):
    mixed = linked("mixed", "all", "other")
    assert mixed.relation == links.COMPUTED
    assert [place.experiment for place in mixed.places] == ["toy-a", "toy-b"]
    counted = linked("left out", "n", "other")
    assert (counted.relation, counted.files) == (links.COMPUTED, ("evaluation/exclusions.csv",))
    told = cell("sample", "toyreport", "other", "left out", "n")
    (file,) = told["files"]
    assert (file["path"], file["stage"]) == (
        "results/sample/evaluation/exclusions.csv",
        "evaluate@sample",
    )
    assert [one["stage"] for one in told["stages"]] == ["evaluate@sample", "report@toy"]


@pytest.mark.parametrize("text", ["run nobody[] session recall_all@1", "a guess",
                                  "run toy-a[0.5] session recall_all@1"])  # fmt: skip
def test_a_source_that_is_not_there_is_an_error(toy, text):
    one = tables.cells("sample", "toyreport", "main")["row toy-a", "all"]
    with pytest.raises(MemreproError, match="nobody|a guess|has the settings ''"):
        links.link(one._replace(sources=text))


def test_the_provenance_of_a_cell_by_hand(toy):
    told = cell("sample", "toyreport", "main", "row toy-a", "all")
    assert json.loads(json.dumps(told)) == told
    assert (told["reproduced"], told["n"]) == ("0.4000", 5)
    assert told["exclusions"] == {"was never said": 1}
    stages = [stage["stage"] for stage in told["stages"]]
    assert stages == ["prepare@toy", "retrieve@toy-a", "evaluate@sample", "report@toy"]
    assert told["command"] == (
        "dvc repro retrieve@toy-a && dvc repro --single-item evaluate@sample report@toy"
    )
    assert told["stages"][1]["command"] == "python -m memrepro notebook retrieve"
    assert told["hashes"]["code"] == {"memrepro/core": "2.dir"}
    assert list(told["hashes"]["parameters"]) == ["params.yaml:studies.all"]
    (place,) = told["places"]
    assert place["parameters_as_recorded"] is True
    assert place["run_as_recorded"] == "changed since"  # the toy's lock has made-up hashes
    rows = {row["query_id"]: row for row in told["questions"]}
    assert [rows[q]["value"] for q in ("q1", "q2", "q3", "q4", "q5")] == [1, 1, 0, 0, 0]
    assert rows["q1"]["shift"] == pytest.approx((0.4 - 1) / 4)
    assert rows["q3"]["gold"] == [{"part": 0, "doc_id": "d3", "rank": 3, "gap": 0.2}]
    # Of the most influential the gold nearest to the cut-off comes first, then the id.
    weigh = [row["query_id"] for row in told["most_influential"]]
    assert weigh == ["q1", "q2", "q5", "q3", "q4"]
    rival = told["rival"]
    assert rival["row"] == "row toy-b"
    assert [rival["difference"][key] for key in ("won", "lost", "tied")] == [1, 2, 2]


def test_a_small_number_is_as_recorded_though_dvc_writes_it_without_a_point(toy):
    (toy / "params.yaml").write_text("studies: {all: {k: 3, rates: [0.00001, {r: 1.0e-05}]}}")
    lock = toy / "dvc.lock"
    lock.write_text(lock.read_text().replace("k: 3", "k: 3\n          rates: [1e-05, {r: 1e-05}]"))
    (place,) = cell("sample", "toyreport", "main", "row toy-a", "all")["places"]
    assert place["parameters_as_recorded"] is True
    lock.write_text(lock.read_text().replace("1e-05", "1e-04"))
    (place,) = cell("sample", "toyreport", "main", "row toy-a", "all")["places"]
    assert place["parameters_as_recorded"] is False


@pytest.mark.parametrize(
    ("edited", "what"),
    [(lambda raw: raw + b"\xff", "a table"), (lambda raw: raw.replace(b",5,", b",many,"), "cells")],
)
def test_a_damaged_table_is_named(toy, edited, what):
    path = tables.path_of("sample", "toyreport", "main")
    path.write_bytes(edited(path.read_bytes()))
    with pytest.raises(MemreproError, match=rf"main\.csv cannot be read as {what} "):
        tables.parse("toyreport:main:row toy-a:all")


def test_no_text_of_a_data_set_is_in_the_provenance_of_a_cell(toy):
    text = json.dumps(cell("sample", "toyreport", "main", "row toy-b", "gain"))
    assert "where is" not in text
    assert "<b>" not in text


def test_a_run_without_a_stage_says_so(toy):
    # toy-b lies beside toy-a: the stage of their study made both.
    assert cell("sample", "toyreport", "main", "row toy-b", "all")["without_stage"] == []
    lock = yaml.safe_load((toy / "dvc.lock").read_text())
    del lock["stages"]["retrieve@toy-a"]
    (toy / "dvc.lock").write_text(yaml.safe_dump(lock))
    told = cell("sample", "toyreport", "main", "row toy-b", "all")
    assert told["without_stage"] == ["toy-b"]
    (place,) = told["places"]
    assert place["run_as_recorded"] == "not recorded"
    assert place["parameters_as_recorded"] is None
    assert told["command"] == "dvc repro --single-item evaluate@sample report@toy"
    for damaged in ("", "stages:", "- stages", "stages: {report@toy: 3}"):
        (toy / "dvc.lock").write_text(damaged)
        with pytest.raises(MemreproError, match="dvc.lock names no stages: run `git checkout"):
            cell("sample", "toyreport", "main", "row toy-b", "all")


def test_what_would_run_a_cell_follows_from_its_reason(toy):
    name = tables.Name("sample", "toyreport", "other", "hub", "all")
    for reason, answer in {
        "profile full: the encoder comes from a model hub": "`make repro PROFILE=full`",
        "no latency of it has been measured": "`memrepro measure`",
        "toy-x is not in params.yaml": "an entry of that name in params.yaml, then `make repro "
        "PROFILE=sample`",
        "needs GPT-4o as the judge": "nothing here: it needs GPT-4o as the judge",
    }.items():
        assert would_run(name, reason) == answer
