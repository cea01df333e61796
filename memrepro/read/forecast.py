"""Before money is spent: how many calls a reading study needs, of which model and how long."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from memrepro.llm.choose import identity
from memrepro.llm.model import Answer, ModelIdentity, Prompt
from memrepro.llm.plan import spending
from memrepro.llm.prices import Price
from memrepro.llm.records import AnswerStore
from memrepro.read.judge import judge_prompt
from memrepro.read.plan import ReadingStudy
from memrepro.read.reader import Case, Entries, cases_of, rubrics_of, tokens_of

_BY = ["condition", "step", "model"]
COUNTS = ["too_long", "calls", "recorded", "left", "prompt_tokens", "answer_tokens"]


def forecast(
    study: ReadingStudy,
    entries: Entries,
    store: AnswerStore,
    prices: Mapping[str, Price],
    tokens_per_second: float | None = None,
) -> pd.DataFrame:
    """What a study would ask, a row a condition and step; no model is asked and none is loaded.

    A prompt that stands under several conditions is one call, counted at the first. A prompt that
    will hold an answer (a note, or what is judged) is counted as if that had its full length, and
    as not recorded.

    Args:
        study: what would be asked.
        entries: of `models` in params.yaml.
        store: of what is recorded.
        prices: by model, as it is called by its endpoint.
        tokens_per_second: of every model; None where the rate is not known.

    Returns:
        the study, condition and step; how many prompts are too long for the condition, and are not
        asked; of a question's docs those shown and dropped, as means; and the columns of
        `llm.plan.spending`.

    Raises:
        MemreproError: as of `reader.cases_of`.
    """
    cases = cases_of(study)
    asked: dict[tuple[str, str, str], list[tuple[ModelIdentity, Prompt]]] = {}
    seen: set[tuple[ModelIdentity, Prompt]] = set()
    too_long = Counter[tuple[str, str, str]]()
    for one, step, model, prompt in _calls(cases, entries):
        call = (identity(model, entries[model]), prompt)
        key = (one.condition, step, call[0].model)
        calls = asked.setdefault(key, [])
        if not _fits(one, prompt):
            too_long[key] += 1
        elif call not in seen:
            calls.append(call)
            seen.add(call)
    spent = [
        spending(calls, store, prices, tokens_per_second).assign(condition=condition, step=step)
        for (condition, step, _), calls in asked.items()
    ]
    steps = pd.DataFrame(list(asked), columns=_BY)
    steps.insert(0, "study", study.name)
    steps["too_long"] = [too_long[key] for key in asked]
    shown = pd.DataFrame(
        [(one.condition, len(one.shown.items), one.shown.dropped) for one in cases],
        columns=["condition", "docs", "dropped"],
    )
    means = shown.groupby("condition", as_index=False).mean().round(1)
    table = steps.merge(means, on="condition").merge(pd.concat(spent), on=_BY, how="left")
    table[COUNTS] = table[COUNTS].fillna(0).astype("int64")
    return table


def _calls(cases: Sequence[Case], entries: Entries) -> Iterator[tuple[Case, str, str, Prompt]]:
    """Each prompt of the cases: whose, for which step, and of which model."""
    for one in cases:
        notes = [one.note_prompt(item) for item in one.noting]
        for prompt in notes:
            yield one, "notes", one.settings.model, prompt
        last = one.noted([_longest(one, prompt) for prompt in notes])
        yield one, "answers", one.settings.model, last
        if one.settings.judge and _fits(one, last):
            said = _longest(one, last).text
            judge = judge_prompt(one.gold, said, rubrics_of(one.settings, entries))
            yield one, "judgements", one.settings.judge, judge


def _fits(case: Case, prompt: Prompt) -> bool:
    return not case.settings.room or case.fits(tokens_of(prompt))  # counted where it matters


def _longest(case: Case, prompt: Prompt) -> Answer:
    """An answer of as many tokens as it may have, unlike that of any other condition."""
    text = f"{case.condition}{' word' * prompt.parameters.maximum_tokens}"
    return Answer(text, None, None, 0.0, "", "", "", "")
