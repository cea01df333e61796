"""verify: digests, changed cells, and what counts as worse."""

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import write_table
from memrepro.provenance import verify
from memrepro.report.tables import Cell, cell_frame
from memrepro.study.evaluation import metrics_file
from memrepro.study.params import load_plan


def table(**verdicts):
    rows = [
        Cell(row, "c", "recall@5", "0.5000", value, 10, label)
        for row, (value, label) in verdicts.items()
    ]
    return cell_frame(rows)


def test_a_better_and_a_worse_verdict():
    before = table(a=("0.5000", "exact"), b=("0.4000", "not reproduced"), c=("0.5000", "exact"))
    now = table(a=("0.4900", "not reproduced"), b=("0.5000", "exact"), c=("0.5000", "exact"))
    changed = verify.changes(now, before).set_index("row")
    assert changed["worse"].to_dict() == {"a": True, "b": False}
    assert changed.loc["a", "reproduced before"] == "0.5000"


@pytest.mark.parametrize(
    ("before", "now", "worse"),
    [
        (("0.7876", "not comparable"), ("0.0000", "not comparable"), True),
        # 0.01 is less than 2 of 10 questions.
        (("0.5000", "not in the paper"), ("0.4900", "not in the paper"), False),
        # Two questions of a count.
        (("13", "not comparable"), ("11", "not comparable"), False),
        (("13", "not comparable"), ("10", "not comparable"), True),
        (("", "not run"), ("0.5000", "not in the paper"), False),
        (("0.5000", "not in the paper"), ("", "not run"), True),
    ],
)
def test_a_number_that_is_not_judged_may_not_vanish_or_collapse(before, now, worse):
    assert verify.changes(table(a=now), table(a=before))["worse"].tolist() == [worse]


def test_a_vanished_cell_is_worse_and_a_new_one_is_not():
    changed = verify.changes(table(b=("0.5000", "exact")), table(a=("0.5000", "exact")))
    assert dict(zip(changed["row"], changed["worse"], strict=True)) == {"a": True, "b": False}


def test_values_digest_ignores_noise_below_the_digits_and_nothing_above(tmp_path):
    def digest(*values):
        write_table(tmp_path / "t.parquet", pd.DataFrame({"query_id": ["a", "b"], "value": values}))
        return verify.values_digest(tmp_path / "t.parquet")

    assert digest(0.12341, -0.000001) == digest(0.1234100001, 0.000001)
    assert digest(0.12341, 0.0) != digest(0.1235, 0.0)


@pytest.mark.parametrize("profile", ["", ".", "open/../sample"])
def test_a_profile_that_is_none_is_refused_before_anything_is_read(monkeypatch, profile):
    read = []
    monkeypatch.setattr(verify, "manifest", lambda *asked: read.append(asked))
    with pytest.raises(MemreproError, match="unknown profile"):
        verify.run(profile)
    assert not read


@pytest.fixture
def copy(monkeypatch, tmp_path):
    """The sample profile's results and metrics, where a test may spoil them; one report of it."""
    folder = tmp_path / "sample"
    plan = replace(load_plan(), reports={"sample": ("findings",)})
    monkeypatch.setattr(verify, "load_plan", lambda: plan)
    metrics = shutil.copy2(metrics_file("sample"), tmp_path / "metrics.parquet")
    shutil.copytree(paths.results("sample"), folder)
    monkeypatch.setattr(paths, "metrics", lambda profile: metrics)
    monkeypatch.setattr(paths, "results", lambda profile: folder)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # one process, in which this is so
    return folder


def test_an_edited_table_is_found(copy, monkeypatch):
    """A tidy csv in which one digit was changed by hand does not follow from the rankings."""
    monkeypatch.setattr(verify, "_check_metrics", lambda profile: 0)  # which is not edited
    path = copy / "findings" / "overview.csv"
    whole = path.read_text()
    forged = re.sub(r",0\.\d{3}[0-8],", lambda one: f"{one[0][:-2]}9,", whole, count=1)
    assert forged != whole
    path.write_text(forged)
    with pytest.raises(MemreproError, match=r"overview\.csv does not follow from the rankings"):
        verify.check_recomputed("sample")
    path.write_text(whole)
    (copy / "findings" / "overview.md").write_text("forged")
    with pytest.raises(MemreproError, match=r"overview\.md does not follow from the rankings"):
        verify.check_recomputed("sample")


def test_a_table_that_no_report_writes_is_found(copy):
    (copy / "findings" / "forgotten.csv").write_text("row\n")
    with pytest.raises(MemreproError, match=r"forgotten\.csv is written by no report"):
        verify.check_recomputed("sample")


def test_a_stray_run_is_found(copy):
    run = paths.run("sample", "sample-bm25-user")
    shutil.copy2(run, run.with_name("forgotten.parquet"))
    with pytest.raises(MemreproError, match=r"forgotten\.parquet is of no experiment"):
        verify.check_recomputed("sample")


def test_an_edited_ranking_is_found(copy):
    path = paths.run("sample", "sample-dense-user")
    run = pd.read_parquet(path)
    run["rank"] = run.groupby("query_id")["rank"].transform(lambda r: r.to_numpy()[::-1])
    write_table(path, run)
    with pytest.raises(MemreproError, match=r"\.(csv|parquet) does not follow from the rankings"):
        verify.check_recomputed("sample")


def test_a_ranking_whose_rows_are_out_of_order_is_named(copy, monkeypatch):
    """Its ranks are right: only what goes by the order of rows would say something else."""
    monkeypatch.setattr(verify, "check_recomputed", lambda profile: 0)
    monkeypatch.setattr(verify, "compare_with_committed", lambda profile: pd.DataFrame())
    monkeypatch.setattr(verify, "_committed_manifest", lambda profile: known)
    known = verify.manifest("sample")
    path = paths.run("sample", "sample-dense-user")
    run = pd.read_parquet(path)
    run = run.iloc[[0, 1, 2, 7, 4, 5, 6, 3, *range(8, len(run))]].reset_index(drop=True)
    write_table(path, run)
    query, (rank, above) = run["query_id"][4], (run["rank"][4], run["rank"][3])
    said = f"user.parquet, row 5: the question '{query}' has the rank {rank} below {above}: "
    with pytest.raises(MemreproError, match=said):
        verify.check("sample")
    with pytest.raises(MemreproError, match=said):
        verify.run("sample")
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(MemreproError, match=r"user\.parquet cannot be read as a table"):
        verify.check("sample")


def test_a_result_that_cannot_be_read_or_named_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("memrepro.files.paths.root", lambda: tmp_path)
    folder = paths.results("sample")
    (folder / "toy").mkdir(parents=True)
    (folder / "toy" / "a.csv").write_text("a\n")
    verify.check_files("sample")
    (folder / "toy" / "b.csv").symlink_to(tmp_path / "nowhere")
    with pytest.raises(MemreproError, match=r"b\.csv is a link to nothing"):
        verify.check_files("sample")
    (folder / "toy" / "b.csv").unlink()
    Path(os.fsdecode(bytes(folder / "toy") + b"/\xff.csv")).touch()
    with pytest.raises(MemreproError, match="has a name that is no UTF-8") as error:
        verify.check_files("sample")
    assert "\\udcff.csv" in str(error.value)


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"a": 3}', b'{"a": {}}', b"[" * 99_999])
def test_a_damaged_manifest_is_none(raw):
    assert verify.manifest_of(raw) is None
    assert verify.manifest_of(b'{"a": {"bytes": "0"}}') == {"a": {"bytes": "0"}}
