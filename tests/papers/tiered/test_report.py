"""The tiered design's tables: which run stands in which row, what stands where there is none."""

import re
from dataclasses import replace

import nbformat
import numpy as np
import pandas as pd
import pytest

from memrepro.evaluate.bootstrap import paired_difference
from memrepro.evaluate.multiple import holm, sign_flip
from memrepro.files import paths
from memrepro.files.atomic import read_table, write_table
from memrepro.papers.tiered import claims as tiered_claims
from memrepro.papers.tiered import compare, decay, here
from memrepro.papers.tiered import figures as tiered_figures
from memrepro.papers.tiered import report as tiered
from memrepro.papers.tiered.claims import FURTHER, MEASURED, UNCHECKABLE
from memrepro.papers.tiered.compare import Pair
from memrepro.papers.tiered.consistency import UNCHECKED
from memrepro.papers.tiered.here import (
    COLUMNS,
    DESIGN,
    DESIGNS,
    FLAT,
    GIVEN,
    GRANULARITIES,
    MINILM,
    MPNET,
    NO_COLD,
    NO_DECAY,
    NO_HOT,
    ROWS,
    SEGMENT,
    STUDIES,
    SWEEPS,
    TESTED,
    TURN,
    WHOLE,
    Runs,
)
from memrepro.papers.tiered.printed import printed
from memrepro.report import figures
from memrepro.report.compared import FAILS, HOLDS, UNDECIDED
from memrepro.report.profile import Metrics
from memrepro.report.tables import show
from memrepro.study.evaluation import LEDGER_COLUMNS, METRIC_COLUMNS, PROTOCOL_COLUMNS
from memrepro.study.params import load_plan
from tests.pipeline.test_dvc import ROOT, STAGES, closure

N = 40
STUDY = STUDIES["sample"][0]
KINDS = ("knowledge-update", "multi-session", "temporal-reasoning")
SHARES = {
    TURN: 0.5,
    SEGMENT: 1.0,
    WHOLE: 0.25,
    DESIGN: 0.25,
    NO_DECAY: 0.5,
    NO_COLD: 0.25,
    FLAT: 1.0,
}


@pytest.fixture(scope="module")
def plan():
    return load_plan()


@pytest.fixture
def made(tmp_path, monkeypatch, plan):
    """Gives a function that writes metrics and runs of rows, and returns the runs of the sample."""
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)

    def write(shares, sweeps=(), the_plan=plan):
        runs = Runs(None, the_plan, "sample", STUDY)
        rows, planned = [], {**the_plan.experiments, **the_plan.sweeps}
        places = [(*runs.place(row), share, (5, 10, 50)) for row, share in shares.items()]
        for what, settings in sweeps:
            name = SWEEPS[what].name.format(stem="sample")
            k = planned[name].parameters["k"]
            places += [(name, s, "round", share, (k,)) for s, share in settings.items()]
        files = {}
        for experiment, setting, level, share, ks in places:
            for metric in ("recall_all", "ndcg", "recall_any"):
                rows += [
                    (experiment, setting, level, f"q{i:02}", KINDS[i % 3], metric, k,
                     float(i < share * N))
                    for k in ks for i in range(N)
                ]  # fmt: skip
            # Three docs for each question, and for one that evaluation leaves out.
            found = [(f"q{i:02}", f"d{j}", j, 0.0) for i in range(N + 1) for j in range(1, 4)]
            table = pd.DataFrame(found, columns=["query_id", "doc_id", "rank", "score"])
            if setting:
                table.insert(0, "setting", setting)
            files.setdefault(experiment, []).append(table)
        for experiment, tables in files.items():
            path = paths.run("sample", experiment, planned[experiment].study)
            write_table(path, pd.concat(tables))
        write_table(paths.metrics("sample"), pd.DataFrame(rows, columns=METRIC_COLUMNS))
        write_table(paths.protocols("sample"), pd.DataFrame([], columns=PROTOCOL_COLUMNS))
        ledger = [("sample", "round", "stated", "q99", "no round is marked as its evidence")]
        write_table(paths.exclusions("sample"), pd.DataFrame(ledger, columns=LEDGER_COLUMNS))
        return Runs(Metrics("sample"), the_plan, "sample", STUDY)

    return write


