"""Readers and judges: from retrieved docs to answers and verdicts; knows no document by name."""
