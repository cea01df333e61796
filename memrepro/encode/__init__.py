"""Texts become vectors: models, runtimes, the vector cache. Knows no data set and no method."""
