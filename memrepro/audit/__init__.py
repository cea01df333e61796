"""The audit: verdicts on numbers."""
