"""Answers and judgements in the form of LongMemEval's and LoCoMo's evaluation scripts, out and in.

The files hold answers and, in LoCoMo's form, questions: they are data and go where the user says.

- *hypotheses* (LongMemEval, `evaluate_qa.py`): JSON Lines of `question_id` and `hypothesis`; judged
  ones, as that script writes them, have `autoeval_label: {model, label}` besides.
- *predictions* (LoCoMo, `evaluate_qa.py`): the data set's samples with all their questions, each
  answered one with `<model>_prediction`, and `<model>_f1` where it was scored. The j-th question of
  a sample is `<sample_id>-q<j>`, from 0.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from memrepro.data.reading import json_list, value_of
from memrepro.errors import MemreproError
from memrepro.files.atomic import replacing, write_json
from memrepro.files.given import numbered_json_lines
from memrepro.llm.model import Answer, LanguageModel, ModelIdentity, Prompt, prompt_key
from memrepro.read.plan import ReadingStudy
from memrepro.read.reader import Entries, ModelOf, read

# What may be wrong with a file, and what is done about it.
UNKNOWN, TWICE, EMPTY, MISSING = (
    "unknown question", "question named twice", "empty answer", "question without an answer",
)  # fmt: skip
PROBLEMS: Mapping[str, str] = {
    UNKNOWN: "left out",
    TWICE: "its first place counts",
    EMPTY: "counts as an answer, which is wrong",
    MISSING: "not in the means",
}


class Said(NamedTuple):
    """An answer, and what a judge said of it: right or not, or None; and the judge's name."""

    text: str
    judged: bool | None = None
    judge: str = ""


class Imported(NamedTuple):
    """The answers of a file by question, and each of `PROBLEMS` that was found → its questions."""

    answers: dict[str, Said]
    problems: dict[str, tuple[str, ...]]


@dataclass
class _Keeping:
    """A language model whose texts are kept by the first digits of their prompts' keys."""

    model: LanguageModel
    texts: dict[str, str]

    @property
    def identity(self) -> ModelIdentity:
        return self.model.identity

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        answers = self.model.answer(prompts)
        for prompt, one in zip(prompts, answers, strict=True):
            self.texts[prompt_key(self.identity, prompt).hex()[:16]] = one.without_reasoning
        return answers


def answers_of(
    study: ReadingStudy, condition: str, model_of: ModelOf, entries: Entries
) -> tuple[dict[str, Said], dict[str, float]]:
    """What was answered under a condition, with its verdicts; and the F1 of answers in words.

    Raises:
        MemreproError: if the study has no such condition, or as of `reader.read`.
    """
    if condition not in study.conditions:
        there = ", ".join(study.conditions)
        raise MemreproError(f"reading.{study.name} has no condition {condition!r}: it has {there}")
    texts: dict[str, str] = {}
    one = replace(study, conditions={condition: study.conditions[condition]})
    rows, _ = read(one, lambda name: _Keeping(model_of(name), texts), entries)
    judge = str(entries[one.any.judge]["model"]) if one.any.judge else ""
    answers = {}
    for query_id, prompt, judged in rows[["query_id", "prompt", "judged"]].to_numpy(object):
        known = None if pd.isna(judged) else bool(judged)
        # A prompt that was not asked has no text.
        answers[query_id] = Said(texts.get(prompt, ""), known, "" if known is None else judge)
    scored = rows.dropna(subset="f1")
    return answers, dict(zip(scored["query_id"], scored["f1"].astype(float), strict=True))


def export_hypotheses(answers: Mapping[str, Said], path: Path) -> None:
    """Write answers, and verdicts where there are any, one JSON object a line."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for query_id, one in answers.items():
            entry: dict[str, Any] = {"question_id": query_id, "hypothesis": one.text}
            if one.judged is not None:
                entry["autoeval_label"] = {"model": one.judge, "label": one.judged}
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")


def import_hypotheses(path: Path, asked: Collection[str]) -> Imported:
    """Read answers to a data set's questions, as JSON Lines or as one JSON list.

    Raises:
        MemreproError: naming the first entry that is not of this form.
    """
    entries = numbered_json_lines(path)
    return _sorted_out((_hypothesis(one, f"{path}, entry {n}") for n, one in entries), asked)


def _hypothesis(entry: Any, item: str) -> tuple[str, Said]:
    query_id = value_of(entry, "question_id", str, item)
    text = value_of(entry, "hypothesis", str, item)
    if "autoeval_label" not in entry:
        return query_id, Said(text)
    label = entry["autoeval_label"]
    judged = value_of(label, "label", bool, f"{item}: autoeval_label")
    return query_id, Said(text, judged, value_of(label, "model", str, f"{item}: autoeval_label"))


def export_predictions(
    answers: Mapping[str, Said], samples: Path, model: str, path: Path, f1: Mapping[str, float]
) -> None:
    """Write the data set's samples with the answers of a model put in, where its script looks.

    The script asks the model for a question that has no prediction; so it evaluates a file as it is
    only where all questions of a sample are answered.

    Args:
        answers: by question; strange ones are an error.
        samples: the data set's own file.
        model: the name before `_prediction`.
        path: of the file to write.
        f1: question → F1, of those that were scored.

    Raises:
        MemreproError: if an answer is to no question of the samples.
    """
    shipped, left = [], dict(answers)
    for sample in json_list(samples):
        questions = []
        for query_id, entry in _questions(sample, str(samples)):
            said = left.pop(query_id, None)
            scored = {f"{model}_f1": f1[query_id]} if query_id in f1 else {}
            questions.append(
                {**entry, f"{model}_prediction": said.text, **scored} if said else entry
            )
        shipped.append({"sample_id": sample["sample_id"], "qa": questions})
    if left:
        raise MemreproError(
            f"{len(left)} answers are to no question of {samples}: {next(iter(left))}"
        )
    write_json(path, shipped)


def import_predictions(path: Path, model: str, asked: Collection[str]) -> Imported:
    """Read a model's answers from samples that LoCoMo's script has written.

    Raises:
        MemreproError: naming the first sample or answer that is not of this form, or if no question
            has a prediction of that model.
    """
    found = []
    for sample in json_list(path):
        for query_id, entry in _questions(sample, str(path)):
            if f"{model}_prediction" in entry:
                # The script puts numbers in where a model answers with one.
                found.append((query_id, Said(str(entry[f"{model}_prediction"]))))
    if not found:
        raise MemreproError(
            f"{path} holds no {model}_prediction: give the model as it was exported"
        )
    return _sorted_out(found, asked)


def _questions(sample: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    sample_id = value_of(sample, "sample_id", str, where)
    for index, entry in enumerate(value_of(sample, "qa", list, f"{where}: {sample_id}")):
        if not isinstance(entry, dict):
            raise MemreproError(f"{where}: question {index} of {sample_id} is no object")
        yield f"{sample_id}-q{index}", entry


def _sorted_out(entries: Iterable[tuple[str, Said]], asked: Collection[str]) -> Imported:
    """Each question's first answer, and what is wrong with the others."""
    answers: dict[str, Said] = {}
    found: dict[str, list[str]] = {name: [] for name in PROBLEMS}
    for query_id, said in entries:
        if query_id not in asked:
            found[UNKNOWN].append(query_id)
        elif query_id in answers:
            found[TWICE].append(query_id)
        else:
            answers[query_id] = said
            if not said.text.strip():
                found[EMPTY].append(query_id)
    found[MISSING] = [query_id for query_id in asked if query_id not in answers]
    return Imported(answers, {name: tuple(ids) for name, ids in found.items() if ids})
