"""Keys of a memory graph: what is in it as texts, and how queries enter it."""