@pytest.mark.parametrize("profile", sorted(STUDIES))
def test_rows_name_experiments_of_their_data_set_and_docs(profile, plan):
    planned = {**plan.experiments, **plan.sweeps}
    for study in STUDIES[profile]:
        runs = Runs(None, plan, profile, study)
        known = [row for row in ROWS if runs.is_planned(row)]
        assert {DESIGN, SEGMENT} <= set(known)
        for row in known:
            experiment, setting, level = runs.place(row)
            entry = planned[experiment]
            assert (entry.profile, entry.dataset) == (profile, study.dataset)
            assert entry.granularity == level
            assert setting in entry.variants()
        for task in study.tasks:
            for experiment, setting in task.runs.values():
                assert planned[experiment].granularity == task.level
                assert setting in planned[experiment].variants()


@pytest.mark.parametrize("profile", ["sample", "open"])
def test_the_main_study_has_every_row_and_sweep(profile, plan):
    planned = {**plan.experiments, **plan.sweeps}
    study = STUDIES[profile][0]
    runs = Runs(None, plan, profile, study)
    assert all(runs.is_planned(row) for row in (*GRANULARITIES, *DESIGNS, FLAT))
    assert all(sweep.name.format(stem=study.stem) in planned for sweep in SWEEPS.values())
    for sweep in SWEEPS.values():
        settings = planned[sweep.name.format(stem=study.stem)].values
        assert sweep.printed in settings
    own = {
        name for name, one in planned.items()
        if one.method == "tiered" and (one.profile, one.dataset) == (profile, study.dataset)
    }  # fmt: skip
    named = {runs.place(row)[0] for row in ROWS}
    named |= {sweep.name.format(stem=study.stem) for sweep in SWEEPS.values()}
    assert own <= named, "an experiment that no table shows"


def test_claims_name_rows_and_the_documents_claims():
    pairs = [pair for found, _ in MEASURED.values() for pair in found]
    pairs += [pair for found in FURTHER.values() for pair in found]
    assert {row for pair in pairs for row in pair[:2]} <= set(ROWS)
    assert set(MEASURED) <= set(printed("claims"))


def test_rows_that_were_run_and_rows_that_were_not(made):
    runs = made({SEGMENT: 0.75, DESIGN: 0.5})
    cells = {(c.row, c.column): c for c in here.granularity(runs)}
    found = cells[SEGMENT, "recall_all@5"]
    assert (found.reproduced, found.n, found.verdict) == ("0.7500", N, "not comparable")
    assert cells[SEGMENT, "docs a query"].reproduced == "3.0"
    absent = cells[TURN, "ndcg@10"]
    assert (absent.reproduced, absent.n, absent.verdict) == ("", 0, "not run")
    assert absent.note == "sample-tiered-turn has not been run"
    design = {(c.row, c.column): c for c in here.design(runs)}
    assert design[DESIGN, "recall_all@50"].reproduced == "0.5000"
    assert "floor 0.65" in design[DESIGN, "ndcg@10"].note
    assert design[NO_HOT, "recall_all@5"].verdict == "not run"
    kinds = {(c.row, c.column): c for c in here.granularity_by_type(runs)}
    assert {column for row, column in kinds if row == SEGMENT} == {"all", *KINDS}
    assert kinds[SEGMENT, "temporal-reasoning"].n == 13


