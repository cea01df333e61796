"""One folder a document: what it prints, its tables, claims, analyses and diagrams.

No other room names a document.
"""
