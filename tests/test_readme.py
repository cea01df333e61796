"""The README's commands are those of the Makefile; what it says of results: tests/written.py."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_commands_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"^make (\w+)", README, re.M)):
        assert re.search(rf"^{target}:", makefile, re.M)
    assert "make test" in (ROOT / ".ci" / "run").read_text()
