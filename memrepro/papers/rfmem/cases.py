"""RF-Mem's case studies (Figures 18 and 19): single questions, drawn as trees, in ids alone.

Source: RF-Mem D.7. Figure 19's own question is in PersonaMem 32k; Figure 18's is not. On
PersonaBench the two questions are those of the greatest gain and loss of recall by recollection, of
equals the first id. All are under all-mpnet-base-v2, by the released variant at K = 10.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from memrepro.core.prepared import load_qrels
from memrepro.files import paths
from memrepro.papers.rfmem.grid import OPEN, grids_of
from memrepro.papers.rfmem.traces import Recorded, Records
from memrepro.report import figures
from memrepro.report.tables import number

# At K = 5 the printed row needs α = 0.9, where queries hardly move.
K = 10
# Case → its figure.
GAIN, LOSS, PRINTED = "recollection wins", "familiarity wins", "Figure 19's own question"
FIGURES = {
    GAIN: "figure18_mpnet", LOSS: "figure19_mpnet", PRINTED: "figure19_own_personamem_mpnet"
}  # fmt: skip
QUOTED = "d72d5e18-1633-48a6-8d01-824992353c91"  # the question of D.7.2
_COLUMNS = [
    "node", "parent", "kind", "round", "branch", "cluster", "doc_id", "score", "rank",
    "rank_by_familiarity", "relevant", "drift", "candidates", "x", "y",
]  # fmt: skip
_ROW = 0.27  # inches that a row of the figure takes


class Case(NamedTuple):
    """A chosen question: the key of `FIGURES`, its id and kind, and its recall by either path."""

    case: str
    query_id: str
    kind: str
    familiarity: float
    recollection: float


def choose(both: pd.DataFrame) -> Iterator[Case]:
    """The questions that recollection gains and loses most on; none where no question does.

    Args:
        both: `query_id, kind, familiarity, recollection`, recall by question.
    """
    both = both.sort_values("query_id", ignore_index=True)
    gain = (both["recollection"] - both["familiarity"]).round(9)
    for case, rows in {
        GAIN: both[(gain == gain.max()) & (gain > 0)],
        LOSS: both[(gain == gain.min()) & (gain < 0)],
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


def _printed_case(deep: Recorded) -> Case:
    """`QUOTED` by either path: its recall of the relevant docs among the first K."""
    kinds, _ = load_qrels(paths.qrels(OPEN, deep.entry.dataset), "round")
    gold = set(deep.gold.loc[deep.gold["query_id"] == QUOTED, "doc_id"])
    direct = deep.familiarity
    assert direct is not None  # the run that its gate looks at stands before it in the study
    shares = [
        len(gold & set(run.loc[run["query_id"] == QUOTED, "doc_id"])) / len(gold)
        for run in (direct, deep.hits)
    ]
    return Case(PRINTED, QUOTED, kinds[QUOTED], *shares)


def _chosen(records: Records) -> Iterator[tuple[Case, str, Recorded]]:
    """The cases on PersonaBench and the printed one, of those that were run: title and run."""
    grid = next(g for g in grids_of(OPEN) if (g.encoder.short, g.k) == ("mpnet", K))
    deep = records.experiments[grid.run("recollection")]
    if not deep.why_not:
        both = grid.questions.assign(familiarity=grid.familiarity, recollection=grid.recollection)
        for case in choose(both):
            yield case, grid.encoder.title, deep
    own = records.experiments["personamem-mpnet-recollection"]
    if not own.why_not and QUOTED in set(own.queries["query_id"]):
        yield _printed_case(own), f"PersonaMem 32k, {grid.encoder.title}", own


def draw_cases(records: Records, folder: Path) -> list[Path]:
    """Write a figure of each case; return the paths."""
    written = []
    for case, title, deep in _chosen(records):
        nodes = tree(deep, case.query_id)
        heading = (
            f"{title}, question {case.query_id} ({case.kind}): {case.case}\n"
            f"recall@{K} by familiarity → by recollection: "
            f"{number(case.familiarity)} → {number(case.recollection)}\n"
            "■ query   ◆ cluster   ○ branch: drift of its query, new docs   ★ relevant doc"
        )
        draw = partial(_draw, heading, nodes)
        written += figures.save(draw, nodes, folder, FIGURES[case.case])
    return written
