"""What the question browser shows: questions, gold, and where each method ranked it, as scripts.

The scripts are read by plain script elements, so that the browser works from a folder on the disk.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import pandas as pd

from memrepro.core.extractions import parent_of
from memrepro.core.prepared import load_places
from memrepro.evaluate.rollup import levels_of, roll_up
from memrepro.files import paths
from memrepro.files.atomic import read_table
from memrepro.provenance.places import run_file
from memrepro.site import texts, trails
from memrepro.site.pages import Site
from memrepro.study.evaluation import read_gold
from memrepro.study.params import Plan

SHOWN = 10  # docs of a ranking
_SCALE = 10_000  # scores are kept as whole numbers of 1/10000
LEVELS = ("session", "round", "turn")


class Listed(NamedTuple):
    """A data set that can be browsed.

    Attributes:
        profile: whose results.
        dataset: by name.
        path: the folder of its scripts.
        questions: how many.
        methods: experiment, setting and level → the address that shows it.
        texts: whether they are there, too.
    """

    profile: str
    dataset: str
    path: str
    questions: int
    methods: dict[tuple[str, str, str], str]
    texts: bool


def browsable(profile: str, plan: Plan) -> dict[str, list[str]]:
    """Data set → the experiments of a profile on it that were run, of those that have qrels.

    Sweeps over a parameter of a retriever are left to the leaderboard: hundreds of near copies
    would hide the methods. That of the plain hybrid is shown, as all methods are compared with it.
    """
    found: dict[str, list[str]] = {}
    for name, one in {**plan.experiments, **plan.sweeps}.items():
        method = one.vary in ("", "key_scheme", "granularity") or one.retriever == "hybrid"
        labelled = paths.qrels(plan.datasets[one.dataset].profile, one.dataset).is_file()
        if one.profile == profile and method and labelled and run_file(name).is_file():
            found.setdefault(one.dataset, []).append(name)
    return {dataset: found[dataset] for dataset in plan.datasets if dataset in found}


def write(site: Site, profile: str, dataset: str, runs: list[str], plan: Plan) -> Listed:
    """Write the scripts of a data set: its questions, its texts, and a script for each method.

    Args:
        site: to write into.
        profile: whose results.
        dataset: by name.
        runs: the experiments that are shown.
        plan: params.yaml.
    """
    protocol = next(iter(plan.evaluation.protocols.values()))
    home = plan.datasets[dataset].profile  # the full profile searches data sets of the open one
    gold = read_gold(home, dataset, {"first": protocol})
    places = load_places(paths.places(home, dataset))
    wanted = {level: dict(gold.wanted(level, protocol)) for level in LEVELS}
    wanted = {level: parts for level, parts in wanted.items() if parts}
    docs, addresses = _Docs(places), {}
    folder = f"data/{profile}/{dataset}"
    methods: list[dict[str, Any]] = []
    for name in runs:
        run = read_table(run_file(name))
        trail = trails.read(profile, name)
        for setting, variant in plan.experiment(name).variants().items():
            part = run[run["setting"] == setting] if setting else run
            # Its own level, or the first that it is read at: one more would be as large again.
            for level in levels_of(variant.granularity):
                rolled = part if level == variant.granularity else roll_up(part, level, places)
                if level in (wanted or LEVELS) and rolled is not None:
                    break
            else:
                continue
            key = f"m{len(methods)}"
            own = trail if level == variant.granularity else None
            body = _answers(rolled, list(gold.kinds), wanted.get(level, {}), docs, own)
            site.data(f"{folder}/{key}", body)
            addresses[name, setting, level] = (
                f"questions.html#dataset={folder}&level={level}&a={key}"
            )
            label = name + (f", {plan.experiment(name).vary} {setting}" if setting else "")
            methods.append(
                {"key": key, "label": label, "level": level, "experiment": name,
                 "depth": variant.parameters["k"], "encoder": variant.encoder,
                 "traced": own is not None}
            )  # fmt: skip
    kinds = list(dict.fromkeys(gold.kinds.values()))
    told = texts.write(site, folder, dataset)
    questions = [
        [query_id, kinds.index(kind), *told.asked(query_id)]
        for query_id, kind in gold.kinds.items()
    ]
    index = {
        "profile": profile, "dataset": dataset, "kinds": kinds, "questions": questions,
        "levels": [level for level in LEVELS if any(m["level"] == level for m in methods)],
        "gold": {
            level: [
                [[docs.index(d) for d in part] for part in parts.get(query_id, ())]
                for query_id in gold.kinds
            ]
            for level, parts in wanted.items()
        },
        "left_out": {level: gold.left_out(level, protocol) for level in wanted},
        "methods": methods, "scale": _SCALE, "held": told.held, "times": told.times,
    }  # fmt: skip
    index |= docs.listed()  # last: gold that no method found has been named by now
    site.data(f"{folder}/index", index)
    return Listed(profile, dataset, folder, len(questions), addresses, bool(told.held))


class _Docs:
    """Numbers for the ids of docs, which stand thousands of times in the scripts."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._numbers: dict[str, int] = {}
        self._places = places

    def index(self, doc_id: str) -> int:
        """The number of a doc, a new one where it has none yet."""
        return self._numbers.setdefault(doc_id, len(self._numbers))

    def listed(self) -> dict[str, list[str]]:
        """The docs by number, and the session of each."""
        sessions = [self._session(doc_id) for doc_id in self._numbers]
        return {"docs": list(self._numbers), "sessions": sessions}

    def _session(self, doc_id: str) -> str:
        parent = parent_of(doc_id)
        return self._places.get(parent, parent)


class _Ranked(NamedTuple):
    docs: list[str]
    scores: list[int]


def _answers(
    run: pd.DataFrame,
    query_ids: list[str],
    wanted: Mapping[str, Any],
    docs: _Docs,
    trail: Mapping[str, list[Any]] | None,
) -> dict[str, Any]:
    """A method's answer to each question: its first docs, their scores, and where the gold came.

    `scores` are each less than the one before by so much; `gold` has for each gold doc of the
    index, in its order, the rank from 1 and the score, or 0 for one that was not retrieved.
    """
    ranked = _ranked(run)
    nothing = _Ranked([], [])
    answers: dict[str, Any] = {"top": [], "scores": [], "gold": [], "deep": []}
    for query_id in query_ids:
        found = ranked.get(query_id, nothing)
        rank = {doc_id: i for i, doc_id in enumerate(found.docs)}
        golden = dict.fromkeys(d for part in wanted.get(query_id, ()) for d in part)
        answers["top"].append([docs.index(d) for d in found.docs[:SHOWN]])
        scores = found.scores[:SHOWN]
        answers["scores"].append([a - b for a, b in zip([0, *scores], scores, strict=False)])
        answers["gold"].append(
            [[rank[d] + 1, found.scores[rank[d]]] if d in rank else 0 for d in golden]
        )
        answers["deep"].append(len(found.docs))
    if trail is not None:
        answers["trail"] = [trail.get(query_id, []) for query_id in query_ids]
    return answers


def _ranked(run: pd.DataFrame) -> dict[str, _Ranked]:
    """Query id → its docs in order of rank, with their scores."""
    scores = (run["score"].to_numpy() * _SCALE).round().astype(int).tolist()
    found: dict[str, _Ranked] = {}
    new = cache(lambda query_id: found.setdefault(query_id, _Ranked([], [])))
    rows = zip(run["query_id"].tolist(), run["doc_id"].tolist(), scores, strict=True)
    for query_id, doc_id, score in rows:
        entry = new(query_id)
        entry.docs.append(doc_id)
        entry.scores.append(score)
    return found
