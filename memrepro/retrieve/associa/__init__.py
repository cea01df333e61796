"""Associa: a memory graph, intuitive association, deliberation, ranked evidence (Associa §4)."""

KEY_SCHEME_MARK = "+graph:"
