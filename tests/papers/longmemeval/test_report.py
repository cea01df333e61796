"""LongMemEval's tables: where each printed cell is run, and what stands in it where it is not."""

import pandas as pd
import pytest

from memrepro.core.extractions import DatedEvent, QueryRange
from memrepro.core.memory import Memory, Piece, Query, Round
from memrepro.core.prepared import save_dates, save_qrels, save_ranges
from memrepro.errors import MemreproError
from memrepro.evaluate.bootstrap import paired_difference
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.papers.longmemeval import printed, time
from memrepro.papers.longmemeval import report as longmemeval
from memrepro.papers.longmemeval.report import COLUMNS, DESIGNS, LEVELS, STUDIES, TABLE9
from memrepro.report.profile import Metrics, difference
from memrepro.retrieve.timeaware.retrievers import TimeFiltered
from memrepro.study.evaluation import METRIC_COLUMNS
from memrepro.study.params import load_plan

TABLES = ("table3", "table4", "table9", "table10")
PRINTED = [
    (table, str(row), str(column), shown)
    for table in TABLES
    for row, cells in printed.printed(table).iterrows()
    for column, shown in cells.items()
]
RETRIEVAL = [cell for cell in PRINTED if "@" in cell[2] and cell[3] != "-"]
STUDY = next(study for study in STUDIES["full"] if study.stem == "lme-m-stella")


@pytest.fixture(scope="module")
def plan():
    return load_plan()


@pytest.mark.parametrize(
    ("design", "setting"),
    [
        ("K = V", "user_only"),
        ("K = fact", "user_only+replace:nlp-fact"),
        ("K = keyphrase", "user_only+replace:nlp-keyphrase"),
        ("K = summary", "user_only+replace:nlp-summary"),
        ("K = V + fact", "user_only+merge:nlp-fact"),
        ("K = V + keyphrase", "user_only+merge:nlp-keyphrase"),
        ("K = V + keyphrases", "user_only+merge:nlp-keyphrase"),
        ("K = V + summary", "user_only+merge:nlp-summary"),
        ("K = V + fact (RM)", "user_only+separate:nlp-fact"),
        ("K = V + keyphrase (RM)", "user_only+separate:nlp-keyphrase"),
        ("K = V + summary (RM)", "user_only+separate:nlp-summary"),
    ],
)
def test_the_key_scheme_of_each_design(design, setting):
    assert STUDY.setting(design) == setting


def test_a_design_takes_the_studys_own_base_and_extractions():
    sample, locomo = STUDIES["sample"][0], STUDIES["open"][0]
    assert sample.setting("K = V + fact") == "user_only+merge:gold-fact"
    assert locomo.setting("K = V") == "concat"
    assert locomo.setting("K = summary") == "concat+replace:recorded-summary"
    assert locomo.setting("K = V + keyphrase") == "concat+merge:nlp-keyphrase"


def test_a_design_that_the_paper_lacks_is_an_error():
    with pytest.raises(KeyError):
        STUDY.setting("K = V + mood")


def test_all_designs_of_the_tables_are_known():
    rows = {tuple(row.split(", ", 1)) for table, row, _, _ in PRINTED if table == "table3"}
    assert rows == {(f"Value = {v.title()}", d) for v, designs in DESIGNS.items() for d in designs}
    assert {row.rsplit(", ", 1)[0] for t, row, _, _ in PRINTED if t == "table9"} == set(TABLE9)


@pytest.mark.parametrize("table", TABLES)
def test_each_printed_cell_of_retrieval_is_planned(table, plan):
    cells = [cell for cell in RETRIEVAL if cell[0] == table]
    assert cells
    for _, row, column, _ in cells:
        experiment, level, setting = longmemeval._place(table, row, column)
        entry = plan.experiment(experiment)
        assert (entry.profile, entry.dataset) == ("full", "longmemeval-m")
        assert entry.granularity == level
        assert level in f"{row} {column}".lower()
        assert setting in entry.variants(), (row, column)


