"""The tiered memory's arithmetic: segments, recency, lexical and dense scores, selection."""
