"""From a number in a table back to the questions behind it; see `docs/provenance.md`.

Reads what reports have written and what dvc.lock recorded. Knows no document and no command.
"""
