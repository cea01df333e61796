"""The commands for answers made elsewhere or to be scored elsewhere: judge and export-answers."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from memrepro.data.gold import Gold, gold_answers
from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import mean_interval
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.pipeline.printing import Add, print_json, print_table
from memrepro.read import shipping
from memrepro.read.judge import by_rule
from memrepro.read.labels import ALL, agreement, read_labels
from memrepro.read.prompts import parse_option
from memrepro.read.shipping import Imported, Said
from memrepro.study.plan import PROFILES

MIXED = "verdict of another judge than the first"
_SCORES = ("right", "judged", "f1", "match", "contains")
Verdicts = Mapping[str, tuple[bool | None, str]]


def add_to(add: Add) -> None:
    """Add the commands to the parser."""
    judge = add(
        "judge", _judge,
        more="FILE is JSON Lines of question_id and hypothesis, with autoeval_label where it was "
        "judged, as evaluate_qa.py reads and writes them; with --predictions LoCoMo's samples with "
        "the answers in them. People's labels are csv or .jsonl of question_id and label (yes or "
        "no). Means are over the answers that are there, with 95 % intervals by the data set's "
        "unit, such as the conversation; where questions that cannot be answered have a type, the "
        "numbers follow that LongMemEval's print_qa_metrics.py prints. What is wrong with a file "
        "is named and counted, and the exit status is then 1.",
    )  # fmt: skip
    judge.add_argument("answers", metavar="FILE", type=Path)
    judge.add_argument("--dataset", required=True, help="as `memrepro datasets` lists them")
    judge.add_argument("--predictions", default="", metavar="NAME", help="of <NAME>_prediction")
    judge.add_argument("--model", default="", help="of params.yaml: judge the answers by it")
    judge.add_argument(
        "--rubrics", default="strict", help="that the model is told: strict, lenient"
    )
    judge.add_argument("--labels", type=Path, metavar="FILE", help="agreement with people, by kind")

    ship = add(
        "export-answers", _export,
        more="JSON Lines as `judge` reads them, or with --samples LoCoMo's form. The answers come "
        "from the records; their texts stay on this machine under the data set's licence.",
    )  # fmt: skip
    ship.add_argument("profile", choices=PROFILES)
    ship.add_argument("study", metavar="STUDY")
    ship.add_argument("condition", metavar="CONDITION")
    ship.add_argument("output", metavar="FILE", type=Path)
    ship.add_argument("--samples", type=Path, metavar="FILE", help="the data set's locomo10.json")


def _export(arguments: argparse.Namespace) -> int:
    from memrepro.llm.choose import language_model
    from memrepro.llm.records import AnswerStore
    from memrepro.study.params import load_plan

    plan = load_plan()
    study = plan.readings(arguments.profile, arguments.study)[arguments.study]
    if arguments.output.is_file():
        raise MemreproError(f"{arguments.output} is there already: name a new file")
    with AnswerStore() as store:
        answers, f1 = shipping.answers_of(
            study,
            arguments.condition,
            lambda name: language_model(name, plan.models[name], store, "export-answers"),
            plan.models,
        )
    model = str(plan.models[study.any.model]["model"])
    if arguments.samples:
        shipping.export_predictions(answers, arguments.samples, model, arguments.output, f1)
    else:
        shipping.export_hypotheses(answers, arguments.output)
    judged = sum(one.judged is not None for one in answers.values())
    counts = {"model": model, "answers": len(answers), "judged": judged, "f1": len(f1)}
    print_table(pd.DataFrame([counts]), arguments.json)
    return 0


def _judge(arguments: argparse.Namespace) -> int:
    from functools import partial

    from memrepro.study.groups import groups_of_questions
    from memrepro.study.params import load_plan

    gold = gold_answers(arguments.dataset)
    if arguments.predictions:
        found = shipping.import_predictions(arguments.answers, arguments.predictions, gold)
    else:
        found = shipping.import_hypotheses(arguments.answers, gold)
    verdicts = {q: (one.judged, one.judge) for q, one in found.answers.items() if one.judge}
    if arguments.model:
        verdicts = _verdicts(found.answers, gold, arguments.model, arguments.rubrics)
    problems = dict(found.problems)
    judges = dict.fromkeys(name for _, name in verdicts.values())
    if len(judges) > 1 and not arguments.model:
        several = tuple(q for q, (_, name) in verdicts.items() if name != next(iter(judges)))
        problems[f"{MIXED} ({', '.join(judges)})"] = several
    scored = _scored(found, gold, verdicts)
    tables = {"scores": _means(scored, arguments.dataset)}
    types = paths.types(load_plan().dataset(arguments.dataset).profile, arguments.dataset)
    if types.is_file() and any(right is not None for right, _ in verdicts.values()):
        tables["longmemeval"] = by_type(scored, _types(types))
    if arguments.labels:
        if not verdicts:
            raise MemreproError(
                "--labels compares people with a judge: give --model, or judged answers"
            )
        said = {q: verdicts.get(q, (None, ""))[0] for q in found.answers}
        labels = read_labels(arguments.labels, said)
        problems |= labels.problems
        kinds = {query_id: one.kind for query_id, one in gold.items()}
        groups_of = partial(groups_of_questions, arguments.dataset, plan=load_plan())
        tables["agreement"] = _beside_printed(agreement(labels.right, said, kinds, groups_of))
    for query_id, (right, why) in verdicts.items():
        if right is None:
            problems[f"no verdict: {why}"] = (*problems.get(f"no verdict: {why}", ()), query_id)
    if arguments.json:
        records = {name: table.to_dict("records") for name, table in tables.items()}
        print_json({"problems": problems, **records})
    else:
        for table in tables.values():
            print_table(table.round(4))
            print()
    for problem, ids in problems.items():
        mixed = "all count" if problem.startswith(MIXED) else "left out"
        done = shipping.PROBLEMS.get(problem, mixed)
        print(f"memrepro: {problem}: {len(ids)}, such as {ids[0]} ({done})", file=sys.stderr)
    return 1 if problems else 0


def _verdicts(
    answers: Mapping[str, Said], gold: Mapping[str, Gold], name: str, rubrics: str
) -> dict[str, tuple[bool | None, str]]:
    """What a model of params.yaml says of the answers; an empty one is wrong without asking."""
    from memrepro.llm.choose import language_model
    from memrepro.llm.records import AnswerStore
    from memrepro.read.judge import judge_prompt, read_rubrics, verdict
    from memrepro.study.params import load_plan

    models = load_plan().models
    if name not in models:
        raise MemreproError(f"no model {name!r} in params.yaml: known are {', '.join(models)}")
    in_process = bool({"transformers", "wheel"} & set(models[name]))
    told = read_rubrics(rubrics, by_likelihood=in_process)
    asked = {q: one.text for q, one in answers.items() if one.text.strip()}
    with AnswerStore() as store:
        model = language_model(name, models[name], store, "judge")
        said = model.answer([judge_prompt(gold[q], text, told) for q, text in asked.items()])
    found = dict(zip(asked, map(verdict, said), strict=True))
    return {query_id: found.get(query_id, (False, "empty")) for query_id in answers}


def _scored(found: Imported, gold: Mapping[str, Gold], verdicts: Verdicts) -> pd.DataFrame:
    rows = []
    for query_id, said in found.answers.items():
        one, row = gold[query_id], dict.fromkeys(_SCORES)
        if one.options:
            row["right"] = parse_option(said.text, one.options) == one.correct
        else:
            row |= by_rule(one, said.text)._asdict()
        row["judged"] = verdicts.get(query_id, (None, ""))[0]
        rows.append({"query_id": query_id, "kind": one.kind, **row})
    return pd.DataFrame(rows, columns=["query_id", "kind", *_SCORES]).astype(
        dict.fromkeys(_SCORES, float)
    )


def _means(scored: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Each score that there is, by kind and over all: n, mean, its interval and what that is of."""
    from memrepro.study.groups import groups_of_questions
    from memrepro.study.params import load_plan

    rows, plan = [], load_plan()
    for kind, part in [*scored.groupby("kind", sort=False), (ALL, scored)]:
        for name in _SCORES:
            there = part.dropna(subset=[name])
            if len(there):
                groups = groups_of_questions(dataset, there["query_id"].tolist(), plan)
                mean = mean_interval(there[name].to_numpy(np.float64), groups)
                rows.append((kind, name, len(there), *mean, str(groups)))
    return pd.DataFrame(rows, columns=["kind", "score", "n", "mean", "low", "high", "by"])


