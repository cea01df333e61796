"""Sentences: as plain text, and what their numbers say of each other."""
