"""What a trial found, in sentences and as one page that works offline."""

import re
from collections.abc import Iterator
from importlib.resources import files
from math import isinf

import numpy as np
import pandas as pd
from jinja2 import Environment, StrictUndefined

from memrepro.core.memory import Query
from memrepro.errors import cut
from memrepro.evaluate.comparison import LEVEL, QUESTION, units
from memrepro.face.own.noticed import sentences
from memrepro.face.trial.outcomes import Outcome, Trial, settings_of

_SHOWN = 12  # questions won and lost of a row on the page; results.csv has all
_FOUND = 3  # docs of a ranking that are shown
_LONGEST = 280  # characters of a text on the page
_ENVIRONMENT = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)


def headline(trial: Trial) -> list[str]:
    """What came out, in sentences: what helps, what could have been seen, what k reaches."""
    base, groups = trial.baseline, trial.groups
    shown = [one for one in trial.outcomes if one.against is not None]
    of = "" if groups.unit == QUESTION else f", {groups}"
    said = [
        f"{trial.metric} of the {base.name}: {base.mean:.4f} "
        f"(n = {units(len(base.values), 'question')}{of})."
    ]
    for verdict in ("helps", "harms"):
        found = [one for one in shown if one.verdict == verdict]
        if found:
            listed = "; ".join(
                f"{one.name} {one.against.difference:+.4f} {one.against.ends}"
                for one in found
                if one.against
            )
            said.append(f"What {verdict}: {listed}.")
    if not any(one.verdict == "helps" for one in shown):
        said.append("No method is shown to help beside it.")
    if trial.groups_needed > groups.n:
        fewer = ", or fewer methods" * (2.0 ** (1 - groups.n) < LEVEL)  # one could be significant
        said.append(
            f"These data cannot show anything: with {groups}, no difference of "
            f"{units(len(shown), 'comparison')} can be significant, however large; it takes "
            f"{trial.groups_needed} {groups.unit}s{fewer}."
        )
    else:
        least = [one.least for one in shown if not isinf(one.least) and one.least > 0]
        if least:
            said.append(
                f"So many {groups.unit}s could show a difference of {np.median(least):.3f} (the "
                f"median over methods; power 80 %, after Holm's correction over {len(shown)})."
            )
    if base.mean == 1.0:
        said.append(
            f"The {base.name} has the highest value there is, so nothing can help beside it here: "
            "a smaller k or harder questions leave room."
        )
    if groups.unit == QUESTION and len(shown):
        said.append(
            "All questions are of one conversation, or each has its own: intervals resample "
            "questions, and no setting is tuned on other conversations."
        )
    if trial.whole:
        said.append(
            f"For {trial.whole:.0%} of the questions, k = {trial.k} reaches the whole memory: "
            "every method finds their evidence."
        )
    if trial.is_made:
        said.append(
            "The questions are made of the conversations: no value here is comparable with one of "
            "real questions."
        )
    return said


def page_of(trial: Trial) -> str:
    """All of it as one HTML page that needs no other file."""
    template = files("memrepro.face.trial").joinpath("page.html").read_text(encoding="utf-8")
    shown = [one for one in trial.outcomes if one.against is None or one.method in trial.shown]
    ends = [
        abs(end)
        for one in shown
        if one.against
        for end in (one.against.low, one.against.high, one.against.difference)
        if not np.isnan(end)
    ]
    return _ENVIRONMENT.from_string(template).render(
        trial=trial,
        shown=shown,
        headline=headline(trial),
        noticed=sentences(trial.data.noticed),
        widest=max([*ends, 0.01]),
        kinds=_by_kind(trial, shown),
        questions=[(one, list(_moved(trial, one, trial.baseline))) for one in shown if one.against],
        settings=settings_of,
        best=trial.best,
        number=lambda value: "none" if isinf(value) else f"{value:.4f}" if value else "",
        slug=lambda name: re.sub(r"\W+", "-", name).strip("-").lower(),
        limit=_SHOWN,
    )


def _by_kind(trial: Trial, shown: list[Outcome]) -> pd.DataFrame:
    """Row × kind → the mean, with how many questions there are of a kind."""
    sizes = trial.baseline.values.groupby("kind").size()
    table = pd.DataFrame({one.name: one.values.groupby("kind").mean() for one in shown}).T
    named = {kind: f"{kind or 'no kind'} (n = {n})" for kind, n in sizes.items()}
    return table.rename(columns=named)


# `doc, time and places, text, whether it is evidence` of each doc that is shown.
_Docs = list[tuple[str, str, str, bool]]


def _moved(
    trial: Trial, one: Outcome, base: Outcome
) -> Iterator[tuple[str, Query, _Docs, _Docs, _Docs]]:
    """Questions that a row wins and loses: 'won' or 'lost', evidence, what it and the base find."""
    rows = trial.data.docs(trial.level).itertuples(index=False)
    texts = {(memory, doc): (at, cut(text, _LONGEST)) for memory, doc, _, at, text in rows}
    asked = {query.query_id: query for query in trial.data.dataset.queries}
    ids = [str(query_id) for query_id in one.values.index.get_level_values("query_id")]
    change = one.values.to_numpy() - base.values.to_numpy()
    lists = [some.ranking.groupby("query_id")["doc_id"].agg(list) for some in (one, base)]
    for what, sign in (("won", 1), ("lost", -1)):
        moved = [q for q, by in zip(ids, change, strict=True) if by * sign > 0]
        for query in [asked[query_id] for query_id in moved[:_SHOWN]]:
            parts = trial.data.labels[trial.level][query.query_id]
            evidence = [doc for part in parts for doc in part]
            mine, its = (some.get(query.query_id, []) for some in lists)
            places = {
                doc: f" {_place(doc, mine)} by {one.name}, {_place(doc, its)} by {base.name}"
                for doc in evidence
            }
            told: list[_Docs] = [
                [
                    (doc, at + places.get(doc, ""), text, doc in places)
                    for doc in docs
                    for at, text in [texts.get((query.memory_id, doc), ("", ""))]
                ]
                for docs in (evidence, mine[:_FOUND], its[:_FOUND])
            ]
            yield what, query, told[0], told[1], told[2]


def _place(doc: str, docs: list[str]) -> str:
    return f"place {docs.index(doc) + 1}" if doc in docs else "not found"