def _types(path: Path) -> dict[str, str]:
    """Question → its type, of a data set's questions whose kind says another."""
    return dict(read_table(path)[["query_id", "type"]].itertuples(index=False, name=None))


def by_type(scored: pd.DataFrame, types: Mapping[str, str]) -> pd.DataFrame:
    """A judge's verdicts as LongMemEval's `print_qa_metrics.py` sums them up.

    Columns: of (a question type, `task-averaged`, `overall`, `abstention`), n, accuracy. A question
    that cannot be answered counts within its type; the task average is the mean of the types'
    means, so that each type weighs the same. What no verdict is of has no row.

    Args:
        scored: `query_id, kind, judged`, the last 1, 0 or missing where there is no verdict.
        types: question → its type, where its kind says another.
    """
    judged = scored.dropna(subset=["judged"])
    kinds = judged["query_id"].map(types).fillna(judged["kind"])
    rows = [(kind, len(one), one.mean()) for kind, one in judged.groupby(kinds)["judged"]]
    each = pd.DataFrame(rows, columns=["of", "n", "accuracy"])
    untold = judged.loc[judged["query_id"].isin(types), "judged"]
    rows += [
        ("task-averaged", len(judged), each["accuracy"].mean()),
        ("overall", len(judged), judged["judged"].mean()),
        ("abstention", len(untold), untold.mean()),
    ]
    return pd.DataFrame([row for row in rows if row[1]], columns=["of", "n", "accuracy"])


def _beside_printed(table: pd.DataFrame) -> pd.DataFrame:
    """The agreement that documents print for the same kinds, a column each."""
    from memrepro.audit.ledger import printed_entries

    for entry in printed_entries():
        if entry.metric == "agreement" and entry.row in set(table["kind"]):
            table.loc[table["kind"] == entry.row, f"printed, {entry.column}"] = entry.printed
    return table.fillna("")
