"""The page for people who build on the memory: each block of Python runs, in order."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "memory.md"


@pytest.mark.slow
def test_every_block_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 8
    names: dict = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert (tmp_path / "ann.json").is_file()


def test_every_command_of_the_page_is_one(capsys):
    import argparse
    import shlex

    from memrepro.memory.command import add_commands

    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers().add_parser("memory"))
    lines = re.findall(r"memrepro (memory [^\n;]+)", "\n".join(
        re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    ))  # fmt: skip
    assert len(lines) >= 8
    for line in lines:
        assert parser.parse_args(shlex.split(line)).command == shlex.split(line)[1]
