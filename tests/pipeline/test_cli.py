"""The command line: help, tables, JSON, and exit codes."""

import json
import os
import subprocess
import sys
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

    def run(command, *, env, **_):
        asked.append((command[-2:], env["MEMREPRO_CLUSTER"]))
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(cli.subprocess, "run", run)
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
    stage = ["repro", "verify@sample"]
    addresses = ["head:6379", "", "named:6379", "head:6379"]
    assert asked == [(stage, address) for address in addresses]


@pytest.mark.parametrize("command", [["datasets"], ["experiments", "--json"]])
def test_an_output_that_cannot_be_written_is_one_sentence(command):
    """/dev/full answers every write with ENOSPC; most of it is written as the process ends."""
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "memrepro", *command],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert ran.returncode == 1
    assert ran.stderr == (
        "memrepro: the output was not written (No space left on device): write it elsewhere\n"
    )


def test_what_a_terminal_cannot_show_is_its_escape():
    code = (
        "from memrepro.pipeline.printing import plain_output\n"
        "with plain_output():\n    print('é − \\x1b[31m \\udcff')"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert ran.stdout == "\\xe9 \\u2212 \\x1b[31m \\udcff\n"
