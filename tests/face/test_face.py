"""`import memrepro as mr`: at once, by name, and with one sentence where results are missing."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import memrepro as mr
from memrepro.errors import MemreproError
from memrepro.face import questions
from memrepro.face.defaults import (
    dataset_parameters,
    excluded_kinds,
    method_defaults,
    methods,
    tried,
    unit_of,
)
from memrepro.retrieve import FAMILIES
from memrepro.study.params import load_plan

ROOT = Path(__file__).parents[2]
RUN = "locomo-minilm-rounds"
SWEEP = "locomo-minilm-round-hybrid"


def test_the_import_loads_nothing():
    code = (
        "import sys; import memrepro as mr; "
        "assert not {'numpy', 'pandas', 'torch'} & set(sys.modules); "
        "assert set(mr.__all__) <= set(dir(mr)); import memrepro.audit.verdicts; "
        "assert callable(mr.audit) and callable(mr.verdict)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mr.nothing  # noqa: B018


def test_the_defaults_are_those_of_params_yaml():
    """But for k and the alpha that RF-Mem's runs chose after looking, as defaults.yaml says."""
    plan = load_plan()
    for name, entry in plan.datasets.items():
        assert dict(dataset_parameters(name)) == {
            key: value for key, value in entry.parameters.items() if key != "duplicates"
        }
        assert unit_of(entry.module) == entry.unit
    assert excluded_kinds() == plan.evaluation.exclude
    runs = mr.face.defaults._defaults()["methods"]
    for method in methods():
        one = plan.experiment(runs[method]["as"])
        given = method_defaults(method)
        assert f"{one.method}.{one.retriever}" == method
        assert bool(given.pop("lexical", False)) == (not one.encoder)
        assert tuple(given.pop("dates", ())) == one.dates
        given.pop("key_scheme", None)
        if one.vary == "cosine":
            assert given.pop("cosine") == 0.5
        if method.startswith("rfmem") or one.vary:
            assert given.pop("alpha", 0.5) == 0.5
        same = {key: value for key, value in one.parameters.items() if key in given}
        assert given == same
        # The retrievers' own default, where nothing is said.
        assert one.parameters.get("on_empty", "stop") == given.get("on_empty", "stop")
        left = set(one.parameters) - {"k", "alpha", "on_empty", *_library(method)}
        assert left == set(given) - {"alpha", "on_empty"}
    every = {
        f"{family}.{name}"
        for family in FAMILIES
        for name in __import__(f"memrepro.retrieve.{family}.retrievers", fromlist=["x"]).RETRIEVERS
    }
    assert every == set(methods()) >= {entry["method"] for entry in tried().values()}


def _library(method):
    """Parameters whose defaults are the retriever's own."""
    return {"rfmem_alternatives.dbscan": {"eps", "min_samples"}, "rfmem_alternatives.spectral": {
        "gamma"}, "rfmem_alternatives.full": {"rounds"}}.get(method, set())  # fmt: skip


def test_a_committed_run_is_what_the_tables_say():
    cells = mr.table("rfmem", "table2", tidy=True)
    row = cells[(cells["row"] == "mpnet Recol.") & (cells["column"] == "R@10 Overall")].iloc[0]
    values = mr.run("rfmem-mpnet-recollection-k10").values("recall@10")
    assert (f"{values.mean():.4f}", len(values)) == (row["reproduced"], int(row["n"]))
    assert list(values.index.names) == ["query_id", "kind", "person"]


def test_ones_own_ranking_is_judged_like_a_committed_one():
    committed = mr.run(RUN)
    ranking = committed.ranking[["query_id", "doc_id"]]
    pd.testing.assert_series_equal(
        mr.run(ranking, "locomo").values("recall@10"), committed.values("recall@10")
    )
    # Another order of rows, with scores.
    shuffled = committed.ranking.drop(columns="rank").sample(frac=1, random_state=1)
    # As of a spreadsheet in most of Europe.
    commas = shuffled.assign(score=shuffled["score"].map("{:.9f}".format).str.replace(".", ","))
    mine = mr.run(commas, "locomo")
    assert not mine.problems
    assert mr.compare(mine.values("recall@10"), committed.values("recall@10")).difference == 0
    some = committed.ranking["query_id"].unique()[:50].tolist()
    part = mr.run(ranking[ranking["query_id"].isin(some)], "locomo", questions=some)
    assert not part.problems
    assert set(part.values().index.get_level_values("query_id")) <= set(some)
    with pytest.warns(UserWarning, match="without a ranking, 1,936 times, first 'conv-"):
        unasked = mr.run(ranking[ranking["query_id"].isin(some)], "locomo")
    assert len(unasked.problems["question without a ranking"]) == 1986 - 50
    assert unasked.values().mean() < part.values().mean()


def test_a_comparison_resamples_the_data_sets_unit():
    dense = mr.run(RUN).values("recall_all@10")
    hybrid = mr.sweep(SWEEP).values("recall_all@10")["0.5"]
    by_default, by_question = mr.compare(dense, hybrid), mr.compare(dense, hybrid, by="question")
    assert (by_default.unit, by_default.groups, by_question.groups) == ("conversation", 10, 1979)
    assert by_default.difference == pytest.approx((hybrid - dense).mean())
    assert mr.compare(hybrid, dense.iloc[::-1]).difference == -by_default.difference
    assert by_default.won == ((hybrid - dense) > 0).sum()


def test_the_small_readers_answers_are_not_those_that_others_published():
    own, published = (mr.answers("longmemeval-oracle", by) for by in ("own", "published"))
    assert set(own["model"]) == {"SmolLM2-135M-Instruct"}
    assert "model" not in published


