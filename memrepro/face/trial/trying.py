"""Which method helps on one's own conversations."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from memrepro.core.memory import GRANULARITIES
from memrepro.core.ranking import to_frame
from memrepro.errors import MemreproError
from memrepro.evaluate import comparison
from memrepro.evaluate.clustered import Clusters
from memrepro.evaluate.comparison import QUESTION
from memrepro.evaluate.metrics import read_metric
from memrepro.evaluate.multiple import holm
from memrepro.face.conversations import Conversations, load
from memrepro.face.defaults import method_defaults, nearest, tried
from memrepro.face.method_file import MethodFile
from memrepro.face.own.rows import Rows
from memrepro.face.runs import Run, docs_in, judging_of
from memrepro.face.searcher import ENCODER, CachedVectors, Searched, Searcher
from memrepro.face.trial.outcomes import OWN, PRINTED, TUNED, Cost, Outcome, Trial
from memrepro.outside.runs import problem_sentences, read_against

BASELINE = "plain hybrid"
_TUNED = "tuned"  # of an entry: what is changed for each further setting
Methods = str | Sequence[str] | Mapping[str, Mapping[str, Any]] | None


def try_methods(
    conversations: str | Path | Rows | Conversations,
    questions: str | Path | Rows | None = None,
    methods: Methods = None,
    *,
    metric: str = "recall_all@10",
    level: str = "round",
    encoder: str = ENCODER,
    runs: str | Path | Sequence[str | Path] = (),
    out: str | Path | None = None,
) -> pd.DataFrame:
    """Several methods on the same conversations, each beside the plain hybrid of BM25 and cosine.

    Each is run as its document prints it; one with settings is also tuned: a conversation's
    questions are answered under the setting that is best on all *other* conversations.

    Args:
        conversations: a file, its rows or a registered data set, see `load`; or what that gives.
        questions: with files or rows, those of the questions.
        methods: names of `face/defaults.yaml` (`tried`), all by default; or one's own: name → what
            `search` is asked with, such as {"mine": {"method": "bm25.hybrid", "alpha": 0.7}}.
        metric: as of `Run.values`; its k is the length of the rankings.
        level: what a doc is: 'session', 'round' or 'turn'.
        encoder: of `encode/encoders.yaml`.
        runs: files of rankings made elsewhere (TREC, JSONL, parquet), compared with all methods.
        out: a folder, for `index.html` (one page), `results.csv` (a value a question),
            `best.yaml` (a method for `search` and `Memory`) and the rankings.

    Returns:
        A row a method and variant, the best first: the metric's mean, 'n' questions with gold, and
        against the plain hybrid `difference`, `low`, `high` (95 % interval), `p`, `won`, `lost`,
        `p_holm` (corrected over all rows) and `verdict`. Intervals resample conversations, or
        questions where there is one: with few of either they are wide, and `p` cannot be small.

    Raises:
        MemreproError: for an unknown method, or rows that cannot be used.

    Example:
        >>> import memrepro as mr
        >>> talk = [
        ...     {"id": "a", "session": "1", "speaker": "user", "text": "I adopted a grey cat."},
        ...     {"id": "b", "session": "1", "speaker": "assistant", "text": "What is its name?"},
        ...     {"id": "c", "session": "1", "speaker": "user", "text": "She is called Miso."},
        ...     {"id": "d", "session": "2", "speaker": "user", "text": "The train was late."},
        ... ]
        >>> asked = [{"question": "What is my cat called?", "gold": ["c"]},
        ...          {"question": "What was late?", "gold": ["d"]}]
        >>> chosen = ["BM25", "plain hybrid", "Tiered: segments, dense and BM25"]
        >>> found = mr.try_methods(talk, asked, chosen, metric="recall@1")
        >>> found[["recall@1", "n", "difference", "won", "lost"]]
                                          recall@1  n  difference  won  lost
        method
        Tiered: segments, dense and BM25       1.0  2         0.5    1     0
        BM25                                   0.5  2         0.0    0     0
        plain hybrid                           0.5  2         0.0    0     0
    """
    if isinstance(conversations, Conversations):
        if questions is not None:
            raise MemreproError("what load gives has its questions: give them to load")
        data = conversations
    else:
        data = load(conversations, questions)
    made = [runs] if isinstance(runs, str | Path) else runs
    trial = run_trial(data, methods, metric=metric, level=level, encoder=encoder, runs=made)
    if out is not None:
        from memrepro.face.trial.files import Source, write_trial  # the page's library

        source = None
        if isinstance(conversations, str | Path) and isinstance(questions, str | Path | None):
            chats = Path(conversations).expanduser()
            source = Source(
                str(chats.resolve() if chats.is_file() else conversations),
                str(Path(questions).expanduser().resolve()) if questions else "",
            )
        write_trial(trial, Path(out).expanduser(), source)
    return trial.frame()


def run_trial(
    data: Conversations, methods: Methods = None, *, metric: str = "recall_all@10",
    level: str = "round", encoder: str = ENCODER, runs: Sequence[str | Path] = (),
    leave_out: Sequence[str] = (),
) -> Trial:  # fmt: skip
    """As `try_methods`, with all that its page needs.

    Args:
        data: the conversations.
        methods: as there.
        metric: as there.
        level: as there.
        encoder: as there.
        runs: as there.
        leave_out: kinds of question that do not count.
    """
    _, k = read_metric(metric)
    if level not in GRANULARITIES:
        raise MemreproError(f"unknown level {level!r}: known are {', '.join(GRANULARITIES)}")
    chosen = dict(_chosen(methods))
    judging = judging_of(data, leave_out)
    if not data.labels.get(level):
        raise MemreproError(
            f"{data.name}: none of its {len(data.dataset.queries)} questions names evidence by "
            f"{level}: give 'gold', a list of ids of messages, or choose another level"
        )
    shown = frozenset(chosen)
    if BASELINE not in chosen:
        chosen[BASELINE] = {k: v for k, v in tried()[BASELINE].items() if k != _TUNED}
    can_tune = len({*data.groups(list(judging.gold.by_level[level])).labels}) > 1
    searcher = Searcher(data.dataset, CachedVectors(encoder))
    settings = {name: _settings(asked, can_tune) for name, asked in chosen.items()}
    searched, not_run = _search_all(searcher, settings, k, level)
    if BASELINE in not_run:
        raise MemreproError(f"{data.name}: the plain hybrid cannot be run: {not_run[BASELINE]}")
    messages = sum(len(r.turns) for m in data.dataset.memories.values() for r in m.rounds)
    found: list[Outcome] = []
    for name, done in searched.items():
        evaluated = [
            Run(name, data.name, level, to_frame(one.rankings), judging=judging) for one in done
        ]
        values = [run.values(metric) for run in evaluated]
        saved = [_saved(asked, level, encoder) for asked in settings[name]]
        costs = [
            _cost(one, messages, bool(file.encoder)) for one, file in zip(done, saved, strict=True)
        ]
        found.append(
            Outcome(name, name, PRINTED, saved[0], values[0], evaluated[0].ranking, cost=costs[0])
        )
        if len(done) > 1:
            at, tuned, chosen_by = _tuned(values, data)
            words = Counter(_in_words(settings[name], i) for i in chosen_by)
            found.append(
                Outcome(
                    f"{name}, tuned", name, TUNED, saved[at], tuned, evaluated[at].ranking,
                    chosen=words, cost=costs[at], settings=tuple(values),
                )
            )  # fmt: skip
    problems: dict[str, Sequence[str]] = {}
    for path in runs:
        outcome, wrong = _own_run(Path(path).expanduser(), data, judging, metric, level)
        if outcome.name in {one.name for one in found}:
            raise MemreproError(f"two rows are called {outcome.name!r}: rename the file {path}")
        found.append(outcome)
        problems[outcome.name] = wrong
    shown |= frozenset(problems)
    outcomes = tuple(_compared(found, data))
    return Trial(data, metric, level, encoder, outcomes, not_run, problems, shown, tuple(leave_out))


def _settings(asked: Mapping[str, Any], can_tune: bool) -> list[dict[str, Any]]:
    """What a method is asked with: as printed, then each further setting."""
    printed = {name: value for name, value in asked.items() if name != _TUNED}
    further = asked.get(_TUNED, ()) if can_tune else ()
    return [printed, *({**printed, **changed} for changed in further)]


def _saved(asked: Mapping[str, Any], level: str, encoder: str) -> MethodFile:
    """A method with all that it was run with, its own defaults too."""
    own = method_defaults(asked["method"])
    lexical, scheme = own.pop("lexical", False), own.pop("key_scheme", "")
    own.pop("dates", None)
    apart = ("method", "key_scheme", "level")
    parameters = {**own, **{name: v for name, v in asked.items() if name not in apart}}
    return MethodFile(
        asked["method"], parameters, asked.get("key_scheme", scheme), level,
        "" if lexical else encoder,
    )  # fmt: skip


def _in_words(settings: Sequence[Mapping[str, Any]], i: int) -> str:
    """What a setting changes of the printed one, such as 'alpha 0.3'."""
    printed = settings[0]
    named = {k: v for k, v in settings[i].items() if k not in printed or printed[k] != v}
    return ", ".join(f"{name} {value}" for name, value in named.items()) or PRINTED


def _search_all(
    searcher: Searcher, settings: Mapping[str, Sequence[Mapping[str, Any]]], k: int, level: str
) -> tuple[dict[str, list[Searched]], dict[str, str]]:
    """Method → what each of its settings found, and why a method could not be run."""
    todo = [(name, i, asked) for name, some in settings.items() for i, asked in enumerate(some)]
    # One key scheme after the other, as a searcher keeps the last one's keys.
    todo.sort(key=lambda one: str(_scheme(one[2])))
    done: dict[tuple[str, int], Searched] = {}
    not_run: dict[str, str] = {}
    for name, i, asked in todo:
        if name not in not_run:
            try:
                done[name, i] = searcher.search(**{"level": level, **asked, "k": k})
            except MemreproError as error:
                not_run[name] = str(error)
    ran = {
        name: [done[name, i] for i in range(len(some))]
        for name, some in settings.items()
        if name not in not_run
    }
    return ran, not_run


def _scheme(asked: Mapping[str, Any]) -> tuple[str, str]:
    own = method_defaults(asked["method"])
    scheme = asked.get("key_scheme") or own.get("key_scheme", "concat")
    return scheme, f"{own.get('lexical', False)} {own.get('dates', '')}"


def _cost(one: Searched, messages: int, encoded: bool) -> Cost:
    words = one.words / messages if encoded else 0.0
    return Cost(1000 * one.seconds / max(1, len(one.rankings)), one.keys / messages, words)


def _tuned(
    values: Sequence[pd.Series], data: Conversations
) -> tuple[int, pd.Series, Sequence[int]]:
    """The setting that is best over all; each question's value tuned on others; those chosen."""
    table = np.stack([one.to_numpy() for one in values], axis=1)
    clusters = Clusters(data.groups(_ids(values[0])).labels)
    answered = pd.Series(clusters.answered(table), values[0].index, name=values[0].name)
    best = int(np.argmax(np.round(table.mean(axis=0), 9)))
    return best, answered, clusters.choose(table).tolist()


