"""BM25 over the words of keys."""
