"""RF-Mem's case studies (Figures 18 and 19): single questions, drawn as trees, in ids alone.

Source: RF-Mem D.7. Figure 19's own question is in PersonaMem 32k and is shown under each encoder;
Figure 18's is not. On PersonaBench cases are chosen by recall.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from memrepro.audit.verdicts import NOT_COMPARABLE
from memrepro.core.prepared import load_qrels
from memrepro.files import paths
from memrepro.papers.rfmem.cells import missing, ranking_of, row_cells
from memrepro.papers.rfmem.grid import BOTH, ENCODERS, OPEN, Grid, grids_of
from memrepro.papers.rfmem.traces import PARTS, Recorded, Records, records_of
from memrepro.report import figures
from memrepro.report.runs import Runs
from memrepro.report.sources import Source
from memrepro.report.specs import Spec
from memrepro.report.tables import Cell, number

# At K = 5 the printed row needs α = 0.9, where queries hardly move.
K = 10
# Case → its figure's name, and the rule that chooses its question.
GAIN, LOSS, FAMILIAR = "recollection wins", "familiarity wins", "the gate takes familiarity"
PRINTED = "Figure 19's own question"
FIGURES = {
    GAIN: "figure18", LOSS: "figure19", FAMILIAR: "case_familiar", PRINTED: "figure19_own"
}  # fmt: skip
RULES = {
    GAIN: f"the greatest recall@{K} by recollection less familiarity's",
    LOSS: f"the least recall@{K} by recollection less familiarity's",
    FAMILIAR: "of the questions that the gate takes by familiarity, the lowest entropy",
    PRINTED: "quoted in D.7.2",
}
_COLUMNS = [
    "node", "parent", "kind", "round", "branch", "cluster", "doc_id", "score", "rank",
    "rank_by_familiarity", "relevant", "drift", "candidates", "x", "y",
]  # fmt: skip
_ROW = 0.27  # inches that a row of the figure takes


class Case(NamedTuple):
    """A chosen question: the key of `RULES`, its id and kind, and its recall by either path."""

    case: str
    query_id: str
    kind: str
    familiarity: float
    recollection: float


def choose(both: pd.DataFrame, gated: pd.DataFrame) -> Iterator[Case]:
    """The question of each rule; none where no question gains, loses or is familiar.

    Args:
        both: `query_id, kind, familiarity, recollection`, recall by question.
        gated: the gate's `query_id, path, entropy`.
    """
    both = both.sort_values("query_id", ignore_index=True)
    gain = (both["recollection"] - both["familiarity"]).round(9)
    known = both.merge(gated[["query_id", "path", "entropy"]], on="query_id")
    familiar = known[known["path"] == "familiarity"]
    for case, rows in {
        GAIN: both[(gain == gain.max()) & (gain > 0)],
        LOSS: both[(gain == gain.min()) & (gain < 0)],
        FAMILIAR: familiar[familiar["entropy"] == familiar["entropy"].min()],
    }.items():
        for one in rows.head(1).itertuples(index=False):
            yield Case(case, one.query_id, one.kind, one.familiarity, one.recollection)


class _Tree:
    """The nodes of one question, in the order in which they are drawn, top to bottom."""

    def __init__(self, one: Recorded, query_id: str) -> None:
        def rows_of_query(table: pd.DataFrame | None) -> list[Any]:
            if table is None:
                return []
            return list(table[table["query_id"] == query_id].itertuples(index=False))

        self.hits = sorted(rows_of_query(one.hits), key=lambda hit: hit.rank)
        self.branches = rows_of_query(one.branches)
        self.direct = {row.doc_id: (row.rank, row.score) for row in rows_of_query(one.familiarity)}
        self.gold = {row.doc_id for row in rows_of_query(one.gold)}
        self.rows: list[list[Any]] = []
        self.depth = 2 * max((b.round for b in self.branches), default=0) + 2
        self.line = 0

    def add(self, node: str, parent: str, kind: str, x: float, y: float, **more: Any) -> None:
        values = {"node": node, "parent": parent, "kind": kind, "x": x, "y": y, **more}
        shown = {key: round(v, 6) if isinstance(v, float) else v for key, v in values.items()}
        self.rows.append([shown.get(column, "") for column in _COLUMNS])

    def doc(self, parent: str, doc_id: str, kind: str, rank: Any, score: float) -> float:
        """A doc on a line of its own; its place."""
        y, self.line = self.line, self.line + 1
        by_familiarity = self.direct.get(doc_id, ("", 0.0))[0]
        self.add(f"doc {doc_id}", parent, kind, self.depth, y, doc_id=doc_id, score=score,
                 rank=rank, rank_by_familiarity=by_familiarity,
                 relevant=doc_id in self.gold)  # fmt: skip
        return y

    def branch(self, number: int, place: int, parent: str) -> float:
        """A branch, its clusters, their docs, and the branches that grew from them; its place."""
        (own,) = (b for b in self.branches if (b.round, b.branch) == (number, place))
        node = f"round {number}, branch {place}" if number else "query"
        heights = []
        for cluster in range(own.n_clusters):
            inside = (number, place, cluster)
            docs = [h for h in self.hits if (h.round, h.branch, h.cluster) == inside]
            grown = [
                b for b in self.branches
                if (b.round, b.parent, b.cluster) == (number + 1, place, cluster)
            ]  # fmt: skip
            if not docs and not grown:
                continue  # dropped, or its docs came after the first K
            name = f"{node}, cluster {cluster}"
            ys = [self.doc(name, h.doc_id, "doc", h.rank, h.score) for h in docs]
            ys += [self.branch(b.round, b.branch, name) for b in grown]
            heights.append(float(np.mean(ys)))
            self.add(name, node, "cluster", 2 * number + 1, heights[-1], round=number,
                     branch=place, cluster=cluster)  # fmt: skip
        # After a round that found nothing the branch itself is searched with again.
        again = (number + 1, place, -1)
        if any((b.round, b.parent, b.cluster) == again for b in self.branches):
            heights.append(self.branch(number + 1, place, node))
        if not heights:
            heights, self.line = [float(self.line)], self.line + 1
        y = float(np.mean(heights))
        self.add(node, parent, "branch" if number else "query", 2 * number, y, round=number,
                 branch=place, drift=max(1 - own.drift, 0.0),
                 candidates=own.n_candidates)  # fmt: skip
        return y


def tree(one: Recorded, query_id: str) -> pd.DataFrame:
    """The nodes of a question's answer, each with its parent: query, clusters, branches, docs.

    A node without a parent is the query, or a doc that familiarity alone returned. Clusters that
    no doc of the ranking and no branch came from are left out. x is the depth, y the line.
    """
    made = _Tree(one, query_id)
    if made.branches:
        made.branch(0, 0, "")
    else:
        ys = [made.doc("query", hit.doc_id, "doc", hit.rank, hit.score) for hit in made.hits]
        made.add("query", "", "query", 0, float(np.mean(ys)) if ys else 0.0)
    found = {hit.doc_id for hit in made.hits}
    made.line += 1
    for doc_id, (_, score) in made.direct.items():
        if doc_id not in found:
            made.doc("", doc_id, "doc of familiarity alone", "", score)
    return pd.DataFrame(made.rows, columns=_COLUMNS)


def _connect(axis: Axes, nodes: pd.DataFrame) -> None:
    places = dict(zip(nodes["node"], zip(nodes["x"], nodes["y"], strict=True), strict=True))
    for row in nodes[nodes["parent"] != ""].itertuples(index=False):
        (x0, y0), (x1, y1) = places[row.parent], (row.x, row.y)
        bend = x0 + 0.35
        axis.plot([x0, bend, bend, x1], [y0, y0, y1, y1], color="0.55", lw=0.9, zorder=1)


def _draw(heading: str, nodes: pd.DataFrame) -> Figure:
    """The tree, left to right; docs as a list, relevant ones with a star and in bold."""
    inches = 1.25 * (float(nodes["x"].max()) + 4.5), _ROW * (float(nodes["y"].max()) + 4) + 0.6
    figure = Figure(figsize=inches, layout="constrained")
    axis = figure.subplots()
    axis.set_title(heading, fontsize=10, loc="left")
    _connect(axis, nodes)
    marks = {"query": ("s", "black", 80), "branch": ("o", "white", 60), "cluster": ("D", "0.7", 36)}
    for kind, (marker, colour, size) in marks.items():
        part = nodes[nodes["kind"] == kind]
        axis.scatter(part["x"], part["y"], marker=marker, s=size, facecolor=colour,
                     edgecolor="black", linewidth=0.9, zorder=3)  # fmt: skip
    rows: Any = nodes[nodes["kind"].isin(["branch", "cluster"])].itertuples(index=False)
    for row in rows:
        text = f"c{row.cluster}"
        if row.kind == "branch":
            text = f"b{row.branch}: {row.drift:.2f}, {row.candidates}"
        axis.annotate(text, (row.x, row.y), (0, 5), textcoords="offset points", fontsize=7,
                      ha="center")  # fmt: skip
    right = float(nodes["x"].max())
    for depth in sorted(set(nodes.loc[nodes["kind"] == "cluster", "round"])):
        axis.text(2 * depth + 1, -1.1, f"round {depth}", fontsize=8, ha="center", va="center")
    # Doc id, score, rank, rank by familiarity: a column each.
    stops = {"doc": 0.2, "score": 1.6, "rank": 2.2, "by familiarity": 2.7}
    for title, stop in stops.items():
        axis.text(right + stop, -1.1, title, fontsize=8, va="center", style="italic")
    docs: Any = nodes[nodes["kind"].str.startswith("doc")].itertuples(index=False)
    for row in docs:
        weight = "bold" if row.relevant else "normal"
        axis.scatter([right], [row.y], marker="*" if row.relevant else ".", color="black",
                     s=90 if row.relevant else 20, zorder=3)  # fmt: skip
        texts = (row.doc_id, f"{row.score:.3f}", row.rank, row.rank_by_familiarity)
        for stop, text in zip(stops.values(), texts, strict=True):
            shown = "–" if text == "" else str(text)
            axis.text(right + stop, row.y, shown, fontsize=8, va="center", weight=weight)
    alone = nodes[nodes["kind"] == "doc of familiarity alone"]
    if len(alone):
        axis.text(right - 0.15, alone["y"].mean(), "returned by\nfamiliarity alone", fontsize=8,
                  ha="right", va="center", style="italic")  # fmt: skip
    axis.set_xlim(-0.4, right + 3.7)
    axis.set_ylim(nodes["y"].max() + 0.8, -1.8)
    axis.axis("off")
    return figure


class _Shown(NamedTuple):
    """A case under an encoder, and the runs that say how its question was answered."""

    case: Case
    title: str
    short: str
    deep: Recorded
    gated: Recorded
    sources: Sequence[Source]  # of its choice and recall

    @property
    def drawn(self) -> Recorded:
        """The run that is drawn."""
        return self.gated if self.case.case == FAMILIAR else self.deep

    @property
    def recalls(self) -> str:
        """Recall by either path."""
        return f"{number(self.case.familiarity)} → {number(self.case.recollection)}"


def _grids() -> list[Grid]:
    return [grid for grid in grids_of(OPEN) if grid.k == K]


def _why_not(deep: Recorded, gated: Recorded) -> str:
    return "; ".join(filter(None, (deep.why_not, gated.why_not)))


def _runs(records: Records, quoted: Spec) -> Iterator[tuple[str, str, Recorded, Recorded]]:
    """Title, short name, recollection's and the gate's run of each encoder of PersonaMem."""
    for encoder in ENCODERS:
        names = [
            quoted["run"].format(stem=encoder.short, path=p) for p in ("recollection", "gated")
        ]
        if all(name in records.experiments for name in names):
            deep, gated = (records.experiments[name] for name in names)
            yield f"PersonaMem 32k, {encoder.title}", f"personamem_{encoder.short}", deep, gated


def _chosen(records: Records, quoted: Spec) -> Iterator[_Shown]:
    """The cases of each encoder on PersonaBench, and the printed one, of those that were run."""
    for grid in _grids():
        deep, gated = (records.experiments[grid.run(path)] for path in ("recollection", "gated"))
        if _why_not(deep, gated):
            continue
        both = grid.questions.assign(familiarity=grid.familiarity, recollection=grid.recollection)
        for case in choose(both, gated.queries):
            yield _Shown(case, grid.encoder.title, grid.encoder.short, deep, gated,
                         grid.sources(*BOTH))  # fmt: skip
    for title, short, deep, gated in _runs(records, quoted):
        asked = not _why_not(deep, gated) and set(deep.queries["query_id"])
        if asked and quoted["question"] in asked:
            case = _printed_case(quoted["question"], deep)
            yield _Shown(case, title, short, deep, gated, deep.sources("qrels"))


def _printed_case(query_id: str, deep: Recorded) -> Case:
    """A question by either path: its recall of the relevant docs among the first K."""
    kinds, _ = load_qrels(paths.qrels(OPEN, deep.entry.dataset), "round")
    gold = set(deep.gold.loc[deep.gold["query_id"] == query_id, "doc_id"])
    direct = deep.familiarity
    assert direct is not None  # the run that its gate looks at stands before it in the study
    shares = [
        len(gold & set(run.loc[run["query_id"] == query_id, "doc_id"])) / len(gold)
        for run in (direct, deep.hits)
    ]
    return Case(PRINTED, query_id, kinds[query_id], *shares)


def _ranks(nodes: pd.DataFrame) -> str:
    """Where either path has each relevant doc of a tree."""
    found = nodes[nodes["relevant"].eq(True)]
    pairs: Any = zip(found["rank_by_familiarity"], found["rank"], strict=True)
    return "; ".join(f"{one or '–'} → {other or '–'}" for one, other in pairs) or "in neither"


def cases(runs: Runs, table: Spec) -> Iterator[Cell]:
    """The chosen cases of each encoder, and the printed one."""
    records = records_of(runs.profile)
    for grid in _grids():
        pair = [records.experiments[grid.run(path)] for path in ("recollection", "gated")]
        if why := _why_not(*pair):
            yield missing(grid.encoder.title, "question", "case", why)
    for title, _, deep, gated in _runs(records, table["quoted"]):
        if why := _why_not(deep, gated):
            yield missing(title, "question", "case", why)
    for one in _chosen(records, table["quoted"]):
        case, gated = one.case, one.gated
        known: Any = gated.queries.set_index("query_id").loc[case.query_id]
        nodes = tree(one.deep, case.query_id)
        known_before = nodes["rank_by_familiarity"].ne("")
        texts = {
            "rule": RULES[case.case],
            "question": case.query_id,
            "kind": case.kind,
            "recall, familiarity → recollection": one.recalls,
            "ranks of relevant docs, familiarity → recollection": _ranks(nodes),
            "docs of both": str(int((nodes["rank"].ne("") & known_before).sum())),
            "rounds": str(one.drawn.queries.set_index("query_id").loc[case.query_id, "rounds"]),
            "mean score": number(known["mean"]),
            "entropy": number(known["entropy"]),
            "the gate's path": known["path"],
        }  # fmt: skip
        sources: list[Source] = [
            *one.sources, *gated.sources("queries"), *one.drawn.sources(*PARTS),
            ranking_of(one.deep.direct),
        ]  # fmt: skip
        yield from row_cells(f"{one.title}: {case.case}", "case", texts, 1, table["note"], sources,
                             NOT_COMPARABLE)  # fmt: skip


def draw_cases(records: Records, quoted: Spec, folder: Path) -> list[Path]:
    """Write a figure of each case; return the paths."""
    written = []
    for one in _chosen(records, quoted):
        case = one.case
        nodes = tree(one.drawn, case.query_id)
        heading = (
            f"{one.title}, question {case.query_id} ({case.kind}): {case.case}\n"
            f"recall@{K} by familiarity → by recollection: {one.recalls}\n"
            "■ query   ◆ cluster   ○ branch: drift of its query, new docs   ★ relevant doc"
        )
        name = f"{FIGURES[case.case]}_{one.short}"
        written += figures.save(partial(_draw, heading, nodes), nodes, folder, name)
    return written
