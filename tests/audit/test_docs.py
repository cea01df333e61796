"""The worked example of docs/audit.md gives what the page says."""

import re
from pathlib import Path

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