@pytest.mark.parametrize(
    ("table", "row", "column", "place"),
    [
        ("table3", "Value = Round, K = fact", "NDCG@10",
         ("lme-m-stella-round-keys", "round", "user_only+replace:nlp-fact")),
        ("table4", "(1) K = V", "Value = Session, Recall@5",
         ("lme-m-stella-session-keys", "session", "user_only")),
        ("table4", "(2) w/ Query Expansion (GPT-4o)", "Value = Round, Recall@5",
         ("lme-m-stella-round-time", "round", "user_only+merge:nlp-fact")),
        ("table4", "(1) w/ Query Expansion (Llama 3.1 8B Instruct)", "Value = Session, NDCG@5",
         ("lme-m-stella-session-time", "session", "user_only")),
        ("table9", "K = V + keyphrases, BM25", "Value = round, Recall@5",
         ("lme-m-bm25-round-keys", "round", "user_only+merge:nlp-keyphrase")),
        ("table9", "K = V, Contriever", "Value = session, NDCG@10",
         ("lme-m-contriever-session-keys", "session", "user_only")),
        ("table9", "K = V, Stella V5 1.5B", "Value = session, NDCG@10",
         ("lme-m-stella-session-keys", "session", "user_only")),
        ("table10", "Value = Session, K = V + fact (RM)", "Recall@5",
         ("lme-m-stella-session-ranks", "session", "user_only+separate:nlp-fact")),
        ("table10", "Value = Session, K = V + fact (KM)", "Recall@5",
         ("lme-m-stella-session-keys", "session", "user_only+merge:nlp-fact")),
    ],
)  # fmt: skip
def test_where_a_cell_is_run(table, row, column, place):
    assert longmemeval._place(table, row, column) == place


def test_every_study_names_experiments_that_are_planned(plan):
    for profile, studies in STUDIES.items():
        for study in studies:
            for level in LEVELS:
                entry = plan.experiment(f"{study.stem}-{level}-keys")
                assert (entry.profile, entry.dataset) == (profile, study.dataset)
                assert entry.granularity == level
                for design in DESIGNS[level]:
                    assert study.setting(design) in entry.variants()
                lexical = plan.experiment(f"{study.lexical}-{level}-keys")
                assert lexical.dataset == study.dataset
                assert study.base in lexical.variants()
                timed = plan.experiment(f"{study.stem}-{level}-time")
                assert {*timed.variants()} <= {*entry.variants()}
            if study.values:
                sweep = plan.experiment(f"{study.stem}-values")
                assert (sweep.dataset, sweep.vary) == (study.dataset, "granularity")
                assert {*study.values.values()} == {*sweep.variants()}


# Per-question values of our own: three questions, of which one is temporal.

QUESTIONS = {"q1": "temporal-reasoning", "q2": "fact", "q3": "fact"}


def metric_rows(experiment, level, setting, values):
    return [
        (experiment, setting, level, query_id, kind, metric, k, value)
        for metric in ("recall_all", "ndcg", "ndcg_longmemeval")
        for k in (5, 10)
        for (query_id, kind), value in zip(QUESTIONS.items(), values, strict=True)
    ]


@pytest.fixture
def written(tmp_path, monkeypatch):
    """The metrics of a profile; gives a function that writes and reads them."""
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)

    def write(profile, rows):
        frame = pd.DataFrame(rows, columns=METRIC_COLUMNS)
        write_table(paths.metrics(profile), frame)
        return Metrics(profile)

    return write


def cells_of(table, metrics, profile):
    return {(c.row, c.column): c for c in longmemeval.printed(table, metrics, profile)}


