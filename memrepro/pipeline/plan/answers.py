"""What a profile asks language models: calls and tokens by study, what they cost, and how long."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from memrepro.errors import MemreproError
from memrepro.llm.choose import identity
from memrepro.llm.model import Tokens
from memrepro.llm.plan import estimated_tokens
from memrepro.llm.prices import Price
from memrepro.llm.records import AnswerStore
from memrepro.pipeline.plan.embedding import BEFORE, COUNTED, ESTIMATED
from memrepro.pipeline.plan.stages import facts, measured
from memrepro.read.forecast import forecast
from memrepro.read.plan import Condition, ReadingStudy
from memrepro.read.prompts import Prompts
from memrepro.study.plan import Plan

_NUMBERS = ["calls", "recorded", "left", "prompt_tokens", "answer_tokens"]
_ORACLE = 2  # sessions that hold a question's evidence
_JUDGED = 250  # tokens of a rubric with question and gold, without the answer


def calls_of(plan: Plan, profile: str, prices: Mapping[str, Price]) -> pd.DataFrame:
    """A row a reading study and model, as `read.forecast` counts where the data are prepared.

    Elsewhere calls are those of the last measurement, or follow from the conditions and what
    facts.yaml says of the data set; nothing is taken as recorded then.

    Returns:
        `study`, `model` (as params.yaml calls it), the columns of `_NUMBERS`, `currency`, `low`
        and `high` where there are prices, and `source`.

    Raises:
        MemreproError: if there are prices, and none of a model that is asked.
    """
    rows: list[dict[str, Any]] = []
    for study in plan.readings(profile).values():
        try:
            with AnswerStore() as store:
                rows += counted(study, plan.models, store)
        except MemreproError:
            rows += _before(study.name) or list(_estimated(study, plan))
    table = pd.DataFrame(rows, columns=["study", "model", *_NUMBERS, "source"])
    for n, row in enumerate(rows):
        if price := prices.get(str(plan.models[row["model"]]["model"])):
            prompt, answer = row["prompt_tokens"], row["answer_tokens"]
            low, high = price.cost(Tokens(prompt)), price.cost(Tokens(prompt, answer))
            table.loc[n, ["currency", "low", "high"]] = price.currency, low, high
    if prices and rows and "currency" not in table:
        named = sorted({str(plan.models[row["model"]]["model"]) for row in rows})
        raise MemreproError(f"no price is of a model of {profile}: it asks {', '.join(named)}")
    return table


def counted(
    study: ReadingStudy, entries: Mapping[str, Any], store: AnswerStore
) -> list[dict[str, Any]]:
    """A study's rows of `calls_of`, of what is prepared here."""
    table = forecast(study, entries, store, {})
    names = {identity(name, entry).model: name for name, entry in entries.items()}
    table["model"] = table["model"].map(names)
    sums = table.groupby(["study", "model"], as_index=False)[_NUMBERS].sum()
    return [
        {str(k): v for k, v in row.items()}
        for row in sums.assign(source=COUNTED).to_dict("records")
    ]


def _before(study: str) -> list[dict[str, Any]]:
    rows = [row for entry in measured().values() for row in entry.get("asked", [])]
    return [
        {"recorded": 0, **row, "source": BEFORE}  # in seconds too, which the table leaves out
        for row in rows
        if row["study"] == study
    ]


def _estimated(study: ReadingStudy, plan: Plan) -> Iterator[dict[str, Any]]:
    known = facts()["expected"].get(study.any.dataset)
    if known is None:
        raise MemreproError(
            f"the reading study {study.name!r} is of {study.any.dataset!r}, which is neither "
            "prepared nor described in facts.yaml: prepare it first"
        )
    found: dict[str, list[int]] = {}

    def add(model: str, calls: int, tokens: Tokens) -> None:
        sums = found.setdefault(model, [0, 0, 0])
        for place, number in enumerate((1, tokens.prompt, tokens.answer)):
            sums[place] += calls * number

    for one in study.conditions.values():
        questions = one.questions or known["queries"][0]
        docs, shown = _shown(one, plan, known)
        asked = _prompt(one, one.prompt_name)
        if one.notes == "each":
            note = _prompt(one, "note")
            each = Tokens(note.prompt + round(shown / max(docs, 1)), note.answer)
            add(one.model, round(questions * docs), each)
            shown = docs * note.answer
        add(one.model, questions, Tokens(asked.prompt + round(shown), asked.answer))
        if one.judge:
            add(one.judge, questions, Tokens(_JUDGED + asked.answer, 8))
    for model, (calls, prompt, answer) in found.items():
        yield dict(zip(
            ["study", "model", *_NUMBERS, "source"],
            [study.name, model, calls, 0, calls, prompt, answer, ESTIMATED], strict=True,
        ))  # fmt: skip


def _prompt(one: Condition, name: str) -> Tokens:
    """Of a prompt that shows nothing."""
    options = ["an option"] * 4 if name == "options" else []
    return estimated_tokens(
        Prompts().prompt(name, "", "question", "", options, one.answer == "options")
    )


def _shown(one: Condition, plan: Plan, known: Mapping[str, Any]) -> tuple[float, float]:
    """How many docs a condition shows of a question's history, and their tokens."""
    level = known.get(one.granularity or "session", {})
    mean = max(level.get("concat", (0, 0))[1], 1)
    if one.memory == "none":
        return 0, 0
    if one.memory == "whole":
        return known["shown"] / mean, known["shown"]
    most = plan.experiment(one.run).parameters.get("k", 10) if one.run else _ORACLE
    tokens = min((one.k or most) * mean, one.tokens or float("inf"))
    return tokens / mean, tokens


def hours(calls: pd.DataFrame) -> float:
    """Of the calls that models in this process answer, at the rate of the last measurement."""
    total = 0.0
    for entry in measured().values():
        for row in entry.get("asked", []):
            mine = calls[(calls["study"] == row["study"]) & (calls["model"] == row["model"])]
            tokens = row["prompt_tokens"] + row["answer_tokens"]
            left = float(mine[["prompt_tokens", "answer_tokens"]].to_numpy().sum())
            total += row["seconds"] * left / tokens / 3600
    return total


def recorded_bytes(calls: pd.DataFrame) -> int:
    """What the records of the calls that are left take on disk, prompts and answers."""
    return int(facts()["recorded"] * calls["prompt_tokens"].sum())
