"""memrepro: a reproducible artifact for five documents on conversational memory."""

__version__ = "0.1.0"