def _ids(values: pd.Series) -> list[str]:
    return [str(one) for one in values.index.get_level_values("query_id")]


def _own_run(
    path: Path, data: Conversations, judging: Any, metric: str, level: str
) -> tuple[Outcome, Sequence[str]]:
    """A ranking that was made elsewhere, and what is wrong with its file."""
    read = read_against(path, docs_in(data), data.name, level)
    run = Run(read.name, data.name, level, read.frame, judging=judging)
    wrong = problem_sentences(read.name, read.problems)
    return Outcome(read.name, read.name, OWN, None, run.values(metric), read.frame), wrong


def _compared(found: Sequence[Outcome], data: Conversations) -> list[Outcome]:
    """All against the baseline, corrected together; the best first."""
    baseline = next(one for one in found if one.name == BASELINE)
    groups = data.groups(_ids(baseline.values))
    by_group = groups.unit != QUESTION and groups.n > 1
    clusters = Clusters(groups.labels) if by_group else None
    base = baseline.values.to_numpy()
    against = {}
    for one in found:
        resampled = None
        if clusters and one.settings:
            # The choice is made again in each resample.
            table = np.stack([values.to_numpy() for values in one.settings], axis=1)
            resampled = clusters.means(table) - clusters.means(base[:, None])
        if one is not baseline:
            against[one.name] = comparison.compare(base, one.values.to_numpy(), groups, resampled)
    corrected = dict(zip(against, holm([one.p for one in against.values()]), strict=True))
    outcomes = [
        replace(
            one, against=against[one.name], p_holm=corrected[one.name],
            least=comparison.least_detectable(one.values.to_numpy() - base, groups, len(against)),
        )
        if one.name in against
        else one
        for one in found
    ]  # fmt: skip
    return sorted(outcomes, key=lambda one: -round(one.mean, 9))


def _chosen(methods: Methods) -> Mapping[str, Mapping[str, Any]]:
    if isinstance(methods, Mapping):
        if bare := [name for name, asked in methods.items() if "method" not in asked]:
            raise MemreproError(
                f"the method {bare[0]!r} says no 'method': write such as "
                "{'mine': {'method': 'bm25.hybrid', 'alpha': 0.7}}"
            )
        return methods
    known, methods = tried(), [methods] if isinstance(methods, str) else methods
    if strange := [name for name in methods or () if name not in known]:
        raise MemreproError(
            f"unknown method {strange[0]!r}: {nearest(strange[0], known)}; `memrepro try --methods "
            "list` names all, and mr.try_methods takes your own, such as "
            "{'mine': {'method': 'bm25.hybrid', 'alpha': 0.7}}"
        )
    return {name: known[name] for name in methods or known}
