"""Knows how to run the full profile on generated data and tiny models; not what its stages do."""
