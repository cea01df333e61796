"""Which field wins each doc of max-sim's list, and which field holds the evidence (§3.3).

A doc's max-sim is the better of its fields' similarities, so that a doc among max-sim's first k is
among the first k of the field that won it, with the same score: fewer than k docs score higher by
either. The runs of the single fields, as deep as max-sim's, therefore tell the winner exactly.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from memrepro.audit.verdicts import NOT_COMPARABLE, NOT_RUN
from memrepro.core.prepared import load_qrels
from memrepro.errors import MemreproError
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.report.profile import EVIDENCE, evidence_fields
from memrepro.report.runs import Runs
from memrepro.report.sources import FileSource, RunSource, write_sources
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell

FIRST, SECOND, BOTH = "1", "2", "="  # which field won a doc; both where they are equally similar
_COUNTED = ("recall_all", 10)


class Selection(NamedTuple):
    """How often each field won, over the questions with their evidence in one place.

    Attributes:
        evidence: whose words their evidence is; '' for all questions.
        questions: how many.
        docs: in their lists.
        first: of these, those that the first field won.
        gold: gold docs in their lists.
        own: of these, those that the field of the evidence won; NaN for '' and for several fields.
    """

    evidence: str
    questions: int
    docs: int
    first: float
    gold: int
    own: float


def winners(rankings: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """The docs of max-sim's lists: `query_id, doc_id, rank, field`, by question and rank.

    Args:
        rankings: `setting, query_id, doc_id, rank, score` with the settings `<first>_only`,
            `<second>_only` and `fielded`, equally deep.
        first: the first field.
        second: the second.

    Raises:
        MemreproError: if a doc's score is that of neither field.
    """
    by = dict(list(rankings.groupby("setting", observed=True)))
    place = ["query_id", "doc_id"]
    found = by["fielded"][[*place, "rank", "score"]]
    for number, name in ((FIRST, first), (SECOND, second)):
        own = by[f"{name}_only"][[*place, "score"]].rename(columns={"score": number})
        found = found.merge(own, on=place, how="left", validate="one_to_one")
    won = [(found[number] == found["score"]).to_numpy() for number in (FIRST, SECOND)]
    if not (won[0] | won[1]).all():
        lost = found.loc[~(won[0] | won[1]), place].iloc[0].tolist()
        raise MemreproError(
            f"max-sim finds {lost[1]!r} for {lost[0]!r} with a score that neither field's run has: "
            "the three settings are of other depths or other vectors; run their study again"
        )
    field = np.select([won[0] & won[1], won[0]], [BOTH, FIRST], SECOND)
    return found.assign(field=field).sort_values(["query_id", "rank"])[[*place, "rank", "field"]]


def selections(found: pd.DataFrame, evidence: pd.Series, gold: pd.DataFrame) -> list[Selection]:
    """How often each field won: over all questions, then by whose words their evidence is.

    Args:
        found: what `winners` gives, with `own`, the number of the field that the evidence is of, ''
            where it is of several.
        evidence: question id → its evidence.
        gold: `query_id, doc_id`.
    """
    found = found[found["query_id"].isin(evidence.index)]
    marked = found.merge(gold.assign(gold=True), how="left", on=["query_id", "doc_id"])
    marked["gold"] = marked["gold"].eq(True)
    made = []
    for name in ("", *sorted(evidence.unique())):
        ids = evidence.index[evidence == name] if name else evidence.index
        part = marked[marked["query_id"].isin(ids)]
        right = part[part["gold"] & (part["own"] != "")]
        ours = (right["field"] == right["own"]) | (right["field"] == BOTH)
        made.append(
            Selection(
                name, len(ids), len(part), float((part["field"] == FIRST).mean()),
                int(part["gold"].sum()), float(ours.mean()) if len(right) else np.nan,
            )
        )  # fmt: skip
    return made


def of_study(runs: Runs, study: Spec) -> tuple[pd.DataFrame, pd.Series, list[Selection], str]:
    """Winners, evidence of each question, counts and sources of a study; nothing if it was not run.

    Raises:
        MemreproError: as `winners`.
    """
    run = f"{study['stem']}-fields"
    path = paths.results(runs.profile) / runs.file(run).path
    first, second = study["first"], study["second"]
    found = winners(read_table(path), first, second)
    qrels = runs.qrels(run)
    place = RunSource(run, "fielded", study["level"], *_COUNTED)
    values = runs.values(place)
    assert values is not None  # a run that was made is evaluated at its k
    asked, fields = set(values["query_id"]), evidence_fields(qrels)
    evidence = pd.Series({q: field for q, field in fields.items() if q in asked})
    numbers = evidence.map({first: FIRST, second: SECOND}).fillna("")
    found["own"] = found["query_id"].map(numbers).fillna("")
    _, by_query = load_qrels(qrels, study["level"])
    pairs = [(q, doc) for q, parts in by_query.items() for part in parts for doc in part]
    gold = pd.DataFrame(pairs, columns=["query_id", "doc_id"]).drop_duplicates()
    file = FileSource(f"data/{study['dataset']}/{qrels.name}")
    return found, evidence, selections(found, evidence, gold), write_sources([runs.file(run), file])


_NOTE = (
    "the field whose similarity is the doc's max-sim, told by the runs of the single fields; gold "
    "docs: those found, of questions whose evidence is one field's"
)


def selection_cells(runs: Runs, study: Spec) -> Iterator[Cell]:
    """Whose words the evidence is, and which field won max-sim's docs, as a table."""
    if why := runs.why_not(f"{study['stem']}-fields", "fielded"):
        yield Cell("none", "docs won", "docs", "", "", 0, NOT_RUN, note=why)
        return
    *_, counted, sources = of_study(runs, study)
    for one in counted:
        own = "-" if np.isnan(one.own) else f"{one.own:.4f}"
        texts = {
            "questions": f"{one.questions}",
            f"won by {study['first']}": f"{one.first:.4f} of {one.docs}",
            f"won by {study['second']}": f"{1 - one.first:.4f} of {one.docs}",
            "gold docs found": f"{one.gold}",
            "of these won by the field of the evidence": own,
        }
        row = f"{EVIDENCE}{one.evidence}" if one.evidence else "all questions"
        for column, text in texts.items():
            yield Cell(
                row, column, "docs", "", text, one.questions, NOT_COMPARABLE, note=_NOTE,
                sources=sources,
            )  # fmt: skip
