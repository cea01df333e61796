"""The commands for rankings made elsewhere: score and export."""

import argparse
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from memrepro.errors import MemreproError
from memrepro.evaluate.metrics import METRICS
from memrepro.pipeline.printing import Add, print_json, print_table, warn

if TYPE_CHECKING:
    from memrepro.outside.each import Grouped
    from memrepro.outside.score import Scored

_LEVELS = ("session", "round", "turn")


def add_to(add: Add) -> None:
    """Add the commands to the parser."""
    score = add(
        "score", _score,
        more="A run is TREC's six columns, .jsonl (query_id and ranked, or query_id, doc_id, rank "
        "or score), .csv or .parquet with these columns, or .json (query, doc, score). What is "
        "wrong with a file is named and counted, and the exit status is then 1. Tables and a page "
        "go to build/score/<data set>/.",
    )  # fmt: skip
    score.add_argument("runs", metavar="RUN", nargs="+", type=Path)
    score.add_argument(
        "--dataset", default="", metavar="NAME",
        help="as `memrepro datasets` lists them, or a folder that `memrepro try` wrote",
    )  # fmt: skip
    score.add_argument(
        "--qrels",
        type=Path,
        metavar="FILE",
        help="gold in place of the data set's: TREC, BEIR's tsv, .csv, .jsonl (query_id, relevant)",
    )
    score.add_argument("--level", choices=_LEVELS, default="", help="of the docs (found by ids)")
    score.add_argument("--metric", choices=list(METRICS), default="recall_all")
    score.add_argument("--k", type=int, default=10, help="the cut-off of comparisons (10)")
    score.add_argument(
        "--leave-out", action="append", default=[], metavar="KIND",
        help="no value counts questions of this kind, such as LoCoMo's adversarial",
    )  # fmt: skip
    score.add_argument(
        "--fail-below", action="append", default=[], metavar="METRIC@K=VALUE",
        help="exit status 1 where a run's mean is below, such as recall_all@10=0.60",
    )  # fmt: skip
    score.add_argument(
        "--against", type=Path, metavar="RUN",
        help="compare with this run, and exit with 1 where one is clearly worse",
    )  # fmt: skip
    score.add_argument("--output", type=Path, metavar="FOLDER", help="in place of build/score/…")
    export = add(
        "export", _export,
        more="BEIR's and TREC's layouts, a folder a memory. The texts stay on this machine under "
        "the data set's licence.",
    )  # fmt: skip
    export.add_argument(
        "dataset", metavar="DATASET", help="its name, or a folder that `memrepro try` wrote"
    )
    export.add_argument("folder", metavar="FOLDER", type=Path)
    export.add_argument("--level", choices=_LEVELS, default="session", help="what a doc is")


def _score(arguments: argparse.Namespace) -> int:
    from memrepro.files import paths
    from memrepro.outside import page
    from memrepro.outside.runs import problem_sentences

    if arguments.output:
        page.check_folder(arguments.output)
    scored, grouped = _scored(arguments)
    trial = _is_trial(arguments.dataset)
    folder = arguments.output or (
        Path(arguments.dataset) / "score" if trial else paths.build_folder("score") / scored.dataset
    )
    index = page.write(scored, folder)
    problems = [one for run in scored.runs for one in problem_sentences(run.name, run.problems)]
    told, failed = _against(arguments, scored, grouped)
    failed += _below(arguments, scored)
    if arguments.json:
        print_json({
            "dataset": scored.dataset, "metric": scored.metric, "k": scored.k,
            "problems": {run.name: run.problems for run in scored.runs},
            "values": scored.values.to_dict("records"),
            "beside": scored.beside.to_dict("records"),
            "kinds": scored.kinds.to_dict("records"),
            "failed": failed, "page": str(index),
        })  # fmt: skip
    else:
        for sentence in [*page.sentences(scored), *told]:
            print(sentence)
        print()
        own = scored.values["metric"].eq(scored.metric) & scored.values["k"].eq(scored.k)
        # Without anything to compare with, the values are what was asked for.
        shown = scored.values if scored.beside.empty else scored.values[own]
        print_table(shown.round(4))
        print(f"\npage and tables: {index}")
    for sentence in [*problems, *failed]:
        warn(sentence)
    return 1 if problems or failed else 0