def test_a_question_without_its_data_has_no_texts(monkeypatch):
    monkeypatch.setattr(questions, "is_here", lambda name: False)
    asked = mr.question("conv-26-q0", runs="locomo-minilm-round-hybrid", k=1)
    assert (asked.text, set(asked.gold["text"])) == ("", {""})
    assert asked.found["setting"].tolist() == ["0.0", "0.3", "0.5", "0.7", "0.9", "1.0"]


OWN = pd.DataFrame({"query_id": ["conv-26-q0"], "doc_id": ["D1:3"], "score": [1.0]})
VALUES = pd.Series([1.0], pd.Index(["a"], name="query_id"))
ERRORS = {
    "unknown experiment 'nothing'": lambda: mr.run("nothing"),
    "has no setting '2'.*as text, of 0.0, 0.3": lambda: mr.run(
        "locomo-minilm-round-hybrid", setting="2"
    ),
    "is one run, no sweep: use run": lambda: mr.sweep(RUN),
    "ranks 60 docs a question: no value at k = 61": lambda: mr.run(RUN).values("recall@61"),
    "unknown metric 'recal@1'.*name@k": lambda: mr.run(RUN).values("recal@1"),
    "no values by turn.*there are those by round, session": lambda: mr.run(RUN).values(
        level="turn"
    ),
    "needs its data set": lambda: mr.run(VALUES.to_frame()),
    "unknown level 'x'": lambda: mr.run(OWN, "locomo", level="x"),
    "the ranking has no row": lambda: mr.run(OWN.iloc[:0], "locomo"),
    "questions is empty": lambda: mr.run(OWN, "locomo", questions=[]),
    "no number as score": lambda: mr.run(OWN.assign(score="high"), "locomo"),
    "row 1 has no doc_id": lambda: mr.run(OWN.assign(doc_id=float("nan")), "locomo"),
    "no committed run has the dataset 'x'": lambda: mr.runs("x"),
    "no committed run has the level 'x': .*round, session": lambda: mr.runs("locomo", level="x"),
    "unknown experiment 'mine.trec'": lambda: mr.run("mine.trec", "locomo"),
    "1 of the 2 values are no numbers": lambda: mr.compare(VALUES, VALUES * float("nan")),
    "have 0 in common": lambda: mr.compare(VALUES, VALUES.rename({"a": "b"})),
    "takes the values of two runs, not a float": lambda: mr.compare(1.0, 2.0),
    "no 'person' to resample": lambda: mr.compare(VALUES, VALUES, by="person"),
    "has no table 'tabel2'.*table2": lambda: mr.table("rfmem", "tabel2"),
    "is no table but a list.*tidy=True": lambda: mr.table("rfmem", "alpha_sweep"),
    "sample_by_type' in the profile 'sample', not in 'open'": lambda: mr.table(
        "maxsim", "sample_by_type"
    ),
    "unknown document 'x'": lambda: mr.printed("x", "y"),
    "'27%' is no decimal number": lambda: mr.verdict("27%", 0.27),
    "0.27 is no decimal number as printed": lambda: mr.verdict(0.27, 0.27),
    "no data set has the question 'x'": lambda: mr.question("x"),
    "the run rfmem-mpnet-familiarity is on": lambda: mr.question(
        "conv-26-q0", runs=["rfmem-mpnet-familiarity"]
    ),
}


@pytest.mark.parametrize("sentence", ERRORS)
def test_errors_name_the_item_and_the_rule(sentence):
    with pytest.raises(MemreproError, match=sentence):
        ERRORS[sentence]()


@pytest.mark.parametrize(
    "call",
    [
        lambda: mr.run(RUN),
        mr.runs,
        lambda: mr.sweep(RUN),
        lambda: mr.table("rfmem", "table2"),
        lambda: mr.figure("rfmem", "alpha_sweep"),
        lambda: mr.question("conv-26-q0"),
        lambda: mr.run(pd.DataFrame({"query_id": ["a"], "doc_id": ["b"]}), "locomo"),
    ],
)
def test_outside_a_repository_one_sentence_says_what_is_missing(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MemreproError, match="reads the committed results, which the installed"):
        call()


@pytest.mark.parametrize(
    ("edited", "said"),
    [
        (lambda run: run.drop(columns="rank"), "it has no column 'rank'"),
        (lambda run: run.assign(query_id=1), "whole numbers are query_id, rank, and must be rank"),
        (lambda run: run.iloc[::-1], "row 2: the question .* has the rank .* below"),
        (
            lambda run: run[run["query_id"] != "conv-26-q7"],
            "'conv-26-q7': it is cut short",
        ),
    ],
)
def test_an_edited_ranking_is_named(edited, said, tmp_path, monkeypatch):
    path = tmp_path / "run.parquet"
    edited(mr.run(RUN).ranking).to_parquet(path, index=False)
    monkeypatch.setattr("memrepro.files.paths.run", lambda *_: path)
    with pytest.raises(MemreproError, match=rf"run\.parquet.*{said}"):
        mr.run(RUN)


def test_a_sweep_out_of_which_a_setting_was_cut_is_refused(tmp_path, monkeypatch):
    whole = mr.sweep(SWEEP).runs
    path = tmp_path / "run.parquet"
    left = [one.ranking.assign(setting=key) for key, one in whole.items() if key != "0.5"]
    pd.concat(left).to_parquet(path, index=False)
    monkeypatch.setattr("memrepro.files.paths.run", lambda *_: path)
    with pytest.raises(MemreproError, match=r"run\.parquet.* \[0\.5\] ranks docs for 0 quest"):
        mr.run(SWEEP, setting="0.5")
