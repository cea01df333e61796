"""The command line: help, tables, JSON, and exit codes."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from unittest.mock import MagicMock, Mock

import pandas as pd
import pytest

from memrepro.errors import MemreproError
from memrepro.pipeline import cli, dvc
from memrepro.pipeline.printing import print_table
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


def test_what_is_no_number_is_null_in_json_and_empty_for_people(capsys):
    print_table(pd.DataFrame({"low": [float("nan"), 0.5], "n": [3, 4]}))
    assert capsys.readouterr().out.splitlines()[2:] == ["|       | 3   |", "| 0.5   | 4   |"]
    print_table(pd.DataFrame({"low": [float("nan")], "least": [float("inf")], "n": [3]}), True)
    said = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert said == [{"low": None, "least": None, "n": 3}]


@pytest.mark.parametrize("command", ["audit NAME", "score NAME --qrels NAME", "try NAME"])
def test_a_name_that_no_file_system_takes_is_one_sentence(command, capsys):
    assert cli.main(command.replace("NAME", "x" * 5_000 + ".csv").split()) in (1, 2)
    said = capsys.readouterr().err
    assert said.startswith("memrepro: x")
    assert "File name too long" in said
    assert said.count("\n") == 1
    assert len(said) < 400


@pytest.mark.parametrize("scale", ["0", "2", "1/0", "small"])
def test_a_rehearsals_scale_is_refused_before_anything_is_cloned(scale, tmp_path, capsys):
    assert cli.main(["rehearse", "--scale", scale, "--folder", str(tmp_path / "new")]) == 1
    assert f"--scale is '{scale}': give a number above 0" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_notebook_is_not_written_over_a_file_of_ones_own(tmp_path, capsys):
    (tmp_path / "notes.md").write_text("mine")
    assert cli.main(["notebook", "explore", "--output", str(tmp_path / "notes.md")]) == 1
    assert "notes.md holds something else: name a new file" in capsys.readouterr().err
    assert (tmp_path / "notes.md").read_text() == "mine"


def test_a_score_without_gold_says_what_to_name(capsys):
    assert cli.main(["score", "mine.trec"]) == 1
    assert capsys.readouterr().err.startswith("memrepro: no gold: name a data set by --dataset")


def test_a_name_in_no_unicode_is_one_sentence(tmp_path, capsys):
    lines = {
        "chats.jsonl": '{"id": "m1", "text": "A cat."}',
        "q.jsonl": '{"question": "Which?", "gold": ["m1"]}',
    }
    for name, line in lines.items():
        (tmp_path / name).write_text(line)
    named = tmp_path / "caf\udce9"  # as a name in Latin-1 comes to Python
    given = [str(tmp_path / "chats.jsonl"), "--questions", str(tmp_path / "q.jsonl")]
    assert cli.main(["try", *given, "--methods", "BM25", "--out", str(named)]) == 1
    assert "names a file in no valid Unicode: rename it\n" in capsys.readouterr().err


def test_unknown_command_and_profile():
    for arguments in (["reproduce"], ["repro", "huge"], []):
        with pytest.raises(SystemExit) as stop:
            cli.main(arguments)
        assert stop.value.code == 2


def test_repro_hands_the_cluster_s_address_to_its_stages(monkeypatch):
    asked = []

    def repro(stage, environment):
        asked.append((stage, environment["MEMREPRO_CLUSTER"]))
        return 1

    monkeypatch.setattr("memrepro.pipeline.dvc.repro", repro)
    monkeypatch.setattr("memrepro.study.embedding.write_keys", lambda plan: None)  # takes seconds
    monkeypatch.setattr(
        "memrepro.pipeline.commands_repro._encoders_ahead", lambda *_: nullcontext()
    )
    monkeypatch.delenv("MEMREPRO_CLUSTER", raising=False)
    check = "memrepro.cluster.workers.check"  # which tests/cluster asks of a real Ray
    with monkeypatch.context() as patch:  # of one that does not answer: nothing is begun
        patch.setattr(check, Mock(side_effect=MemreproError("it does not answer")))
        assert cli.main(["repro", "sample", "--cluster", "127.0.0.1:1"]) == 1
    assert not asked
    monkeypatch.setattr(check, lambda address: None)
    cli.main(["repro", "sample", "--cluster", "head:6379"])
    cli.main(["repro", "sample"])
    named = replace(params.load_plan(), cluster="named:6379")
    monkeypatch.setattr(params, "load_plan", lambda: named)
    cli.main(["repro", "sample"])
    cli.main(["repro", "sample", "--cluster", "head:6379"])
    addresses = ["head:6379", "", "named:6379", "head:6379"]
    assert asked == [("verify@sample", address) for address in addresses]


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository whose DVC says that it has begun, and waits as long as there is a `wait`."""
    for name in ("params.yaml", "dvc.yaml", "dvc/__init__.py", ".git/HEAD"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "dvc/__main__.py").write_text(
        "import os, pathlib, time\n"
        "pathlib.Path('begun').write_text(str(os.getpid()))\n"
        "while os.path.exists('wait'): time.sleep(0.05)\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("profile", "there", "ahead"),
    [("sample", False, ["all-minilm-l6-v2"]), ("sample", True, []), ("open", False, [])],
)
def test_the_sample_s_encoder_is_loaded_beside_its_first_stages(
    profile, there, ahead, monkeypatch, tmp_path
):
    """Not where vectors are there, nor in profiles of hours; a stage's fault ends the loading."""
    from memrepro.pipeline import commands_repro

    started = MagicMock()
    monkeypatch.setattr(commands_repro.subprocess, "Popen", started)
    monkeypatch.setattr(
        "memrepro.files.paths.vectors", lambda *_: tmp_path / ("" if there else "x")
    )
    with pytest.raises(MemreproError), commands_repro._encoders_ahead(params.load_plan(), profile):
        raise MemreproError("a stage failed")
    assert [name for call in started.call_args_list for name in call.args[0][3:]] == ahead
    assert started.return_value.__enter__.return_value.terminate.called == bool(ahead)


