"""The commands for rankings made elsewhere: score and export."""

import argparse
from pathlib import Path

from memrepro.evaluate.metrics import METRICS
from memrepro.pipeline.printing import Add, print_json, print_table, warn

_LEVELS = ("session", "round", "turn")


def add_to(add: Add) -> None:
    """Add the commands to the parser."""
    score = add(
        "score", _score, "evaluate rankings made elsewhere, beside all committed runs",
        more="A run is TREC's six columns, .jsonl (query_id and ranked, or query_id, doc_id, rank "
        "or score), .csv or .parquet with these columns, or .json (query, doc, score). What is "
        "wrong with a file is named and counted, and the exit status is then 1. Tables and a page "
        "go to build/score/<data set>/.",
    )  # fmt: skip
    score.add_argument("runs", metavar="RUN", nargs="+", type=Path)
    score.add_argument(
        "--dataset", default="", help="as `memrepro datasets` lists them; needed without --qrels"
    )
    score.add_argument(
        "--qrels",
        type=Path,
        metavar="FILE",
        help="gold in place of the data set's: TREC, BEIR's tsv, .csv, .jsonl (query_id, relevant)",
    )
    score.add_argument("--level", choices=_LEVELS, default="", help="of the docs (found by ids)")
    score.add_argument("--metric", choices=list(METRICS), default="recall_all")
    score.add_argument("--k", type=int, default=10, help="the cut-off of comparisons (10)")
    score.add_argument("--output", type=Path, metavar="FOLDER", help="in place of build/score/…")
    export = add(
        "export", _export, "write a data set's corpus, queries and qrels for other systems",
        more="BEIR's and TREC's layouts, a folder a memory. The texts stay on this machine under "
        "the data set's licence.",
    )  # fmt: skip
    export.add_argument("dataset", metavar="DATASET")
    export.add_argument("folder", metavar="FOLDER", type=Path)
    export.add_argument("--level", choices=_LEVELS, default="session", help="what a doc is")


def _score(arguments: argparse.Namespace) -> int:
    from memrepro.files import paths
    from memrepro.outside import page
    from memrepro.outside.qrels import rule_of
    from memrepro.outside.score import is_here, score, score_by
    from memrepro.study.params import load_plan

    plan, called = load_plan(), arguments.dataset or "qrels"
    by = (arguments.metric, arguments.k)
    if arguments.qrels or (rule_of(called) and not is_here(called, plan)):
        scored = score_by(arguments.runs, called, plan, arguments.qrels, *by)
    else:
        scored = score(arguments.runs, called, plan, arguments.level, *by)
    folder = arguments.output or paths.build("score") / scored.dataset
    index = page.write(scored, folder)
    problems = [one for run in scored.runs for one in page.problem_sentences(run)]
    if arguments.json:
        print_json({
            "dataset": scored.dataset, "metric": scored.metric, "k": scored.k,
            "problems": {run.name: run.problems for run in scored.runs},
            "values": scored.values.to_dict("records"),
            "beside": scored.beside.to_dict("records"),
            "page": str(index),
        })  # fmt: skip
    else:
        for sentence in page.sentences(scored):
            print(sentence)
        print()
        own = scored.values["metric"].eq(scored.metric) & scored.values["k"].eq(scored.k)
        # Without anything to compare with, the values are what was asked for.
        shown = scored.values if scored.beside.empty else scored.values[own]
        print_table(shown.round(4))
        print(f"\npage and tables: {index}")
    for problem in problems:
        warn(problem)
    return 1 if problems else 0


def _export(arguments: argparse.Namespace) -> int:
    import pandas as pd

    from memrepro.outside.export import export
    from memrepro.study.params import load_plan

    counts = export(arguments.dataset, arguments.folder, load_plan(), arguments.level)
    print_table(pd.DataFrame([counts]), arguments.json)
    return 0
