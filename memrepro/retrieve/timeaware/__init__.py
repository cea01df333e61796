"""Docs in the range of dates that a question names, first."""
