"""Reading: the questions of a study answered under each condition, judged, one row an answer.

Rows hold ids, numbers and names of outcomes; the texts stay with the models' records.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from memrepro.core.extractions import Extractions
from memrepro.core.memory import Query
from memrepro.core.prepared import load, load_extractions
from memrepro.data.gold import Gold, gold_answers, speakers
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.llm.model import (
    REFUSED,
    TOO_LONG,
    Answer,
    LanguageModel,
    Prompt,
    prompt_key,
)  # fmt: skip
from memrepro.llm.outcomes import DECLINED, outcome_of
from memrepro.read.history import Histories, Shown, found, shown_of
from memrepro.read.judge import Rubrics, by_rule, judge_prompt, read_rubrics, verdict
from memrepro.read.plan import IN_WORDS, Condition, ReadingStudy, choose
from memrepro.read.prompts import (
    FILE,
    Item,
    Prompts,
    in_order,
    parse_option,
    permutation,
    shown,
)  # fmt: skip
from memrepro.text.lengths import count_tokens

# Types of the columns of `readings.parquet`, in their order.
COLUMNS = {
    "study": "str", "condition": "str", "model": "str", "query_id": "str", "kind": "str",
    "prompt": "str", "outcome": "str", "chosen": "int32", "right": "boolean", "f1": "float64",
    "match": "boolean", "contains": "boolean", "judged": "boolean", "judge_outcome": "str",
    "docs": "int32", "dropped": "int32", "prompt_tokens": "Int32", "answer_tokens": "Int32",
    "o200k": "int32",
}  # fmt: skip
NO_OPTION, NO_NOTE, NOT_ASKED = "names no option", "a note was refused", "not asked"
EMPTY_NOTE = "empty"

ModelOf = Callable[[str], LanguageModel]
# The entries of `models` in params.yaml.
Entries = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Case:
    """A question under a condition, before it is answered.

    Attributes:
        condition: its name.
        settings: the condition.
        query: the question.
        gold: what is right.
        shown: of the history, best first.
        order: shown place → index of the option, of multiple choice.
    """

    condition: str
    settings: Condition
    query: Query
    gold: Gold
    shown: Shown
    order: tuple[int, ...]

    def fits(self, tokens: int) -> bool:
        """Whether a prompt has room in the model's context, as far as the condition says."""
        return not self.settings.room or tokens <= self.settings.room

    @property
    def options(self) -> tuple[str, ...]:
        """The options in the order in which they are shown."""
        return tuple(self.gold.options[n] for n in self.order)

    def prompt(self, items: Sequence[Item] | None = None, name: str = "") -> Prompt:
        """What the model is asked: about what is shown, or about these items."""
        settings = self.settings
        words = Prompts(Path(settings.prompts) if settings.prompts else FILE)
        return words.prompt(
            name or settings.prompt_name,
            shown(in_order(self.shown.items if items is None else items), settings.history),
            self.query.text,
            self.query.at,
            self.options,
            settings.answer == "options",
        )

    @property
    def noting(self) -> tuple[Item, ...]:
        """The items of each of which a note is taken."""
        return self.shown.items if self.settings.notes == "each" else ()

    def note_prompt(self, item: Item) -> Prompt:
        """What the model is asked for a note of an item."""
        return self.prompt([item], "note")

    def noted(self, notes: Iterable[Answer]) -> Prompt:
        """The prompt for the answer, from the notes where they were taken."""
        if self.settings.notes != "each":
            return self.prompt()
        told = [
            Item(item.date, item.place, (("note", note.without_reasoning.strip()),))
            for item, note in zip(self.shown.items, notes, strict=True)
            if note.without_reasoning.strip().strip(".").lower() not in ("", EMPTY_NOTE)
        ]
        return self.prompt(told)