@pytest.mark.parametrize("profile", ["sample", "open"])
@pytest.mark.parametrize("table", TABLES)
def test_outside_the_full_profile_nothing_is_run_and_each_cell_says_why(table, profile, written):
    metrics = written(profile, metric_rows("x", "round", "", (1, 0, 1)))
    cells = cells_of(table, metrics, profile)
    shown = {(row, column): value for t, row, column, value in PRINTED if t == table}
    assert cells.keys() == shown.keys()
    for place, cell in cells.items():
        assert cell.verdict == "not run"
        assert cell.reproduced == ""
        assert cell.reported == shown[place].replace("-", "")
        if shown[place] == "-":
            why = "not given in the paper"
        else:
            why = "LongMemEval's files are not" if "@" in place[1] else "needs a language model"
        assert cell.note.startswith(why)


def test_a_printed_cell_is_judged_by_all_questions_and_the_released_ndcg(written):
    values = (1, 0.5, 0.618)
    rows = metric_rows("lme-m-stella-session-keys", "session", "user_only", values)
    rows = [r if r[5] != "ndcg" else (*r[:-1], 0.0) for r in rows]
    cells = cells_of("table3", written("full", rows), "full")
    cell = cells["Value = Session, K = V", "Recall@5"]
    assert (cell.reported, cell.reproduced, cell.n) == ("0.706", "0.7060", 3)
    assert (cell.metric, cell.verdict) == ("recall_all@5", "exact")
    assert "the cleaned edition" in cell.note
    ndcg = cells["Value = Session, K = V", "NDCG@5"]
    assert (ndcg.metric, ndcg.reproduced) == ("ndcg_longmemeval@5", "0.7060")
    assert ndcg.verdict == "not reproduced"
    lacking = cells["Value = Session, K = V + fact", "Recall@5"]
    assert (lacking.verdict, lacking.reproduced) == ("not run", "")
    assert "lme-m-stella-session-keys user_only+merge:nlp-fact is not among" in lacking.note
    assert cells["Value = Session, K = V", "GPT-4o Top-5"].verdict == "not run"


def test_what_an_extractor_or_a_parser_made_is_not_judged(written):
    rows = metric_rows("lme-m-stella-round-keys", "round", "user_only+merge:nlp-fact", (1, 1, 1))
    rows += metric_rows("lme-m-stella-session-time", "session", "user_only", (0.25, 1, 1))
    metrics = written("full", rows)
    cell = cells_of("table3", metrics, "full")["Value = Round, K = V + fact", "Recall@10"]
    assert (cell.reproduced, cell.verdict) == ("1.0000", "not comparable")
    # Table 4 is about the temporal questions alone.
    place = ("(1) w/ Query Expansion (GPT-4o)", "Value = Session, Recall@5")
    cell = cells_of("table4", metrics, "full")[place]
    assert (cell.reproduced, cell.n, cell.verdict) == ("0.2500", 1, "not comparable")
    assert "not by a language model" in cell.note


def test_metrics_are_found_by_experiment_setting_level_metric_and_k(written):
    rows = metric_rows("a", "round", "", (1, 0, 1)) + metric_rows("b", "round", "x", (0, 0, 1))
    rows += metric_rows("b", "round", "w", (0, 1, 1)) + metric_rows("b", "session", "x", (1, 1, 1))
    metrics = written("sample", rows)
    assert metrics.settings("b") == ["x", "w"]
    assert metrics.settings("a") == [""]
    assert metrics.settings("c") == []
    found = metrics.values("b", "round", "ndcg", 10, "w")
    assert found.to_dict("list") == {
        "query_id": list(QUESTIONS),
        "kind": list(QUESTIONS.values()),
        "value": [0, 1, 1],
    }
    assert metrics.values("a", "round", "recall_all", 5)["value"].tolist() == [1, 0, 1]
    with pytest.raises(MemreproError, match="no ndcg@3 of 'b' 'w' by round: run `dvc repro`"):
        metrics.values("b", "round", "ndcg", 3, "w")


