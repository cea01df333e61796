"""embed_tiered: as embed, of turns, segments, sessions and facts with their times."""

from memrepro.retrieve.tiered.key_builder import TieredKeyBuilder
from memrepro.study import embedding as embed
from memrepro.study.result import StageResult


def run(embedding: str) -> StageResult:
    """Embed each unique text of the tiers and each query once, and write the vectors."""
    return embed.run(embedding, TieredKeyBuilder)
