"""embed_graph: as embed, of the texts of memory graphs (Associa §4.1)."""

from memrepro.retrievers.associa.keying import GraphKeyMaker
from memrepro.stages import embed
from memrepro.stages.done import Done


def run(embedding: str) -> Done:
    """Embed each unique text of the graphs and each query once, and write the vectors."""
    return embed.run(embedding, GraphKeyMaker)