def test_a_difference_is_of_the_same_questions_whatever_their_order():
    before = pd.DataFrame({"query_id": ["a", "b", "c", "d"], "kind": "x", "value": [0, 1, 1, 0.5]})
    now = pd.DataFrame({"query_id": ["d", "c", "b", "a"], "kind": "x", "value": [0.5, 1, 0, 1]})
    now.loc[1, "value"] = 2.0
    interval = paired_difference(before["value"].to_numpy(), now["value"].to_numpy()[::-1])
    assert difference(before, now) == (
        f"+0.2500 [{interval.low:+.4f}, {interval.high:+.4f}], won 2, lost 1"
    )
    assert difference(now, before).endswith("won 1, lost 2")
    assert difference(now, now) == "+0.0000 [+0.0000, +0.0000], won 0, lost 0"


def sample_metrics(written):
    """Every setting of the sample's study, each with values of its own."""
    study, plan = STUDIES["sample"][0], load_plan()
    names = [f"{s}-{v}-keys" for s in (study.stem, study.lexical) for v in LEVELS]
    names += [f"{study.stem}-{v}-{what}" for v in LEVELS for what in ("ranks", "time")]
    rows = []
    for experiment in [*names, f"{study.stem}-values"]:
        entry = plan.experiment(experiment)
        for number, setting in enumerate(entry.variants()):
            level = "session" if entry.vary == "granularity" else entry.granularity
            levels = {level, "session"} if "keys" in experiment else {level}
            for one in sorted(levels):
                rows += metric_rows(experiment, one, setting, (1, 0, number / 100))
    return study, written("sample", rows)


def test_every_setting_that_was_run_has_a_row_and_its_gain(written):
    study, metrics = sample_metrics(written)
    cells = list(longmemeval.key_designs(metrics, study))
    run = [
        (level, kind, setting)
        for level in LEVELS
        for kind in ("keys", "ranks")
        for setting in metrics.settings(f"{study.stem}-{level}-{kind}")
    ]
    assert len({cell.row for cell in cells}) == len(run)
    assert len(cells) == len(run) * len(COLUMNS)
    by_row = {(cell.row, cell.column): cell for cell in cells}
    assert by_row["Value = round, K = V", "recall_all@5"].reproduced == "0.3333"
    setting = "user_only+merge:gold-fact"
    number = metrics.settings("sample-round-keys").index(setting)
    shown = by_row["Value = round, K = V + gold-fact (merge)", "ndcg@10"].reproduced
    assert shown == f"{(1 + number / 100) / 3:.4f}"

    gains = list(longmemeval.key_gains(metrics, study))
    assert len(gains) == 2 * (len(run) - len(LEVELS))
    assert {cell.row for cell in gains} == {cell.row for cell in cells} - {
        f"Value = {level}, K = V" for level in LEVELS
    }
    gain = next(g for g in gains if g.row == "Value = round, K = V + gold-fact (merge)")
    assert gain.reproduced.startswith(f"{number / 300:+.4f} [")
    assert gain.reproduced.endswith("won 1, lost 0")


def test_retrievers_and_granularities(written):
    study, metrics = sample_metrics(written)
    cells = list(longmemeval.retrievers(metrics, study))
    assert {cell.row.rsplit(", ", 1)[1] for cell in cells} == {"BM25", "all-MiniLM-L6-v2"}
    assert len({(c.row, c.column) for c in cells}) == len(cells)
    # No round has a summary, so its row is of sessions alone.
    columns = {c.column for c in cells if c.row == "K = V + summary, BM25"}
    assert columns == {f"Value = session, {metric}@{k}" for metric, k in COLUMNS}
    rows = [cell.row for cell in longmemeval.granularities(metrics, study)]
    assert list(dict.fromkeys(rows)) == ["session", "round", "turn", "fact", "summary"]


