"""RF-Mem's learned gate (D.6): a network on the two signals, trained on LoCoMo, beside thresholds.

Tables 12 to 14 are about the right answers of a reader, and stand as printed. Here the label of a
question is the path of the higher recall@K, and what a policy reaches is recall@K. A question is
decided where the paths' recall differs. PersonaBench has too few of those to learn from (see
`learned_gate_labels`), LoCoMo has more: a gate that learned there is tested on conversations that
it did not see, and on PersonaBench.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.model_selection import GroupKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from memrepro.core.similarity import Doubles
from memrepro.evaluate.comparison import Comparison
from memrepro.papers.rfmem.cells import missing, row_cells, share
from memrepro.papers.rfmem.grid import BOTH, GATE, OPEN, Bools, Grid, grids_of, probes, signals
from memrepro.papers.rfmem.traces import Family, records_of
from memrepro.report.runs import Runs
from memrepro.report.sources import RunSource, Source
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell, number

FAMILIARITY, RECOLLECTION, TIE = 0, 1, -1
_FEWEST = 50  # decided questions that a network learns from
_PASSES = 1000
# The library's defaults.
_RATE, _DECAY, _DECAY_OF_SQUARES, _TINY, _PENALTY = 0.001, 0.9, 0.999, 1e-8, 1e-4
SEEDS = range(5)
HIDDEN, VALIDATED = (32, 16), 0.2  # D.6
FOLDS = 5
_LEARNED = "learned"


def label(recall_familiar: Doubles, recall_recollected: Doubles) -> NDArray[np.int64]:
    """Which path found more: 0 familiarity, 1 recollection, −1 neither; shape (n_queries,).

    D.6 labels by the reader's answer; without a reader the label is the path of the higher
    recall@K. It keeps 'only cases in which one path clearly outperforms the other' (Table 12
    counts the others as ties); of 0/1 answers every difference is clear, and so any difference
    of recall counts as one here.
    """
    order = np.sign(recall_recollected - recall_familiar)
    return np.where(order == 0, TIE, np.where(order > 0, RECOLLECTION, FAMILIARITY))


class Questions(NamedTuple):
    """What a gate learns from or is tested on, one data set under one encoder at one K.

    Attributes:
        name: for people.
        ids: `query_id, kind` of n questions.
        signals: the mean score and the entropy, shape (n, 2).
        recalls: recall@K by familiarity and by recollection, shape (n, 2).
        thresholds: whether the gate with thresholds recollects, shape (n,).
        groups: the memory that each asks, shape (n,).
        sources: of the numbers.
    """

    name: str
    ids: pd.DataFrame
    signals: Doubles
    recalls: Doubles
    thresholds: Bools
    groups: Sequence[str]
    sources: list[RunSource]

    @property
    def labels(self) -> NDArray[np.int64]:
        """`label` of each question, shape (n,)."""
        return label(self.recalls[:, 0], self.recalls[:, 1])

    def reached(self, recollects: Doubles) -> Doubles:
        """Recall of each question, recollected or not, or in a share of runs; shape (n,)."""
        return self.recalls[:, 0] + recollects * (self.recalls[:, 1] - self.recalls[:, 0])


def held_out(questions: Questions, seeds: Sequence[int] = SEEDS) -> Doubles:
    """How often a gate that learned from other memories' questions recollects, shape (n,).

    As D.6 has it: ties train nothing, but are tested; hidden layers of 32 and 16 with ReLU and a
    sigmoid output; a fifth of the training questions validates. There the last questions of the
    data set test; here each memory's do in turn. Left open there, and chosen here: the two signals
    are standardised by the training questions, as both vary by hundredths; of 1000 passes the one
    with the best accuracy in validation is kept (a patience of ten, the library's default, leaves
    a plain threshold unlearned); else the library's defaults (Adam, rate 0.001).

    Args:
        questions: of at least `FOLDS` memories.
        seeds: each starts the network and draws the questions that validate.

    Returns:
        The share of the seeds in which a question is recollected.
    """
    labels, shares = questions.labels, np.zeros(len(questions.signals))
    for train, test in GroupKFold(FOLDS).split(labels, groups=questions.groups):
        known = train[labels[train] != TIE]
        shares[test] = _predicted(
            questions.signals[known], labels[known], questions.signals[test], seeds
        )
    return shares


def transferred(learned: Questions, asked: Questions, seeds: Sequence[int] = SEEDS) -> Doubles:
    """How often a gate that learned from all of one data set recollects another's, shape (n,)."""
    known = learned.labels != TIE
    return _predicted(learned.signals[known], learned.labels[known], asked.signals, seeds)


def _predicted(
    signals: Doubles, labels: NDArray[np.int64], asked: Doubles, seeds: Sequence[int]
) -> Doubles:
    shares: Doubles = learn(signals, labels, seeds)(asked).mean(axis=0)
    return shares


