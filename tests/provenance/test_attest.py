"""Attestations: what they hold, and when two of them agree."""

import copy

import pytest

from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import write_json
from memrepro.provenance import attest, verify
from memrepro.report.tables import Cell, write_cells


@pytest.fixture
def found(toy):
    folder = paths.results("sample") / "toyreport"
    cells = [
        Cell("r", "time", "time", "8ms", "9ms", 1, "not comparable"),
        Cell("r", "recall", "recall@5", "0.5", "0.5", 1, "exact"),
    ]
    write_cells(cells, folder, "timed")
    return attest.attest()


def changed(found, name, **digests):
    other = copy.deepcopy(found)
    other["digests"]["sample"][name] |= digests
    return other


def states(first, second):
    table = attest.files(first, second)
    return {row.file: row.state for row in table.itertuples() if row.state != attest.SAME_BYTES}


def test_the_digests_are_those_of_verify(found):
    ours = {k: {n: d for n, d in v.items() if n != "unmeasured"}
            for k, v in found["digests"]["sample"].items()}  # fmt: skip
    assert ours == verify.manifest("sample")


def test_one_agrees_with_itself_and_not_with_other_values(found):
    assert attest.agree(found, found)
    other = changed(found, "evaluation/exclusions.csv", bytes="x", values="y")
    assert states(found, other) == {"evaluation/exclusions.csv": attest.DIFFERS}
    assert not attest.agree(found, other)


def test_other_bytes_of_the_same_values_agree(found):
    other = changed(found, "evaluation/exclusions.csv", bytes="x")
    assert states(found, other) == {"evaluation/exclusions.csv": attest.SAME_VALUES}
    assert attest.agree(found, other)
    other = changed(found, "toyreport/main.md", bytes="x")
    assert states(found, other) == {"toyreport/main.md": attest.BYTES}


def test_a_table_that_differs_in_its_times_alone_is_a_measurement(found):
    other = changed(found, "toyreport/timed.csv", bytes="x", values="y")
    assert states(found, other) == {"toyreport/timed.csv": attest.MEASURED}
    assert attest.agree(found, other)
    other = changed(found, "toyreport/timed.csv", bytes="x", values="y", unmeasured="z")
    assert not attest.agree(found, other)
    assert attest.state("latency/x.csv", {"bytes": "1"}, {"bytes": "2"}) == attest.MEASURED


def test_a_missing_file_and_another_verdict_disagree(found):
    other = copy.deepcopy(found)
    del other["digests"]["sample"]["evaluation/exclusions.csv"]
    assert states(found, other) == {"evaluation/exclusions.csv": attest.ONLY_FIRST}
    assert not attest.agree(found, other)
    other = copy.deepcopy(found)
    other["verdicts"]["sample"]["toyreport"]["exact"] += 1
    rows = attest.verdict_changes(found, other).to_dict("records")
    assert [row["verdict"] for row in rows] == ["exact"]
    assert not attest.agree(found, other)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda f: f.update(digests=[]), "digests"),
        (lambda f: f["digests"].update(sample={"a.csv": {}}), "digests.sample.a.csv.bytes"),
        (lambda f: f["verdicts"].update(sample={"p": {"exact": "1"}}), "verdicts.sample.p.exact"),
        (lambda f: f.update(host="here"), "host"),
    ],
)
def test_wrong_insides_of_an_attestation_are_named(tmp_path, change, place):
    whole = {
        "environment": {"python": "3.11", "packages": {"numpy": "2"}}, "git": {"commit": "a"},
        "verdicts": {"sample": {"p": {"exact": 1}}},
        "digests": {"sample": {"a.csv": {"bytes": "0"}}},
    }  # fmt: skip
    write_json(tmp_path / "x.json", whole)
    assert attest.read(tmp_path / "x.json") == whole
    change(whole)
    write_json(tmp_path / "x.json", whole)
    with pytest.raises(MemreproError, match=f"is no attestation: {place}: "):
        attest.read(tmp_path / "x.json")
