"""The command line: help, tables, JSON, and exit codes."""

import json
from dataclasses import replace

import pytest

from memrepro.pipeline import cli
from memrepro.study import params


def test_datasets_as_table_and_json(capsys, monkeypatch):
    monkeypatch.delenv("MEMREPRO_MIRROR", raising=False)
    assert cli.main(["datasets"]) == 0
    assert "CC BY-NC-SA 4.0" in capsys.readouterr().out
    assert cli.main(["datasets", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    (noise,) = (row for row in rows if row["data set"] == "personabench-n05")
    assert noise["edition"] == "noise-0.5"
    assert noise["files in the mirror"] == "0 of 10"


def test_an_error_is_one_sentence_and_status_one(capsys):
    assert cli.main(["notebook", "retrieve", "-p", "experiment", "--output", "x.ipynb"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "memrepro: -p experiment: a parameter is given as name=value\n"


def test_unknown_command_and_profile():
    for arguments in (["reproduce"], ["repro", "huge"], []):
        with pytest.raises(SystemExit) as stop:
            cli.main(arguments)
        assert stop.value.code == 2


def test_repro_hands_the_cluster_s_address_to_its_stages(monkeypatch, capsys):
    pytest.importorskip("ray", reason="the extra cluster is not installed")
    asked = []

    def repro(stage, environment):
        asked.append((stage, environment["MEMREPRO_CLUSTER"]))
        return 1

    monkeypatch.setattr("memrepro.pipeline.dvc.repro", repro)
    monkeypatch.delenv("MEMREPRO_CLUSTER", raising=False)
    # One that does not answer: nothing is begun.
    assert cli.main(["repro", "sample", "--cluster", "127.0.0.1:1"]) == 1
    assert "the cluster '127.0.0.1:1' does not answer" in capsys.readouterr().err
    assert not asked
    monkeypatch.setattr("memrepro.cluster.workers.check", lambda address: None)
    cli.main(["repro", "sample", "--cluster", "head:6379"])
    cli.main(["repro", "sample"])
    named = replace(params.load_plan(), cluster="named:6379")
    monkeypatch.setattr(params, "load_plan", lambda: named)
    cli.main(["repro", "sample"])
    cli.main(["repro", "sample", "--cluster", "head:6379"])
    addresses = ["head:6379", "", "named:6379", "head:6379"]
    assert asked == [("verify@sample", address) for address in addresses]
