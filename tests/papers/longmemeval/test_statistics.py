"""Figure 9 from qrels: types, evidence sessions, the evidence's round."""

import pandas as pd
import pytest

from memrepro.audit.documents import printed_rows
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.papers.longmemeval.statistics import (
    ROUNDS,
    SESSIONS,
    TYPES,
    by_type,
    claims,
    counts,
    round_number,
)


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name in ("params.yaml", "dvc.yaml"):
        (tmp_path / name).write_text("{}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def qrels(profile, dataset, questions):
    """Write qrels: `{query id: (kind, session ids, round ids)}`."""
    rows = []
    for query_id, (kind, sessions, rounds) in questions.items():
        gold = [("session", n, i) for n, i in enumerate(sessions)]
        gold += [("round", n, i) for n, i in enumerate(rounds)]
        rows += [(query_id, kind, *row, "") for row in gold or [("", -1, "")]]
    columns = ["query_id", "kind", "level", "part", "doc_id", "reason"]
    write_table(paths.qrels(profile, dataset), pd.DataFrame(rows, columns=columns))


def panel(data, name):
    part = data[data["panel"] == name]
    return dict(zip(part["value"], part["count"], strict=True))


FEW = {
    "q1": ("multi-session", ["s_1", "s_2", "s_3"], ["s_1_1", "s_2_3", "s_3_1", "s_3_6"]),
    "q2": ("single-session-user", ["a"], ["a_5"]),
    "q3_abs": ("abstention", [], []),
}


@pytest.mark.parametrize(("position", "number"), [(1, 1), (3, 2), (5, 3), (2, 2), (4, 3), (19, 10)])
def test_a_rounds_number(position, number):
    assert round_number(f"answer_1_{position}") == number


def test_the_three_panels(project):
    qrels("full", "longmemeval-s", FEW)
    data = counts("full", "longmemeval-s")
    assert panel(data, TYPES) == {"multi-session": 1, "single-session-user": 1, "abstention": 1}
    assert panel(data, SESSIONS) == {"1": 1, "2": 0, "3": 1}
    assert panel(data, ROUNDS) == {"1": 2, "2": 1, "3": 1, "4": 1}
    assert data.groupby("panel")["share"].sum().tolist() == pytest.approx([1, 1, 1])


def test_a_data_set_of_another_schema_has_two_panels(project):
    qrels("open", "locomo", {"q": ("temporal", ["D1"], ["D1:3"])})
    assert set(counts("open", "locomo")["panel"]) == {TYPES, SESSIONS}
    qrels("open", "personamem-32k", {"q": ("suggest_new_ideas", [], [])})  # without gold
    assert set(counts("open", "personamem-32k")["panel"]) == {TYPES}


SHOWN = printed_rows("longmemeval", "figure9")


def types(profile, dataset):
    """Write the types of 30 abstentions, by the printed counts."""
    n = {k: int(c["with abstention"]) - int(c["without abstention"]) for k, c in SHOWN.items()}
    del n["all"]
    rows = enumerate(kind for kind in n for _ in range(n[kind]))
    table = pd.DataFrame([(f"x{i}_abs", kind) for i, kind in rows], columns=["query_id", "type"])
    write_table(paths.types(profile, dataset), table)


def whole_benchmark():
    """500 questions by the printed counts, two evidence sessions each but for one with six."""
    kinds = {kind: int(cells["without abstention"]) for kind, cells in SHOWN.items()}
    del kinds["all"]
    names = [kind for kind, n in kinds.items() for _ in range(n)]
    questions = {
        f"q{i}": (kind, [f"q{i}_{s}" for s in range(6 if i == 0 else 2)], [f"q{i}_0_1"])
        for i, kind in enumerate(names)
    }
    return questions | {f"x{i}_abs": ("abstention", [], []) for i in range(30)}


def test_the_whole_benchmark_is_judged(project):
    qrels("full", "longmemeval-s", whole_benchmark())
    types("full", "longmemeval-s")
    cells = {(c.row, c.column): c for c in by_type("full", "longmemeval-s")}
    without = {row: c for (row, column), c in cells.items() if column == "without abstention"}
    assert {c.verdict for c in without.values()} == {"exact"}
    assert without["multi-session"].reported == without["multi-session"].reproduced == "121"
    assert cells["all", "with abstention"].reproduced == "500"
    assert cells["abstention", "with abstention"].verdict == "exact"
    with_them = [cells[kind, "with abstention"] for kind in SHOWN if kind != "all"]
    assert {c.verdict for c in with_them} == {"exact"}
    assert cells["temporal-reasoning", "with abstention"].reproduced == "133"
    said = {c.row: (c.reported, c.verdict) for c in claims("full", "longmemeval-s")}
    assert said["most evidence sessions of a question"] == ("6", "exact")
    assert said["questions that need several sessions"] == ("most", "direction only")
    assert said["evidence statements at the beginning of the chat"] == ("most", "direction only")
