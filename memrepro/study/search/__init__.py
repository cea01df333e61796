"""Retrieval as a stage: what each run asks of which keys, and the rankings."""
