"""One's own conversations: the files that they come in, the questions, and what is odd in them."""