def _is_trial(dataset: str) -> bool:
    """Whether a data set is a folder that `memrepro try` wrote."""
    return bool(dataset) and (Path(dataset) / "trial.yaml").is_file()


def _scored(arguments: argparse.Namespace) -> tuple["Scored", "Grouped"]:
    """The runs, that of --against among them, and what their questions are grouped by."""
    from memrepro.evaluate.comparison import questions

    if not arguments.dataset and not arguments.qrels:
        raise MemreproError("no gold: name a data set by --dataset, or a file by --qrels")
    called, runs = arguments.dataset or "qrels", list(arguments.runs)
    if arguments.against:
        runs.append(arguments.against)
    by = (arguments.metric, arguments.k)
    if _is_trial(called) and not arguments.qrels:
        from memrepro.face.trial.files import read_source
        from memrepro.face.trial.scoring import score_on_trial

        if arguments.level:
            raise MemreproError("--level is for a data set; a trial has a level of its own")
        scored = score_on_trial(runs, Path(called), *by, arguments.leave_out)
        return scored, read_source(Path(called))[0].groups
    from memrepro.outside.qrels import rule_of
    from memrepro.outside.score import is_here, score, score_by
    from memrepro.study.groups import groups_of_questions
    from memrepro.study.params import load_plan

    plan = load_plan()
    if arguments.qrels or (rule_of(called) and not is_here(called, plan)):
        if arguments.leave_out:
            raise MemreproError("--leave-out needs kinds of question, which qrels do not have")
        scored = score_by(runs, called, plan, arguments.qrels, *by, arguments.level)
        return scored, lambda query_ids: questions(len(query_ids))
    scored = score(runs, called, plan, arguments.level, *by, arguments.leave_out)
    return scored, lambda query_ids: groups_of_questions(called, query_ids, plan)


def _against(
    arguments: argparse.Namespace, scored: "Scored", grouped: "Grouped"
) -> tuple[list[str], list[str]]:
    """Each run against that of --against, in sentences, and those that fail."""
    from memrepro.outside.each import compared

    if not arguments.against:
        return [], []
    *runs, other = scored.runs
    told, failed = [], []
    for run in runs:
        found = compared(scored.each, run.name, other.name, run.level, scored.metric, grouped)
        said = f"{run.name} against {other.name}, {scored.metric}@{scored.k}: {found}"
        told.append(f"{said} (p = {found.p:.4f}): {found.effect}.")
        if found.sign() < 0:
            failed.append(f"{said}: {found.effect}")
    return told, failed


def _below(arguments: argparse.Namespace, scored: "Scored") -> list[str]:
    """The runs that --fail-below fails, in sentences."""
    failed = []
    judged = [run for run in scored.runs if run.path != arguments.against]
    for written in arguments.fail_below:
        wanted, equals, least = written.partition("=")
        metric, _, k = wanted.partition("@")
        try:
            limit, cut = float(least), int(k)
        except ValueError:
            equals = ""
        if not equals or metric not in METRICS or not isfinite(limit):
            raise MemreproError(
                f"--fail-below {written}: write METRIC@K=VALUE, such as recall_all@10=0.60, with "
                f"a metric of {', '.join(METRICS)}"
            )
        first = scored.values["protocol"].iloc[0]
        for run in judged:
            rows = scored.values[
                (scored.values[["run", "level", "protocol", "metric", "k"]]
                 == [run.name, run.level, first, metric, cut]).all(axis=1)
            ]  # fmt: skip
            if rows.empty:
                raise MemreproError(
                    f"--fail-below {written}: {run.name} has no {metric}@{cut}; give --k {cut}"
                )
            if (value := float(rows["value"].iloc[0])) < limit:
                failed.append(f"{run.name}: {metric}@{cut} is {value:.4f}, below {limit:g}")
    return failed


def _export(arguments: argparse.Namespace) -> int:
    import pandas as pd

    from memrepro.outside.export import export, export_data

    if _is_trial(arguments.dataset):
        from memrepro.face.trial.files import read_source

        data, _ = read_source(Path(arguments.dataset))
        gold = data.labels.get(arguments.level, {})
        counts = export_data(
            data.dataset, gold, arguments.folder, arguments.level, arguments.dataset
        )
    else:
        from memrepro.study.params import load_plan

        counts = export(arguments.dataset, arguments.folder, load_plan(), arguments.level)
    print_table(pd.DataFrame([counts]), arguments.json)
    return 0