def test_the_time_filter_is_compared_with_the_same_keys_without_it(written):
    study, metrics = sample_metrics(written)
    found = list(time.filtered(metrics, study.stem, study.base, study.temporal))
    cells = {(c.row, c.column): c for c in found}
    assert len(cells) == len(found)
    row = "Value = round, K = V, temporal-reasoning"
    assert (cells[row, "recall_all@5"].reproduced, cells[row, "recall_all@5"].n) == ("1.0000", 1)
    everyone = "Value = round, K = V + gold-fact, all questions"
    at = metrics.settings("sample-round-keys").index("user_only+merge:gold-fact")
    assert cells[everyone, "recall_all@10"].reproduced == f"{(1 + at / 100) / 3:.4f}"
    dates = " and ".join(load_plan().experiment("sample-round-time").dates)
    after = cells[everyone, f"recall_all@10, filtered by {dates}"].reproduced
    timed = metrics.settings("sample-round-time").index("user_only+merge:gold-fact")
    assert after == f"{(1 + timed / 100) / 3:.4f}"


@pytest.fixture
def times(tmp_path, monkeypatch):
    """Four questions of one memory, with ranges and dates of their own."""
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    memory = Memory.of("m", *((s, Round.of(f"{s}_1", user="x")) for s in ("s1", "s2", "s3")))
    kinds = {"both": "a", "one": "a", "none": "b", "no gold": "b", "no range": "b"}
    queries = tuple(Query(q, "m", "?", "", kind) for q, kind in kinds.items())
    two = (("s1",), ("s2",))
    gold = {"both": two, "one": (("s1", "s3"),), "none": (("s3",),), "no range": two}
    piece = Piece(memory, queries, {"session": gold})
    list(save_qrels([piece], paths.qrels("sample", "toy")))
    margin = time.MARGIN
    ranges = {"both": (100, 110), "one": (100, 110), "none": (100, 110), "no gold": (1, 1)}
    asked = [QueryRange(q, "m", "nlp", *span) for q, span in ranges.items()]
    save_ranges([*asked, QueryRange("no range", "m", "llm", 1, 1)], paths.ranges("sample", "toy"))
    dates = [
        DatedEvent("m", "s1", "nlp", 1, 1),
        DatedEvent("m", "s1", "nlp", 90, 100 - margin),
        DatedEvent("m", "s2", "said", 110 + margin, 110 + margin),
        DatedEvent("m", "s3", "nlp", 110 + margin + 1, 200),
        DatedEvent("other", "s3", "nlp", 105, 105),
    ]
    save_dates(dates, paths.dates("sample", "toy"))


def test_the_margin_is_the_filters():
    assert TimeFiltered(1).margin == time.MARGIN


@pytest.mark.parametrize(
    ("sources", "inside"),
    [
        (("nlp",), {"both": 1, "one": 1, "none": 0, "no gold": 0}),
        (("said",), {"both": 1, "one": 0, "none": 0, "no gold": 0}),
        (("nlp", "said"), {"both": 2, "one": 1, "none": 0, "no gold": 0}),
        (("recorded",), {"both": 0, "one": 0, "none": 0, "no gold": 0}),
    ],
)
def test_the_gold_sessions_that_a_range_keeps(times, sources, inside):
    found = time.covered("sample", "toy", sources).set_index("query_id")
    assert found["inside"].to_dict() == inside
    assert found["gold"].to_dict() == {"both": 2, "one": 2, "none": 1, "no gold": 0}
    assert found["kind"].to_dict() == {"both": "a", "one": "a", "none": "b", "no gold": "b"}


def test_a_range_is_wrong_if_it_leaves_out_a_gold_session(times):
    cells = {(c.row, c.column): c for c in time.ranges("sample", "toy")}
    assert {row: cells[row, "questions"].reproduced for row in ("a", "b", "all")} == {
        "a": "2",
        "b": "3",
        "all": "5",
    }
    assert cells["a", "got a range"].reproduced == "1.0000"
    assert cells["b", "got a range"].reproduced == "0.6667"
    assert cells["all", "got a range"].reproduced == "0.8000"
    # By both sources `both` is right; `one` lacks s3 and `none` its only session.
    assert (cells["all", "wrong by both"].reproduced, cells["all", "wrong by both"].n) == (
        "0.6667",
        3,
    )
    assert cells["all", "wrong by dated events"].reproduced == "1.0000"
    assert cells["b", "wrong by both"].n == 1
    assert not [column for _, column in cells if "recorded" in column]
