"""The command for reading studies: questions answered from what was retrieved, and judged."""

import argparse
import sys
from functools import cache
from pathlib import Path

import pandas as pd

from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table, root, write_table
from memrepro.pipeline.printing import Add, print_table
from memrepro.read.plan import ReadingStudy
from memrepro.study.plan import PROFILES, Plan


def add_to(add: Add) -> None:
    """Add the command to the parser."""
    read = add(
        "read", _read,
        more="Models are those of params.yaml; answers are recorded, so that a second run asks for "
        "none. A price file is YAML, as gpt-4o-mini-2024-07-18: {currency: USD, prompt: 0.15, "
        "answer: 0.60}, for a million tokens of each. Exit status 1: a study cannot be read here.",
    )  # fmt: skip
    read.add_argument("profile", choices=PROFILES)
    read.add_argument("--study", default="", metavar="NAME", help="one of them; others' rows stay")
    read.add_argument(
        "--plan", action="store_true", help="print calls and tokens by model, and ask for nothing"
    )
    read.add_argument("--prices", type=Path, metavar="FILE", help="with --plan: also the cost")
    read.add_argument(
        "--rate", type=float, metavar="N", help="with --plan: also the time at N tokens a second"
    )


def _read(arguments: argparse.Namespace) -> int:
    from memrepro.study.params import load_plan

    if (arguments.prices or arguments.rate is not None) and not arguments.plan:
        raise MemreproError("--prices and --rate belong to --plan: add it, or leave them out")
    if arguments.rate is not None and not arguments.rate > 0:
        raise MemreproError(f"--rate is {arguments.rate}: give tokens a second, more than 0")
    plan = load_plan()
    studies = plan.readings(arguments.profile, arguments.study)
    if not studies:
        raise MemreproError(f"params.yaml has no reading study of the profile {arguments.profile}")
    if arguments.plan:
        return _forecast(arguments, plan, studies)
    table = _answered(arguments.profile, plan, studies)
    print_table(_summary(table), arguments.json)
    if not arguments.json:
        print(paths.readings(arguments.profile).relative_to(root()))
    return 0


def _summary(table: pd.DataFrame) -> pd.DataFrame:
    """Of each condition how many questions, how many answered, and the means of what is known."""
    numbers = ["right", "f1", "match", "contains", "judged", "docs", "dropped", "o200k"]
    table = table.assign(answered=table["outcome"].eq("answered"), questions=1)
    groups = table.astype(dict.fromkeys(numbers, "Float64")).groupby(
        ["study", "condition", "model"], sort=False
    )
    means = groups[numbers].mean().astype(float).round(4)
    return groups[["questions", "answered"]].sum().join(means).reset_index()


def _answered(profile: str, plan: Plan, studies: dict[str, ReadingStudy]) -> pd.DataFrame:
    """Read the studies and write their rows; those of the profile's other studies stay."""
    from memrepro.llm.choose import language_model
    from memrepro.llm.model import LanguageModel
    from memrepro.llm.records import AnswerStore
    from memrepro.read.reader import COLUMNS, read

    path = paths.readings(profile)
    made: dict[str, pd.DataFrame] = {}
    if set(studies) != set(plan.readings(profile)) and path.is_file():
        before = read_table(path)
        made = {str(study): rows for study, rows in before.groupby("study", sort=False)}
    with AnswerStore() as store:

        @cache
        def model_of(name: str) -> LanguageModel:
            return language_model(name, plan.models[name], store, f"reading of {profile}")

        for name, study in studies.items():
            print(f"memrepro: reading {name}", file=sys.stderr)
            made[name], seconds = read(study, model_of, plan.models)
            print(
                f"memrepro: {name}: {len(made[name])} answers; with their judgements they took "
                f"{seconds:.0f} s when they were made",
                file=sys.stderr,
            )
    table = pd.concat([made[name] for name in plan.readings(profile) if name in made])
    write_table(path, table.astype(COLUMNS).reset_index(drop=True))
    return pd.concat([made[name] for name in studies])


def _forecast(arguments: argparse.Namespace, plan: Plan, studies: dict[str, ReadingStudy]) -> int:
    from memrepro.llm.prices import read_prices
    from memrepro.llm.records import AnswerStore
    from memrepro.read.forecast import forecast

    prices = read_prices(arguments.prices) if arguments.prices else {}
    found, status = [], 0
    with AnswerStore() as store:
        for name, study in studies.items():
            try:
                found.append(forecast(study, plan.models, store, prices, arguments.rate))
            except MemreproError as error:
                of = f"{name}, {len(study.conditions)} conditions,"
                print(f"memrepro: {of} cannot be planned here: {error}", file=sys.stderr)
                status = 1
    if found:
        print_table(_with_totals(pd.concat(found), arguments), arguments.json)
    return status


def _with_totals(table: pd.DataFrame, arguments: argparse.Namespace) -> pd.DataFrame:
    """The steps of all studies, then a row a model."""
    from memrepro.read.forecast import COUNTS

    costs = ["low", "high"] if arguments.prices else []
    time = ["minutes"] if arguments.rate else []
    totals = table.groupby(["model", "revision"], as_index=False)[[*COUNTS, *costs, *time]].sum(
        min_count=1
    )
    if arguments.prices:
        totals["currency"] = totals["model"].map(table.groupby("model")["currency"].first())
    table = pd.concat([table, totals.assign(study="all")], ignore_index=True)
    table["minutes"] = table["minutes"].round(1)
    money = ["currency", *costs] if arguments.prices else []
    columns = ["study", "condition", "step", "model", "docs", "dropped", *COUNTS, *money, *time]
    return table[columns].astype(object).where(table[columns].notna(), "")
