"""The tiered design as a drawing: tiers, what flows between them, and the fallback chain.

Source: "Refined architecture with implementation specifics" and "Graceful degradation patterns".
"""

from pathlib import Path

from memrepro.report.diagram import Arrow, Box, Diagram, write

TIERS = Diagram(
    "tiers",
    "HOT, WARM and COLD",
    (
        Box("channels", "messages of all channels,\nmerged by time", "utterance", 0.09, 0.80),
        Box("hot", "HOT: the last 10-20 messages,\nin memory", "graph", 0.36, 0.80),
        Box("warm", "WARM: segments of 3-5 turns,\nthe last 7 days", "graph", 0.63, 0.80),
        Box("cold", "COLD: facts, with the\nsegments that they come from", "graph", 0.90, 0.80),
        Box("query", "query", "query", 0.09, 0.46),
        Box("always", "always in the prompt", "step", 0.36, 0.46),
        Box("hybrid", "0.7 cosine + 0.3 BM25,\nrecency, threshold, MMR,\nhow many", "step",
            0.63, 0.46),
        Box("facts", "asked where WARM\nis not confident", "step", 0.90, 0.46),
        Box("model", "language model answers", "model", 0.36, 0.20),
        Box("chain", "fallback: vectors (250 ms) → BM25 → last 10 messages → say so",
            "remark", 0.68, 0.04),
    ),
    (
        Arrow("channels", "hot"),
        Arrow("hot", "warm", "cut"),
        Arrow("warm", "cold", "over 7 days"),
        Arrow("query", "always"),
        Arrow("query", "hybrid", bend=-0.3),
        Arrow("hot", "always", "all", at=0.3),
        Arrow("warm", "hybrid"),
        Arrow("cold", "facts"),
        Arrow("hybrid", "facts", "unsure", dashed=True),
        Arrow("always", "model"),
        Arrow("hybrid", "model", "top 3-5"),
        Arrow("facts", "model", bend=-0.2),
        Arrow("hybrid", "chain", "fails", dashed=True),
    ),
    (13, 5.2),
)  # fmt: skip


def build(folder: Path) -> list[Path]:
    """Write the drawing and what it shows; return the paths."""
    return write(TIERS, folder)
