"""embed_tiered: as embed, of turns, segments, sessions and facts with their times."""

from memrepro.retrievers.tiered.keying import TieredKeyMaker
from memrepro.stages import embed
from memrepro.stages.done import Done


def run(embedding: str) -> Done:
    """Embed each unique text of the tiers and each query once, and write the vectors."""
    return embed.run(embedding, TieredKeyMaker)
