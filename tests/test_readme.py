"""What the README says is what the results say, and its commands are those of the Makefile.

`python -m tests.test_readme` writes the results that matter and the glossary into the README.
"""

import re
from pathlib import Path

from memrepro.report.narrative import headlines
from tests import written

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
START, END = "<!-- found -->", "<!-- /found -->"


def test_the_results_that_matter_are_those_of_the_tables():
    shown = README.split(START)[1].split(END)[0]
    assert shown.split() == headlines(["open"]).split(), "run python -m tests.test_readme"


def test_the_commands_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"^make (\w+)", README, re.M)):
        assert re.search(rf"^{target}:", makefile, re.M)
    assert "make test" in (ROOT / ".ci" / "run").read_text()


if __name__ == "__main__":
    written.write("README.md")
