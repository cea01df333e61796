"""Files on disk: where they lie, atomic writes, SQLite that survives kills, progress.

Knows no data set and no method.
"""
