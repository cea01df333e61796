"""embed_graph: as embed, of the texts of memory graphs (Associa §4.1)."""

from memrepro.retrieve.associa.keying import GraphKeyMaker
from memrepro.study import embedding as embed
from memrepro.study.done import Done


def run(embedding: str) -> Done:
    """Embed each unique text of the graphs and each query once, and write the vectors."""
    return embed.run(embedding, GraphKeyMaker)