def test_what_is_not_planned_says_so(made, plan):
    without = {name: e for name, e in plan.experiments.items() if name != "sample-tiered-turn"}
    runs = made({SEGMENT: 0.5}, the_plan=replace(plan, experiments=without))
    assert runs.why_not(TURN) == "sample-tiered-turn is not in params.yaml"
    assert Pair(SEGMENT, TURN) not in tiered_claims.pairs(runs)
    claims = {c.row: c for c in tiered_claims.claims(runs, {}) if c.column == "verdict"}
    assert claims["segments beat turns and sessions"].verdict == "not run"


def test_a_cut_off_that_was_not_evaluated_is_not_a_bad_value(made):
    runs = made({SEGMENT: 0.5})
    table = read_table(paths.metrics("sample"))
    write_table(paths.metrics("sample"), table[table["k"] == 5])
    runs = Runs(Metrics("sample"), runs_plan(runs), "sample", STUDY)
    cells = {(c.row, c.column): c for c in here.granularity(runs)}
    assert cells[SEGMENT, "recall_all@5"].reproduced == "0.5000"
    assert cells[SEGMENT, "recall_all@10"].note == f"{SEGMENT}: not evaluated at 10"


def runs_plan(runs):
    return replace(load_plan(), experiments=dict(runs.planned), sweeps={})


def test_sweeps(made):
    alpha = {"0.0": 0.25, "0.7": 0.5, "1.0": 0.75}
    runs = made({}, [("alpha", alpha), ("rate", {"0.0": 0.5, "0.01": 0.5, "1.0": 0.25})])
    cells = {(c.row, c.column): c for c in here.sweep(runs, "alpha")}
    assert cells["α 0.7", "recall_all@10"].reproduced == "0.5000"
    assert cells["α 0.7", "docs a query"].reproduced == "3.0"
    rates = {(c.row, c.column): c.reproduced for c in here.sweep(runs, "rate")}
    assert rates["decay rate 0.01", "half-life"] == "69.0 h = 2.9 days"
    assert rates["decay rate 0", "half-life"] == "no decay"
    assert rates["decay rate 1", "half-life"].startswith("0")
    (absent,) = here.sweep(runs, "threshold")
    assert (absent.verdict, absent.note) == ("not run", "sample-tiered-threshold has not been run")


def test_models(made, plan):
    runs = made({})
    task = STUDY.tasks[0]
    experiment, setting = task.runs[MINILM]
    rows = [
        (experiment, setting, task.level, f"q{i}", "kind", "recall_any", 5, float(i < 3))
        for i in range(4)
    ]
    write_table(paths.metrics("sample"), pd.DataFrame(rows, columns=METRIC_COLUMNS))
    runs = Runs(Metrics("sample"), plan, "sample", STUDY)
    cells = {(c.row, c.column): c for c in here.models(runs)}
    assert (cells[MINILM, task.title].reproduced, cells[MINILM, task.title].n) == ("0.7500", 4)
    rows = {row for row, _ in cells}
    assert rows == {MINILM, MPNET, *printed("models")}
    assert cells["E5-small", task.title].verdict == "not run"
    assert {c.reported for c in cells.values()} == {""}
    found = {(c.row, c.column): c for c in tiered_claims.claims(runs, {})}
    assert "0.7500 (n = 4)" in found["all-MiniLM-L6-v2, Top-5", "found"].reproduced


def claimed(runs):
    compared = compare.compare(runs, tiered_claims.pairs(runs))
    cells = {(c.row, c.column): c for c in tiered_claims.claims(runs, compared)}
    return cells, compared


def test_claims_hold_do_not_hold_are_undecided_or_were_not_run(made):
    cells, _ = claimed(made(SHARES))
    words = {row: c.reproduced for (row, column), c in cells.items() if column == "verdict"}
    assert words["COLD keeps facts"] == UNDECIDED
    assert words["tiers give the best balance"] == FAILS
    assert words["decay works"] == ""  # of two comparisons one was not run
    assert cells["decay works", "verdict"].verdict == "not run"
    assert "sample-tiered-rate 0.01" in cells["decay works", "how sure"].reproduced
    for row in UNCHECKABLE:
        assert words[row] == UNCHECKED
        assert cells[row, "how sure"].reproduced == UNCHECKABLE[row]
    assert set(words) >= {*printed("claims"), *printed("numbers")}