def test_a_second_front_end_and_an_orphaned_dvc_are_named(checkout):
    (checkout / "wait").touch()
    code = "import os; from memrepro.pipeline import dvc; dvc.repro('all', os.environ)"
    path = dict(os.environ, PYTHONPATH=str(Path(cli.__file__).parents[2]))
    front = subprocess.Popen([sys.executable, "-c", code], env=path)
    try:
        while not (begun := checkout / "begun").is_file() or not begun.read_text():
            assert front.poll() is None
            time.sleep(0.05)
        pid = int(begun.read_text())
        with pytest.raises(MemreproError, match=rf"process {front.pid} and the process {pid}: "):
            dvc.repro("all", os.environ)
        front.send_signal(signal.SIGKILL)
        front.wait()
        # What it started goes on, and is found without it.
        with pytest.raises(MemreproError, match=rf"run by the process {pid}: .*\(kill {pid}\)"):
            dvc.repro("all", os.environ)
    finally:
        (checkout / "wait").unlink()
        front.kill()
    for _ in range(2400):
        if not dvc._runs(pid):
            break
        time.sleep(0.05)
    assert dvc.repro("all", os.environ) == 0


@pytest.mark.parametrize(
    ("held", "kept"),
    [
        # A process that lives, and is no DVC: the number was given anew.
        (json.dumps({"write": {"a": {"pid": 1, "cmd": "dvc repro"}}}), False),
        (json.dumps({"read": {"a": [{"pid": os.getpid(), "cmd": "dvc repro"}]}}), True),
        ('{"write": {"a', False),
    ],
    ids=["another's number", "at work", "half a file"],
)
def test_what_a_killed_dvc_left_is_swept_and_no_more(checkout, monkeypatch, held, kept):
    monkeypatch.setattr(dvc, "_runs_dvc", lambda pid: pid == os.getpid())
    (checkout / ".dvc/tmp").mkdir(parents=True)
    (checkout / ".dvc/tmp/rwlock").write_text(held)
    assert dvc.repro("all", os.environ) == 0
    assert (checkout / ".dvc/tmp/rwlock").exists() == kept


def test_an_archive_without_git_says_what_runs_in_it(checkout):
    (checkout / ".git/HEAD").unlink()
    (checkout / ".git").rmdir()
    with pytest.raises(MemreproError, match=r"DVC runs stages in one alone: run `git init` there"):
        dvc.repro("all", os.environ)


@pytest.mark.parametrize(
    ("command", "unbuffered"),
    [(["datasets"], ""), (["experiments", "--json"], "1"), (["--help"], "1")],
)
def test_an_output_that_cannot_be_written_is_one_sentence(command, unbuffered):
    """/dev/full answers every write with ENOSPC; most of it is written as the process ends."""
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "memrepro", *command],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    assert ran.returncode == 1
    assert ran.stderr == (
        "memrepro: the output was not written (No space left on device): write it elsewhere\n"
    )


def test_a_closed_output_is_one_sentence():
    command = f"{shlex.quote(sys.executable)} -m memrepro datasets >&-"
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr == "memrepro: the output was not written (it is closed): write it elsewhere\n"


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


def test_help_lists_every_command_in_one_group():
    listed = [name for names in cli._GROUPS.values() for name in names]
    (commands,) = (one for one in cli._parser()._actions if one.choices)
    assert sorted(listed) == sorted(commands.choices)


def test_stages_side_by_side_end_with_the_first_error(capfd):
    known = "known are sample, open, full"
    assert cli.main(["stages", "evaluate huge", "report tiered huge", "verify huge"]) == 1
    assert f"unknown profile 'huge': {known}" in capfd.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["stages", "evaluate sample --nope"])
