"""longmemeval."""
