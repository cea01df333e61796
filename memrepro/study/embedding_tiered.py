"""embed_tiered: as embed, of turns, segments, sessions and facts with their times."""

from memrepro.retrieve.tiered.keying import TieredKeyMaker
from memrepro.study import embedding as embed
from memrepro.study.done import Done


def run(embedding: str) -> Done:
    """Embed each unique text of the tiers and each query once, and write the vectors."""
    return embed.run(embedding, TieredKeyMaker)