def test_segments_that_win_everywhere(made):
    shares = dict.fromkeys(GRANULARITIES, 0.5)
    shares |= {row: 1.0 for row in GRANULARITIES if "segments" in row}
    cells, compared = claimed(made(shares))
    row = "segments beat turns and sessions"
    assert cells[row, "verdict"].reproduced == HOLDS
    assert cells[row, "how sure"].reproduced.startswith("12, 0, 0 comparisons")
    assert cells[row, "found"].reproduced.count("won 20, lost 0") == len(TESTED)
    one = compared[Pair(SEGMENT, TURN)][0]
    old, new = (np.array([float(i < share * N) for i in range(N)]) for share in (0.5, 1.0))
    assert one.interval == paired_difference(old, new)
    assert one.p == sign_flip(new - old)
    flat = [one for found in compared.values() for one in found]
    assert [one.corrected for one in flat] == holm([one.p for one in flat])
    by_type = cells["granularity by query type", "how sure"].reproduced
    assert "comparisons for, open and against" in by_type


def test_what_a_design_gives_is_compared_with_a_design_alone(made):
    compared = claimed(made({DESIGN: 0.25, NO_COLD: 0.5, FLAT: 0.5}))[1]
    names = {pair: [one.metric for one in found] for pair, found in compared.items()}
    given = f"{GIVEN[0]}@{GIVEN[1]}"
    assert given in names[Pair(DESIGN, NO_COLD)]
    assert given not in names[Pair(DESIGN, FLAT)]


def test_pairs_of_a_kind_hold_its_questions_alone(made):
    compared = claimed(made({WHOLE: 1.0, SEGMENT: 0.5, TURN: 0.5}))[1]
    found = compared[Pair(WHOLE, SEGMENT, "temporal-reasoning")]
    assert {one.n for one in found} == {13}
    assert {one.n for one in compared[Pair(SEGMENT, WHOLE)]} == {N}


SCALE = [
    "store", "segments", "step", "p50_ms", "p95_ms", "ingest_s_per_1000", "memory_mb", "disk_mb",
]  # fmt: skip


def write_scale():
    rows = [
        ("tiered", size, step, time, 2 * time, 1.5, 100.0, 12.0)
        for size in (1000, 10000)
        for step, time in (("hot", 0.1), ("warm", size / 1000), ("cold", 2.0))
    ]
    path = paths.results("sample") / "latency" / "tiered-scale.parquet"
    write_table(path, pd.DataFrame(rows, columns=SCALE))


def test_latency(made, tmp_path):
    made({SEGMENT: 0.5})
    (absent,) = tiered_figures.latency("sample")
    assert absent.verdict == "not run"
    assert tiered_figures.draw_latency("sample", tmp_path, "latency_drawn") == []
    write_scale()
    cells = {(c.row, c.column): c for c in tiered_figures.latency("sample")}
    shown = cells["tiered, warm", "10000 segments, p50 / p95 ms"].reproduced
    assert shown == "10.00 / 20.00"
    assert "12.0 MB" in cells["tiered, weight", "1000 segments, p50 / p95 ms"].reproduced
    assert tiered_figures.TIMEOUT == 250
    drawn = tiered_figures.draw_latency("sample", tmp_path, "latency_drawn")
    assert [path.suffix for path in drawn] == [".svg", ".png", ".csv"]


