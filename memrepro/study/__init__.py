"""What runs: params.yaml, and the steps between prepared data and evaluated rankings.

Knows no document.
"""
