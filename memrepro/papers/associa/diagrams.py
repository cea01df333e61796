"""Associa's Figures 1 to 3, drawn anew: what each shows, in this project's words.

Figure 1 is of §1, Figure 2 of §4.1, whose edges are those of `associa.yaml`, and Figure 3 of §4.2
and Appendix B.
"""

from pathlib import Path

from memrepro.report.diagram import Arrow, Box, Diagram, write
from memrepro.report.printed import printed_table

_FOLDER = Path(__file__).parent

FIGURE1 = Diagram(
    "figure1",
    "What is similar, and what is evidence",
    (
        Box("query", "query: how much of a and b together?", "query", 0.5, 0.93),
        Box("dense", "dense retrieval:\none vector of the query", "step", 0.2, 0.72),
        Box("intent a", "intent: a, bound\nto its event", "step", 0.62, 0.72),
        Box("intent b", "intent: b, bound\nto its event", "step", 0.88, 0.72),
        Box("similar 1", "round: talks of a,\nno number", "utterance", 0.1, 0.40),
        Box("similar 2", "round: talks of b,\nno number", "utterance", 0.32, 0.40),
        Box("evidence a", "round: a, its event\nand a number", "utterance", 0.62, 0.40),
        Box("evidence b", "round: b, its event\nand a number", "utterance", 0.88, 0.40),
        Box("blurred", "both intents blur: key evidence is missed", "remark", 0.21, 0.17),
        Box("gathered", "each intent finds its evidence", "remark", 0.75, 0.17),
        Box("model", "language model answers", "model", 0.5, 0.05),
    ),
    (
        Arrow("query", "dense"),
        Arrow("query", "intent a"),
        Arrow("query", "intent b"),
        Arrow("dense", "similar 1", "similar"),
        Arrow("dense", "similar 2", "similar"),
        Arrow("dense", "evidence a", "less similar", dashed=True),
        Arrow("intent a", "evidence a", "entities"),
        Arrow("intent b", "evidence b", "entities"),
        Arrow("similar 1", "blurred", dashed=True),
        Arrow("similar 2", "blurred", dashed=True),
        Arrow("evidence a", "gathered"),
        Arrow("evidence b", "gathered"),
        Arrow("blurred", "model", dashed=True),
        Arrow("gathered", "model"),
    ),
    (11, 6),
)
_NODES = {
    "user/speaker": (0.1, 0.5),
    "utterance": (0.36, 0.5),
    "event": (0.66, 0.82),
    "event time": (0.91, 0.82),
    "entity": (0.66, 0.18),
    "another entity": (0.91, 0.18),
}


def _figure2() -> Diagram:
    """The schema: a node a type, an arrow an edge; a relation joins two entities."""
    arrows = []
    for edge in printed_table(_FOLDER, "schema").values():
        end = edge["to"] if edge["to"] != edge["from"] else f"another {edge['to']}"
        arrows.append(Arrow(edge["from"], end, edge["label"].strip("<|>")))
    kinds = [entry["category"] for entry in printed_table(_FOLDER, "categories").values()]
    listed = "an entity is one of\n" + ",\n".join(", ".join(kinds[i : i + 3]) for i in (0, 3, 6))
    nodes = (Box(n, n, n.removeprefix("another "), x, y) for n, (x, y) in _NODES.items())
    return Diagram(
        "figure2",
        "The event-centric memory graph",
        (*nodes, Box("categories", listed, "remark", 0.24, 0.1)),
        tuple(arrows),
        (10, 5),
    )


FIGURE3 = Diagram(
    "figure3",
    "Intuitive association and deliberating recall",
    (
        Box("query", "query", "query", 0.06, 0.72),
        Box("graph", "memory graph", "graph", 0.06, 0.30),
        Box("prizes", "prizes of nodes\nand edges (Eq. 6)", "step", 0.23, 0.72),
        Box("virtual", "virtual nodes for edges\nabove the cost (Eq. 7–9)", "step", 0.44, 0.72),
        Box("tree", "Steiner tree of prizes\nless costs (Eq. 10)", "step", 0.66, 0.72),
        Box("subgraph", "union of subgraphs", "graph", 0.87, 0.72),
        Box("deliberate", "deliberating model:\nwhich clues are missing?", "model", 0.66, 0.30),
        Box("augment", "query ⊕ missing clue", "query", 0.36, 0.30),
        Box("importance", "importance ranking:\nPageRank (Eq. 11–12)", "step", 0.87, 0.08),
        Box("answer", "utterances, ranked", "utterance", 0.5, 0.08),
        Box("association", "intuitive association", "remark", 0.44, 0.93),
        Box("recall", "deliberating recall, at most max_iter rounds", "remark", 0.5, 0.46),
    ),
    (
        Arrow("query", "prizes"),
        Arrow("graph", "prizes"),
        Arrow("prizes", "virtual"),
        Arrow("virtual", "tree"),
        Arrow("tree", "subgraph"),
        Arrow("subgraph", "deliberate"),
        Arrow("deliberate", "augment", "each clue", dashed=True),
        Arrow("augment", "prizes", "again", dashed=True),
        Arrow("deliberate", "importance", "none"),
        Arrow("subgraph", "importance", "max_iter reached", at=0.45),
        Arrow("importance", "answer"),
    ),
    (13, 5.2),
)


def diagrams() -> tuple[Diagram, ...]:
    """The three figures."""
    return FIGURE1, _figure2(), FIGURE3


def build(folder: Path) -> list[Path]:
    """Write the three diagrams, each with what it shows; return the paths."""
    return [path for diagram in diagrams() for path in write(diagram, folder)]
