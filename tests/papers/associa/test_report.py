"""Associa's tables: which run stands in which row, what stands where there is none, the claims."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from memrepro.papers.associa.claims import CLAIMS
from memrepro.papers.associa.here import (
    ASSOCIA,
    BASELINES,
    BM25,
    COLUMNS,
    DELIBERATED,
    DENSE,
    FACTS,
    NO_ASSOCIATION,
    NO_IMPORTANCE,
    ROWS,
    STUDIES,
    TABLE1,
    TABLE3,
    TUNED,
    UNTUNED,
    Runs,
)

from memrepro.evaluate.bootstrap import paired_difference
from memrepro.evaluate.multiple import holm, sign_flip
from memrepro.files import paths
from memrepro.files.atomic import read_table, write_table
from memrepro.papers.associa import claims
from memrepro.papers.associa import here as associa_here
from memrepro.papers.associa import report as associa
from memrepro.report import figures
from memrepro.report.compared import FAILS, HOLDS, UNDECIDED
from memrepro.report.profile import Metrics
from memrepro.report.tables import show
from memrepro.study.evaluation import LEDGER_COLUMNS, METRIC_COLUMNS, PROTOCOL_COLUMNS
from memrepro.study.params import load_plan
from tests.pipeline.test_dvc import STAGES, closure

N = 40
STUDY = STUDIES["sample"][0]
# Share of the questions that a row gets right: the first ones, so that a better row wins all.
SHARES = {
    BM25: 0.25,
    DENSE: 0.5,
    FACTS: 0.525,
    "dense, K = V + user facts, time filter": 0.5,
    ASSOCIA: 1.0,
    NO_ASSOCIATION: 0.5,
    NO_IMPORTANCE: 0.25,
}


@pytest.fixture(scope="module")
def plan():
    return load_plan()


@pytest.fixture
def made(tmp_path, monkeypatch, plan):
    """Gives a function that writes metrics of rows and returns the runs of the sample."""
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)

    def write(shares, the_plan=plan):
        runs = Runs(None, the_plan, STUDY)
        rows, sums = [], []
        for row, share in shares.items():
            experiment, setting = runs.place(row) if row in ROWS else (row, "")
            for metric in ("recall_all", "ndcg", "recall_any", "ndcg_longmemeval"):
                for k in (5, 10):
                    rows += [
                        (experiment, setting, "round", f"q{i:02}", f"type {i % 3}", metric, k,
                         float(i < share * N))
                        for i in range(N)
                    ]  # fmt: skip
                    sums.append((experiment, setting, "round", "stated", metric, k, N, share))
        write_table(paths.metrics("sample"), pd.DataFrame(rows, columns=METRIC_COLUMNS))
        write_table(paths.protocols("sample"), pd.DataFrame(sums, columns=PROTOCOL_COLUMNS))
        ledger = [("sample", "round", "stated", "q99", "no round is marked as its evidence")]
        write_table(paths.exclusions("sample"), pd.DataFrame(ledger, columns=LEDGER_COLUMNS))
        return Runs(Metrics("sample"), the_plan, STUDY)

    return write


@pytest.mark.parametrize("profile", sorted(STUDIES))
def test_rows_name_experiments_of_their_data_set_and_rounds(profile, plan):
    planned = {**plan.experiments, **plan.sweeps}
    for study in STUDIES[profile]:
        runs = Runs(None, plan, study)
        for row in (*BASELINES, ASSOCIA, NO_ASSOCIATION, NO_IMPORTANCE):
            experiment, setting = runs.place(row)
            entry = planned[experiment]
            assert (entry.profile, entry.dataset) == (profile, study.dataset)
            assert entry.granularity == "round"
            assert setting in entry.variants()
        named = {runs.place(row)[0] for row in ROWS} | set(runs.further().values())
        own = {
            name
            for name, e in planned.items()
            if e.method == "associa" and e.dataset == study.dataset
        }
        assert own <= named


def test_a_row_of_the_tables_is_a_row_of_ours():
    assert {*TABLE1, *TABLE3.values()} <= set(ROWS)
    assert {row for c in CLAIMS for pair in c.pairs for row in pair} <= set(ROWS)


def test_rows_that_were_run_and_rows_that_were_not(made):
    runs = made({DENSE: 0.5, ASSOCIA: 0.75})
    cells = {(c.row, c.column): c for c in associa_here.table1(runs)}
    found = cells[ASSOCIA, "recall_all@5"]
    assert (found.reproduced, found.n, found.verdict) == ("0.7500", N, "not comparable")
    assert (found.reported, STUDY.events in found.note) == ("", True)
    absent = cells[BM25, "ndcg@10"]
    assert (absent.reproduced, absent.n, absent.verdict) == ("", 0, "not run")
    assert absent.note == "sample-bm25-round-keys user_only has not been run"
    third = {(c.row, c.column): c for c in associa_here.table3(runs)}
    assert third[f"w/o DM ({ASSOCIA})", "recall_any@10"].reproduced == "0.7500"
    assert third[NO_ASSOCIATION, "ndcg@5"].note.endswith("-without-association has not been run")
    for row in (TUNED, UNTUNED):
        assert third[row, "ndcg@5"].verdict == "not run"
        assert "no GPU" in third[row, "ndcg@5"].note


def test_an_experiment_that_is_not_planned_is_not_run_and_a_new_one_has_a_row(made, plan):
    name = "sample-associa-deliberated"
    without = {key: e for key, e in plan.experiments.items() if key != name}
    runs = made({DENSE: 0.5}, replace(plan, experiments=without))
    assert runs.why_not(DELIBERATED) == f"{name} is not in params.yaml"
    one = plan.experiments["sample-associa"]
    more = {**without, name: one, "sample-associa-other": one, "sample-associa-later": one}
    runs = made({DELIBERATED: 0.5, "sample-associa-other": 0.25}, replace(plan, experiments=more))
    assert runs.why_not(DELIBERATED) == ""
    cells = {(c.row, c.column): c for c in associa_here.table3(runs)}
    assert cells[DELIBERATED, "recall_all@5"].reproduced == "0.5000"
    assert cells["associa-other", "recall_all@5"].reproduced == "0.2500"
    assert cells["associa-later", "recall_all@5"].verdict == "not run"


def verdicts(runs):
    compared = claims.compare(runs)
    cells = claims.claims(runs, compared)
    return {c.row: c for c in cells if c.column == "verdict"}, compared


def test_claims_hold_do_not_hold_are_undecided_or_were_not_run(made):
    found, _ = verdicts(made(SHARES))
    assert len(found) == len(CLAIMS)
    words = {row.split(": ", 1)[1]: (c.reproduced, c.verdict) for row, c in found.items()}
    here = "not comparable"
    assert words["Associa (max_iter = 1) beats every baseline"] == (HOLDS, here)
    assert words["association helps"] == (HOLDS, here)
    assert words["user facts help the dense retriever"] == (UNDECIDED, here)
    # BM25 is beaten, the dense retriever is not.
    both = "user facts and the time filter beat BM25 and the dense retriever"
    assert words[both] == (UNDECIDED, here)
    more = "more is lost without association than without importance ranking"
    assert words[more] == (FAILS, here)
    assert words["w/o AM is the dense retriever alone"] == (HOLDS, here)
    for row in ("deliberation helps", "Associa (max_iter = 2) beats every baseline"):
        assert words[row] == ("", "not run")


def test_equality_is_of_every_question_and_not_tested(made):
    moved = {**SHARES, NO_ASSOCIATION: 0.525}
    found, compared = verdicts(made(moved))
    row = "Table 3: w/o AM is the dense retriever alone"
    assert found[row].reproduced == FAILS
    same = [one for one in compared if (one.better, one.worse) == (NO_ASSOCIATION, DENSE)]
    assert len(same) == len(COLUMNS)
    assert all(np.isnan(one.p) and np.isnan(one.corrected) for one in same)


def test_a_comparison_is_the_bootstraps_and_corrected_over_all_that_are_tested(made):
    runs = made(SHARES)
    compared = claims.compare(runs)
    tested = [one for one in compared if not np.isnan(one.p)]
    assert [one.corrected for one in tested] == holm([one.p for one in tested])
    pairs = {(one.better, one.worse) for one in tested}
    assert len(tested) == len(pairs) * len(COLUMNS)
    one = next(o for o in tested if (o.better, o.worse) == (ASSOCIA, DENSE))
    old, new = (np.array([float(i < share * N) for i in range(N)]) for share in (0.5, 1.0))
    assert one.interval == paired_difference(old, new)
    assert one.p == sign_flip(new - old)
    assert one.shown.endswith("won 20, lost 0")
    cells = list(claims.differences(compared))
    assert all(f"all {len(tested)} that are tested" in c.note for c in cells)


def test_a_claim_against_several_shows_the_least_difference(made):
    runs = made(SHARES)
    cells = {(c.row, c.column): c.reproduced for c in claims.claims(runs, claims.compare(runs))}
    shown = cells["§5.3: Associa (max_iter = 1) beats every baseline", "recall_all@5"]
    assert shown.startswith("+0.4750")
    assert shown.endswith(f"({ASSOCIA} less {FACTS})")
    assert cells["§5.3: Associa (max_iter = 1) beats every baseline", "for, open, against"] == (
        "16, 0, 0"
    )


@pytest.mark.parametrize("shares", [SHARES, {DENSE: 0.5}], ids=["most rows", "one row"])
def test_all_is_written_whatever_was_run(made, shares, tmp_path):
    made(shares)
    with figures.data_only():
        written = associa.build("sample", tmp_path / "out")
    names = [path.name for path in written]
    assert len(set(names)) == len(names)
    assert all(path.is_file() for path in written)
    stems = {"table1", "table2", "table3", "hyperparameters", "schema", "text", "consistency",
             "figure1", "figure2", "figure3", "sample_table1_here", "sample_table3_here",
             "sample_differences", "sample_claims", "sample_protocols", "sample_exclusions",
             "sample_by_type"}  # fmt: skip
    assert stems <= {path.stem for path in written}
    table = show(tmp_path / "out", "sample_table1_here")
    assert table.loc[DENSE, "recall_all@5"] == "0.5000 (not comparable)"
    for path in written:
        if path.suffix == ".csv" and "verdict" in (cells := read_table(path)):
            assert not cells.duplicated(["row", "column", "metric"]).any(), path


def test_no_text_of_a_data_set_is_written(made, tmp_path):
    """Reports depend on results alone: nothing of `data/` or the graphs is imported."""
    needed = closure("memrepro.papers.associa.report")
    assert not {m for m in needed if m.startswith("memrepro/retrievers")}
    assert "memrepro/associa_view.py" not in needed
    deps = [d for d in STAGES["report"]["do"]["deps"] if d.startswith("memrepro/")]
    outside = {m for m in needed if not any(m == d or m.startswith(f"{d}/") for d in deps)}
    # The plan names and checks, and is no dependency (docs/architecture.md).
    assert not {m for m in outside if not re.search(r"experiment|store|paths|errors", m)}


def test_figures_are_drawn(made, tmp_path):
    runs = made(SHARES)
    compared = claims.compare(runs)
    drawn = claims.draw(compared, "title", tmp_path, "differences_drawn")
    assert [path.suffix for path in drawn] == [".svg", ".png", ".csv"]
    table = read_table(tmp_path / "differences_drawn.csv")
    assert len(table) == len(compared)
    assert (table["low"].astype(float) <= table["difference"].astype(float)).all()
    assert claims.draw([], "title", tmp_path, "none") == []
    bars = associa._by_type(runs, tmp_path, "by_type")
    assert [path.suffix for path in bars] == [".svg", ".png", ".csv"]
