"""What language models answered, question by question: outcomes and scores, no texts."""

import pandas as pd

from memrepro.data.labelled_answers import CONDITIONS, QUESTIONS
from memrepro.errors import MemreproError
from memrepro.evaluate.comparison import QUESTION
from memrepro.face.committed import committed_plan
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.study.groups import groups_of_questions
from memrepro.study.plan import Plan

# Data set → the file of its published answers.
_PUBLISHED = {
    "locomo": paths.answers,
    "personamem-32k": paths.choices,
    QUESTIONS: paths.labelled,
}


def answers(dataset: str, readers: str = "published", profile: str = "open") -> pd.DataFrame:
    """The committed answers of readers on a data set, a row an answer.

    The index has the levels of `Run.values`, so that a reader's column can be compared with
    another's (`compare`) and grouped by kind.

    Args:
        dataset: 'locomo', 'personamem-32k' or 'longmemeval-oracle' (LongMemEval's 500).
        readers: 'published', whose answers others made public, or 'own', the small model that this
            project runs.
        profile: whose results.

    Returns:
        'published' on LoCoMo: `reader`, `planted` (wrong on purpose), `label` ('', or what an
        audit says of the gold answer), `judged_1` to `judged_3`, and by rule `f1`, `match`,
        `contains`; on PersonaMem `reader`, `memory`, `options`, `correct`, `chosen`, `right` and
        `evidence` (gold messages among those shown); on LongMemEval `reader`, `shown`, `abstention`
        and `right`, of which only counts are kept, so that a question has a number of its own,
        the same under all that its reader was shown. 'own': `condition` (what was shown), `model`,
        `outcome`, `right` of options, `f1`, `match`, `contains`, `judged`, `docs`, tokens.

    Raises:
        MemreproError: for answers that there are not, or outside a repository.

    Example:
        >>> import memrepro as mr
        >>> found = mr.answers("locomo")
        >>> found.groupby("reader")["f1"].mean().round(4).head(2)
        reader
        gpt-4.1-mini, short answers    0.6069
        gpt-4o-mini, short answers     0.5224
        Name: f1, dtype: float64
    """
    plan = committed_plan(f"answers({dataset!r})")
    own = {one.any.dataset: name for name, one in plan.readings(profile).items()}
    known = {"published": list(_PUBLISHED), "own": list(own)}
    if dataset not in known.get(readers, ()):
        raise MemreproError(
            f"no {readers!r} answers on {dataset!r}: there are "
            + "; ".join(f"{name!r} on {', '.join(there)}" for name, there in known.items())
        )
    if readers == "published" and dataset == QUESTIONS:
        return _unfolded(read_table(paths.labelled(profile)))
    if readers == "published":
        table = read_table(_PUBLISHED[dataset](profile))
    else:
        table = read_table(paths.readings(profile)).query("study == @own[@dataset]")
        table = table.drop(columns=["study", "prompt"])
    return table.set_index(_levels(table, dataset, plan))


def _unfolded(counts: pd.DataFrame) -> pd.DataFrame:
    """A row an answer, of counts by what was right under each condition, a digit each."""
    each = counts.loc[counts.index.repeat(counts["questions"].astype(int))]
    each = each.rename(columns={"type": "kind"}).assign(
        query_id=[f"q{n}" for n in range(len(each))], abstention=each["abstention"] == "True"
    )
    rows = []
    for reader, conditions in CONDITIONS.items():
        own = each.loc[each["reader"] == reader]
        for place, shown in enumerate(conditions):
            rows.append(own.assign(shown=shown, right=own["right"].str[place] == "1"))
    columns = ["reader", "shown", "abstention", "right"]
    return pd.concat(rows).set_index(["query_id", "kind"])[columns]


def _levels(table: pd.DataFrame, dataset: str, plan: Plan) -> pd.MultiIndex:
    levels = {name: table.pop(name).astype(str) for name in ("query_id", "kind")}
    groups = groups_of_questions(dataset, list(levels["query_id"]), plan)
    if groups.unit != QUESTION:
        levels[groups.unit] = pd.Series(groups.labels, table.index)
    return pd.MultiIndex.from_frame(pd.DataFrame(levels))