def cases_of(study: ReadingStudy) -> list[Case]:
    """Every question of a study under each condition: conditions in order, the data set's within.

    Raises:
        MemreproError: if the data set, a run, the evidence or the answers are not here, or do not
            fit together.
    """
    shared = study.any
    dataset = load(paths.prepared(shared.dataset), shared.dataset)
    golds, names = gold_answers(shared.dataset), speakers(shared.dataset)
    kinds = {q.query_id: q.kind for q in dataset.queries if q.query_id in golds}
    chosen = set(choose(kinds, shared.questions, shared.seed))
    queries = [query for query in dataset.queries if query.query_id in chosen]
    extractions = Extractions({})
    if any(one.facts or "-" in one.granularity for one in study.conditions.values()):
        extractions = load_extractions(paths.extracted(shared.dataset))
    # Conditions share what they show of a memory, which is let go with its last question.
    histories: dict[tuple[str, str, bool], Histories] = {}
    shown_by = {
        name: (
            one,
            found(one, study),
            histories.setdefault(
                (one.granularity, one.facts, one.facts_only),
                Histories(one.granularity, extractions, one.facts, one.facts_only, names),
            ),
        )
        for name, one in study.conditions.items()
    }
    made: dict[str, list[Case]] = {name: [] for name in study.conditions}
    for query in queries:
        for name, (one, wanted, history) in shown_by.items():
            gold, what = golds[query.query_id], Shown((), 0)
            if one.answer in ("letter", "options") and not gold.options:
                raise MemreproError(
                    f"reading.{study.name}: {name} asks for one of the options of question "
                    f"{query.query_id} of {one.dataset}, which has none: let it answer in words"
                )
            if one.memory != "none":
                items = history.items(dataset.memories[query.memory_id])
                what = shown_of(one, items, wanted.get(query.query_id, ()), query.query_id)
            # Asked for words, a reader is shown no options.
            count = 0 if one.answer in IN_WORDS else len(gold.options)
            order = permutation(count, query.query_id, one.seed)
            made[name].append(Case(name, one, query, gold, what, tuple(order)))
    return [case for own in made.values() for case in own]


def rubrics_of(settings: Condition, entries: Entries) -> Rubrics:
    """How a condition's judge is asked: a model in process by the likelihood of yes and no."""
    return _rubrics(settings.rubrics, "transformers" in entries[settings.judge])


@cache
def _rubrics(family: str, by_likelihood: bool) -> Rubrics:
    return read_rubrics(family, by_likelihood=by_likelihood)


def read(study: ReadingStudy, model_of: ModelOf, entries: Entries) -> tuple[pd.DataFrame, float]:
    """Answer and judge all questions of a study.

    Args:
        study: what is asked.
        model_of: a model by its key of params.yaml; answers are recorded by it, or replayed.
        entries: the models' entries there.

    Returns:
        one row an answer, of `COLUMNS`; and the seconds that the answers took when they were made.

    Raises:
        MemreproError: as of `cases_of`, or if a model cannot answer; what was answered is kept.
    """
    cases = cases_of(study)
    notes = [
        (one.settings.model, partial(one.note_prompt, item)) for one in cases for item in one.noting
    ]
    told = iter(_answers(model_of, notes))
    taken = [[next(told) for _ in one.noting] for one in cases]
    making = [partial(one.noted, own) for one, own in zip(cases, taken, strict=True)]
    asked = [
        _asked(make(), model_of(one.settings.model))
        for one, make in zip(cases, making, strict=True)
    ]
    fits = [one.fits(what.tokens) for one, what in zip(cases, asked, strict=True)]
    whom = [(one.settings.model, make) for one, make in zip(cases, making, strict=True)]
    made = iter(_answers(model_of, list(compress(whom, fits))))
    answers = [
        next(made) if fit else _too_long(model_of(one.settings.model))
        for fit, one in zip(fits, cases, strict=True)
    ]
    to_judge = {
        place: (
            one.settings.judge,
            partial(judge_prompt, one.gold, answer.without_reasoning, rubrics),
        )
        for place, (one, answer) in enumerate(zip(cases, answers, strict=True))
        if one.settings.judge and answer.without_reasoning.strip()
        for rubrics in [rubrics_of(one.settings, entries)]
    }
    verdicts = dict(zip(to_judge, _answers(model_of, list(to_judge.values())), strict=True))
    rows = [
        _reading_row(study.name, one, what, answer, own, verdicts.get(place))
        for place, (one, what, answer, own) in enumerate(
            zip(cases, asked, answers, taken, strict=True)
        )
    ]
    every = [*answers, *(note for own in taken for note in own), *verdicts.values()]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS), sum(a.seconds for a in every)