@pytest.mark.parametrize("shares", [SHARES, {TURN: 0.5}], ids=["most rows", "one row"])
def test_all_is_written_whatever_was_run(made, shares, tmp_path):
    made(shares, [("alpha", {"0.7": 0.5, "1.0": 0.5})] if SEGMENT in shares else ())
    with figures.data_only():
        written = tiered.build("sample", tmp_path / "out")
    names = [path.name for path in written]
    assert len(set(names)) == len(names)
    assert all(path.is_file() for path in written)
    stems = {
        "systems", "models", "databases", "works", "interfaces", "parameters", "stack", "decay",
        "outweighed", "decay_drawn", "tiers", "consistency", "latency", "sample_granularity",
        "sample_granularity_by_type", "sample_design", "sample_models_here", "sample_claims",
        "sample_differences", "sample_exclusions", *(f"sample_by_{what}" for what in SWEEPS),
    }  # fmt: skip
    assert stems <= {path.stem for path in written}
    table = show(tmp_path / "out", "sample_granularity")
    assert table.loc[TURN, "recall_all@5"].startswith("0.5000")
    for path in written:
        if path.suffix == ".csv" and "verdict" in (cells := read_table(path)):
            assert not cells.duplicated(["row", "column", "metric"]).any(), path


def test_the_notebook_shows_what_is_written_and_all_of_it(made, tmp_path):
    everything = dict.fromkeys((*GRANULARITIES, *DESIGNS, FLAT), 0.5)
    sweeps = [(what, {str(sweep.printed): 0.5}) for what, sweep in SWEEPS.items()]
    made(everything, sweeps)
    write_scale()
    with figures.data_only():
        written = {path.stem for path in tiered.build("sample", paths.results("sample") / "tiered")}
    source = nbformat.read(ROOT / "notebooks" / "tiered.ipynb", as_version=4)
    calls = re.compile(r'tiered\.(show_\w+)\(profile, "(\w+)"\)')
    shown = set()
    for cell in source.cells:
        for function, item in calls.findall(cell.source if cell.cell_type == "code" else ""):
            shown.add(f"sample_{item}" if function.endswith("s") else item)
            if "table" in function:
                assert len(getattr(tiered, function)("sample", item))
    assert shown == written


def test_figures_are_drawn(made, tmp_path):
    runs = made(SHARES, [("rate", {"0.0": 0.5, "0.01": 0.5, "1.0": 0.25})])
    drawn = tiered_figures.sweep(runs, "rate", tmp_path, "by_rate")
    assert [path.suffix for path in drawn] == [".svg", ".png", ".csv"]
    assert len(read_table(tmp_path / "by_rate.csv")) == 3 * 3
    assert tiered_figures.sweep(runs, "threshold", tmp_path, "none") == []
    compared = claimed(runs)[1]
    compare.draw(compared, "title", tmp_path, "differences_drawn")
    table = read_table(tmp_path / "differences_drawn.csv")
    assert len(table) == sum(map(len, compared.values()))
    assert len(decay.draw(tmp_path)) == 3
    assert compare.draw({}, "title", tmp_path, "none") == []


def test_the_report_reads_results_and_formulas_alone():
    needed = closure("memrepro.papers.tiered.report")
    formulas = {m for m in needed if m.startswith("memrepro/retrievers")}
    assert formulas == {
        "memrepro/retrievers/tiered/__init__.py", "memrepro/retrievers/tiered/scoring.py"
    } or formulas == {"memrepro/retrievers/tiered/scoring.py"}  # fmt: skip
    deps = [d for d in STAGES["report"]["do"]["deps"] if d.startswith("memrepro/")]
    deps += sorted(formulas)
    outside = {m for m in needed if not any(m == d or m.startswith(f"{d}/") for d in deps)}
    # The plan names and checks, and is no dependency (docs/architecture.md).
    assert not {m for m in outside if not re.search(r"experiment|plan|store|paths|errors", m)}


def test_columns_are_evaluated(plan):
    assert {k for _, k in (*COLUMNS, GIVEN)} <= set(plan.evaluation.ks)
    assert {metric for metric, _ in COLUMNS} <= set(plan.evaluation.metrics)
