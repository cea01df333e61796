"""Keys of the tiered memory: segments of turns, and their words."""
