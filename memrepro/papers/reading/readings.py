"""What this project's readers answered: right by judge and rule, by what they were shown."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from memrepro.core.prepared import load_qrels
from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import Comparison
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.papers.reading.shares import (
    ALL,
    IN_BRACKETS,
    RULES,
    ByUnit,
    against,
    by_kind,
    not_run,
    share_cells,
)
from memrepro.read.history import ranked
from memrepro.read.plan import Condition, ReadingStudy
from memrepro.read.prompts import permutation
from memrepro.report.tables import Cell, number
from memrepro.study.params import load_plan

_PATH = paths.readings("")
_NOT_TAKEN = ("too long", "refused")  # outcomes of prompts that were not answered
_NOTE = f"{IN_BRACKETS}; the reader is named in each row"
_RANKED = "ρ: Spearman's, of recall and score over questions"
_GAP = (
    "shown: all of the evidence is among the docs shown; other questions are compared than where "
    "it is not, so the same gap without memory is given too"
)
# Score's name → an answer's, from 0 to 1; NaN where it has none. An empty answer, and one that is
# none of the options, is wrong; one of which the judge says neither yes nor no has no score.
SCORES: Mapping[str, Callable[[pd.DataFrame], pd.Series]] = {
    "right option": lambda rows: _numbers(rows["right"]),
    "judged right": lambda rows: _judged(rows),
    "LoCoMo's F1": lambda rows: _by_rule(rows, rows["f1"]),
    "gold's words in it": lambda rows: _by_rule(rows, _numbers(rows["contains"])),
}


def _numbers(values: pd.Series) -> pd.Series:
    return values.astype("Float64").astype(float)


def _by_rule(rows: pd.DataFrame, values: pd.Series) -> pd.Series:
    """A rule's score of answers in words; 0 where there is no answer."""
    return values.fillna(0.0).where(rows["right"].isna())


def _judged(rows: pd.DataFrame) -> pd.Series:
    """The verdicts where there is a judge; an empty answer, which it is not shown, is wrong."""
    if not rows["judged"].notna().any():
        return pd.Series(np.nan, rows.index)
    return _numbers(rows["judged"]).mask(rows["judge_outcome"] == "not asked", 0.0)


class Answers:
    """The answers of a profile's reading studies, and what each condition means.

    Args:
        rows: of `readings.parquet`.
        studies: of params.yaml.
    """

    def __init__(self, rows: pd.DataFrame, studies: Mapping[str, ReadingStudy]) -> None:
        self.rows, self._studies = rows, studies

    def study_of(self, row: str) -> ReadingStudy:
        """The study of a row's name, as `conditions` gives it."""
        return self._studies[row.partition("; ")[0]]

    def options_of(self, row: str) -> int:
        """How many options a row's questions have, 0 for none: as chosen in its whole study.

        One kind of question, or one condition, may have nobody who chose the last of them.
        """
        return int(self.rows.loc[self.rows["study"] == self.study_of(row).name, "chosen"].max()) + 1

    def conditions(self) -> Iterator[tuple[str, Condition, pd.DataFrame, pd.DataFrame | None]]:
        """Of each condition its row's name, settings, answers, and those without memory.

        Answers are indexed by question. The floor is the condition of its study that shows nothing,
        to the same model, in the same form of answer and under the same judge.
        """
        for keys, rows in self.rows.groupby(["study", "condition"], sort=False):
            study, name = map(str, keys)
            conditions = self._studies[study].conditions
            settings = conditions[name]
            floors = (
                key
                for key, one in conditions.items()
                if one.memory == "none" and _as_asked(one) == _as_asked(settings)
            )
            floor = next(floors, "")
            without = self.rows[(self.rows["study"] == study) & (self.rows["condition"] == floor)]
            reader = rows["model"].iloc[0]
            shown = rows.set_index("query_id")
            beside = without.set_index("query_id").loc[shown.index] if floor else None
            yield f"{study}; {name}; {reader}", settings, shown, beside


def _as_asked(settings: Condition) -> tuple[str, ...]:
    return settings.model, settings.answer, settings.judge, settings.rubrics


