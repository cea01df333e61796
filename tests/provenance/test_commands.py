"""The commands: what they print, JSON, and exit status."""

import json

from memrepro.files.atomic import write_text
from memrepro.pipeline import cli


def run(capsys, *arguments):
    status = cli.main(list(arguments))
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_why_of_a_paper_a_table_a_row_and_a_cell(toy, capsys):
    assert "toyreport:main" in run(capsys, "why", "toyreport")[1]
    status, out, _ = run(capsys, "why", "toyreport:main")
    assert status == 0
    assert out.count("row toy-a") == 3
    assert run(capsys, "why", "toyreport:main:row toy-a")[1].count("row toy-b") == 0
    status, out, _ = run(capsys, "why", "toyreport:main:row toy-a:all")
    assert status == 0
    for text in (
        "here      0.4000, n = 5", "reported  0.600", "verdict   not reproduced",
        "run       toy-a, recall_all@1 by session", "excluded  1: was never said",
        "made again by: dvc repro retrieve@toy-a && dvc repro --single-item evaluate@sample",
        "against row toy-b: -0.2000", "metric    recall_all: 1 where every gold doc",
        "the best combination of them", "(signs of each question flipped, 5 in all)",
    ):  # fmt: skip
        assert text in out
    assert json.loads(run(capsys, "why", "toyreport:main:row toy-a:all", "--json")[1])["n"] == 5


def test_explain(toy, capsys):
    status, out, _ = run(capsys, "explain", "toyreport:main:row toy-a:all")
    assert status == 0
    assert "k: 1 → 2" in out
    assert "found after the fact" in out
    found = json.loads(run(capsys, "explain", "toyreport:main:row toy-a:all", "--json")[1])
    assert found["mark"] == "found after the fact"
    assert run(capsys, "explain", "toyreport:main:row toy-a")[0] == 1


def test_diff(toy, capsys):
    status, out, _ = run(capsys, "diff", "toy-a", "toy-b", "--k", "1")
    assert status == 0
    assert "won 2, lost 1, tied 2" in out
    assert "signs of each question flipped, 5 in all" in out
    swept = run(capsys, "diff", "toy-a", "toy-swept[0.5]", "--k", "1")
    assert swept == run(capsys, "diff", "toy-a", "toy-swept", "--k", "1", "--setting-b", "0.5")
    assert swept[0] == 0
    assert "where is" not in out
    found = json.loads(run(capsys, "diff", "toy-a", "toy-b", "--k", "1", "--json")[1])
    assert [row["gap_first"] for row in found["questions"]] == [None, 0.2, 0.2]
    out = run(capsys, "diff", "toy-a", "toy-b", "--k", "1", "--texts")[1]
    assert "q2: where is q2?\n  gold d2:\n    user: <b>d2</b>" in out


def test_attest_and_compare(toy, capsys):
    first, second = str(toy / "a.json"), str(toy / "b.json")
    assert run(capsys, "attest", "--output", first)[0] == 0
    assert run(capsys, "attest", "--output", first)[0] == 0  # its own file is written again
    (toy / "own.txt").write_text("notes")
    assert run(capsys, "attest", "--output", str(toy / "own.txt"))[0] == 1
    assert (toy / "own.txt").read_text() == "notes"
    found = json.loads(run(capsys, "attest")[1])
    assert found["git"] == {"commit": None, "clean": None}
    status, out, _ = run(capsys, "attest", "--compare", first, first)
    assert status == 0
    assert out.endswith("the two agree\n")
    found["digests"]["sample"]["evaluation/exclusions.csv"] = {"bytes": "x", "values": "y"}
    write_text(toy / "b.json", json.dumps(found))
    status, out, _ = run(capsys, "attest", "--compare", first, second)
    assert status == 1
    assert "evaluation/exclusions.csv" in out
    assert json.loads(run(capsys, "attest", "--compare", first, second, "--json")[1])["agree"] is (
        False
    )
