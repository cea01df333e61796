"""The tiered memory's arithmetic: segments, recency, lexical and dense scores, selection."""

KEY_SCHEME_MARK = "tiers:"