def _scores(rows: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """The scores that these answers have; a prompt that no model took has none, but an outcome."""
    for name, score in SCORES.items():
        values = _taken(score(rows), rows)
        if values.notna().any():
            yield name, values


def _taken(values: pd.Series, rows: pd.DataFrame) -> pd.Series:
    return values.mask(rows["outcome"].isin(_NOT_TAKEN))


def accuracy_cells(answers: Answers) -> Iterator[Cell]:
    """Each condition under every score, and beside it the change from no memory; by kind, too."""
    for row, settings, rows, floor in answers.conditions():
        by = ByUnit.of_dataset(settings.dataset)
        for kind, part in by_kind(rows):
            texts = dict[str, str | Comparison]()
            for name, values in _scores(part):
                texts[name] = by.mean(values.dropna())
                if floor is None:
                    continue
                below = _taken(SCORES[name](floor.loc[part.index]), floor.loc[part.index])
                both = values.notna() & below.notna()
                if not both.any():
                    continue
                if kind == ALL:
                    texts[f"{name}: without memory"] = by.mean(below[both])
                texts[f"{name}: gain over it"] = by.gain(below[both], values[both])
            if texts and (count := answers.options_of(row)):
                texts["chance"] = number(1 / count)
                found = by.interval(_taken(_numbers(part["right"]), part).dropna())
                texts["against chance"] = f"{against(found, 1 / count)} chance"
            n = int((~part["outcome"].isin(_NOT_TAKEN)).sum())
            groups = by.groups(part)
            yield from share_cells(f"{row}; {kind}", "score", texts, n, _NOTE, _PATH, groups)


def outcome_cells(answers: Answers) -> Iterator[Cell]:
    """What became of each answer and each judgement, counted under its name."""
    for row, _, rows, _ in answers.conditions():
        texts = {}
        for side, column in (("answer", "outcome"), ("judge", "judge_outcome")):
            for name, count in rows[column].value_counts(sort=False).items():
                texts[f"{side}: {name}"] = str(count)
        yield from share_cells(row, "answers", texts, len(rows), "counted", _PATH)


def judge_cells(answers: Answers) -> Iterator[Cell]:
    """How far each rule agrees with the judge: share of equal verdicts and κ."""
    for row, settings, rows, _ in answers.conditions():
        told = rows[rows["judged"].notna()]
        if told.empty:
            continue
        judged, by = told["judged"].astype(bool), ByUnit.of_dataset(settings.dataset)
        texts = {"judged right": by.mean(judged)}
        for name, rule in RULES.items():
            right = rule(told).astype(bool)
            texts[f"{name}: equal"] = by.mean(right == judged)
            texts[f"{name}: κ"] = by.kappa(judged, right)
        note = f"judge: {settings.judge}, rubrics: {settings.rubrics}; {_NOTE}"
        groups = by.groups(told)
        yield from share_cells(row, "agreement", texts, len(told), note, _PATH, groups)


def rubric_cells(answers: Answers) -> Iterator[Cell]:
    """The same answers judged strictly and leniently: a row a pair of conditions unlike in that."""
    conditions = list(answers.conditions())
    for row, settings, rows, _ in conditions:
        for other, beside, theirs, _ in conditions:
            same = answers.study_of(row) == answers.study_of(other)
            if not same or settings.rubrics != "strict" or beside.rubrics == "strict":
                continue
            if replace(beside, rubrics=settings.rubrics) != settings:
                continue
            both = rows["judged"].notna() & theirs["judged"].notna()
            strict, lenient = (one["judged"][both].astype(bool) for one in (rows, theirs))
            right, by = rows["contains"][both].astype(bool), ByUnit.of_dataset(settings.dataset)
            texts = by.judges_beside(strict, lenient)
            if (~right).any():
                texts |= {
                    "without gold's words, the first passes": by.mean(strict[~right]),
                    "without gold's words, the second passes": by.mean(lenient[~right]),
                }
            note = f"the first: strict rubrics, the second: {beside.rubrics} ones; {_NOTE}"
            n, groups = int(both.sum()), by.groups(right)
            yield from share_cells(row, "verdicts", texts, n, note, _PATH, groups)


def retrieval_cells(answers: Answers) -> Iterator[Cell]:
    """Does better recall give better answers? By condition that shows docs of a run."""
    for row, settings, rows, floor in answers.conditions():
        recall = recall_of(answers.study_of(row), settings, rows)
        if recall is None:
            continue
        by = ByUnit.of_dataset(settings.dataset)
        for name, values in _scores(rows):
            known = recall.notna() & values.notna()
            found, score = recall[known] == 1, values[known]
            texts = {
                "all evidence shown": by.mean(found),
                "score where shown": by.mean(score[found]) if found.any() else "",
                "score where not": by.mean(score[~found]) if (~found).any() else "",
                "gap": by.gap(score[~found], score[found]),
                "ρ of recall and score": by.rank_correlation(recall[known], score),
                **(_crossed(by, found, score == 1) if score.isin((0, 1)).all() else {}),
            }
            if floor is not None:
                below = _taken(SCORES[name](floor), floor)[known]
                texts["gap without memory"] = by.gap(below[~found].dropna(), below[found].dropna())
            note = f"{_NOTE}; {_GAP}; {_RANKED}"
            n, groups = int(known.sum()), by.groups(score)
            yield from share_cells(f"{row}; {name}", name, texts, n, note, _PATH, groups)


def _crossed(by: ByUnit, found: pd.Series, right: pd.Series) -> dict[str, str]:
    """The four shares of LongMemEval's Figure 14: evidence found or not (R), answer right (G)."""
    return {
        f"{r}, {g}": by.mean(one & other)
        for r, one in (("R", found), ("not R", ~found))
        for g, other in (("G", right), ("not G", ~right))
    }


def recall_of(study: ReadingStudy, settings: Condition, rows: pd.DataFrame) -> pd.Series | None:
    """The share of each question's evidence among the docs that it was shown; NaN where unknown.

    None for a condition that shows no run's docs. A part of the evidence counts as shown if one of
    the docs is that hold it.
    """
    if settings.memory != "run":
        return None
    path = paths.run(settings.run_profile, settings.run)
    found = ranked(path, settings)
    _, gold = load_qrels(paths.qrels(study.data_profile, settings.dataset), settings.granularity)
    shares = [
        np.mean([any(doc_id in found[q][:docs] for doc_id in part) for part in gold[q]])
        if q in gold and q in found else np.nan
        for q, docs in zip(rows.index, rows["docs"], strict=True)
    ]  # fmt: skip
    return pd.Series(shares, rows.index, float)


def token_cells(answers: Answers) -> Iterator[Cell]:
    """What a condition costs an answer: docs, and tokens as RF-Mem's Table 1 counts them."""
    for row, settings, rows, _ in answers.conditions():
        by = ByUnit.of_dataset(settings.dataset)
        texts = {
            "tokens (o200k_base)": by.mean(rows["o200k"]),
            "prompt tokens of the model": f"{rows['prompt_tokens'].mean():.1f}",
            "answer tokens": f"{rows['answer_tokens'].mean():.1f}",
            "docs shown": f"{rows['docs'].mean():.2f}",
            "docs dropped": f"{rows['dropped'].mean():.2f}",
        }
        groups = by.groups(rows)
        yield from share_cells(row, "tokens", texts, len(rows), _NOTE, _PATH, groups)


def place_rows(answers: Answers) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Of each condition with options, its data set and the place of the chosen one as shown."""
    for row, settings, rows, _ in answers.conditions():
        rows = rows[rows["chosen"] >= 0]
        if len(rows) and (count := answers.options_of(row)):
            orders = [permutation(count, query_id, settings.seed) for query_id in rows.index]
            places = [
                order.index(chosen) for order, chosen in zip(orders, rows["chosen"], strict=True)
            ]
            yield row, settings.dataset, pd.DataFrame({"chosen": places}, rows.index)


def tables(answers: Answers | None, profile: str) -> dict[str, Iterator[Cell]]:
    """The tables by name; where nothing was read, with the reason."""
    reason = f"nothing was read for this profile: `python -m memrepro read {profile}` does it"
    made = {
        "readings": accuracy_cells, "readings_outcomes": outcome_cells,
        "readings_judge": judge_cells, "readings_rubrics": rubric_cells,
        "readings_retrieval": retrieval_cells, "readings_tokens": token_cells,
    }  # fmt: skip
    if answers is None:
        return {name: not_run("this project's readers", "score", "score", reason) for name in made}
    return {name: cells_of(answers) for name, cells_of in made.items()}


def read_answers(profile: str) -> Answers | None:
    """The answers of a profile's reading studies, or None where none has run.

    Raises:
        MemreproError: if an answer is of a condition that is not in params.yaml.
    """
    path = paths.readings(profile)
    if not path.is_file():
        return None
    rows, studies = read_table(path), load_plan().readings(profile)
    for study, name in dict.fromkeys(zip(rows["study"], rows["condition"], strict=True)):
        if study not in studies or name not in studies[study].conditions:
            raise MemreproError(
                f"{path} has answers of {study}: {name}, which params.yaml does not have: run "
                f"`python -m memrepro read {profile}`"
            )
    return Answers(rows, studies)
