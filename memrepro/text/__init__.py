"""Extractors: text in, text out; deterministic, no language model, no file."""