class _Asked(NamedTuple):
    """What is kept of a prompt: its model, the first digits of its key, its tokens and options."""

    model: str
    key: str
    tokens: int
    options: tuple[str, ...]


def _asked(prompt: Prompt, model: LanguageModel) -> _Asked:
    key = prompt_key(model.identity, prompt).hex()[:16]
    return _Asked(model.identity.model, key, tokens_of(prompt), prompt.parameters.options)


@dataclass(frozen=True)
class _Made(Sequence[Prompt]):
    """Prompts that are made when they are looked at: thousands hold a whole history each."""

    makers: Sequence[Callable[[], Prompt]]

    def __len__(self) -> int:
        return len(self.makers)

    def __getitem__(self, place: Any) -> Any:
        return self.makers[place]()


def _answers(model_of: ModelOf, asked: Sequence[tuple[str, Callable[[], Prompt]]]) -> list[Answer]:
    """The answers to prompts of several models, in order; each model is given all of its own."""
    by_model: dict[str, Iterator[Answer]] = {
        name: iter(model_of(name).answer(_Made([make for model, make in asked if model == name])))
        for name in dict.fromkeys(model for model, _ in asked)
    }
    return [next(by_model[model]) for model, _ in asked]


def _too_long(model: LanguageModel) -> Answer:
    model_name, revision = model.identity.model, model.identity.revision
    return Answer("", None, None, 0.0, model_name, revision, TOO_LONG, "not asked")


def _reading_row(
    study: str,
    case: Case,
    asked: _Asked,
    answer: Answer,
    notes: Sequence[Answer],
    judgement: Answer | None,
) -> dict[str, Any]:
    outcome, chosen = outcome_of(answer), -1
    answered = not answer.finish_reason.startswith(REFUSED)
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    if case.settings.answer in IN_WORDS:
        if answered:
            row |= by_rule(case.gold, answer.without_reasoning)._asdict()
    elif answered:
        place = _place(case, asked, answer)
        outcome = NO_OPTION if place < 0 and outcome != DECLINED else outcome
        chosen = case.order[place] if place >= 0 else -1
    if any(note.finish_reason.startswith(REFUSED) for note in notes):
        outcome = NO_NOTE
    judged, judge_outcome = verdict(judgement) if judgement else (None, NOT_ASKED)
    every = [answer, *notes]
    return row | {
        "study": study,
        "condition": case.condition,
        "model": asked.model,
        "query_id": case.query.query_id,
        "kind": case.query.kind,
        "prompt": asked.key,
        "outcome": outcome,
        "chosen": chosen,
        "right": None if case.settings.answer in IN_WORDS else chosen == case.gold.correct,
        "judged": judged,
        "judge_outcome": judge_outcome,
        "docs": len(case.shown.items),
        "dropped": case.shown.dropped,
        "prompt_tokens": _sum(one.prompt_tokens for one in every),
        "answer_tokens": _sum(one.answer_tokens for one in every),
        "o200k": asked.tokens + sum(map(tokens_of, map(case.note_prompt, case.noting))),
    }


def _place(case: Case, asked: _Asked, answer: Answer) -> int:
    """The place of the option that an answer names, or −1."""
    if asked.options:
        return asked.options.index(answer.text)
    return parse_option(answer.without_reasoning, case.options)


def _sum(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if None in known else sum(one for one in known if one is not None)


def tokens_of(prompt: Prompt) -> int:
    """A prompt's tokens by o200k_base, without what a chat's frame adds."""
    return sum(_tokens(message.content) for message in prompt.messages)


def _tokens(text: str) -> int:
    # Many readers are asked the same: a whole history is counted once, and known by its digest.
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    if digest not in _counted:
        _counted[digest] = count_tokens(text)
    return _counted[digest]


_counted: dict[bytes, int] = {}