class Networks(NamedTuple):
    """Networks of D.6, one a seed.

    Attributes:
        scaler: of the signals.
        layers: weights (n_seeds, n_in, n_out) and what is added to their product, (n_seeds, n_out).
    """

    scaler: StandardScaler
    layers: list[tuple[Doubles, Doubles]]

    def __call__(self, signals: Doubles) -> Bools:
        """Which questions each recollects, of signals (n, 2): shape (n_seeds, n)."""
        return np.asarray(_passed(self.scaler.transform(signals)[None], self.layers)[-1] > 0.5)


def _passed(values: Doubles, layers: Sequence[tuple[Doubles, Doubles]]) -> list[Doubles]:
    """The outputs of each layer: (n_seeds, n, n_units), of the last one (n_seeds, n)."""
    found = []
    for weights, added in layers:
        values = values @ weights
        values += added[:, None]
        if weights.shape[2] > 1:
            np.maximum(values, 0, out=values)
        found.append(values)
    found[-1] = expit(values)[..., 0]
    return found


def learn(signals: Doubles, labels: NDArray[np.int64], seeds: Sequence[int]) -> Networks:
    """The networks of D.6, fitted to the signals (n, 2) and labels (n,) of decided questions.

    They are scikit-learn's `MLPClassifier(HIDDEN, max_iter=_PASSES, early_stopping=True,
    validation_fraction=VALIDATED, n_iter_no_change=_PASSES, shuffle=False)`, each learning from all
    questions at once: the same draws and arithmetic, but all seeds side by side.
    """
    scaler, sizes = StandardScaler(), (signals.shape[1], *HIDDEN, 1)
    known, wanted = scaler.fit_transform(signals), (labels == RECOLLECTION).astype(float)
    shapes = [*itertools.pairwise(sizes)]
    ends = np.cumsum([0, *(a * b for a, b in shapes), *sizes[1:]])
    starts, parts = [], []
    for state in map(np.random.RandomState, seeds):
        drawn = []
        for a, b in shapes:
            bound = np.sqrt(6 / (a + b))
            drawn.append((state.uniform(-bound, bound, (a, b)), state.uniform(-bound, bound, b)))
        starts.append(
            np.concatenate([part.ravel() for kind in zip(*drawn, strict=True) for part in kind])
        )
        parts.append(train_test_split(
            known, wanted, random_state=state, test_size=VALIDATED, stratify=wanted
        ))  # fmt: skip
    taught, held, right, held_right = map(np.stack, zip(*parts, strict=True))
    weights = np.stack(starts)  # of a network one after the other, as their gradients
    slopes, n_products = np.empty_like(weights), ends[len(shapes)]

    def layers_of(flat: Doubles) -> list[tuple[Doubles, Doubles]]:
        cut = [flat[:, a:b] for a, b in itertools.pairwise(ends)]
        products = [part.reshape(-1, *shape) for part, shape in zip(cut, shapes, strict=False)]
        return list(zip(products, cut[len(shapes) :], strict=True))

    layers, gradients = layers_of(weights), layers_of(slopes)
    mean, square, best = np.zeros_like(weights), np.zeros_like(weights), weights.copy()
    reached = np.full(len(weights), -np.inf)
    for step in range(1, _PASSES + 1):
        outputs = [taught, *_passed(taught, layers)]
        error = (outputs.pop() - right)[..., None]
        for (products, _), (to_products, to_added), given in zip(
            layers[::-1], gradients[::-1], outputs[::-1], strict=True
        ):
            np.matmul(given.swapaxes(1, 2), error, out=to_products)
            np.sum(error, axis=1, out=to_added)
            if given is not taught:
                error = error @ products.swapaxes(1, 2)
                error[given == 0] = 0
        slopes[:, :n_products] += _PENALTY * weights[:, :n_products]
        slopes /= taught.shape[1]
        # Adam, as the library has it.
        mean = _DECAY * mean + (1 - _DECAY) * slopes
        square = _DECAY_OF_SQUARES * square + (1 - _DECAY_OF_SQUARES) * slopes**2
        rate = _RATE * np.sqrt(1 - _DECAY_OF_SQUARES**step) / (1 - _DECAY**step)
        weights += -rate * mean / (np.sqrt(square) + _TINY)
        accuracy = ((_passed(held, layers)[-1] > 0.5) == held_right).mean(axis=1)
        better = accuracy > reached
        reached[better], best[better] = accuracy[better], weights[better]
    return Networks(scaler, layers_of(best))


