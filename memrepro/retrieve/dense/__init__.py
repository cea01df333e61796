"""Similarity of vectors: the best key of a doc, a mixture of fields, merged ranks."""
