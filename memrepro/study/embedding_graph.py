"""embed_graph: as embed, of the texts of memory graphs (Associa §4.1)."""

from memrepro.retrieve.associa.key_builder import GraphKeyBuilder
from memrepro.study import embedding as embed
from memrepro.study.result import StageResult


def run(embedding: str) -> StageResult:
    """Embed each unique text of the graphs and each query once, and write the vectors."""
    return embed.run(embedding, GraphKeyBuilder)
