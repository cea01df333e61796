"""Before money is spent: how many calls a reading study needs, of which model and how long."""

from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from memrepro.llm.choose import identity
from memrepro.llm.model import Prompt, prompt_key
from memrepro.read.judge import judge_prompt
from memrepro.read.plan import ReadingStudy
from memrepro.read.reader import Case, Entries, cases_of, rubrics_of, tokens_of

# A step of the work: case, step, model, prompt, tokens that are not known before.
_Call = tuple[Case, str, str, Prompt, int]
Missing = Callable[[Sequence[bytes]], list[bytes]]


def forecast(study: ReadingStudy, entries: Entries, missing: Missing) -> pd.DataFrame:
    """What a study would ask, a row a condition and step; no model is asked and none is loaded.

    A prompt that stands under several conditions is one call, counted at the first. What follows
    from an answer is counted at its most: answers, and in later prompts notes and what is judged,
    are as long as they may be.

    Args:
        study: what would be asked.
        entries: of `models` in params.yaml.
        missing: which keys of prompts are not recorded.

    Returns:
        condition, step, model, calls, recorded (calls that the records answer, of those whose
        prompt is known before), docs and dropped (of a question, mean), prompt_tokens (by
        o200k_base) and answer_tokens (at most), of what is not recorded.

    Raises:
        MemreproError: as of `reader.cases_of`.
    """
    cases = cases_of(study)
    shown = pd.DataFrame(
        [(one.condition, len(one.shown.items), one.shown.dropped) for one in cases],
        columns=["condition", "docs", "dropped"],
    )
    seen: set[bytes] = set()
    rows = []
    for one, step, model, prompt, later in _calls(cases, entries):
        key = prompt_key(identity(model, entries[model]), prompt)
        # A prompt that holds an answer is another one each time.
        known = not later
        again = known and key in seen
        seen.add(key)
        recorded = known and not again and not missing([key])
        asked = limit = 0
        fits = one.fits(prompt)
        if fits and not (again or recorded):
            asked = tokens_of(prompt) + later
            limit = 1 if prompt.parameters.options else prompt.parameters.maximum_tokens
        rows.append(
            (one.condition, step, model, int(fits and not again), int(recorded), asked, limit)
        )
    columns = ["condition", "step", "model", "calls", "recorded", "prompt_tokens", "answer_tokens"]
    calls = pd.DataFrame(rows, columns=columns)
    summed = calls.groupby(columns[:3], sort=False, as_index=False).sum()
    means = shown.groupby("condition", sort=False, as_index=False).mean().round(1)
    table = summed.merge(means, on="condition", how="left")
    table.insert(0, "study", study.name)
    return table


def _calls(cases: Sequence[Case], entries: Entries) -> Iterator[_Call]:
    for one in cases:
        notes = one.note_prompts()
        for prompt in notes:
            yield one, "notes", one.settings.model, prompt, 0
        last = one.noted([]) if not notes else one.prompt([])
        most = sum(prompt.parameters.maximum_tokens for prompt in notes)
        yield one, "answers", one.settings.model, last, most
        if one.settings.judge and one.fits(last):
            judge = judge_prompt(one.gold, "", rubrics_of(one.settings, entries))
            limit = last.parameters.maximum_tokens
            yield one, "judgements", one.settings.judge, judge, limit
