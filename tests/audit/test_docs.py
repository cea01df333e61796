"""The worked example of docs/audit.md gives what the page says."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from memrepro.audit import __main__ as command
from memrepro.audit import audit_file
from memrepro.audit.finding import FAILS

PAGE = (Path(__file__).parents[2] / "docs" / "audit.md").read_text()


def test_the_worked_example(tmp_path):
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    path = tmp_path / "paper.yaml"
    path.write_text(example)
    found = audit_file(path).frame()
    failed = found[found["words"] == FAILS]
    rows = re.findall(r"^\| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \| (\w+) \|$", PAGE, re.M)
    said = [row for row in rows if row[4] in ("certain", "likely", "weak")]
    assert len(said) == len(failed)
    for (where, printed, expected, text, sure), one in zip(
        said, failed.to_dict("records"), strict=True
    ):
        assert (where, printed, sure) == (one["where"], one["printed"], one["sure"])
        assert expected in one["expected"]
        assert text in one["found"]


def examples():
    """The commands of the workflow and of the hook before a commit."""
    blocks = [
        yaml.safe_load(b) for b in re.findall(r"```\n(name: audit.*?|repos:.*?)```", PAGE, re.S)
    ]
    workflow, hooks = blocks
    steps = workflow[True]["jobs"] if "jobs" not in workflow else workflow["jobs"]
    runs = [step["run"] for step in steps["audit"]["steps"] if "run" in step]
    return [*runs[1:], hooks["repos"][0]["hooks"][0]["entry"]]


@pytest.mark.parametrize("line", examples())
def test_the_examples_for_a_lab_run_as_they_stand(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "paper").mkdir()
    source = tmp_path / "paper" / "main.md"
    program, name, *given = shlex.split(line)
    assert (program, name) == ("memrepro", "audit")
    arguments = command.parser().parse_args(given)
    for shown, status in (("0.4500", 0), ("0.4521", 1)):
        source.write_text(f"| Model | Acc (n=40) |\n| --- | --- |\n| A | 0.4000 |\n| B | {shown} |")
        assert command.run(arguments) == status
    if "--page" in given:
        assert "0.4521" in (tmp_path / "questions.html").read_text()


def test_help_says_what_is_installed_where_only_the_audit_is(monkeypatch, capsys):
    from memrepro.pipeline import cli

    def missing(named):
        raise ModuleNotFoundError("no dvc", name="dvc")

    monkeypatch.setattr(cli, "_parser", missing)
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    assert cli.main(["--help"]) == 0
    assert "memrepro audit" in capsys.readouterr().out
    assert cli.main(["repro", "sample"]) == 1
