"""docs/own-data.md as one session: each block is run, in order, in an empty folder."""

import re
import shlex
from pathlib import Path

import pytest

from memrepro.encode.models import cache_folder
from memrepro.pipeline.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "own-data.md"
BLOCK = re.compile(r"^```(\w+) ?(.*?)\n(.*?)^```$", re.M | re.S)


def fits(expected, said):
    """Whether a text is as the page has it, '…' standing for anything."""
    parts = [re.escape(part.strip("\n")) for part in expected.split("…")]
    return re.fullmatch(r"[\s\S]*?".join(parts) + r"\s*", said)


@pytest.mark.slow
def test_the_page_is_a_session(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MEMREPRO_CACHE", str(cache_folder()))
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert [kind for kind, *_ in blocks].count("sh") >= 4
    said = ""
    for kind, rest, text in blocks:
        if kind in ("jsonl", "trec"):
            Path(rest).write_text(text, encoding="utf-8")
        elif kind == "sh":
            capsys.readouterr()
            program, *arguments = shlex.split(text)
            assert program == "memrepro"
            assert main(arguments) == (1 if rest == "fails" else 0)
            said = capsys.readouterr().out
        elif kind == "text":
            assert fits(text, said), said
        else:
            assert kind == "python"
            exec(compile(text, str(PAGE), "exec"), {})
