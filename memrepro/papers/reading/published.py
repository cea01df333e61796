"""Published answers, judged by a model and by rule: how far can a score be trusted?"""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from memrepro.files import paths
from memrepro.papers.reading.shares import IN_BRACKETS, RULES, ByUnit, by_kind, share_cells
from memrepro.read.labels import kappa
from memrepro.report.tables import Cell, number

_PATH = paths.answers("")
DATASET = "locomo"
_ROUNDS = ["judged_1", "judged_2", "judged_3"]
_NOTE = (
    f"judged by gpt-4o-mini, three times an answer; {IN_BRACKETS}; questions of LoCoMo's "
    "categories 1 to 4"
)
_KAPPA = "κ: Cohen's, agreement beyond chance; 0 where a rule calls no answer right"
# How the judge's three judgements become one.
_PASSES: Mapping[str, Callable[[pd.DataFrame], pd.Series]] = {
    "judged right by two of three": lambda rows: rows[_ROUNDS].sum(axis=1) >= 2,
    "judged right at least once": lambda rows: rows[_ROUNDS].any(axis=1),
    "judged right three times": lambda rows: rows[_ROUNDS].all(axis=1),
}
_MAJORITY, _LENIENT, _STRICT = _PASSES
_JUDGES = (
    "lenient vote: right at least once; strict vote: three times; the published records hold one "
    "model judge under one lenient rubric; a strict rubric is compared with a lenient one only "
    "where this project's own reader was judged by both (readings_rubrics)"
)


def _readers(scored: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for reader, rows in scored.groupby("reader", sort=False):
        yield str(reader), rows


def accuracy_cells(scored: pd.DataFrame, by: ByUnit) -> Iterator[Cell]:
    """Each reader's share of right answers by each judgement and rule, LoCoMo's F1, and length."""
    for reader, rows in _readers(scored):
        texts = {f"judgement {n}": by.mean(rows[one]) for n, one in enumerate(_ROUNDS, 1)}
        texts[_MAJORITY] = by.mean(_PASSES[_MAJORITY](rows))
        texts |= {name: by.mean(rule(rows)) for name, rule in RULES.items()}
        texts |= {"LoCoMo's F1": by.mean(rows["f1"]), "words": f"{rows['words'].mean():.1f}"}
        yield from share_cells(reader, "share of right answers", texts, len(rows), _NOTE, _PATH,
                               by.groups(rows))  # fmt: skip


def agreement_cells(scored: pd.DataFrame, by: ByUnit) -> Iterator[Cell]:
    """How far the judge agrees with itself, and each rule with the judge."""
    pooled = {"all readers, not the wrong answers": scored[~scored["planted"]]}
    for reader, rows in [*_readers(scored), *pooled.items()]:
        judged = _PASSES[_MAJORITY](rows)
        same = rows[_ROUNDS].nunique(axis=1) == 1
        pairs = [kappa(rows[one], rows[other]) for one, other in combinations(_ROUNDS, 2)]
        texts = {
            "three judgements agree": by.mean(same),
            "κ of two judgements": number(float(np.mean(pairs))),
            **{
                f"κ of judge and {name}": by.kappa(judged, rule(rows))
                for name, rule in RULES.items()
            },
        }
        yield from share_cells(reader, "agreement", texts, len(rows), f"{_NOTE}; {_KAPPA}", _PATH,
                               by.groups(rows))  # fmt: skip


def judge_cells(scored: pd.DataFrame, by: ByUnit) -> Iterator[Cell]:
    """Judge against judge, by reader; of the wrong answers each that passes is the judge's error.

    The records hold one model's judgements, three times: by each other, by the strictest and the
    most lenient vote of them, and by the rules.
    """
    for reader, rows in _readers(scored):
        votes = {name: vote(rows) for name, vote in _PASSES.items()}
        pairs = [
            (
                f"judgement {one}",
                f"judgement {other}",
                rows[f"judged_{one}"],
                rows[f"judged_{other}"],
            )
            for one, other in combinations(range(1, len(_ROUNDS) + 1), 2)
        ]
        pairs.append(("lenient vote", "strict vote", votes[_LENIENT], votes[_STRICT]))
        pairs += [("majority", name, votes[_MAJORITY], rule(rows)) for name, rule in RULES.items()]
        for one, other, first, second in pairs:
            yield from share_cells(
                f"{reader}; {one} and {other}", "verdicts", by.judges_beside(first, second),
                len(rows), f"{_NOTE}; {_KAPPA}; {_JUDGES}", _PATH, by.groups(rows),
            )  # fmt: skip


def wrong_cells(scored: pd.DataFrame, by: ByUnit) -> Iterator[Cell]:
    """How often answers that are wrong on purpose pass, by kind of question."""
    wrong = scored[scored["planted"]]
    for reader, rows in _readers(wrong):
        for kind, part in by_kind(rows):
            texts = {name: by.mean(passed(part)) for name, passed in _PASSES.items()}
            texts |= {name: by.mean(rule(part)) for name, rule in RULES.items()}
            yield from share_cells(
                f"{reader}; {kind}",
                "share that passes",
                texts,
                len(part),
                _NOTE,
                _PATH,
                by.groups(part),
            )


def label_cells(scored: pd.DataFrame, by: ByUnit) -> Iterator[Cell]:
    """What the labels that the public audit calls wrong do to each score."""
    for reader, rows in _readers(scored):
        faulty = rows["label"] == "answer"
        values = {_MAJORITY: _PASSES[_MAJORITY](rows).astype(float), "LoCoMo's F1": rows["f1"]}
        for name, score in values.items():
            kept = score[~faulty]
            texts = {
                "all questions": by.mean(score),
                "label right": by.mean(kept),
                "label wrong": by.mean(score[faulty]),
                "change without wrong labels": f"{kept.mean() - score.mean():+.4f}",
                "questions with a wrong label": str(int(faulty.sum())),
            }
            yield from share_cells(f"{reader}; {name}", name, texts, len(rows), _NOTE, _PATH,
                               by.groups(rows))  # fmt: skip


def tables(scored: pd.DataFrame, by: ByUnit) -> dict[str, Iterator[Cell]]:
    """The tables by name, from the published answers, indexed by question."""
    return {
        "accuracy": accuracy_cells(scored, by),
        "agreement": agreement_cells(scored, by),
        "judges": judge_cells(scored, by),
        "wrong_on_purpose": wrong_cells(scored, by),
        "labels": label_cells(scored, by),
    }