def of_family(family: Family, runs: Runs) -> Questions | None:
    """The questions of a traced family of runs; None where one was not evaluated."""
    entry, k = family.recollection.entry, family.k
    places = [RunSource(one.name, "", entry.granularity, "recall", k) for one in family[:2]]
    direct, deep = (runs.values(place) for place in places)
    if direct is None or deep is None or family.gated.why_not:
        return None
    asked = family.gated.queries.set_index("query_id").loc[direct["query_id"]]
    return Questions(
        family.recollection.name.replace("-recollection", "") + f", K = {k}",
        direct[["query_id", "kind"]], asked[["mean", "entropy"]].to_numpy(np.float64),
        np.stack([direct["value"], deep["value"]], axis=1),
        (asked["path"] == "recollection").to_numpy(),
        family.recollection.asked["memory_id"].loc[direct["query_id"]].tolist(), places,
    )  # fmt: skip


def of_grid(grid: Grid, sharpness: float) -> Questions:
    """PersonaBench's questions, with the entropy at another λ than the paper's there."""
    gate = replace(GATE, sharpness=sharpness)
    found = signals(probes(grid.run("familiarity"), grid.k), gate)
    ids = grid.questions[["query_id", "kind"]]
    return Questions(
        f"PersonaBench, {grid}", ids,
        found.loc[ids["query_id"], ["mean", "entropy"]].to_numpy(np.float64),
        np.stack([grid.familiarity, grid.recollection], axis=1),
        ~grid.signals["familiar"].to_numpy(bool), grid.questions["user"].tolist(),
        [grid.source(path) for path in BOTH],
    )  # fmt: skip


def _families(runs: Runs, table: Spec) -> Iterator[tuple[Family, Questions]]:
    """The families of the data set that the gate learns from, where they were evaluated."""
    for family in records_of(runs.profile).families:
        of_data = family.recollection.entry.dataset == table["dataset"]
        if of_data and (found := of_family(family, runs)) is not None:
            yield family, found


def labels(runs: Runs, table: Spec) -> Iterator[Cell]:
    """Table 12's columns: how many questions either path wins, and what can be learned from."""
    every = [found for _, found in _families(runs, table)]
    every += [of_grid(grid, GATE.sharpness) for grid in grids_of(OPEN)]
    for one in every:
        wins = {"Fami. win": FAMILIARITY, "Recol. win": RECOLLECTION, "Tie": TIE}
        texts = {column: str(int((one.labels == value).sum())) for column, value in wins.items()}
        texts["decided"] = share(int((one.labels != TIE).sum()), len(one.labels))
        yield from row_cells(one.name, "count", texts, len(one.labels), table["note"], one.sources)


def policies(runs: Runs, table: Spec) -> Iterator[Cell]:
    """Recall and routing of each policy on questions that the learned gate has not seen."""
    for family, found in _families(runs, table):
        decided = int((found.labels != TIE).sum())
        if decided < _FEWEST:
            why = f"{decided} decided questions are too few to learn from"
            yield missing(found.name, "recall", "recall", why)
            continue
        learned: list[tuple[str, Questions, Doubles]] = [
            (f"{found.name}, conversations held out", found, held_out(found))
        ]
        encoder, sharpness = family.gated.entry.encoder, family.gated.entry.parameters["sharpness"]
        for grid in grids_of(OPEN):
            if grid.encoder.title.lower() == encoder and grid.k == family.k:
                asked = of_grid(grid, float(sharpness))
                name = f"{asked.name}, learned on {found.name}"
                learned.append((name, asked, transferred(found, asked)))
        for name, asked, shares in learned:
            sources = list(dict.fromkeys([*found.sources, *asked.sources]))
            yield from _policies(runs, name, asked, shares, family, table["note"], sources)


def _policies(
    runs: Runs, name: str, asked: Questions, learned: Doubles, family: Family, note: str,
    sources: Sequence[Source],
) -> Iterator[Cell]:  # fmt: skip
    """The rows of one test; `learned` is the share of seeds that recollect, shape (n,)."""
    best, n = asked.labels == RECOLLECTION, len(asked.labels)
    every: Mapping[str, Doubles] = {
        "always familiarity": np.zeros(n),
        "always recollection": np.ones(n),
        "thresholds, τ = 0.2": asked.thresholds.astype(float),
        _LEARNED: learned,
        "the better path of each question": best.astype(float),
    }
    decided, traced = asked.labels != TIE, family.gated.sources("queries")
    frames = {policy: asked.ids.assign(value=asked.reached(r)) for policy, r in every.items()}
    for policy, recollects in every.items():
        row, frame = f"{name}: {policy}", frames[policy]
        texts: dict[str, str | Comparison] = {"recall": number(frame["value"].mean())}
        for rival in ("always familiarity", "thresholds, τ = 0.2"):
            if policy != rival:
                found = runs.compare(asked.sources[0].run, frames[rival], frame)
                texts[f"recall − {rival}"] = found
        texts["share recollected"] = number(recollects.mean())
        yield from row_cells(row, "recall", texts, n, note, [*sources, *traced])
        right = np.where(best, recollects, 1 - recollects)[decided]
        texts = {"decided questions sent the better way": number(right.mean())}
        yield from row_cells(row, "accuracy", texts, len(right), note, [*sources, *traced])
