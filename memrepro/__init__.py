"""memrepro: a reproducible artifact for five documents on conversational memory."""
